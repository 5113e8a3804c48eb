#include "wire/dns_query.h"

#include "unit.h"

#define HEAD "\x12\x34\x01\0\0\1\0\0\0\0\0\0"
#define HEAD_OPT "\x12\x34\x01\0\0\1\0\0\0\0\0\1"
#define NAME "\7aLLowed\4test\0"
#define IN_A "\0\1\0\1"
#define OPT(version, length) "\0\0\x29\x04\xd0\0" version "\0\0" length
#define ROW(text) \
	{ \
		text, sizeof(text) - 1 \
	}

static void
test_a_question_is_read_and_its_name_is_canonical(void **state)
{
	struct dns_query q;

	(void)state;
	assert_int_equal(dns_query_read(&q, STR(HEAD NAME IN_A)), DNS_QUERY_OK);
	assert_true(q.is_host && q.id == 0x1234 && q.type == DNS_A && !q.has_opt);
	assert_string_equal(q.host.name, "allowed.test");
	assert_true(str_eq(q.question, STR(NAME IN_A))); /* byte for byte */
	assert_int_equal(q.room, DNS_UDP_MIN);
	assert_int_equal(
	    dns_query_read(&q, STR(HEAD_OPT NAME IN_A OPT("\0", "\0\0"))), DNS_QUERY_OK);
	assert_true(q.has_opt && q.room == 1232);
}

static void
test_what_is_no_question_has_its_own_code(void **state)
{
	static const struct {
		const char *name;
		struct str in;
		enum dns_rcode rcode;
	} rows[] = {
		{ "two questions", ROW("\0\0\1\0\0\2\0\0\0\0\0\0" NAME IN_A NAME IN_A),
		    DNS_RCODE_FORMERR },
		{ "none", ROW("\0\0\1\0\0\0\0\0\0\0\0\0"), DNS_RCODE_FORMERR },
		{ "an answer in it", ROW("\0\0\1\0\0\1\0\1\0\0\0\0" NAME IN_A),
		    DNS_RCODE_FORMERR },
		{ "a status request", ROW("\0\0\x10\0\0\1\0\0\0\0\0\0" NAME IN_A),
		    DNS_RCODE_NOTIMP },
		{ "an update", ROW("\0\0\x28\0\0\1\0\0\0\0\0\0" NAME IN_A),
		    DNS_RCODE_NOTIMP },
		{ "nothing behind the header", ROW(HEAD), DNS_RCODE_FORMERR },
		{ "a cut name", ROW(HEAD "\7allow"), DNS_RCODE_FORMERR },
		{ "a name without its root", ROW(HEAD "\1a"), DNS_RCODE_FORMERR },
		{ "no class", ROW(HEAD NAME "\0\1\0"), DNS_RCODE_FORMERR },
		{ "a pointer", ROW(HEAD "\1a\xc0\x0c" IN_A), DNS_RCODE_FORMERR },
		{ "a reserved length",
		    ROW(HEAD "\x85"
			     "allow\0" IN_A),
		    DNS_RCODE_FORMERR },
		{ "bytes behind it", ROW(HEAD NAME IN_A "x"), DNS_RCODE_FORMERR },
		{ "class CH", ROW(HEAD NAME "\0\1\0\3"), DNS_RCODE_REFUSED },
		{ "ANY", ROW(HEAD NAME "\0\377\0\1"), DNS_RCODE_NOTIMP },
		{ "AXFR", ROW(HEAD NAME "\0\374\0\1"), DNS_RCODE_NOTIMP },
		{ "OPT as a type", ROW(HEAD NAME "\0\51\0\1"), DNS_RCODE_NOTIMP },
		{ "version 1 of EDNS", ROW(HEAD_OPT NAME IN_A OPT("\1", "\0\0")),
		    DNS_RCODE_BADVERS },
		{ "an OPT that is announced", ROW(HEAD_OPT NAME IN_A),
		    DNS_RCODE_FORMERR },
		{ "one with a name",
		    ROW(HEAD_OPT NAME IN_A "\1x\0\0\x29\0\0\0\0\0\0\0\0"),
		    DNS_RCODE_FORMERR },
		{ "a signature", ROW(HEAD_OPT NAME IN_A "\0\0\372\0\377\0\0\0\0\0\0"),
		    DNS_RCODE_FORMERR },
		{ "an option beyond it",
		    ROW(HEAD_OPT NAME IN_A OPT("\0", "\0\5") "\0\12\0\310x"),
		    DNS_RCODE_FORMERR },
		{ "a cookie of three",
		    ROW(HEAD_OPT NAME IN_A OPT("\0", "\0\7") "\0\12\0\003abc"),
		    DNS_RCODE_FORMERR },
	};
	struct dns_query q;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_row(rows[i].name, dns_query_read(&q, rows[i].in) == DNS_QUERY_BAD);
		assert_row(rows[i].name, q.rcode == rows[i].rcode && q.error != NULL);
	}
}

static void
test_what_is_no_query_gets_no_answer(void **state)
{
	struct dns_query q;

	(void)state;
	assert_int_equal(dns_query_read(&q, STR_NONE), DNS_QUERY_DROP);
	assert_int_equal(
	    dns_query_read(&q, STR("\x12\x34\x01\0\0\1\0\0\0\0\0")), DNS_QUERY_DROP);
	assert_int_equal(
	    dns_query_read(&q, STR("\x12\x34\x81\0\0\1\0\0\0\0\0\0" NAME IN_A)),
	    DNS_QUERY_DROP);
}

