/*
 * tokens.h - settings, keys and tokens for tests: made anew each time, so no secret
 * stands in the tree
 */
#ifndef WEIR_TESTS_TOKENS_H
#define WEIR_TESTS_TOKENS_H

#include <stdlib.h>
#include <string.h>

#include "policy/sign.h"
#include "policy/token.h"
#include "unit.h"

#define NOW INT64_C(1800000000)
#define HOUR_LATER "1800003600"

/* A private key, and $NAME has what verifies it. */
static inline char *
make_key(const char *alg, const char *name)
{
	struct buf private, public;
	char *out;

	buf_init(&private, 10000);
	buf_init(&public, 10000);
	assert_true(key_make(&private, alg_find(str_of(alg))));
	out = str_dup(buf_view(&private));
	if (alg[0] != 'H')
		assert_true(key_public(&public, buf_view(&private)));
	setenv(name, alg[0] == 'H' ? out : buf_cstr(&public), 1);
	buf_fini(&private);
	buf_fini(&public);
	return out;
}

static inline struct settings *
settings_of(const char *text)
{
	struct report rep;
	struct buf b;

	report_init(&rep);
	buf_init(&b, 100000);
	struct settings *s = settings_load_text("w.yaml", str_of(text), "/", &rep);
	report_print_text(&rep, &b);
	if (s == NULL)
		fail_msg("%s", buf_cstr(&b));
	buf_fini(&b);
	report_fini(&rep);
	return s;
}

static inline struct keys *
keys_of(const struct settings *s)
{
	struct report rep;
	struct buf b;

	report_init(&rep);
	buf_init(&b, 100000);
	struct keys *k = keys_load(s, &rep);
	report_print_text(&rep, &b);
	if (k == NULL)
		fail_msg("%s", buf_cstr(&b));
	buf_fini(&b);
	report_fini(&rep);
	return k;
}

/* Owned. */
static inline char *
token_of(const char *alg, const char *kid, const char *key, const char *claims)
{
	struct buf b;

	buf_init(&b, 100000);
	assert_null(token_sign(
	    &b, alg_find(str_of(alg)), str_of(kid), str_of(key), str_of(claims)));
	char *out = str_dup(buf_view(&b));
	buf_fini(&b);
	return out;
}

/* "ok", or the reason's name and why. */
static inline const char *
verdict_of(const struct keys *k, const char *token, int64_t now, const char **why)
{
	struct grant *g = NULL;
	enum reason reason = token_verify(&g, k, str_of(token), now, why);

	assert_true((reason == REASON_NONE) == (g != NULL));
	assert_true((reason == REASON_NONE) == (*why == NULL));
	grant_unref(g);
	return reason_row(reason)->name;
}

#endif
