#include "proxy/glimpse.h"

#include "unit.h"

static void
test_a_request_line_is_told_from_lines_of_other_protocols(void **state)
{
	static const struct {
		const char *first;
		bool is_http;
	} rows[] = {
		{ "GET / HTTP/1.1\r\n", true },
		{ "OPTIONS * HTTP/1.0\n", true },
		{ "GET / HTTP/1.1", false }, /* not whole */
		{ "GET /\r\n", false },
		{ "EHLO x\r\n", false },
		{ "SSH-2.0-x\r\n", false },
		{ "PRI * HTTP/2.0\r\n", false },
		{ "get / HTTP/1.1\r\n", false },
		{ " HTTP/1.1\r\n", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_row(rows[i].first,
		    glimpse_is_http(str_of(rows[i].first)) == rows[i].is_http);
}

static void
test_an_alert_is_fatal_and_names_the_name_where_that_is_wrong(void **state)
{
	(void)state;
	assert_true(
	    str_eq(glimpse_alert(REASON_SNI_MISMATCH), STR("\x15\3\3\0\2\2\x70")));
	assert_true(
	    str_eq(glimpse_alert(REASON_HOST_NOT_ALLOWED), STR("\x15\3\3\0\2\2\x70")));
	assert_true(str_eq(glimpse_alert(REASON_ECH_REFUSED), STR("\x15\3\3\0\2\2\x31")));
	assert_true(glimpse_is_tls(STR("\x16\3")) && !glimpse_is_tls(STR_NONE));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_a_request_line_is_told_from_lines_of_other_protocols),
		cmocka_unit_test(
		    test_an_alert_is_fatal_and_names_the_name_where_that_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
