/*
 * policy_fuzz.c - a request on the first line, a policy behind it
 *
 * Whatever a policy says, loading it ends in a ruleset or in errors, and what is
 * allowed had a canonical host, a rule that names it, and was admitted before.
 */
#include <assert.h>

#include "policy/ask.h"
#include "policy/compile.h"
#include "policy/explain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(const struct explained *e, const struct ruleset *rs)
{
	struct host again;

	if (!e->verdict.allow) {
		assert(e->verdict.reason != REASON_NONE && e->dial.count == 0);
		return;
	}
	assert(e->verdict.reason == REASON_NONE && e->has_target);
	assert(host_parse_bare(&again, host_str(&e->host)) == HOST_OK);
	assert(host_eq(&again, &e->host));
	assert(e->verdict.rule != NULL || e->verdict.would.is_set);
	assert(rs->layer[0]->model->is_report || !e->verdict.would.is_set);
}

static void
ask(const struct ruleset *rs, struct str text)
{
	struct addr answer = V4(93, 184, 215, 14);
	struct place nowhere = { 0 };
	struct str method = STR_NONE;
	struct explain_ask ask;
	struct explained e;
	struct arena a;
	struct buf b;
	size_t at;

	if (str_find(text, ' ', &at)) {
		method = str_sub(text, 0, at);
		text = str_sub(text, at + 1, text.n);
	}
	arena_init(&a, (size_t)8 << 20);
	buf_init(&b, (size_t)8 << 20);
	explain_ask_init(&ask, method, text);
	ask.answer = &answer;
	ask.nanswer = 1;
	ask.has_answers = true;
	explain(&e, rs, &nowhere, &ask, &a);
	check(&e, rs);
	explain_print_json(&e, rs, STR_NONE, &b);
	explain_print_text(&e, rs, &b);
	buf_fini(&b);
	arena_fini(&a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ruleset_terms terms = { .is_report_ok = true };
	struct ruleset_source source = { .name = "fuzz" };
	struct str all = { (const char *)data, size };
	struct ruleset *rs;
	struct report rep;
	size_t at;

	if (!str_find(all, '\n', &at))
		return 0;
	source.text = str_sub(all, at + 1, all.n);
	report_init(&rep);
	rs = ruleset_build(&source, 1, &terms, &rep);
	assert((rs != NULL) == (rep.errors == 0));
	if (rs != NULL)
		ask(rs, str_sub(all, 0, at));
	ruleset_free(rs);
	report_fini(&rep);
	return 0;
}
