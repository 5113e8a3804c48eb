#include "base/arena.h"

#include <stdalign.h>
#include <string.h>

#include "unit.h"

static void
test_the_cap_refuses_and_leaves_the_arena_usable(void **state)
{
	struct arena a;

	(void)state;
	arena_init(&a, 100);
	assert_non_null(arena_alloc(&a, 60));
	assert_null(arena_alloc(&a, 41));
	assert_null(arena_alloc(&a, SIZE_MAX));
	assert_null(arena_str(&a, (struct str){ "x", SIZE_MAX }).p);
	assert_non_null(arena_alloc(&a, 40));
	assert_null(arena_alloc(&a, 1));
	arena_fini(&a);
}

static void
test_allocations_are_aligned_and_apart(void **state)
{
	struct arena a;
	char *p[200];

	(void)state;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < COUNT_OF(p); i++) {
		p[i] = arena_alloc(&a, i * 7);
		assert_int_equal((uintptr_t)p[i] % alignof(max_align_t), 0);
		memset(p[i], (int)i, i * 7);
	}
	for (size_t i = 0; i < COUNT_OF(p); i++)
		for (size_t j = 0; j < i * 7; j++)
			assert_int_equal((unsigned char)p[i][j], i);
	arena_fini(&a);
}

static void
test_zeroed_memory_is_zero_after_reuse(void **state)
{
	struct arena a;
	char *p;

	(void)state;
	arena_init(&a, 1 << 20);
	p = arena_alloc(&a, 300);
	memset(p, 0xff, 300);
	arena_reset(&a);
	p = arena_zalloc(&a, 300);
	for (size_t i = 0; i < 300; i++)
		assert_int_equal(p[i], 0);
	arena_fini(&a);
}

static void
test_text_is_copied_with_a_nul_behind_it(void **state)
{
	struct arena a;
	char source[] = "borrowed";
	struct str copy, none;

	(void)state;
	arena_init(&a, 100);
	copy = arena_str(&a, str_of(source));
	memset(source, 'x', sizeof(source) - 1);
	assert_string_equal(copy.p, "borrowed");
	assert_int_equal(copy.n, 8);
	none = arena_str(&a, STR_NONE);
	assert_string_equal(none.p, ""); /* NULL would say: beyond max */
	arena_fini(&a);
}

static void
test_reset_gives_back_the_whole_cap_and_keeps_one_small_block(void **state)
{
	struct arena a;
	void *kept;

	(void)state;
	arena_init(&a, 100000);
	assert_non_null(arena_alloc(&a, 100));
	kept = a.block;
	arena_reset(&a);
	assert_ptr_equal(a.block, kept);
	assert_non_null(arena_alloc(&a, 100000));
	arena_reset(&a);
	assert_null(a.block); /* 100 kB must not stay with an idle connection */
	assert_non_null(arena_alloc(&a, 100000));
	arena_fini(&a);
	assert_non_null(arena_alloc(&a, 1)); /* after fini it is as after init */
	arena_fini(&a);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_cap_refuses_and_leaves_the_arena_usable),
		cmocka_unit_test(test_allocations_are_aligned_and_apart),
		cmocka_unit_test(test_zeroed_memory_is_zero_after_reuse),
		cmocka_unit_test(test_text_is_copied_with_a_nul_behind_it),
		cmocka_unit_test(
		    test_reset_gives_back_the_whole_cap_and_keeps_one_small_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
