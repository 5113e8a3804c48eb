#include "base/addr.h"

#include <netinet/in.h>

#include "unit.h"

static void
test_each_address_has_one_text(void **state)
{
	static const struct {
		const char *in, *out; /* out NULL: refused */
	} cases[] = {
		{ "0.0.0.0", "0.0.0.0" },
		{ "255.255.255.255", "255.255.255.255" },
		{ "1.2.3.4", "1.2.3.4" },
		{ "::ffff:1.2.3.4", "1.2.3.4" },
		{ "::FFFF:102:304", "1.2.3.4" },
		{ "0:0:0:0:0:ffff:1.2.3.4", "1.2.3.4" },
		{ "::", "::" },
		{ "::1", "::1" },
		{ "1::", "1::" },
		{ "::1.2.3.4", "::102:304" },
		{ "64:ff9b::1.2.3.4", "64:ff9b::102:304" },
		{ "2001:DB8:0:0:0:0:0:1", "2001:db8::1" },
		{ "2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1" }, /* RFC 5952 4.2.2 */
		{ "2001:0:0:1:0:0:0:1", "2001:0:0:1::1" },          /* the longest run */
		{ "2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1" }, /* the first of equals */
		{ "2001:0db8::0001", "2001:db8::1" },
		{ "1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0" },
		{ "::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
		    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
		{ "", NULL },
		{ "1", NULL },
		{ "127.1", NULL },
		{ "1.2.3", NULL },
		{ "1.2.3.4.", NULL },
		{ "1.2.3.4.5", NULL },
		{ ".1.2.3.4", NULL },
		{ "1..2.3", NULL },
		{ "1.2.3.256", NULL },
		{ "01.2.3.4", NULL },
		{ "1.2.3.00", NULL },
		{ "0x7f.0.0.1", NULL },
		{ "2130706433", NULL },
		{ "1.2.3.4 ", NULL },
		{ " 1.2.3.4", NULL },
		{ "1.2.3.+4", NULL },
		{ "1.2.3.4294967297", NULL },
		{ ":", NULL },
		{ ":::", NULL },
		{ ":1", NULL },
		{ "1:", NULL },
		{ "1:2:3:4:5:6:7", NULL },
		{ "1:2:3:4:5:6:7:8:9", NULL },
		{ "1::2::3", NULL },
		{ "1:2:3:4::5:6:7:8", NULL }, /* "::" would stand for nothing */
		{ "1:2:3:4:5:6:7:8::", NULL },
		{ "12345::", NULL },
		{ "g::", NULL },
		{ "::1%eth0", NULL },
		{ "fe80::1%1", NULL },
		{ "[::1]", NULL },
		{ "1.2.3.4::", NULL },
		{ "::1.2.3.4:5", NULL },
		{ "::1.2.3", NULL },
		{ "::01.2.3.4", NULL },
		{ "1:2:3:4:5:6:7:1.2.3.4", NULL },
		{ "::ffff:1.2.3.4/96", NULL },
	};
	char text[ADDR_TEXT];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct addr a;
		bool is_addr = addr_parse(&a, str_of(cases[i].in));

		assert_row(cases[i].in, is_addr == (cases[i].out != NULL));
		if (is_addr)
			assert_string_equal(addr_text(text, &a), cases[i].out);
	}
}

static void
test_a_nul_ends_no_address(void **state)
{
	struct addr a;

	(void)state;
	assert_false(addr_parse(&a, STR("1.2.3.4\0")));
	assert_false(addr_parse(&a, STR("::1\0")));
	assert_false(addr_parse(&a, STR_NONE));
}

static void
test_mapped_and_native_are_the_same_address(void **state)
{
	struct addr native, mapped;

	(void)state;
	assert_true(addr_parse(&native, STR("10.0.0.1")));
	assert_true(addr_parse(&mapped, STR("::ffff:a00:1")));
	assert_true(addr_eq(&native, &mapped));
	assert_true(addr_is_v4(&mapped));
	assert_true(addr_parse(&mapped, STR("::a00:1")));
	assert_false(addr_is_v4(&mapped));
}

