/*
 * policy_hosts_test.c - names of dns.hosts are canonical before anybody asks for them
 */
#include <string.h>

#include "policy/hosts.h"
#include "policy/quickstart.h"
#include "unit.h"

static struct static_host *
build(const char *text, struct settings **s, struct report *rep, size_t *n)
{
	report_init(rep);
	*s = settings_load_text("w.yaml", str_of(text), "/", rep);
	assert_non_null(*s);
	return static_hosts_build(*s, rep, n);
}

static void
test_names_are_canonical(void **state)
{
	struct settings *s;
	struct report rep;
	size_t n;
	struct static_host *hosts = build("dns: { hosts: { API.Example.Test.: "
					  "[127.0.0.2, \"::1\"], b.test: [192.0.2.1] } }",
	    &s, &rep, &n);

	(void)state;
	assert_int_equal(rep.errors, 0);
	assert_int_equal(n, 2);
	assert_string_equal(hosts[0].host.name, "api.example.test");
	assert_int_equal(hosts[0].naddr, 2);
	static_hosts_free(hosts, n);
	settings_free(s);
	report_fini(&rep);
}

static const struct {
	const char *text, *code;
	size_t column;
} refused[] = {
	{ "dns: { hosts: { \"a b\": [192.0.2.1] } }", "bad_host", 17 },
	{ "dns: { hosts: { \"*.a.test\": [192.0.2.1] } }", "bad_host", 17 },
	{ "dns: { hosts: { b\xc3\xbc.test: [192.0.2.1] } }", "bad_host", 17 },
	{ "dns: { hosts: { 192.0.2.7: [192.0.2.1] } }", "bad_host", 17 },
	{ "dns: { hosts: { a.test: [192.0.2.1], A.test.: [192.0.2.2] } }",
	    "duplicate_key", 38 },
};

static void
test_names_nobody_can_ask_for_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(refused); i++) {
		struct settings *s;
		struct report rep;
		size_t n;
		struct static_host *hosts = build(refused[i].text, &s, &rep, &n);
		assert_row(refused[i].text, rep.n == 1);
		assert_row(
		    refused[i].text, strcmp(rep.finding[0].code, refused[i].code) == 0);
		assert_row(
		    refused[i].text, rep.finding[0].mark.column == refused[i].column);
		static_hosts_free(hosts, n);
		settings_free(s);
		report_fini(&rep);
	}
}

static void
test_quickstart_is_compiled_in_as_it_is_written(void **state)
{
	(void)state;
	assert_int_equal(strlen(quickstart_yaml), quickstart_yaml_n);
	assert_non_null(strstr(quickstart_yaml, "\npolicy: quickstart\n"));
	assert_string_equal(quickstart_yaml + quickstart_yaml_n - 1, "\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_canonical),
		cmocka_unit_test(test_names_nobody_can_ask_for_are_refused),
		cmocka_unit_test(test_quickstart_is_compiled_in_as_it_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
