#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/siphash.h"
#include "unit.h"

#define MANY 2000

/* From the paper's appendix A, and the reference's vectors: key 00..0f, input 00, 01, ...
 */
static void
test_siphash_gives_the_published_values(void **state)
{
	static const struct {
		size_t n;
		uint64_t hash;
	} cases[] = {
		{ 0, 0x726fdb47dd0e0e31 },
		{ 1, 0x74f839c593dc67fd },
		{ 7, 0xab0200f58b01d137 },
		{ 8, 0x93f5f5799a932462 },
		{ 15, 0xa129ca6149be45e5 },
		{ 63, 0x958a324ceb064572 },
	};
	uint8_t key[SIPHASH_KEY];
	char input[64];

	(void)state;
	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)i;
	for (size_t i = 0; i < sizeof(input); i++)
		input[i] = (char)i;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_true(
		    siphash(key, (struct str){ input, cases[i].n }) == cases[i].hash);
}

static struct str
name_of(char out[static 16], size_t i)
{
	return (struct str){ out, (size_t)snprintf(out, 16, "key-%zu", i) };
}

static void
test_values_are_found_replaced_and_deleted(void **state)
{
	struct map m;
	int one = 1, two = 2;

	(void)state;
	map_init(&m);
	assert_null(map_get(&m, STR("a")));
	assert_null(map_del(&m, STR("a")));
	assert_null(map_put(&m, STR("a"), &one));
	assert_null(map_put(&m, STR("a\0"), &two)); /* another key: keys are bytes */
	assert_null(map_put(&m, STR(""), &two));
	assert_ptr_equal(map_get(&m, STR("a")), &one);
	assert_ptr_equal(map_put(&m, STR("a"), &two), &one);
	assert_int_equal(m.n, 3);
	assert_ptr_equal(map_del(&m, STR("a")), &two);
	assert_null(map_get(&m, STR("a")));
	assert_ptr_equal(map_get(&m, STR("a\0")), &two);
	assert_ptr_equal(map_get(&m, STR_NONE), &two);
	map_fini(&m, NULL);
	assert_int_equal(m.n, 0);
}

static void
test_keys_are_copied(void **state)
{
	struct map m;
	char key[] = "abc";
	int one = 1;

	(void)state;
	map_init(&m);
	map_put(&m, str_of(key), &one);
	key[0] = 'x';
	assert_ptr_equal(map_get(&m, STR("abc")), &one);
	map_fini(&m, NULL);
}

/* The model is an array: what is in the map and what is not, after much coming and going.
 */
static void
test_coming_and_going_loses_nothing_and_grows_nothing(void **state)
{
	static int value[MANY];
	static bool is_in[MANY];
	unsigned seed = 1;
	char name[16];
	struct map m;
	size_t cap;

	(void)state;
	map_init(&m);
	for (size_t i = 0; i < MANY / 2; i++) {
		map_put(&m, name_of(name, i), &value[i]);
		is_in[i] = true;
	}
	cap = m.cap;
	for (size_t turn = 0; turn < 20000; turn++) {
		size_t i = (size_t)rand_r(&seed) % MANY, j = (size_t)rand_r(&seed) % MANY;

		if (!is_in[i] || is_in[j])
			continue;
		assert_ptr_equal(map_del(&m, name_of(name, i)), &value[i]);
		assert_null(map_put(&m, name_of(name, j), &value[j]));
		is_in[i] = false;
		is_in[j] = true;
	}
	for (size_t i = 0; i < MANY; i++)
		assert_ptr_equal(
		    map_get(&m, name_of(name, i)), is_in[i] ? &value[i] : NULL);
	assert_int_equal(m.n, MANY / 2);
	assert_int_equal(m.cap, cap);
	map_fini(&m, NULL);
}

static void
test_a_walk_sees_each_pair_once(void **state)
{
	static int seen[MANY];
	size_t at = 0, n = 0;
	char name[16];
	struct str key;
	struct map m;
	void *value;

	(void)state;
	map_init(&m);
	assert_false(map_next(&m, &at, &key, &value));
	for (size_t i = 0; i < MANY; i++)
		map_put(&m, name_of(name, i), &seen[i]);
	while (map_next(&m, &at, &key, &value)) {
		int *count = value;

		assert_true(str_eq(key, name_of(name, (size_t)(count - seen))));
		assert_int_equal(++*count, 1);
		n++;
	}
	assert_int_equal(n, MANY);
	map_fini(&m, NULL);
}

static void
test_fini_frees_values_when_told_how(void **state)
{
	struct map m;

	(void)state;
	map_init(&m);
	map_put(&m, STR("a"), mem_strdup("one"));
	map_put(&m, STR("b"), mem_strdup("two"));
	map_fini(&m, free); /* a leak checker is the judge */
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_siphash_gives_the_published_values),
		cmocka_unit_test(test_values_are_found_replaced_and_deleted),
		cmocka_unit_test(test_keys_are_copied),
		cmocka_unit_test(test_coming_and_going_loses_nothing_and_grows_nothing),
		cmocka_unit_test(test_a_walk_sees_each_pair_once),
		cmocka_unit_test(test_fini_frees_values_when_told_how),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
