#include "wire/ppv2.h"

#include "unit.h"

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define V4_BLOCK "\300\0\2\1\306\63\144\2\200\0\0\120" /* 192.0.2.1:32768 */
#define V6_BLOCK \
	"\40\1\15\270\0\0\0\0\0\0\0\0\0\0\0\1" \
	"\40\1\15\270\0\0\0\0\0\0\0\0\0\0\0\2\1\1\1\273"

static void
test_a_header_says_whose_the_connection_is(void **state)
{
	static const struct {
		const char *name;
		struct str in;
		const char *source;
	} rows[] = {
		{ "IPv4", STR(SIGNATURE "\41\21\0\14" V4_BLOCK), "192.0.2.1:32768" },
		{ "IPv6", STR(SIGNATURE "\41\41\0\44" V6_BLOCK), "[2001:db8::1]:257" },
		{ "TLVs are passed over: NOOP, one of no length, one of its own",
		    STR(SIGNATURE "\41\21\0\34" V4_BLOCK "\4\0\2xy\1\0\0\340\0\5hello"),
		    "192.0.2.1:32768" },
		{ "a checksum that is right",
		    STR(SIGNATURE "\41\21\0\23" V4_BLOCK "\3\0\4\231\336\344\354"),
		    "192.0.2.1:32768" },
	};
	char text[ENDPOINT_TEXT];
	struct ppv2 h;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_row(rows[i].name, ppv2_read(&h, rows[i].in) == PPV2_DONE);
		assert_row(rows[i].name, !h.is_local && h.used == rows[i].in.n);
		assert_string_equal(endpoint_text(text, &h.source), rows[i].source);
	}
}

/* 2.2: "must discard the protocol block including the family which is ignored" */
static void
test_a_local_one_says_nothing_else(void **state)
{
	static const struct str rows[] = { STR(SIGNATURE "\40\0\0\0"),
		STR(SIGNATURE "\40\21\0\14" V4_BLOCK), STR(SIGNATURE "\40\21\0\1x"),
		STR(SIGNATURE "\40\377\0\3\3\0\4") };
	struct ppv2 h;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(ppv2_read(&h, rows[i]), PPV2_DONE);
		assert_true(h.is_local && h.used == rows[i].n);
	}
}

static void
test_what_is_no_such_header_is_refused_at_its_first_wrong_octet(void **state)
{
	static const struct {
		const char *name;
		struct str in;
		size_t at;
	} rows[] = {
		{ "version 1", STR("PROXY TCP4 192.0.2.1 198.51.100.2 1 80\r\n"), 0 },
		{ "HTTP", STR("GET / HTTP/1.1\r\n"), 0 },
		{ "TLS", STR("\26\3\1\2\0"), 0 },
		{ "SOCKS", STR("\5\1\0"), 0 },
		{ "almost the signature", STR("\r\n\r\n\0\r\nQUIT\r"), 11 },
		{ "version 3", STR(SIGNATURE "\61"), 12 },
		{ "another command", STR(SIGNATURE "\42"), 12 },
		{ "no family", STR(SIGNATURE "\41\0"), 13 },
		{ "UDP over IPv4", STR(SIGNATURE "\41\22"), 13 },
		{ "UDP over IPv6", STR(SIGNATURE "\41\42"), 13 },
		{ "a Unix socket", STR(SIGNATURE "\41\61"), 13 },
		{ "too long", STR(SIGNATURE "\41\21\2\11"), 14 },
		{ "too long, and local", STR(SIGNATURE "\40\0\2\11"), 14 },
		{ "too short for IPv4", STR(SIGNATURE "\41\21\0\13"), 14 },
		{ "too short for IPv6", STR(SIGNATURE "\41\41\0\43"), 14 },
		{ "from nobody", STR(SIGNATURE "\41\21\0\14\0\0\0\0\1\1\1\1\1\1\1\1"),
		    16 },
		{ "a TLV beyond the end",
		    STR(SIGNATURE "\41\21\0\21" V4_BLOCK "\1\0\3xy"), 28 },
		{ "part of a TLV", STR(SIGNATURE "\41\21\0\16" V4_BLOCK "\1\0"), 28 },
		{ "a checksum that is wrong",
		    STR(SIGNATURE "\41\21\0\23" V4_BLOCK "\3\0\4\231\336\344\355"), 28 },
		{ "a checksum of another size",
		    STR(SIGNATURE "\41\21\0\22" V4_BLOCK "\3\0\3\231\336\344"), 28 },
	};
	struct ppv2 h;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_row(rows[i].name, ppv2_read(&h, rows[i].in) == PPV2_BAD);
		assert_row(rows[i].name, h.at == rows[i].at && h.error != NULL);
	}
}

static void
test_the_longest_is_taken_and_nothing_behind_it_is_asked_for(void **state)
{
	static const struct str head = STR(SIGNATURE "\41\21\2\10" V4_BLOCK "\1\1\371");
	char whole[PPV2_MAX + 1];
	struct ppv2 h;

	(void)state;
	memset(whole, 'x', sizeof(whole));
	memcpy(whole, head.p, head.n);
	for (size_t n = 0; n < PPV2_MAX; n++) {
		assert_int_equal(ppv2_read(&h, (struct str){ whole, n }), PPV2_MORE);
		assert_int_equal(n + h.want, n < 16 ? 16 : PPV2_MAX);
	}
	assert_int_equal(ppv2_read(&h, (struct str){ whole, sizeof(whole) }), PPV2_DONE);
	assert_int_equal(h.used, PPV2_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_header_says_whose_the_connection_is),
		cmocka_unit_test(test_a_local_one_says_nothing_else),
		cmocka_unit_test(
		    test_what_is_no_such_header_is_refused_at_its_first_wrong_octet),
		cmocka_unit_test(
		    test_the_longest_is_taken_and_nothing_behind_it_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
