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
	struct arm *old;

	assert_true(arms_put(all, &o, ARMS_LATEST, now_ms, &old));
	arm_free(old);
}

static void
test_an_arm_says_its_token_until_its_time_is_over(void **state)
{
	struct arms all;
	struct arm *old;
	struct buf said;

	(void)state;
	arms_init(&all);
	buf_init(&said, 100);
	assert_true(arms_put(&all, &first, ARMS_LATEST, 0, &old));
	assert_null(old);
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
	assert_true(arms_take(&all, first.source, ARMS_LATEST, &old));
	assert_non_null(old);
	assert_true(str_eq(arm_session(old), STR("a")));
	arm_free(old);
	assert_true(arms_take(&all, first.source, ARMS_LATEST, &old));
	assert_null(old);
	arm(&all, first, 0);
	arm(&all, for_source("another", 9000, 9000), 3000);
	assert_true(arms_take(&all, first.source, ARMS_LATEST, &old));
	assert_null(old);
	buf_fini(&said);
	arms_fini(&all);
}

/* The store was asked, an operator changed it, and then the store's answer came. */
static void
test_a_word_from_before_a_change_changes_nothing(void **state)
{
	struct arms all;
	struct arm *old;
	struct str source = first.source;

	(void)state;
	arms_init(&all);
	uint64_t seen = arms_changes(&all, source);
	assert_true(arms_take(&all, source, ARMS_LATEST, &old)); /* there was none here */
	assert_false(arms_put(&all, &first, seen, 0, &old));
	assert_false(arms_stand_for(&all, source, STR("a")));

	seen = arms_changes(&all, source);
	arm(&all, first, 0);
	assert_false(arms_miss(&all, source, seen, 0, &old));
	assert_true(arms_are_for(&all, source, STR("a"), 0));

	/* that it is said once more is no change, unless an operator says it */
	seen = arms_changes(&all, source);
	assert_true(arms_put(&all, &first, seen, 0, &old));
	arm_free(old);
	assert_true(arms_changes(&all, source) == seen);
	arm(&all, first, 0);
	assert_false(arms_miss(&all, source, seen, 0, &old));

	seen = arms_changes(&all, source);
	assert_true(arms_miss(&all, source, seen, 0, &old));
	assert_non_null(old);
	arm_free(old);
	assert_false(arms_put(&all, &first, seen, 0, &old));
	arms_fini(&all);
}

/* The store forgets it at its time, too: that ends nothing. */
static void
test_an_arm_that_the_store_misses_is_taken_unless_it_was_over(void **state)
{
	struct arms all;
	struct arm *old;
	struct buf said;

	(void)state;
	arms_init(&all);
	buf_init(&said, 100);
	arm(&all, first, 0);
	assert_true(
	    arms_miss(&all, first.source, arms_changes(&all, first.source), 1000, &old));
	assert_null(old);
	assert_true(arms_stand_for(&all, first.source, STR("a")));
	assert_false(arms_token(&all, first.source, 999, &said)); /* a clock behind */
	arm(&all, first, 0);
	assert_true(
	    arms_miss(&all, first.source, arms_changes(&all, first.source), 999, &old));
	assert_non_null(old);
	arm_free(old);
	assert_false(arms_stand_for(&all, first.source, STR("a")));
	buf_fini(&said);
	arms_fini(&all);
}

static void
test_the_word_on_an_arm_gets_old(void **state)
{
	struct arms all;

	(void)state;
	arms_init(&all);
	assert_false(arms_are_stale(&all, first.source, 0, 100));
	arm(&all, first, 200);
	assert_false(arms_are_stale(&all, first.source, 299, 100));
	assert_true(arms_are_stale(&all, first.source, 300, 100));
	assert_true(arms_are_stale(&all, first.source, 199, 100));   /* set back */
	assert_false(arms_are_stale(&all, first.source, 1000, 100)); /* it is over */
	arm(&all, first, 300);
	assert_false(arms_are_stale(&all, first.source, 300, 100));
	arms_fini(&all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_arm_says_its_token_until_its_time_is_over),
		cmocka_unit_test(test_the_token_of_an_arm_that_is_over_is_not_kept),
		cmocka_unit_test(test_an_arm_that_is_over_still_says_whose_it_was),
		cmocka_unit_test(test_a_word_from_before_a_change_changes_nothing),
		cmocka_unit_test(
		    test_an_arm_that_the_store_misses_is_taken_unless_it_was_over),
		cmocka_unit_test(test_the_word_on_an_arm_gets_old),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
