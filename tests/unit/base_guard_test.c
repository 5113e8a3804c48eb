#include "base/guard.h"

#include <string.h>

#include "unit.h"

/* Who opens what in a row below. */
#define NOTHING ""
#define EVERYTHING "0.0.0.0/0 ::/0"

static struct addr
addr_of(const char *text)
{
	struct addr a;

	if (!addr_parse(&a, str_of(text)))
		fail_msg("no address: %s", text);
	return a;
}

#define LIST_MAX 4

static size_t
prefixes_of(struct prefix *out, const char *list)
{
	struct str rest = str_of(list), piece;
	size_t n = 0;

	if (rest.n == 0)
		return 0;
	while (str_split(&rest, ' ', &piece))
		if (n == LIST_MAX || !prefix_parse(&out[n++], piece))
			fail_msg("no prefix in %s", list);
	return n;
}

/* One address, one port, with a rule's `private` as text. */
static bool
passes(const struct place *place, const char *addr, uint16_t port, const char *private,
    bool is_metadata_open)
{
	struct prefix list[LIST_MAX];
	struct opened opened = { list, prefixes_of(list, private), is_metadata_open };
	struct addr a = addr_of(addr);
	struct vetted out;
	const char *why;
	bool is_ok = guard_vet(&out, &a, 1, port, place, &opened, &why);

	assert_row(addr, is_ok == (why == NULL));
	assert_row(addr, out.count == (is_ok ? 1 : 0));
	assert_row(addr, !is_ok || (addr_eq(&out.addr[0], &a) && out.port == port));
	return is_ok;
}

static const struct place nowhere = { .is_loopback_own_ok = true };