static void
test_endpoints_are_read_strictly_and_written_back(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "1.2.3.4:80", "1.2.3.4:80" },
		{ "[::1]:65535", "[::1]:65535" },
		{ "[::ffff:1.2.3.4]:1", "1.2.3.4:1" },
		{ "1.2.3.4", NULL },
		{ "1.2.3.4:", NULL },
		{ "1.2.3.4:0", NULL },
		{ "1.2.3.4:080", NULL },
		{ "1.2.3.4:65536", NULL },
		{ "1.2.3.4:+80", NULL },
		{ "1.2.3.4:80:80", NULL },
		{ "::1:80", NULL },
		{ "[::1]", NULL },
		{ "[::1]80", NULL },
		{ "[1.2.3.4]:80", NULL },
		{ "[[::1]]:80", NULL },
		{ "[::1:80", NULL },
		{ "[]:80", NULL },
		{ "::1]:80", NULL },
		{ "host:80", NULL },
		{ "", NULL },
	};
	char text[ENDPOINT_TEXT];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct endpoint e;
		bool is_endpoint = endpoint_parse(&e, str_of(cases[i].in));

		assert_row(cases[i].in, is_endpoint == (cases[i].out != NULL));
		if (is_endpoint)
			assert_string_equal(endpoint_text(text, &e), cases[i].out);
	}
}

static void
test_socket_addresses_come_and_go_unchanged(void **state)
{
	static const char *const cases[] = { "1.2.3.4:80", "[2001:db8::1]:443" };
	struct sockaddr_storage ss;
	struct endpoint e, back;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_true(endpoint_parse(&e, str_of(cases[i])));
		assert_int_equal(endpoint_sockaddr(&e, &ss),
		    addr_is_v4(&e.addr) ? sizeof(struct sockaddr_in)
					: sizeof(struct sockaddr_in6));
		assert_int_equal(ss.ss_family, addr_is_v4(&e.addr) ? AF_INET : AF_INET6);
		assert_true(addr_from_sockaddr(&back, (struct sockaddr *)&ss));
		assert_true(addr_eq(&back.addr, &e.addr) && back.port == e.port);
	}
	ss.ss_family = AF_UNIX;
	assert_false(addr_from_sockaddr(&back, (struct sockaddr *)&ss));
}

static void
test_a_v6_socket_with_a_mapped_peer_is_that_ipv4_peer(void **state)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(80) };
	struct endpoint e;
	char text[ENDPOINT_TEXT];

	(void)state;
	in6.sin6_addr.s6_addr[10] = in6.sin6_addr.s6_addr[11] = 0xff;
	in6.sin6_addr.s6_addr[12] = 127;
	in6.sin6_addr.s6_addr[15] = 1;
	assert_true(addr_from_sockaddr(&e, (struct sockaddr *)&in6));
	assert_string_equal(endpoint_text(text, &e), "127.0.0.1:80");
}

static void
test_prefixes_are_read_strictly_and_written_back(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "10.0.0.0/8", "10.0.0.0/8" },
		{ "0.0.0.0/0", "0.0.0.0/0" },
		{ "1.2.3.4/32", "1.2.3.4/32" },
		{ "::/0", "::/0" },
		{ "2001:db8::/32", "2001:db8::/32" },
		{ "::1/128", "::1/128" },
		{ "::ffff:10.0.0.0/104", "10.0.0.0/8" },
		{ "::ffff:0:0/96", "0.0.0.0/0" },
		{ "10.0.0.1/8", NULL }, /* host bits: which of the two was meant? */
		{ "2001:db8::1/32", NULL },
		{ "10.0.0.0/33", NULL },
		{ "::/129", NULL },
		{ "10.0.0.0", NULL },
		{ "10.0.0.0/", NULL },
		{ "10.0.0.0/08", NULL },
		{ "10.0.0.0/-1", NULL },
		{ "10.0.0.0/8/8", NULL },
		{ "10/8", NULL },
		{ "10.0.0.0/255.0.0.0", NULL },
		{ "/8", NULL },
	};
	char text[PREFIX_TEXT];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct prefix p;
		bool is_prefix = prefix_parse(&p, str_of(cases[i].in));

		assert_row(cases[i].in, is_prefix == (cases[i].out != NULL));
		if (is_prefix)
			assert_string_equal(prefix_text(text, &p), cases[i].out);
	}
}

