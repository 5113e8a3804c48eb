/*
 * audit_prefilter_test.c - what prefilter.h promises
 */
#include "audit/prefilter.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define TEXT_MAX 300

/* Texts of these letters have many places where something nearly begins. */
static const char letters[] = "abcdAB=:-_.  \n";

static const struct {
	const char *text;
	bool is_folded;
} literals[] = {
	{ "=", false },
	{ "-b", false },
	{ "a_c", false },
	{ "dcba", false },
	{ "abcda", false },
	{ "ba:d", true },
};

static struct prefilter *
filled(void)
{
	struct prefilter *f = mem_zalloc(sizeof(*f));

	for (size_t i = 0; i < sizeof(literals) / sizeof(*literals); i++)
		prefilter_add(f, str_of(literals[i].text), literals[i].is_folded);
	return f;
}

/* The same bytes in each run. */
static unsigned
chance(unsigned below)
{
	static uint64_t state = 7;

	state = state * 6364136223846793005U + 1442695040888963407U;
	return (unsigned)(state >> 33) % below;
}

/* At its very end, so that who reads beyond it is caught. */
static struct str
random_text(char room[static TEXT_MAX], size_t n)
{
	char *p = room + TEXT_MAX - n;

	for (size_t i = 0; i < n; i++)
		p[i] = letters[chance(sizeof(letters) - 1)];
	return (struct str){ p, n };
}

static bool
any_stands_at(struct str text, size_t at)
{
	for (size_t i = 0; i < sizeof(literals) / sizeof(*literals); i++) {
		struct str l = str_of(literals[i].text);
		struct str here = str_sub(text, at, l.n);

		if (literals[i].is_folded ? str_eq_nocase(here, l) : str_eq(here, l))
			return true;
	}
	return false;
}

static void
test_a_walk_stops_where_four_bytes_say_so_and_nowhere_else(void **state)
{
	struct prefilter *f = filled();

	(void)state;
	for (size_t n = 0; n < TEXT_MAX; n++) {
		char *room = malloc(TEXT_MAX);
		struct str text = random_text(room, n);
		struct prefilter_walk w = prefilter_walk(f, text);
		size_t at = prefilter_next(&w, 0);

		for (size_t i = 0; i < n; i++) {
			assert_int_equal(at == i, prefilter_groups(f, text, i) != 0);
			if (at == i)
				at = prefilter_next(&w, i + 1);
		}
		assert_int_equal(at, n);
		free(room);
	}
	free(f);
}

static void
test_a_walk_may_go_on_at_any_place_behind(void **state)
{
	struct prefilter *f = filled();
	char room[TEXT_MAX];

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		struct str text = random_text(room, chance(TEXT_MAX));
		struct prefilter_walk w = prefilter_walk(f, text);
		size_t from = 0;

		for (size_t at; from <= text.n; from = at + 1 + chance(100)) {
			size_t first = from;

			at = prefilter_next(&w, from);
			while (first < text.n && prefilter_groups(f, text, first) == 0)
				first++;
			assert_int_equal(at, first);
		}
	}
	free(f);
}

static void
test_no_literal_goes_by(void **state)
{
	struct prefilter *f = filled();
	char room[TEXT_MAX];
	size_t seen = 0;

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		struct str text = random_text(room, chance(TEXT_MAX));

		for (size_t i = 0; i < text.n; i++)
			if (any_stands_at(text, i)) {
				assert_int_not_equal(prefilter_groups(f, text, i), 0);
				seen++;
			}
	}
	assert_true(seen > 1000);
	free(f);
}

static void
test_most_places_are_gone_over(void **state)
{
	struct prefilter *f = filled();
	struct str text = STR("what nobody looks for does not stop a walk through it, "
			      "however long it is: "
			      "not even where a word begins like one that is");
	struct prefilter_walk w = prefilter_walk(f, text);

	(void)state;
	assert_int_equal(prefilter_next(&w, 0), text.n);
	free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_a_walk_stops_where_four_bytes_say_so_and_nowhere_else),
		cmocka_unit_test(test_a_walk_may_go_on_at_any_place_behind),
		cmocka_unit_test(test_no_literal_goes_by),
		cmocka_unit_test(test_most_places_are_gone_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