static void
test_special_addresses_are_refused_and_public_ones_are_not(void **state)
{
	static const struct {
		const char *addr;
		bool is_public;
		const char *opener; /* a range that opens it; NULL: none can */
	} cases[] = {
		{ "93.184.215.14", true, NULL }, { "1.1.1.1", true, NULL },
		{ "8.8.8.8", true, NULL }, { "2606:4700::1111", true, NULL },
		{ "2001:4860:4860::8888", true, NULL },
		{ "2a00:1450:4001::200e", true, NULL }, { "::ffff:1.1.1.1", true, NULL },
		{ "64:ff9b::1.1.1.1", true, NULL },
		/* the edges of the IPv4 ranges */
		{ "0.0.0.0", false, NULL }, { "0.255.255.255", false, NULL },
		{ "1.0.0.0", true, NULL }, { "9.255.255.255", true, NULL },
		{ "10.0.0.0", false, "10.0.0.0/8" },
		{ "10.255.255.255", false, "10.255.255.255/32" },
		{ "11.0.0.0", true, NULL }, { "100.63.255.255", true, NULL },
		{ "100.64.0.0", false, "100.64.0.0/10" },
		{ "100.127.255.255", false, "100.64.0.0/10" },
		{ "100.128.0.0", true, NULL }, { "126.255.255.255", true, NULL },
		{ "127.0.0.1", false, "127.0.0.0/8" },
		{ "127.255.255.255", false, "127.0.0.0/8" }, { "128.0.0.0", true, NULL },
		{ "169.253.255.255", true, NULL },
		{ "169.254.0.1", false, "169.254.0.0/16" }, { "169.255.0.0", true, NULL },
		{ "172.15.255.255", true, NULL },
		{ "172.16.0.0", false, "172.16.0.0/12" },
		{ "172.31.255.255", false, "172.16.0.0/12" },
		{ "172.32.0.0", true, NULL }, { "192.0.0.1", false, "192.0.0.0/24" },
		{ "192.0.1.0", true, NULL }, { "192.0.2.1", false, "192.0.2.0/24" },
		{ "192.88.99.1", false, "192.88.99.0/24" },
		{ "192.168.0.1", false, "192.168.0.0/16" }, { "192.169.0.0", true, NULL },
		{ "198.17.255.255", true, NULL },
		{ "198.18.0.0", false, "198.18.0.0/15" },
		{ "198.19.255.255", false, "198.18.0.0/15" },
		{ "198.20.0.0", true, NULL },
		{ "198.51.100.7", false, "198.51.100.0/24" },
		{ "203.0.113.7", false, "203.0.113.0/24" },
		{ "223.255.255.255", true, NULL }, { "224.0.0.1", false, NULL },
		{ "239.255.255.250", false, NULL }, { "240.0.0.1", false, NULL },
		{ "255.255.255.255", false, NULL },
		/* mapped is the same address */
		{ "::ffff:127.0.0.1", false, "127.0.0.0/8" },
		{ "::ffff:10.0.0.1", false, "10.0.0.0/8" },
		{ "::ffff:0.0.0.0", false, NULL },
		/* IPv6 */
		{ "::", false, NULL }, { "::1", false, "::1/128" },
		{ "100::1", false, "100::/64" },
		{ "1fff:ffff::1", false, "1fff:ffff::/32" }, { "2000::1", true, NULL },
		{ "2001:0:1::1", false, NULL }, /* Teredo */
		{ "2001:1::1", false, "2001:1::/32" },
		{ "2001:2::1", false, "2001:2::/48" },   /* benchmarks */
		{ "2001:20::1", false, "2001:20::/28" }, /* ORCHID */
		{ "2001:1ff:ffff::1", false, "2001:1ff::/32" },
		{ "2001:200::1", true, NULL }, { "2001:db7:ffff::1", true, NULL },
		{ "2001:db8::1", false, "2001:db8::/32" }, { "2001:db9::1", true, NULL },
		{ "2002:a00:1::1", false, NULL },   /* 6to4 of 10.0.0.1 */
		{ "2002:101:101::1", false, NULL }, /* and of a public one */
		{ "2003::1", true, NULL }, { "3ffe:ffff::1", true, NULL },
		{ "3fff::1", false, "3fff::/20" }, { "3fff:fff::1", false, "3fff::/20" },
		{ "3fff:1000::1", true, NULL }, { "4000::1", false, "4000::/3" },
		{ "5f00::1", false, "5f00::/16" }, { "fc00::1", false, "fc00::/7" },
		{ "fdff::1", false, "fd00::/8" }, { "fe80::1", false, "fe80::/10" },
		{ "fec0::1", false, "fec0::/10" }, { "ff02::1", false, NULL },
		{ "ff0e::1", false, NULL },
		/* forms that hide an IPv4 address */
		{ "::10.0.0.1", false, NULL }, /* compatible */
		{ "::1.1.1.1", false, NULL }, { "::2", false, NULL },
		{ "::ffff:0:10.0.0.1", false, NULL }, /* translated */
		{ "::ffff:0:1.1.1.1", false, NULL },
		{ "64:ff9b:1::1.1.1.1", false, NULL },
		{ "64:ff9b:1:fffe::a00:1", false, NULL },
		{ "2606:4700::5efe:10.0.0.1", false, NULL }, /* ISATAP */
		{ "2606:4700::200:5efe:1.1.1.1", false, NULL },
		{ "fe80::5efe:10.0.0.1", false, NULL },
		{ "2606:4700::300:5efe:1.1.1.1", true, NULL },
		/* NAT64: the inner address is what counts */
		{ "64:ff9b::10.0.0.1", false, "10.0.0.0/8" },
		{ "64:ff9b::127.0.0.1", false, "64:ff9b::/96" },
		{ "64:ff9b::224.0.0.1", false, NULL },
		{ "64:ff9b::0.0.0.0", false, NULL },
		{ "64:ff9b:0:0:0:1::1", false,
		    "64:ff9b:0:0:0:1::/96" }, /* beside the prefix */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const char *addr = cases[i].addr;
		bool can_open = cases[i].is_public || cases[i].opener != NULL;

		assert_row(addr,
		    passes(&nowhere, addr, 443, NOTHING, false) == cases[i].is_public);
		assert_row(
		    addr, passes(&nowhere, addr, 443, EVERYTHING, false) == can_open);
		if (cases[i].opener != NULL)
			assert_row(
			    addr, passes(&nowhere, addr, 443, cases[i].opener, false));
	}
}

static const char *const metadata[] = { "169.254.169.254", "169.254.170.2",
	"169.254.170.23", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
	"100.100.100.200", "168.63.129.16", "192.0.0.192", "::ffff:169.254.169.254",
	"64:ff9b::169.254.169.254", "64:ff9b::168.63.129.16" };

static void
test_metadata_is_refused_even_inside_an_opened_range(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(metadata); i++) {
		assert_row(
		    metadata[i], !passes(&nowhere, metadata[i], 80, NOTHING, false));
		assert_row(
		    metadata[i], !passes(&nowhere, metadata[i], 80, EVERYTHING, false));
		assert_row(metadata[i], passes(&nowhere, metadata[i], 80, NOTHING, true));
	}
	assert_false(
	    passes(&nowhere, "169.254.169.253", 80, NOTHING, true)); /* and only it */
}

static void
test_one_closed_address_refuses_the_whole_answer(void **state)
{
	struct addr found[] = { addr_of("1.1.1.1"), addr_of("10.0.0.1"),
		addr_of("8.8.8.8") };
	struct opened opened = { 0 };
	struct vetted out;
	const char *why;

	(void)state;
	assert_false(
	    guard_vet(&out, found, COUNT_OF(found), 443, &nowhere, &opened, &why));
	assert_int_equal(out.count, 0);
	assert_int_equal(out.port, 0);
	assert_string_equal(why, "address is on a private network");
}

