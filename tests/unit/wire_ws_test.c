#include "wire/ws.h"

#include "unit.h"

static void
test_the_accept_value_is_the_one_of_the_rfc(void **state)
{
	char accept[29];

	(void)state;
	assert_true(
	    ws_accept(accept, STR("dGhlIHNhbXBsZSBub25jZQ=="))); /* RFC 6455 1.3 */
	assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

static void
test_a_key_that_is_not_sixteen_bytes_is_no_key(void **state)
{
	static const char *const cases[] = {
		"",
		"dGhlIHNhbXBsZSBub25jZQ",
		"dGhlIHNhbXBsZSBub25jZQ=",
		"dGhlIHNhbXBsZSBub25jZQ===",
		"dGhlIHNhbXBsZSBub25jZR==", /* bits that stand for nothing */
		"dGhlIHNhbXBsZSBub25jZWE=", /* seventeen bytes */
		"dGhlIHNhbXBsZSBub25j-Q==",
		"dGhlIHNhbXBsZSBub25j Q==",
		"dGhlIHNhbXBs=SBub25jZQ==",
	};
	char accept[29];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_row(cases[i], !ws_accept(accept, str_of(cases[i])));
}

static void
test_only_the_whole_handshake_may_upgrade(void **state)
{
	struct http_field fields[] = {
		{ STR("Sec-WebSocket-Version"), STR("13") },
		{ STR("sec-websocket-key"), STR("dGhlIHNhbXBsZSBub25jZQ==") },
		{ STR("Sec-WebSocket-Key"), STR("dGhlIHNhbXBsZSBub25jZQ==") },
	};
	const struct http_head good = {
		.kind = HTTP_REQUEST,
		.minor = 1,
		.method = STR("GET"),
		.field = fields,
		.nfield = 2,
		.is_upgrade = true,
	};
	struct http_head h = good;

	(void)state;
	assert_true(ws_is_request(&h));
	h.nfield = 3; /* a second key */
	assert_false(ws_is_request(&h));
	h.nfield = 1; /* none */
	assert_false(ws_is_request(&h));
	h = good, h.method = STR("POST");
	assert_false(ws_is_request(&h));
	h = good, h.minor = 0;
	assert_false(ws_is_request(&h));
	h = good, h.is_upgrade = false;
	assert_false(ws_is_request(&h));
	h = good, h.framing = HTTP_LENGTH, h.length = 1;
	assert_false(ws_is_request(&h));
	h = good, h.framing = HTTP_CHUNKED;
	assert_false(ws_is_request(&h));
	h = good, fields[0].value = STR("12");
	assert_false(ws_is_request(&h));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_accept_value_is_the_one_of_the_rfc),
		cmocka_unit_test(test_a_key_that_is_not_sixteen_bytes_is_no_key),
		cmocka_unit_test(test_only_the_whole_handshake_may_upgrade),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
