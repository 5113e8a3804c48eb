#include "wire/dns.h"

#include <string.h>

#include "unit.h"

#define OK_FLAGS "\x81\x80"
#define HEADER(flags, questions, answers) "\0\0" flags questions answers "\0\0\0\0"
#define ASK(type) \
	"\x01" \
	"a\x04" \
	"test\0" type "\0\x01" /* at 12 */
#define A "\0\x01"
#define AAAA "\0\x1c"
#define CNAME "\0\x05"
#define IN_60 "\0\x01\0\0\0\x3c"
#define ASKED "\xc0\x0c"
#define B_TEST \
	"\x01" \
	"b\xc0\x0e"
#define ADDRESS(last) IN_60 "\0\x04\x5d\xb8\xd7" last
#define ONE "\0\x01"

static struct host
host_of(const char *name)
{
	struct host h;

	assert_int_equal(host_parse(&h, str_of(name)), HOST_OK);
	return h;
}

struct dns_case {
	const char *name;
	struct str message;
	enum dns_result result;
	size_t count;
	const char *first, *canonical;
	unsigned chain;
	uint32_t ttl;
};

#define ROW(name, message, ...) \
	{ \
		name, { message, sizeof(message) - 1 }, __VA_ARGS__ \
	}

static void
assert_answers(const struct dns_case *cases, size_t n, enum dns_type type)
{
	struct host asked = host_of("a.test");

	for (size_t i = 0; i < n; i++) {
		const struct dns_case *c = &cases[i];
		struct dns_answer answer;
		char text[ADDR_TEXT];

		assert_row(c->name,
		    dns_read_answer(&answer, c->message, &asked, type) == c->result);
		assert_row(c->name, answer.count == c->count);
		if (c->result != DNS_OK)
			continue;
		assert_row(
		    c->name, strcmp(addr_text(text, &answer.addr[0]), c->first) == 0);
		assert_row(c->name, strcmp(answer.canonical.name, c->canonical) == 0);
		assert_row(c->name, answer.chain == c->chain);
		assert_row(c->name, answer.ttl == c->ttl);
	}
}

static void
test_only_addresses_on_the_chain_from_the_question_count(void **state)
{
	static const struct dns_case cases[] = {
		ROW("one", HEADER(OK_FLAGS, ONE, ONE) ASK(A) ASKED A ADDRESS("\x0e"),
		    DNS_OK, 1, "93.184.215.14", "a.test", 0, 60),
		ROW("case of the question differs",
		    HEADER(OK_FLAGS, ONE, ONE) "\x01"
					       "A\x04"
					       "tEsT\0" A
					       "\0\x01" ASKED A ADDRESS("\x0e"),
		    DNS_OK, 1, "93.184.215.14", "a.test", 0, 60),
		ROW("chain",
		    HEADER(OK_FLAGS, ONE, "\0\x02") ASK(A) ASKED CNAME IN_60
		    "\0\x04" B_TEST B_TEST A ADDRESS("\x0e"),
		    DNS_OK, 1, "93.184.215.14", "b.test", 1, 60),
		ROW("chain in any order, smallest TTL",
		    HEADER(OK_FLAGS, ONE, "\0\x02") ASK(A) B_TEST A ADDRESS("\x0e")
			ASKED CNAME "\0\x01\0\0\0\x09\0\x04" B_TEST,
		    DNS_OK, 1, "93.184.215.14", "b.test", 1, 9),
		ROW("TTL with the top bit",
		    HEADER(OK_FLAGS, ONE, ONE) ASK(A) ASKED A
		    "\0\x01\x80\0\0\x01\0\x04\x01\x02\x03\x04",
		    DNS_OK, 1, "1.2.3.4", "a.test", 0, 0),
		ROW("addresses of another name are not taken",
		    HEADER(OK_FLAGS, ONE, "\0\x02") ASK(A) B_TEST A ADDRESS("\x01")
			ASKED A ADDRESS("\x02"),
		    DNS_OK, 1, "93.184.215.2", "a.test", 0, 60),
		ROW("only another name",
		    HEADER(OK_FLAGS, ONE, ONE) ASK(A) B_TEST A ADDRESS("\x01"),
		    DNS_NODATA, 0, NULL, NULL, 0, 0),
		ROW("another class",
		    HEADER(OK_FLAGS, ONE, ONE) ASK(A) ASKED A
		    "\0\x03\0\0\0\x3c\0\x04\x01\x02\x03\x04",
		    DNS_NODATA, 0, NULL, NULL, 0, 0),
		ROW("another type",
		    HEADER(OK_FLAGS, ONE, ONE) ASK(A) ASKED AAAA IN_60 "\0\x10"
								       "0123456789abcdef",
		    DNS_NODATA, 0, NULL, NULL, 0, 0),
		ROW("a dot within a label makes no two labels",
		    HEADER(OK_FLAGS, ONE, ONE) ASK(A) "\x06"
						      "a.test\0" A ADDRESS("\x01"),
		    DNS_NODATA, 0, NULL, NULL, 0, 0),
		ROW("nothing", HEADER(OK_FLAGS, ONE, "\0\0") ASK(A), DNS_NODATA, 0, NULL,
		    NULL, 0, 0),
		ROW("what follows the answers is not read",
		    "\0\0" OK_FLAGS ONE ONE "\0\x05\0\x05" ASK(A)
			ASKED A ADDRESS("\x0e") "\xff\xff",
		    DNS_OK, 1, "93.184.215.14", "a.test", 0, 60),
	};

	(void)state;
	assert_answers(cases, COUNT_OF(cases), DNS_A);
}

