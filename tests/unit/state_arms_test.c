/*
 * state_arms_test.c - an arm speaks for its session until its time is over, and no longer
 */
#include "state/arms.h"

#include "unit.h"

static const struct arm_order first = { .source = STR("unix:/run/a"),
	.token = STR("token a"),
	.session = STR("a"),
	.until_ms = 1000,
	.ends_ms = 3000 };

static struct arm_order
for_source(const char *source, int64_t until_ms, int64_t ends_ms)
{
	struct arm_order o = first;

	o.source = str_of(source);
	o.until_ms = until_ms;
	o.ends_ms = ends_ms;
	return o;
}

static void
arm(struct arms *all, struct arm_order o, int64_t now_ms)
{
	arm_free(arms_put(all, &o, now_ms));
}

static void
test_an_arm_says_its_token_until_its_time_is_over(void **state)
{
	struct arms all;
	struct buf said;

	(void)state;
	arms_init(&all);
	buf_init(&said, 100);
	assert_null(arms_put(&all, &first, 0));
	assert_true(arms_token(&all, first.source, 999, &said));
	assert_string_equal(buf_cstr(&said), "token a");
	assert_true(arms_are_for(&all, first.source, STR("a"), 999));
	assert_false(arms_are_for(&all, first.source, STR("b"), 999));
	assert_false(arms_are_for(&all, STR("10.0.0.1"), STR("a"), 999));
	assert_false(arms_are_for(&all, first.source, STR("a"), 1000));
	buf_reset(&said);
	assert_false(arms_token(&all, first.source, 1000, &said));
	assert_false(arms_token(&all, first.source, 0, &said)); /* it is gone for good */
	assert_int_equal(said.n, 0);
	buf_fini(&said);
	arms_fini(&all);
}

static void
test_the_token_of_an_arm_that_is_over_is_not_kept(void **state)
{
	struct arms all;
	size_t tokens;

	(void)state;
	arms_init(&all);
	arm(&all, for_source("old", 1000, 3000), 0);
	arm(&all, for_source("older", 900, 1000), 0);
	assert_int_equal(arms_count(&all, &tokens), 2);
	assert_int_equal(tokens, 2);
	arm(&all, for_source("new", 5000, 5000),
	    1000); /* nobody has asked for the others */
	assert_int_equal(arms_count(&all, &tokens), 2);
	assert_int_equal(tokens, 1);
	arms_fini(&all);
}

/* What was opened by it may be open as long as its token is good. */
static void
test_an_arm_that_is_over_still_says_whose_it_was(void **state)
{
	struct arms all;
	struct arm *old;
	struct buf said;

	(void)state;
	arms_init(&all);
	buf_init(&said, 100);
	arm(&all, first, 0);
	arm(&all, for_source("other", 9000, 9000), 2999);
	assert_false(arms_token(&all, first.source, 2999, &said));
	old = arms_take(&all, first.source);
	assert_non_null(old);
	assert_true(str_eq(arm_session(old), STR("a")));
	arm_free(old);
	assert_null(arms_take(&all, first.source));
	arm(&all, first, 0);
	arm(&all, for_source("another", 9000, 9000), 3000);
	assert_null(arms_take(&all, first.source));
	buf_fini(&said);
	arms_fini(&all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_arm_says_its_token_until_its_time_is_over),
		cmocka_unit_test(test_the_token_of_an_arm_that_is_over_is_not_kept),
		cmocka_unit_test(test_an_arm_that_is_over_still_says_whose_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
