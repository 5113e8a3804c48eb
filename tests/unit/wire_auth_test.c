#include "wire/auth.h"

#include "unit.h"

static void
check(
    const char *value, bool is_good, bool has_user, const char *user, const char *secret)
{
	struct auth out = { 0 };
	struct arena a;

	arena_init(&a, (size_t)64 << 10);
	bool is = auth_read(&out, str_of(value), &a);
	assert_row(value, is == is_good);
	if (is_good) {
		assert_row(value, out.has_user == has_user);
		assert_row(value, !has_user || str_eq(out.user, str_of(user)));
		assert_row(value, str_eq(out.secret, str_of(secret)));
	}
	arena_fini(&a);
}

static void
test_basic_is_a_user_and_all_behind_the_first_colon(void **state)
{
	(void)state;
	check("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", true, true, "Aladdin",
	    "open sesame"); /* RFC 7617 2 */
	check("bAsIc  QTpiOmM=", true, true, "A", "b:c");
	check("Basic Ojo6", true, true, "", "::");
	check("Basic Og==", true, true, "", "");
}

static void
test_bearer_is_one_word(void **state)
{
	(void)state;
	check("Bearer a.b.c", true, false, NULL, "a.b.c");
	check("bearer   a.b.c ", true, false, NULL, "a.b.c");
}

static void
test_what_is_neither_counts_for_nothing(void **state)
{
	static const char *const cases[] = {
		"",
		"Basic",
		"Basic ",
		"Basic QTpiOmM",          /* no padding */
		"Basic QTpiOmM==",        /* too much of it */
		"Basic QTpiOmN=",         /* bits that stand for nothing */
		"Basic QTpi-mM=",         /* the other alphabet */
		"Basic QWJj",             /* no colon */
		"Basic QTpi, Basic QTpi", /* two of them */
		"Basic =QTpiOmM",
		"Basic ====",
		"Bearer",
		"Bearer ",
		"Bearer a b",
		"Bearer a,b",
		"Digest QTpi",
		"QTpi",
		"BasicQTpi QTpi",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		check(cases[i], false, false, NULL, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_basic_is_a_user_and_all_behind_the_first_colon),
		cmocka_unit_test(test_bearer_is_one_word),
		cmocka_unit_test(test_what_is_neither_counts_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
