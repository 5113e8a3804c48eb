/*
 * policy_metered_test.c - hosts of model providers, which only the gateway reaches
 */
#include "tokens.h"

#include "policy/metered.h"

static const char text[] =
    "production: false\n"
    "listen: { gateway: [\"127.0.0.1:8787\"] }\n"
    "gateway:\n"
    "  providers:\n"
    "  - { name: one, kind: anthropic, path: /one, upstream: "
    "\"https://api.one.test/v1\",\n"
    "      hosts: [\"*.one.test\", \"192.0.2.0/24\"] }\n"
    "  - { name: two, kind: none, path: /two, upstream: \"https://api.two.test\" }\n"
    "  - { name: three, kind: none, path: /three, upstream: \"https://api.three.test\",\n"
    "      hosts: [api.three.test] }\n";

static struct host
host_of(const char *name)
{
	struct host h;

	assert_int_equal(host_parse(&h, str_of(name)), HOST_OK);
	return h;
}

static void
test_a_metered_host_is_closed_and_says_by_which_base_url_it_opens(void **state)
{
	static const struct {
		const char *host, *where;
		bool sells; /* a provider with a meter */
	} rows[] = {
		{ "api.one.test", "take http://127.0.0.1:8787/one for the base URL",
		    true },
		{ "other.one.test", "take http://127.0.0.1:8787/one for the base URL",
		    true },
		{ "192.0.2.7", "take http://127.0.0.1:8787/one for the base URL", true },
		{ "192.0.3.7", NULL, false },
		{ "one.test.example", NULL, false },
		{ "api.two.test", NULL, false }, /* nothing is counted there */
		{ "api.three.test", "take http://127.0.0.1:8787/three for the base URL",
		    false },
	};
	struct settings *s = settings_of(text);
	struct metered *m = metered_new(s);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct host h = host_of(rows[i].host);
		const struct metered_host *found = metered_find(m, &h);

		assert_row(rows[i].host, (found == NULL) == (rows[i].where == NULL));
		assert_row(rows[i].host, found == NULL || rows[i].where == NULL ||
					     strcmp(found->where, rows[i].where) == 0);
		assert_row(rows[i].host, metered_sells(s, &h) == rows[i].sells);
	}
	metered_free(m);
	settings_free(s);
}

static void
test_without_providers_no_host_is_metered(void **state)
{
	struct settings *s = settings_of("production: false\n");
	struct metered *m = metered_new(s);
	struct host h = host_of("api.one.test");

	(void)state;
	assert_null(metered_find(m, &h));
	assert_null(metered_find(NULL, &h));
	assert_false(metered_sells(s, &h));
	metered_free(m);
	metered_free(NULL);
	settings_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_a_metered_host_is_closed_and_says_by_which_base_url_it_opens),
		cmocka_unit_test(test_without_providers_no_host_is_metered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