static void
test_an_ipv6_answer_is_read_alike(void **state)
{
	static const struct dns_case cases[] = {
		ROW("one",
		    HEADER(OK_FLAGS, ONE, ONE) ASK(AAAA) ASKED AAAA IN_60
		    "\0\x10\x26\x06\x28\0\0\0\0\0\0\0\0\0\0\0\0\x01",
		    DNS_OK, 1, "2606:2800::1", "a.test", 0, 60),
		ROW("mapped is that IPv4 address",
		    HEADER(OK_FLAGS, ONE, ONE) ASK(AAAA) ASKED AAAA IN_60
		    "\0\x10\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x01",
		    DNS_OK, 1, "10.0.0.1", "a.test", 0, 60),
		ROW("an A record",
		    HEADER(OK_FLAGS, ONE, ONE) ASK(AAAA) ASKED A ADDRESS("\x01"),
		    DNS_NODATA, 0, NULL, NULL, 0, 0),
		ROW("four bytes",
		    HEADER(OK_FLAGS, ONE, ONE) ASK(AAAA) ASKED AAAA ADDRESS("\x01"),
		    DNS_BAD, 0, NULL, NULL, 0, 0),
	};

	(void)state;
	assert_answers(cases, COUNT_OF(cases), DNS_AAAA);
}

