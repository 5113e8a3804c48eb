#include "base/small.h"

#include <string.h>

#include "unit.h"

static void
test_what_is_small_lies_together(void **state)
{
	char *piece[1000];
	char *low = NULL, *high = NULL;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(piece); i++) {
		piece[i] = small_alloc(1 + i % 32);
		assert_non_null(piece[i]);
		memset(piece[i], (int)(i % 251), 1 + i % 32);
		low = low == NULL || piece[i] < low ? piece[i] : low;
		high = piece[i] > high ? piece[i] : high;
	}
	assert_true((size_t)(high - low) <= 32 * COUNT_OF(piece));
	for (size_t i = 0; i < COUNT_OF(piece); i++) {
		for (size_t at = 0; at < 1 + i % 32; at++)
			assert_int_equal((unsigned char)piece[i][at], i % 251);
		small_free(piece[i]);
	}
}

static void
test_a_piece_is_used_again(void **state)
{
	void *first = small_alloc(20);

	(void)state;
	small_free(first);
	assert_ptr_equal(small_alloc(32), first);
	small_free(first);
}

static void
test_what_grows_keeps_its_bytes(void **state)
{
	char *p = small_resize(NULL, 10);

	(void)state;
	memcpy(p, "123456789", 10);
	for (size_t n = 20; n < 100000; n *= 3) {
		p = small_resize(p, n);
		assert_string_equal(p, "123456789");
	}
	p = small_resize(p, 12);
	assert_string_equal(p, "123456789");
	small_free(p);
	small_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_small_lies_together),
		cmocka_unit_test(test_a_piece_is_used_again),
		cmocka_unit_test(test_what_grows_keeps_its_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
