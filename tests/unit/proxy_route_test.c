/*
 * proxy_route_test.c - gateway.providers: which provider a path leads to
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/route.h"

static struct settings *
settings_with(const char *providers)
{
	struct report rep;
	struct settings *s;
	struct buf text;

	setenv("WEIR_TEST_KEY", "a-plain-key", 1);
	setenv("WEIR_TEST_LINES", "two\r\nlines", 1);
	report_init(&rep);
	buf_init(&text, 10000);
	buf_fmt(&text, "production: false\ngateway: { providers: [ %s ] }\n", providers);
	s = settings_load_text("w.yaml", buf_view(&text), "/", &rep);
	if (s == NULL)
		fail_msg(
		    "%s: %s", providers, rep.n > 0 ? rep.finding[0].text : "no finding");
	buf_fini(&text);
	report_fini(&rep);
	return s;
}

#define FREE "name: a, kind: none, "

static const struct {
	const char *providers;
	const char *code; /* of the only finding, or NULL */
} rows[] = {
	{ "{ " FREE "path: /a, upstream: \"https://a.test\" }", NULL },
	{ "{ " FREE "path: /a/b/, upstream: \"http://a.test:8080/x/\" }", NULL },
	{ "{ " FREE "path: /a, upstream: \"https://a.test\", paths: [/v1/**] }", NULL },
	{ "{ " FREE "path: /a, upstream: \"https://a.test\", paths: [v1] }",
	    "bad_paths" },
	{ "{ " FREE "path: /a, upstream: \"ftp://a.test\" }", "bad_upstream" },
	{ "{ " FREE "path: /a, upstream: a.test }", "bad_upstream" },
	{ "{ " FREE "path: /a, upstream: \"https://a.test/?x=1\" }", "bad_upstream" },
	{ "{ " FREE "path: /a, upstream: \"https://a.test/x/../y\" }", "bad_upstream" },
	{ "{ " FREE "path: /, upstream: \"https://a.test\" }", "bad_path" },
	{ "{ " FREE "path: a, upstream: \"https://a.test\" }", "bad_path" },
	{ "{ " FREE "path: /a//b, upstream: \"https://a.test\" }", "bad_path" },
	{ "{ " FREE "path: /weir, upstream: \"https://a.test\" }", "bad_path" },
	{ "{ " FREE "path: /weir/v1, upstream: \"https://a.test\" }", "bad_path" },
	{ "{ " FREE "path: /weirs, upstream: \"https://a.test\" }", NULL },
	{ "{ " FREE "path: /a, upstream: \"https://a.test\" }, "
	  "{ name: b, kind: none, path: /a/b, upstream: \"https://b.test\" }",
	    "path_conflict" },
	{ "{ " FREE "path: /a, upstream: \"https://a.test\" }, "
	  "{ name: b, kind: none, path: /ab, upstream: \"https://b.test\" }",
	    NULL },
	{ "{ " FREE "path: /a, upstream: \"https://a.test\", "
	  "credential: { header: x-key, value: env:WEIR_TEST_KEY } }",
	    NULL },
	{ "{ " FREE "path: /a, upstream: \"https://a.test\", "
	  "credential: { header: x-key, value: env:WEIR_TEST_LINES } }",
	    "bad_credential" },
	{ "{ name: a, kind: anthropic, path: /a, upstream: \"https://a.test\" }",
	    "no_prices" },
	/* the key of one is good at the other, and nobody would count */
	{ "{ " FREE "path: /a, upstream: \"https://b.test/v1\" }, "
	  "{ name: b, kind: anthropic, path: /b, upstream: \"https://b.test\" }",
	    "unmetered_provider" },
};

static bool
has_code(const struct report *rep, const char *code)
{
	for (size_t i = 0; i < rep->n; i++)
		if (strcmp(rep->finding[i].code, code) == 0)
			return true;
	return false;
}

static void
test_a_provider_that_cannot_be_reached_safely_is_an_error_at_load(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct settings *s = settings_with(rows[i].providers);
		struct report rep;

		report_init(&rep);
		routes_free(routes_build(s, NULL, &rep));
		assert_row(
		    rows[i].providers, (rep.errors == 0) == (rows[i].code == NULL));
		assert_row(rows[i].providers,
		    rows[i].code == NULL || has_code(&rep, rows[i].code));
		report_fini(&rep);
		settings_free(s);
	}
}

static void
test_a_path_leads_to_its_provider_and_to_no_neighbour(void **state)
{
	static const struct {
		const char *path, *name, *rest;
	} paths[] = {
		{ "/a/v1/messages", "a", "/v1/messages" },
		{ "/a", "a", "" },
		{ "/a/", "a", "/" },
		{ "/ab", "b", "" },
		{ "/ab/a", "b", "/a" },
		{ "/abc", NULL, NULL },
		{ "/A/v1", NULL, NULL },
		{ "/", NULL, NULL },
		{ "", NULL, NULL },
	};
	struct settings *s = settings_with(
	    "{ name: a, kind: none, path: /a/, upstream: \"https://a.test/base/\" }, "
	    "{ name: b, kind: none, path: /ab, upstream: \"http://b.test\" }");
	struct report rep;
	struct routes *r;

	(void)state;
	report_init(&rep);
	r = routes_build(s, NULL, &rep);
	assert_int_equal(rep.errors, 0);
	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		const struct route *to = routes_find(r, str_of(paths[i].path));

		assert_row(paths[i].path, (to == NULL) == (paths[i].name == NULL));
		if (to == NULL)
			continue;
		assert_row(paths[i].path, strcmp(to->row->name, paths[i].name) == 0);
		assert_row(paths[i].path,
		    str_eq(route_rest(to, str_of(paths[i].path)), str_of(paths[i].rest)));
	}
	assert_true(str_eq(r->p[0].base, STR("/base")));
	assert_true(r->p[0].is_https && r->p[0].port == 443);
	assert_true(!r->p[1].is_https && r->p[1].port == 80 && r->p[1].base.n == 0);
	routes_free(r);
	report_fini(&rep);
	settings_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_a_provider_that_cannot_be_reached_safely_is_an_error_at_load),
		cmocka_unit_test(test_a_path_leads_to_its_provider_and_to_no_neighbour),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