static void
test_an_answer_that_does_not_answer_is_refused(void **state)
{
	static const struct dns_case cases[] = {
		ROW("empty", "", DNS_BAD, 0, NULL, NULL, 0, 0),
		ROW("half a header", "\0\0\x81\x80\0", DNS_BAD, 0, NULL, NULL, 0, 0),
		ROW("a query", HEADER("\x01\0", ONE, "\0\0") ASK(A), DNS_BAD, 0, NULL,
		    NULL, 0, 0),
		ROW("another opcode", HEADER("\x89\x80", ONE, "\0\0") ASK(A), DNS_BAD, 0,
		    NULL, NULL, 0, 0),
		ROW("cut off", HEADER("\x83\x80", ONE, "\0\0") ASK(A), DNS_BAD, 0, NULL,
		    NULL, 0, 0),
		ROW("no question", HEADER(OK_FLAGS, "\0\0", "\0\0"), DNS_BAD, 0, NULL,
		    NULL, 0, 0),
		ROW("two questions", HEADER(OK_FLAGS, "\0\x02", "\0\0") ASK(A) ASK(A),
		    DNS_BAD, 0, NULL, NULL, 0, 0),
		ROW("another question",
		    HEADER(OK_FLAGS, ONE, "\0\0") "\x01"
						  "b\x04"
						  "test\0" A "\0\x01",
		    DNS_BAD, 0, NULL, NULL, 0, 0),
		ROW("another type", HEADER(OK_FLAGS, ONE, "\0\0") ASK(AAAA), DNS_BAD, 0,
		    NULL, NULL, 0, 0),
		ROW("another class",
		    HEADER(OK_FLAGS, ONE, "\0\0") "\x01"
						  "a\x04"
						  "test\0" A "\0\x03",
		    DNS_BAD, 0, NULL, NULL, 0, 0),
		ROW("name that does not exist",
		    HEADER("\x81\x83", ONE, ONE) ASK(A) ASKED A ADDRESS("\x01"),
		    DNS_NXDOMAIN, 0, NULL, NULL, 0, 0),
		ROW("refused", HEADER("\x81\x85", ONE, "\0\0") ASK(A), DNS_SERVFAIL, 0,
		    NULL, NULL, 0, 0),
		ROW("format error without question", HEADER("\x81\x81", "\0\0", "\0\0"),
		    DNS_SERVFAIL, 0, NULL, NULL, 0, 0),
		ROW("no name without question", HEADER("\x81\x83", "\0\0", "\0\0"),
		    DNS_BAD, 0, NULL, NULL, 0, 0),

		ROW("fewer records than said",
		    HEADER(OK_FLAGS, ONE, "\0\x02") ASK(A) ASKED A ADDRESS("\x01"),
		    DNS_BAD, 0, NULL, NULL, 0, 0),
		ROW("data longer than the message",
		    HEADER(OK_FLAGS, ONE, ONE) ASK(A) ASKED A IN_60 "\x01\x90\x01",
		    DNS_BAD, 0, NULL, NULL, 0, 0),
		ROW("address of five bytes",
		    HEADER(OK_FLAGS, ONE, ONE) ASK(A) ASKED A IN_60 "\0\x05"
								    "12345",
		    DNS_BAD, 0, NULL, NULL, 0, 0),
		ROW("pointer to itself",
		    HEADER(OK_FLAGS, ONE, ONE) ASK(A) "\xc0\x18" A ADDRESS("\x01"),
		    DNS_BAD, 0, NULL, NULL, 0, 0),
		ROW("pointer ahead",
		    HEADER(OK_FLAGS, ONE, ONE) ASK(A) "\xc0\x28" A ADDRESS("\x01") "\0",
		    DNS_BAD, 0, NULL, NULL, 0, 0),
		ROW("pointer into the header",
		    HEADER(OK_FLAGS, ONE, ONE) ASK(A) "\xc0\x00" A ADDRESS("\x01"),
		    DNS_BAD, 0, NULL, NULL, 0, 0),
		ROW("label of unknown kind",
		    HEADER(OK_FLAGS, ONE, ONE) ASK(A) "\x41"
						      "a\0" A ADDRESS("\x01"),
		    DNS_BAD, 0, NULL, NULL, 0, 0),
		ROW("two aliases",
		    HEADER(OK_FLAGS, ONE, "\0\x02") ASK(A) ASKED CNAME IN_60
		    "\0\x04" B_TEST ASKED CNAME IN_60 "\0\x04" B_TEST,
		    DNS_BAD, 0, NULL, NULL, 0, 0),
		ROW("alias and address",
		    HEADER(OK_FLAGS, ONE, "\0\x02") ASK(A) ASKED CNAME IN_60
		    "\0\x04" B_TEST ASKED A ADDRESS("\x01"),
		    DNS_BAD, 0, NULL, NULL, 0, 0),
		ROW("alias that is no host",
		    HEADER(OK_FLAGS, ONE, ONE) ASK(A) ASKED CNAME IN_60 "\0\x07\x03"
									"b\\c\x01"
									"d\0",
		    DNS_BAD, 0, NULL, NULL, 0, 0),
		ROW("alias that is an address",
		    HEADER(OK_FLAGS, ONE, ONE) ASK(A) ASKED CNAME IN_60 "\0\x09\x01"
									"1\x01"
									"2\x01"
									"3\x01"
									"4\0",
		    DNS_BAD, 0, NULL, NULL, 0, 0),
		ROW("alias longer than its name",
		    HEADER(OK_FLAGS, ONE, ONE) ASK(A) ASKED CNAME IN_60 "\0\x05" B_TEST
									"x",
		    DNS_BAD, 0, NULL, NULL, 0, 0),
		ROW("alias to itself",
		    HEADER(OK_FLAGS, ONE, ONE) ASK(A) ASKED CNAME IN_60 "\0\x02" ASKED,
		    DNS_SERVFAIL, 0, NULL, NULL, 0, 0),
		ROW("aliases in a ring",
		    HEADER(OK_FLAGS, ONE, "\0\x02") ASK(A) ASKED CNAME IN_60
		    "\0\x04" B_TEST B_TEST CNAME IN_60 "\0\x02" ASKED,
		    DNS_SERVFAIL, 0, NULL, NULL, 0, 0),
	};

	(void)state;
	assert_answers(cases, COUNT_OF(cases), DNS_A);
}