static void
test_an_answer_of_nothing_is_refused(void **state)
{
	struct opened opened = { 0 };
	struct vetted out;
	const char *why;

	(void)state;
	assert_false(guard_vet(&out, NULL, 0, 443, &nowhere, &opened, &why));
	assert_non_null(why);
}

static void
test_the_order_is_kept_and_beyond_the_cap_every_address_is_still_judged(void **state)
{
	struct addr found[VETTED_MAX + 4];
	struct opened opened = { 0 };
	struct vetted out;
	const char *why;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(found); i++)
		found[i] = (struct addr)V4(8, 8, 8, (uint8_t)i);
	assert_true(
	    guard_vet(&out, found, COUNT_OF(found), 443, &nowhere, &opened, &why));
	assert_int_equal(out.count, VETTED_MAX);
	assert_memory_equal(out.addr, found, sizeof(out.addr));
	found[VETTED_MAX + 3] = addr_of("127.0.0.1");
	assert_false(
	    guard_vet(&out, found, COUNT_OF(found), 443, &nowhere, &opened, &why));
}

static void
test_production_never_dials_its_own_loopback(void **state)
{
	static const char *const cases[] = { "127.0.0.1", "127.1.2.3", "::1",
		"::ffff:127.0.0.1", "64:ff9b::127.0.0.1" };
	struct place production = { .is_loopback_own_ok = false };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_row(
		    cases[i], !passes(&production, cases[i], 443, EVERYTHING, false));
		assert_row(cases[i], !passes(&nowhere, cases[i], 443, NOTHING, false));
		assert_row(cases[i], passes(&nowhere, cases[i], 443, EVERYTHING, false));
	}
}

/* A host with two interfaces, two listeners, a store, and a cluster beside it. */
static void
make_place(struct place *place)
{
	static struct addr own[4];
	static struct endpoint service[3];
	static struct prefix onlink[LIST_MAX], closed[LIST_MAX], nat64[LIST_MAX];

	own[0] = addr_of("127.0.0.1");
	own[1] = addr_of("10.1.0.5");
	own[2] = addr_of("93.184.215.14");
	own[3] = addr_of("2606:4700::5");
	assert_true(endpoint_parse(&service[0], STR("0.0.0.0:3128")));
	assert_true(endpoint_parse(&service[1], STR("127.0.0.1:8787")));
	assert_true(endpoint_parse(&service[2], STR("10.9.0.9:6379")));
	assert_int_equal(
	    prefixes_of(onlink, "127.0.0.0/8 10.1.0.0/24 93.184.215.0/24"), 3);
	assert_int_equal(prefixes_of(closed, "10.7.0.0/16 2a00:1450::/32"), 2);
	assert_int_equal(prefixes_of(nat64, "fd64:6464::/96"), 1);
	*place =
	    (struct place){ service, 3, own, 4, onlink, 3, closed, 2, nat64, 1, true };
}

static void
test_where_weir_stands_closes_what_rules_open(void **state)
{
	static const struct {
		const char *addr;
		uint16_t port;
		const char *private;
		bool is_ok;
	} cases[] = {
		/* its own addresses, whatever the port and the spelling */
		{ "10.1.0.5", 443, EVERYTHING, false },
		{ "93.184.215.14", 443, NOTHING, false },
		{ "93.184.215.14", 443, EVERYTHING, false },
		{ "::ffff:93.184.215.14", 443, EVERYTHING, false },
		{ "64:ff9b::93.184.215.14", 443, EVERYTHING, false },
		{ "2606:4700::5", 443, EVERYTHING, false },
		{ "127.0.0.1", 443, "127.0.0.0/8", true }, /* not production */
		/* a listener on every address */
		{ "127.0.0.1", 3128, EVERYTHING, false },
		{ "127.9.9.9", 3128, EVERYTHING, false },
		{ "::1", 3128, EVERYTHING, false },
		{ "10.2.0.1", 3128, EVERYTHING, true },
		{ "1.1.1.1", 3128, NOTHING, true },
		/* one listener, one store */
		{ "127.0.0.1", 8787, EVERYTHING, false },
		{ "127.0.0.2", 8787, EVERYTHING, true },
		{ "10.9.0.9", 6379, EVERYTHING, false },
		{ "64:ff9b::10.9.0.9", 6379, EVERYTHING, false },
		{ "10.9.0.9", 443, EVERYTHING, true },
		/* neighbours, unless a rule lists them */
		{ "93.184.215.77", 443, NOTHING, false },
		{ "93.184.215.77", 443, "93.184.215.0/24", true },
		{ "93.184.215.77", 443, "10.0.0.0/8", false },
		{ "10.1.0.77", 443, "10.1.0.0/24", true },
		/* the cluster, never */
		{ "10.7.1.1", 443, EVERYTHING, false },
		{ "2a00:1450:4001::200e", 443, EVERYTHING, false },
		{ "64:ff9b::10.7.1.1", 443, EVERYTHING, false },
		/* the network's own NAT64 */
		{ "fd64:6464::1.1.1.1", 443, NOTHING, true },
		{ "fd64:6464::10.2.0.1", 443, NOTHING, false },
		{ "fd64:6464::10.2.0.1", 443, "10.2.0.0/16", true },
		{ "fd64:6464::10.2.0.1", 443, "fd64:6464::/96", true },
		{ "fd64:6464::10.1.0.5", 443, EVERYTHING, false },
		{ "fd64:6464::169.254.169.254", 80, EVERYTHING, false },
		{ "fd64:6464:0:0:0:1::1", 443, NOTHING, false },
	};
	struct place place;

	(void)state;
	make_place(&place);
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_row(cases[i].addr, passes(&place, cases[i].addr, cases[i].port,
					      cases[i].private, false) == cases[i].is_ok);
}

