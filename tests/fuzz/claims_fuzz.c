/*
 * claims_fuzz.c - claims: a grant or a reason, and what is granted is well-formed
 */
#include <assert.h>

#include "policy/claims.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW INT64_C(1800000000)

static struct settings *settings;

static void
set_up(void)
{
	struct report rep;

	report_init(&rep);
	settings = settings_load_text("fuzz",
	    STR("production: false\nsessions: { public: allow, claims: { b: { sid: x } } "
		"}\n"
		"budget: { public: { usd: 1 }, default: { turnUsd: 1 } }\n"
		"profiles: { ci: { budget: { max: { sessionUsd: 1 } } } }"),
	    "/", &rep);
	assert(settings != NULL);
	report_fini(&rep);
}

static void
check(const struct grant *g)
{
	assert(g->sid.n > 0 && g->sid.n <= 128 && g->tenant.n > 0 && g->turn.n <= 128);
	assert(g->session_usd.claim >= -1 && g->turn_usd.claim >= -1);
	assert(g->models.n <= 256 && g->tools.n <= 256);
	assert(!g->is_public || (g->session_usd.claim >= 0 && g->vm_seconds.claim >= 0));
	if (g->network != NULL)
		assert(g->network->is_claim && g->network->model->ndeny == 0);
	(void)grant_has_tool(g, STR("web_search"));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };
	struct claims_source source = { .issuer = STR("a"), .is_token = true };
	const char *why = NULL;

	if (settings == NULL)
		set_up();
	source.settings = settings;
	for (int i = 0; i < 3; i++) {
		struct grant *g = NULL, *again = NULL;
		enum reason reason = claims_read(&g, &source, text, NOW, &why);
		assert((reason == REASON_NONE) == (g != NULL));
		assert((reason == REASON_NONE) == (why == NULL));
		if (g != NULL) {
			check(g);
			reason = claims_recall(&again, &source, g->text, &why);
			assert(reason == REASON_NONE);
			grant_unref(again);
		}
		grant_unref(g);
		source.is_token = false;
		if (i == 1)
			source.issuer = STR("b");
	}
	return 0;
}
