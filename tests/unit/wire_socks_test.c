#include "wire/socks.h"

#include "unit.h"

/* What is left of a whole message is SOCKS_MORE, whatever its length. */
#define MORE_UNTIL_WHOLE(reads, whole) \
	for (size_t n = 0; n < (whole).n; n++) { \
		struct str in = str_sub(whole, 0, n); \
		assert_int_equal(reads, SOCKS_MORE); \
	}

static void
test_a_greeting_offers_methods(void **state)
{
	static const struct {
		const char *name;
		struct str in;
		bool has_none, has_login;
	} rows[] = {
		{ "none", { "\5\1\0", 3 }, true, false },
		{ "a login", { "\5\1\2", 3 }, false, true },
		{ "both, and GSSAPI", { "\5\3\1\2\0", 5 }, true, true },
		{ "nothing", { "\5\0", 2 }, false, false },
		{ "others", { "\5\2\1\3", 4 }, false, false },
		{ "what follows is another message's", { "\5\1\1\0\2", 5 }, false,
		    false },
	};
	struct socks_methods m;
	struct socks_read r;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_row(
		    rows[i].name, socks_read_methods(&m, &r, rows[i].in) == SOCKS_DONE);
		assert_row(rows[i].name, m.has_none == rows[i].has_none);
		assert_row(rows[i].name, m.has_login == rows[i].has_login);
		assert_row(rows[i].name, r.used == 2 + (size_t)rows[i].in.p[1]);
	}
	MORE_UNTIL_WHOLE(socks_read_methods(&m, &r, in), STR("\5\3\0\1\2"));
}

static void
test_what_is_not_version_5_is_refused_at_its_first_octet(void **state)
{
	static const struct str others[] = { { "\4", 1 }, { "CONNECT", 7 },
		{ "\26\3\1", 3 }, { "\0", 1 } };
	struct socks_methods m;
	struct socks_read r;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(others); i++) {
		assert_int_equal(socks_read_methods(&m, &r, others[i]), SOCKS_BAD);
		assert_true(r.at == 0 && r.error != NULL);
	}
}

static void
test_a_login_is_read_by_its_lengths_and_nothing_else(void **state)
{
	struct str whole = STR("\1\4u\0er\6p\0 s3!");
	struct socks_login login;
	struct socks_read r;

	(void)state;
	assert_int_equal(socks_read_login(&login, &r, whole), SOCKS_DONE);
	assert_true(str_eq(login.user, STR("u\0er")));
	assert_true(str_eq(login.password, STR("p\0 s3!")));
	assert_int_equal(r.used, whole.n);
	MORE_UNTIL_WHOLE(socks_read_login(&login, &r, in), whole);
	assert_int_equal(socks_read_login(&login, &r, STR("\1\0\0")), SOCKS_DONE);
	assert_true(login.user.n == 0 && login.password.n == 0);
	assert_int_equal(socks_read_login(&login, &r, STR("\5\1\0")), SOCKS_BAD);
}

static void
test_a_request_names_its_destination_in_one_of_three_ways(void **state)
{
	struct str name = STR("\5\1\0\3\6a.test\1\273"),
		   v4 = STR("\5\1\0\1\177\0\0\1\0\120"),
		   v6 = STR("\5\1\0\4\40\1\15\270\0\0\0\0\0\0\0\0\0\0\0\1\0\0");
	struct socks_request q;
	struct socks_read r;
	char text[ADDR_TEXT];

	(void)state;
	assert_int_equal(socks_read_request(&q, &r, name), SOCKS_DONE);
	assert_true(!q.is_addr && str_eq(q.name, STR("a.test")) && q.port == 443);
	assert_int_equal(r.used, name.n);
	assert_int_equal(socks_read_request(&q, &r, v4), SOCKS_DONE);
	assert_true(q.is_addr && q.port == 80);
	assert_string_equal(addr_text(text, &q.addr), "127.0.0.1");
	assert_int_equal(socks_read_request(&q, &r, v6), SOCKS_DONE);
	assert_true(q.is_addr && q.port == 0); /* whoever judges it refuses it */
	assert_string_equal(addr_text(text, &q.addr), "2001:db8::1");
	MORE_UNTIL_WHOLE(socks_read_request(&q, &r, in), name);
	MORE_UNTIL_WHOLE(socks_read_request(&q, &r, in), v4);
	MORE_UNTIL_WHOLE(socks_read_request(&q, &r, in), v6);
}

static void
test_the_first_wrong_octet_of_a_request_decides_its_reply(void **state)
{
	static const struct {
		const char *name;
		struct str in;
		size_t at;
		int rep;
	} rows[] = {
		{ "version 4", { "\4", 1 }, 0, SOCKS_REP_FAILURE },
		{ "BIND", { "\5\2", 2 }, 1, SOCKS_REP_COMMAND },
		{ "UDP ASSOCIATE", { "\5\3\0\3", 4 }, 1, SOCKS_REP_COMMAND },
		{ "RESOLVE, as Tor has it", { "\5\360\0\3", 4 }, 1, SOCKS_REP_COMMAND },
		{ "a reserved octet", { "\5\1\1", 3 }, 2, SOCKS_REP_FAILURE },
		{ "no type", { "\5\1\0\0", 4 }, 3, SOCKS_REP_TYPE },
		{ "another type", { "\5\1\0\2", 4 }, 3, SOCKS_REP_TYPE },
		{ "the last type", { "\5\1\0\377", 4 }, 3, SOCKS_REP_TYPE },
	};
	struct socks_request q;
	struct socks_read r;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_row(
		    rows[i].name, socks_read_request(&q, &r, rows[i].in) == SOCKS_BAD);
		assert_row(rows[i].name, r.at == rows[i].at && r.rep == rows[i].rep);
	}
}

static void
test_a_reply_is_always_ten_octets_and_tells_no_address(void **state)
{
	struct buf out;

	(void)state;
	buf_init(&out, 64);
	socks_put_reply(&out, 2);
	assert_true(str_eq(buf_view(&out), STR("\5\2\0\1\0\0\0\0\0\0")));
	assert_int_equal(sizeof(SOCKS_OPENED) - 1, out.n);
	buf_fini(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_greeting_offers_methods),
		cmocka_unit_test(
		    test_what_is_not_version_5_is_refused_at_its_first_octet),
		cmocka_unit_test(test_a_login_is_read_by_its_lengths_and_nothing_else),
		cmocka_unit_test(
		    test_a_request_names_its_destination_in_one_of_three_ways),
		cmocka_unit_test(
		    test_the_first_wrong_octet_of_a_request_decides_its_reply),
		cmocka_unit_test(test_a_reply_is_always_ten_octets_and_tells_no_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