static void
test_opened_metadata_opens_no_service_and_no_closed_range(void **state)
{
	struct prefix closed[LIST_MAX];
	struct endpoint service;
	struct place place = { .closed = closed, .service = &service };

	(void)state;
	assert_true(endpoint_parse(&service, STR("169.254.169.254:53")));
	place.nservice = 1;
	assert_false(passes(&place, "169.254.169.254", 53, NOTHING, true));
	assert_true(passes(&place, "169.254.169.254", 80, NOTHING, true));
	place.nclosed = prefixes_of(closed, "169.254.0.0/16");
	assert_false(passes(&place, "169.254.169.254", 80, NOTHING, true));
}

static void
test_local_nat64_counts_when_it_is_configured(void **state)
{
	struct prefix nat64[LIST_MAX];
	struct place place = { .nat64 = nat64 };

	(void)state;
	assert_false(passes(&place, "64:ff9b:1::1.1.1.1", 443, EVERYTHING, false));
	place.nnat64 = prefixes_of(nat64, "64:ff9b:1::/96");
	assert_true(passes(&place, "64:ff9b:1::1.1.1.1", 443, NOTHING, false));
	assert_false(passes(&place, "64:ff9b:1::10.0.0.1", 443, NOTHING, false));
	assert_false(passes(&place, "64:ff9b:1:1::1.1.1.1", 443, EVERYTHING, false));
}

static void
test_ranges_that_touch_what_must_stay_shut_are_known_at_load(void **state)
{
	static const struct {
		const char *range;
		bool is_metadata, is_loopback;
	} cases[] = {
		{ "10.0.0.0/8", false, false },
		{ "0.0.0.0/0", true, true },
		{ "::/0", true, true },
		{ "169.254.169.254/32", true, true },
		{ "169.254.0.0/24", false, true },
		{ "168.63.129.0/24", true, false },
		{ "100.64.0.0/10", true, false },
		{ "100.64.0.0/16", false, false },
		{ "192.0.0.0/24", true, false },
		{ "fd00:ec2::/32", true, false },
		{ "fd00:ec3::/32", false, false },
		{ "fc00::/7", true, false },
		{ "127.0.0.1/32", false, true },
		{ "126.0.0.0/7", false, true },
		{ "::1/128", false, true },
		{ "fe80::/64", false, true },
		{ "fe00::/8", false, true },
		{ "64:ff9b::/96", true, true },
		{ "64:ff9b::127.0.0.0/104", false, true },
		{ "64:ff9b::10.0.0.0/104", false, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct prefix p;

		assert_true(prefix_parse(&p, str_of(cases[i].range)));
		assert_row(
		    cases[i].range, guard_touches_metadata(&p) == cases[i].is_metadata);
		assert_row(
		    cases[i].range, guard_touches_loopback(&p) == cases[i].is_loopback);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_special_addresses_are_refused_and_public_ones_are_not),
		cmocka_unit_test(test_metadata_is_refused_even_inside_an_opened_range),
		cmocka_unit_test(test_one_closed_address_refuses_the_whole_answer),
		cmocka_unit_test(test_an_answer_of_nothing_is_refused),
		cmocka_unit_test(
		    test_the_order_is_kept_and_beyond_the_cap_every_address_is_still_judged),
		cmocka_unit_test(test_production_never_dials_its_own_loopback),
		cmocka_unit_test(test_where_weir_stands_closes_what_rules_open),
		cmocka_unit_test(
		    test_opened_metadata_opens_no_service_and_no_closed_range),
		cmocka_unit_test(test_local_nat64_counts_when_it_is_configured),
		cmocka_unit_test(
		    test_ranges_that_touch_what_must_stay_shut_are_known_at_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
