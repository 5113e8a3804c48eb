#include "wire/splice.h"

#include "unit.h"

static void
test_only_the_named_places_change(void **state)
{
	const struct str text = STR("0123456789");
	struct splices s = { .n = 0 };
	struct buf out;

	(void)state;
	buf_init(&out, 100);
	splices_add(&s, 8, 1, STR("")); /* in any order */
	splices_add(&s, 2, 3, STR("abcd"));
	splices_add(&s, 0, 0, STR("<"));
	splices_add(&s, 10, 0, STR(">"));
	assert_true(splices_apply(&s, text, &out));
	assert_string_equal(buf_cstr(&out), "<01abcd5679>");
	assert_int_equal(splices_length(&s, text.n), out.n);
	buf_fini(&out);
}

static void
test_what_overlaps_or_lies_outside_changes_nothing(void **state)
{
	static const struct {
		size_t at, removed;
	} pairs[][2] = {
		{ { 2, 3 }, { 4, 1 } },
		{ { 4, 1 }, { 2, 3 } },
		{ { 2, 1 }, { 2, 1 } },
		{ { 9, 2 }, { 0, 1 } },
		{ { 11, 0 }, { 0, 1 } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(pairs); i++) {
		struct splices s = { .n = 0 };
		struct buf out;

		buf_init(&out, 100);
		for (size_t k = 0; k < 2; k++)
			splices_add(&s, pairs[i][k].at, pairs[i][k].removed, STR("x"));
		assert_false(splices_apply(&s, STR("0123456789"), &out));
		buf_fini(&out);
	}
}

static void
test_too_many_changes_are_none(void **state)
{
	struct splices s = { .n = 0 };
	struct buf out;

	(void)state;
	buf_init(&out, 100);
	for (size_t i = 0; i <= SPLICES_MAX; i++)
		splices_add(&s, 0, 0, STR(""));
	assert_true(s.is_over);
	assert_false(splices_apply(&s, STR("x"), &out));
	buf_fini(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_the_named_places_change),
		cmocka_unit_test(test_what_overlaps_or_lies_outside_changes_nothing),
		cmocka_unit_test(test_too_many_changes_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
