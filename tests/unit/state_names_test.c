#include "state/names.h"

#include <stdio.h>

#include "unit.h"

static const struct prefix pool = V4_PREFIX(198, 18, 0, 0, 29); /* eight */

#define ANN STR("10.9.0.1")
#define BEN STR("10.9.0.2")

static const char *
given(struct names *n, struct str client, const char *name, msec now)
{
	static char text[ADDR_TEXT];
	struct addr a;

	if (!names_give(n, client, str_of(name), &a, now, 100))
		return "none";
	return addr_text(text, &a);
}

static const char *
found(struct names *n, struct str client, const char *addr, msec now)
{
	static char name[NAMES_NAME_MAX + 1];
	struct addr a;

	assert_true(addr_parse(&a, str_of(addr)));
	return names_find(n, client, &a, name, now) ? name : "none";
}

static void
test_an_address_is_one_name_of_one_client(void **state)
{
	struct names *n = names_new(&pool, 100);

	(void)state;
	assert_string_equal(given(n, ANN, "a.test", 0), "198.18.0.0");
	assert_string_equal(given(n, ANN, "b.test", 0), "198.18.0.1");
	assert_string_equal(given(n, ANN, "a.test", 0), "198.18.0.0"); /* again */
	assert_string_equal(given(n, BEN, "c.test", 0), "198.18.0.0");
	assert_string_equal(found(n, ANN, "198.18.0.0", 0), "a.test");
	assert_string_equal(found(n, BEN, "198.18.0.0", 0), "c.test");
	assert_string_equal(found(n, BEN, "198.18.0.1", 0), "none");
	assert_string_equal(found(n, STR("10.9.0.3"), "198.18.0.0", 0), "none");
	names_free(n);
}

static void
test_it_stands_until_its_time_is_over(void **state)
{
	struct names *n = names_new(&pool, 100);

	(void)state;
	given(n, ANN, "a.test", 0);
	assert_string_equal(found(n, ANN, "198.18.0.0", 99), "a.test");
	assert_string_equal(found(n, ANN, "198.18.0.0", 100), "none");
	given(n, ANN, "a.test", 50);
	assert_string_equal(found(n, ANN, "198.18.0.0", 149), "a.test");
	names_free(n);
}

static void
test_who_has_all_gets_no_more_until_the_oldest_is_over(void **state)
{
	struct names *n = names_new(&pool, 100); /* the pool's eight are the bound */
	char name[16];

	(void)state;
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "%c.test", 'a' + i);
		assert_string_not_equal(given(n, ANN, name, i), "none");
	}
	assert_string_equal(given(n, ANN, "i.test", 99), "none");
	assert_string_equal(given(n, BEN, "i.test", 99), "198.18.0.0");
	assert_string_equal(given(n, ANN, "i.test", 100), "198.18.0.0"); /* a's */
	assert_string_equal(found(n, ANN, "198.18.0.0", 100), "i.test");
	assert_string_equal(found(n, ANN, "198.18.0.1", 100), "b.test");
	assert_string_equal(
	    given(n, ANN, "j.test", 100), "none"); /* b's time is not over */
	names_free(n);
}

static void
test_an_address_is_given_to_another_name_last(void **state)
{
	struct names *n = names_new(&pool, 2);

	(void)state;
	assert_string_equal(given(n, ANN, "a.test", 0), "198.18.0.0");
	assert_string_equal(given(n, ANN, "b.test", 50), "198.18.0.1");
	assert_string_equal(given(n, ANN, "c.test", 120), "198.18.0.2");
	assert_string_equal(found(n, ANN, "198.18.0.0", 120), "none");
	names_free(n);
}

static void
test_clients_that_have_nothing_left_are_forgotten(void **state)
{
	struct names *n = names_new(&pool, 8);
	char client[32];

	(void)state;
	for (int i = 0; i < 10000; i++) {
		snprintf(client, sizeof(client), "10.%d.%d.1", i / 256, i % 256);
		assert_string_equal(
		    given(n, str_of(client), "a.test", i * 100), "198.18.0.0");
	}
	assert_string_equal(
	    found(n, STR("10.0.0.1"), "198.18.0.0", 50), "none"); /* long gone */
	names_free(n);
}

static void
test_clients_are_bounded_and_those_that_are_known_go_on(void **state)
{
	struct names *n = names_new(&pool, 8);
	char client[32];
	size_t refused = 0;

	(void)state;
	given(n, ANN, "a.test", 0);
	for (int i = 0; i < 2 * NAMES_CLIENTS_MOST; i++) {
		struct addr a;
		snprintf(client, sizeof(client), "spoofed%d", i);
		refused += !names_give(n, str_of(client), STR("a.test"), &a, 0, 100);
	}
	assert_true(refused > NAMES_CLIENTS_MOST / 2);
	assert_string_equal(given(n, ANN, "b.test", 0), "198.18.0.1");
	names_free(n);
}

static void
test_a_pool_of_one_address_is_a_pool(void **state)
{
	static const struct prefix one = V4_PREFIX(127, 0, 0, 1, 32);
	struct names *n = names_new(&one, 100);

	(void)state;
	assert_string_equal(given(n, ANN, "a.test", 0), "127.0.0.1");
	assert_string_equal(given(n, ANN, "b.test", 0), "none");
	names_free(n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_address_is_one_name_of_one_client),
		cmocka_unit_test(test_it_stands_until_its_time_is_over),
		cmocka_unit_test(test_who_has_all_gets_no_more_until_the_oldest_is_over),
		cmocka_unit_test(test_an_address_is_given_to_another_name_last),
		cmocka_unit_test(test_clients_that_have_nothing_left_are_forgotten),
		cmocka_unit_test(test_clients_are_bounded_and_those_that_are_known_go_on),
		cmocka_unit_test(test_a_pool_of_one_address_is_a_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