static void
test_a_prefix_has_what_its_bits_say(void **state)
{
	static const struct {
		const char *prefix, *addr;
		bool has;
	} cases[] = {
		{ "10.0.0.0/8", "10.255.255.255", true },
		{ "10.0.0.0/8", "11.0.0.0", false },
		{ "10.0.0.0/8", "::ffff:a01:203", true },
		{ "10.0.0.0/8", "::a01:203", false },
		{ "172.16.0.0/12", "172.31.255.255", true },
		{ "172.16.0.0/12", "172.32.0.0", false },
		{ "1.2.3.4/32", "1.2.3.4", true },
		{ "1.2.3.4/32", "1.2.3.5", false },
		{ "0.0.0.0/0", "255.0.0.1", true },
		{ "0.0.0.0/0", "::1", false },
		{ "::/0", "2001:db8::1", true },
		{ "::/0", "10.0.0.1", false }, /* all of IPv6 opens no IPv4 */
		{ "::/64", "::ffff:10.0.0.1", false },
		{ "fc00::/7", "fdff::1", true },
		{ "fc00::/7", "fe00::1", false },
		{ "2001:db8::/33", "2001:db8:7fff::", true },
		{ "2001:db8::/33", "2001:db8:8000::", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct prefix p;
		struct addr a;

		assert_true(prefix_parse(&p, str_of(cases[i].prefix)));
		assert_true(addr_parse(&a, str_of(cases[i].addr)));
		assert_row(cases[i].addr, prefix_has(&p, &a) == cases[i].has);
		assert_row(cases[i].addr, prefixes_have(&p, 1, &a) == cases[i].has);
	}
}

static void
test_a_prefix_covers_only_what_lies_within(void **state)
{
	static const struct {
		const char *outer, *inner;
		bool covers;
	} cases[] = {
		{ "10.0.0.0/8", "10.0.0.0/8", true },
		{ "10.0.0.0/8", "10.1.0.0/16", true },
		{ "10.1.0.0/16", "10.0.0.0/8", false },
		{ "10.0.0.0/8", "11.0.0.0/16", false },
		{ "::/0", "2001:db8::/32", true },
		{ "::/0", "10.0.0.0/8", false },
		{ "0.0.0.0/0", "10.0.0.0/8", true },
		{ "0.0.0.0/0", "::/128", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct prefix outer, inner;

		assert_true(prefix_parse(&outer, str_of(cases[i].outer)));
		assert_true(prefix_parse(&inner, str_of(cases[i].inner)));
		assert_row(
		    cases[i].inner, prefix_covers(&outer, &inner) == cases[i].covers);
	}
}

static void
test_making_a_prefix_clears_host_bits(void **state)
{
	struct prefix p;
	struct addr a;
	char text[PREFIX_TEXT];

	(void)state;
	assert_true(addr_parse(&a, STR("192.168.77.5")));
	assert_true(prefix_of(&p, &a, 96 + 20));
	assert_string_equal(prefix_text(text, &p), "192.168.64.0/20");
	assert_false(prefix_of(&p, &a, 129));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_address_has_one_text),
		cmocka_unit_test(test_a_nul_ends_no_address),
		cmocka_unit_test(test_mapped_and_native_are_the_same_address),
		cmocka_unit_test(test_endpoints_are_read_strictly_and_written_back),
		cmocka_unit_test(test_socket_addresses_come_and_go_unchanged),
		cmocka_unit_test(test_a_v6_socket_with_a_mapped_peer_is_that_ipv4_peer),
		cmocka_unit_test(test_prefixes_are_read_strictly_and_written_back),
		cmocka_unit_test(test_a_prefix_has_what_its_bits_say),
		cmocka_unit_test(test_a_prefix_covers_only_what_lies_within),
		cmocka_unit_test(test_making_a_prefix_clears_host_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
