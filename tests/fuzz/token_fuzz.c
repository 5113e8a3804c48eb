/*
 * token_fuzz.c - a token: whatever it is, it is no token of ours, and nothing breaks
 *
 * The one key is of this run, so nothing that comes in can be signed; a token made of
 * the same claims with that key must pass or fail by its claims alone.
 */
#include <assert.h>
#include <stdlib.h>

#include "policy/sign.h"
#include "policy/token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW INT64_C(1800000000)

static struct keys *keys;
static struct buf secret;

static void
set_up(void)
{
	struct report rep;

	report_init(&rep);
	buf_init(&secret, 1000);
	bool is_made = key_make(&secret, alg_find(STR("HS256")));
	assert(is_made);
	setenv("WEIR_FUZZ_SECRET", buf_cstr(&secret), 1);
	struct settings *s = settings_load_text("fuzz",
	    STR("production: false\n"
		"sessions: { keys: [ { issuer: a, alg: HS256, secret: "
		"env:WEIR_FUZZ_SECRET } ] }"),
	    "/", &rep);
	keys = keys_load(s, &rep);
	assert(keys != NULL);
	report_fini(&rep);
}

static void
check_signed(struct str claims)
{
	struct buf token;
	struct grant *g = NULL;
	const char *why;

	buf_init(&token, 20000);
	if (token_sign(&token, alg_find(STR("HS256")), STR("k"), buf_view(&secret),
		claims) == NULL &&
	    !token.is_over) {
		enum reason reason = token_verify(&g, keys, buf_view(&token), NOW, &why);
		assert((reason == REASON_NONE) == (g != NULL));
		if (g != NULL)
			assert(g->sid.n > 0 && g->tenant.n > 0 && g->expires > NOW - 30);
		grant_unref(g);
	}
	buf_fini(&token);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };
	struct token_parts parts;
	struct grant *g = NULL;
	struct arena a;
	const char *why = NULL;

	if (keys == NULL)
		set_up();
	enum reason reason = token_verify(&g, keys, text, NOW, &why);
	assert(reason != REASON_NONE && g == NULL && why != NULL);
	arena_init(&a, (size_t)4 << 20);
	if (token_split(&parts, text, &a) == NULL)
		check_signed(parts.claims);
	arena_fini(&a);
	return 0;
}
