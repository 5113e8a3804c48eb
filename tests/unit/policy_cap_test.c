/*
 * policy_cap_test.c - of several caps the smallest holds, and it is known which
 */
#include "policy/cap.h"

#include "unit.h"

static void
test_the_smallest_cap_holds_and_says_whence_it_is(void **state)
{
	static const struct {
		struct caps caps;
		struct cap cap;
	} cases[] = {
		{ { 0, 0, CAP_UNSAID }, { 0, CAP_NONE } },
		{ { 5, 0, CAP_UNSAID }, { 5, CAP_RULE } },
		{ { 0, 5, CAP_UNSAID }, { 5, CAP_LIMIT } },
		{ { 0, 0, 5 }, { 5, CAP_CLAIM } },
		{ { 5, 6, 7 }, { 5, CAP_RULE } },
		{ { 6, 5, 7 }, { 5, CAP_LIMIT } },
		{ { 6, 7, 5 }, { 5, CAP_CLAIM } },
		{ { 5, 5, 5 }, { 5, CAP_RULE } },
		{ { 6, INT64_MAX, INT64_MAX }, { 6, CAP_RULE } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct verdict v = { .allow = true };
		struct cap cap;

		assert_true(cap_judge(&cap, &v, &cases[i].caps));
		assert_true(v.allow);
		assert_int_equal(cap.bytes, cases[i].cap.bytes);
		assert_int_equal(cap.from, cases[i].cap.from);
	}
}

static void
test_a_claim_of_nothing_refuses(void **state)
{
	const struct caps caps = { 5, 6, 0 };
	struct verdict v = { .allow = true };
	struct cap cap;

	(void)state;
	assert_false(cap_judge(&cap, &v, &caps));
	assert_false(v.allow);
	assert_int_equal(v.reason, REASON_UPLOAD_EXHAUSTED);
	assert_non_null(v.why);
	assert_int_equal(cap.from, CAP_NONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_smallest_cap_holds_and_says_whence_it_is),
		cmocka_unit_test(test_a_claim_of_nothing_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