static void
test_a_name_that_no_host_can_have_is_none(void **state)
{
	static const struct str rows[] = {
		ROW(HEAD "\0" IN_A),
		ROW(HEAD "\14allowed.test\0" IN_A),
		ROW(HEAD "\10allowed\0\4test\0" IN_A),
		ROW(HEAD "\5a\\.b.\4test\0" IN_A),
		ROW(HEAD "\2\303\251\4test\0" IN_A),
		ROW(HEAD "\3a b\4test\0" IN_A),
		ROW(HEAD "\003127\1"
			 "0\1"
			 "0\1"
			 "1\0" IN_A),
	};
	struct dns_query q;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(dns_query_read(&q, rows[i]), DNS_QUERY_OK);
		assert_false(q.is_host);
	}
}

static void
test_the_longest_name_fits_and_a_longer_one_does_not(void **state)
{
	struct dns_query q;
	struct buf b;

	(void)state;
	for (int more = 0; more < 2; more++) {
		buf_init(&b, 512);
		buf_str(&b, STR(HEAD));
		for (int i = 0; i < 3; i++)
			buf_fmt(&b, "%c%063d", 63, 7);
		for (size_t i = 0; i < 3 * 64; i++) /* no label of digits */
			if (b.p[12 + i] == '0')
				b.p[12 + i] = 'a';
		buf_fmt(&b, "%c%.*s", 61 + more, 61 + more,
		    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb");
		buf_str(&b, STR("\0" IN_A));
		assert_int_equal(dns_query_read(&q, buf_view(&b)),
		    more ? DNS_QUERY_BAD : DNS_QUERY_OK);
		assert_true(more || (q.is_host && q.host.len == 253));
		buf_fini(&b);
	}
}

static struct buf
replied(struct str query, const struct dns_reply *r)
{
	struct dns_query q;
	struct buf out;

	assert_int_not_equal(dns_query_read(&q, query), DNS_QUERY_DROP);
	buf_init(&out, DNS_MESSAGE_MAX);
	dns_reply_put(&out, &q, r);
	return out;
}

static void
test_an_answer_echoes_the_question_and_has_its_family_alone(void **state)
{
	static const struct addr a[] = { { { 0x20, 1, 0xd, 0xb8, [15] = 1 } },
		V4(192, 0, 2, 7) };
	struct dns_reply r = { .addr = a, .naddr = 2, .ttl = 30, .room = 512 };
	struct buf out = replied(STR(HEAD NAME IN_A), &r);

	(void)state;
	assert_true(
	    str_eq(buf_view(&out), STR("\x12\x34\x81\x80\0\1\0\1\0\0\0\0" NAME IN_A
				       "\xc0\x0c\0\1\0\1\0\0\0\x1e\0\4\xc0\0\2\7")));
	buf_fini(&out);
	out = replied(STR("\x12\x34\0\0\0\1\0\0\0\0\0\0" NAME "\0\34\0\1"), &r);
	assert_true(str_eq(str_sub(buf_view(&out), 0, 8),
	    STR("\x12\x34\x80\x80\0\1\0\1"))); /* RD as it came */
	assert_int_equal(out.n, 12 + 14 + 4 + 28);
	buf_fini(&out);
}

static void
test_what_does_not_fit_is_cut_and_says_so(void **state)
{
	static struct addr many[40];
	struct dns_reply r = { .addr = many, .naddr = 40, .room = 512 };
	struct buf out;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(many); i++)
		many[i] = (struct addr)V4(192, 0, 2, 1);
	out = replied(STR(HEAD NAME IN_A), &r);
	assert_true(out.n == 12 + 18 && (out.p[2] & 2) && out.p[7] == 0);
	buf_fini(&out);
	r.room = DNS_MESSAGE_MAX;
	out = replied(STR(HEAD NAME IN_A), &r);
	assert_true(!(out.p[2] & 2) && out.p[7] == 40);
	buf_fini(&out);
}

static void
test_edns_is_answered_to_who_speaks_it(void **state)
{
	struct dns_reply r = {
		.rcode = DNS_RCODE_NXDOMAIN, .ede = DNS_EDE_BLOCKED, .room = 512
	};
	struct buf out = replied(STR(HEAD_OPT NAME IN_A OPT("\0", "\0\0")), &r);

	(void)state;
	assert_true(
	    str_ends(buf_view(&out), STR("\0\0\x29\x04\xd0\0\0\0\0\0\6\0\17\0\2\0\17")));
	assert_true((out.p[3] & 15) == DNS_RCODE_NXDOMAIN && out.p[11] == 1);
	buf_fini(&out);
	r = (struct dns_reply){ .rcode = DNS_RCODE_BADVERS, .room = 512 };
	out = replied(STR(HEAD_OPT NAME IN_A OPT("\1", "\0\0")), &r);
	assert_true(str_ends(buf_view(&out), STR("\0\0\x29\x04\xd0\1\0\0\0\0\0")) &&
		    (out.p[3] & 15) == 0);
	buf_fini(&out);
}

static void
test_types_have_names(void **state)
{
	char text[DNS_TYPE_TEXT];

	(void)state;
	assert_string_equal(dns_type_text(text, 65), "HTTPS");
	assert_string_equal(dns_type_text(text, 65535), "TYPE65535");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_question_is_read_and_its_name_is_canonical),
		cmocka_unit_test(test_what_is_no_question_has_its_own_code),
		cmocka_unit_test(test_what_is_no_query_gets_no_answer),
		cmocka_unit_test(test_a_name_that_no_host_can_have_is_none),
		cmocka_unit_test(test_the_longest_name_fits_and_a_longer_one_does_not),
		cmocka_unit_test(
		    test_an_answer_echoes_the_question_and_has_its_family_alone),
		cmocka_unit_test(test_what_does_not_fit_is_cut_and_says_so),
		cmocka_unit_test(test_edns_is_answered_to_who_speaks_it),
		cmocka_unit_test(test_types_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