static void
test_more_addresses_than_fit_are_counted(void **state)
{
	static const char head[] = HEADER(OK_FLAGS, ONE, "\0\x28") ASK(A);
	static const char record[] = ASKED A ADDRESS("\x01");
	char message[sizeof(head) + 40 * sizeof(record)];
	struct host asked = host_of("a.test");
	struct dns_answer answer;
	size_t n = sizeof(head) - 1;

	(void)state;
	memcpy(message, head, n);
	for (size_t i = 0; i < 40; i++, n += sizeof(record) - 1)
		memcpy(message + n, record, sizeof(record) - 1);
	assert_int_equal(
	    dns_read_answer(&answer, (struct str){ message, n }, &asked, DNS_A), DNS_OK);
	assert_int_equal(answer.count, DNS_ADDRS_MAX);
	assert_int_equal(answer.dropped, 40 - DNS_ADDRS_MAX);
}

/* a.test -> b.test -> ... `steps` times, then an address. */
static enum dns_result
read_chain(unsigned steps, unsigned *chain)
{
	static const char head[] = HEADER(OK_FLAGS, ONE, "\0\0") ASK(A);
	static const char alias[] = "\x01"
				    "?\xc0\x0e" CNAME IN_60 "\0\x04\x01"
				    "?\xc0\x0e";
	static const char address[] = "\x01"
				      "?\xc0\x0e" A ADDRESS("\x01");
	struct host asked = host_of("a.test");
	struct dns_answer answer;
	enum dns_result result;
	char message[1024];
	size_t n = sizeof(head) - 1;

	memcpy(message, head, n);
	message[7] = (char)(steps + 1);
	for (unsigned i = 0; i < steps; i++, n += sizeof(alias) - 1) {
		memcpy(message + n, alias, sizeof(alias) - 1);
		message[n + 1] = (char)('a' + i);
		message[n + sizeof(alias) - 1 - 3] = (char)('a' + i + 1);
	}
	memcpy(message + n, address, sizeof(address) - 1);
	message[n + 1] = (char)('a' + steps);
	n += sizeof(address) - 1;
	result = dns_read_answer(&answer, (struct str){ message, n }, &asked, DNS_A);
	*chain = answer.chain;
	return result;
}

static void
test_a_chain_has_sixteen_steps_at_most(void **state)
{
	unsigned chain;

	(void)state;
	assert_int_equal(read_chain(16, &chain), DNS_OK);
	assert_int_equal(chain, 16);
	assert_int_equal(read_chain(17, &chain), DNS_SERVFAIL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_only_addresses_on_the_chain_from_the_question_count),
		cmocka_unit_test(test_an_ipv6_answer_is_read_alike),
		cmocka_unit_test(test_an_answer_that_does_not_answer_is_refused),
		cmocka_unit_test(test_more_addresses_than_fit_are_counted),
		cmocka_unit_test(test_a_chain_has_sixteen_steps_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
