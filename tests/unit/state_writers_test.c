/*
 * state_writers_test.c - what writers.h promises: a flood takes nothing from those that
 * write little, and nobody's count is lost by making room
 */
#include "state/writers.h"

#include <pthread.h>
#include <stdio.h>

#include "unit.h"

#define MIB (1 << 20)
#define HOUR 60 /* of ages */
#define THREADS 4
#define EACH 20000

static struct writer *
of(struct writers *all, const char *group, const char *name)
{
	return writer_ref(all, str_of(group), str_of(name));
}

static struct writer *
numbered(struct writers *all, const char *group, int i)
{
	char name[32];

	snprintf(name, sizeof(name), "%s %d", group, i);
	return of(all, group, name);
}

/* One that wrote so much, and is not here any more. */
static void
passing(struct writers *all, const char *group, int i, size_t bytes)
{
	struct writer *w = numbered(all, group, i);

	writer_wrote(w, bytes);
	writer_unref(w);
}

#define FLOODS 3000

static void
flood(struct writers *all)
{
	for (int i = 0; i < FLOODS; i++)
		passing(all, "flood", i, MIB);
}

static void
test_nobody_is_refused_while_there_is_room(void **state)
{
	struct writers *all = writers_new(16);
	struct writer *w = of(all, "t", "flood");

	(void)state;
	writer_wrote(w, 1 << 30);
	assert_true(writer_may(w));
	writers_share(all, 0);
	assert_false(writer_may(w));
	writers_share(all, WRITERS_PLENTY);
	assert_true(writer_may(w));
	writer_unref(w);
	writers_free(all);
}

/* Each row: what two of one group and one of another wrote, what is left, who may go on
 */
static const struct {
	const char *name;
	size_t wrote[3];
	int64_t left;
	bool may[3];
} shares[] = {
	{ "all fit for another hour", { 30, 20, 10 }, 61, { true, true, true } },
	{ "the largest goes first", { 300, 20, 10 }, 200, { false, true, true } },
	{ "whoever wrote nothing may begin", { 300, 0, 100 }, 90,
	    { false, true, false } },
	{ "one's part of its group", { 60, 20, 10 }, 80, { false, true, true } },
	{ "a group's part of all", { 50, 50, 40 }, 100, { false, false, true } },
	{ "and the rest of another's", { 50, 50, 40 }, 142, { true, true, true } },
	{ "nothing left", { 0, 1, 1 }, 0, { false, false, false } },
};

static void
test_who_wrote_most_is_refused_first(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(shares); i++) {
		struct writers *all = writers_new(16);
		struct writer *w[] = { of(all, "a", "a1"), of(all, "a", "a2"),
			of(all, "b", "b1") };

		for (size_t k = 0; k < COUNT_OF(shares[i].wrote); k++)
			writer_wrote(w[k], shares[i].wrote[k]);
		writers_share(all, shares[i].left);
		for (size_t k = 0; k < COUNT_OF(shares[i].wrote); k++) {
			assert_row(shares[i].name, writer_may(w[k]) == shares[i].may[k]);
			writer_unref(w[k]);
		}
		writers_free(all);
	}
}

static void
test_who_is_within_its_part_is_refused_when_it_has_had_it(void **state)
{
	struct writers *all = writers_new(16);
	struct writer *one = of(all, "a", "one"), *other = of(all, "b", "other");

	(void)state;
	writer_wrote(one, 10);
	writer_wrote(other, 10);
	writers_share(all, 100); /* and nobody looks again for a while */
	writer_wrote(one, 79);
	assert_true(writer_may(one));
	writer_wrote(one, 1);
	assert_false(writer_may(one));
	assert_true(writer_may(other));
	writer_unref(one);
	writer_unref(other);
	writers_free(all);
}

static void
test_many_sessions_of_one_tenant_take_no_more_than_it(void **state)
{
	struct writers *all = writers_new(4096);
	struct writer *normal = of(all, "normal", "normal"), *more;

	(void)state;
	flood(all);
	writer_wrote(normal, 90 * MIB);
	writers_share(all, 200 * MIB);
	assert_true(writer_may(normal));
	for (int i = 0; i < FLOODS; i += 100) {
		more = numbered(all, "flood", i);
		assert_false(writer_may(more));
		writer_unref(more);
	}
	writer_unref(normal);
	writers_free(all);
}

static void
test_what_made_room_in_the_table_counts_for_its_group(void **state)
{
	struct writers *all = writers_new(64);
	struct writer *normal = of(all, "normal", "normal"), *new;

	(void)state;
	flood(all);
	writer_wrote(normal, 90 * MIB);
	writers_share(all, 200 * MIB);
	assert_true(writer_may(normal)); /* it was here: it did not make room */
	new = of(all, "flood", "new");
	assert_false(writer_may(new));
	writer_unref(new);
	new = of(all, "another", "another");
	assert_true(writer_may(new));
	writer_unref(new);
	writer_unref(normal);
	writers_free(all);
}

static void
test_where_nobody_can_make_room_newcomers_of_a_group_are_one(void **state)
{
	struct writers *all = writers_new(16);
	struct writer *here[16], *one, *other, *normal;

	(void)state;
	for (int i = 0; i < 16; i++)
		here[i] = numbered(all, "here", i);
	one = of(all, "flood", "one");
	other = of(all, "flood", "other");
	assert_ptr_equal(one, other);
	normal = of(all, "normal", "normal");
	assert_ptr_not_equal(one, normal);
	writer_wrote(one, 100 * MIB);
	writers_share(all, 10 * MIB);
	assert_false(writer_may(other));
	assert_true(writer_may(normal));
	writer_unref(one);
	writer_unref(other);
	writer_unref(normal);
	for (int i = 0; i < 16; i++)
		writer_unref(here[i]);
	writers_free(all);
}

static void
test_groups_beyond_the_table_share_one_part(void **state)
{
	struct writers *all = writers_new(16);
	struct writer *w[20];

	(void)state;
	for (int i = 0; i < 20; i++) {
		char name[16];
		snprintf(name, sizeof(name), "group %d", i);
		w[i] = of(all, name, name);
	}
	assert_ptr_not_equal(w[14], w[15]);
	assert_ptr_equal(w[18], w[19]);
	for (int i = 0; i < 20; i++)
		writer_unref(w[i]);
	for (int i = 0; i < 2 * HOUR; i++)
		writers_age(all);
	w[0] = of(all, "group 18", "group 18"); /* there is room again */
	w[1] = of(all, "group 19", "group 19");
	assert_ptr_not_equal(w[0], w[1]);
	writer_unref(w[0]);
	writer_unref(w[1]);
	writers_free(all);
}

/* How much is left to be had until it is refused tells how much is counted. */
static size_t
counted(struct writers *all, struct writer *w, int64_t left)
{
	size_t n = 0;

	writers_share(all, left);
	while (writer_may(w)) {
		writer_wrote(w, 1000);
		n += 1000;
	}
	return (size_t)left - n;
}

static void
test_what_was_written_fades_in_an_hour(void **state)
{
	struct writers *all = writers_new(16);
	struct writer *w = of(all, "a", "a");
	size_t left;

	(void)state;
	writer_wrote(w, 1000000);
	for (int i = 0; i < HOUR; i++)
		writers_age(all);
	left = counted(all, w, 1000000);
	assert_in_range(left, 350000, 380000);
	for (int i = 0; i < 24 * HOUR; i++)
		writers_age(all);
	assert_in_range(counted(all, w, 1000000), 0, 1000);
	writer_unref(w);
	writers_free(all);
}

static void
test_who_goes_on_at_full_speed_is_not_let_in_by_waiting(void **state)
{
	struct writers *all = writers_new(16);
	struct writer *w = of(all, "a", "a");

	(void)state;
	writer_wrote(w, 6000000);
	for (int i = 0; i < 3 * HOUR; i++) {
		writers_share(all, 1000000);
		assert_false(writer_may(w));
		writer_wrote(w, 100000); /* what it would have written in a minute */
		writers_age(all);
	}
	for (int i = 0; i < 3 * HOUR; i++)
		writers_age(all);
	writers_share(all, 1000000);
	assert_true(writer_may(w));
	writer_unref(w);
	writers_free(all);
}

struct crowd {
	struct writers *all;
	int number;
	size_t passed; /* times that it might write */
};

static void *
come_and_go(void *arg)
{
	struct crowd *c = arg;

	for (int i = 0; i < EACH / UNIT_LESS; i++) {
		struct writer *w =
		    numbered(c->all, i % 3 == 0 ? "a" : "b", (i * c->number) % 100);
		if (writer_may(w)) {
			writer_wrote(w, 100);
			c->passed++;
		}
		writer_unref(w);
		if (i % 64 == 0)
			writers_share(c->all, i % 128 == 0 ? 100000 : WRITERS_PLENTY);
		if (i % 100 == 0)
			writers_age(c->all);
	}
	return NULL;
}

static void
test_threads_come_and_go(void **state)
{
	struct writers *all = writers_new(32);
	pthread_t thread[THREADS];
	struct crowd crowd[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		crowd[i] = (struct crowd){ .all = all, .number = i + 1 };
		assert_int_equal(
		    pthread_create(&thread[i], NULL, come_and_go, &crowd[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		assert_true(crowd[i].passed > 0);
	}
	writers_free(all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_is_refused_while_there_is_room),
		cmocka_unit_test(test_who_wrote_most_is_refused_first),
		cmocka_unit_test(
		    test_who_is_within_its_part_is_refused_when_it_has_had_it),
		cmocka_unit_test(test_many_sessions_of_one_tenant_take_no_more_than_it),
		cmocka_unit_test(test_what_made_room_in_the_table_counts_for_its_group),
		cmocka_unit_test(
		    test_where_nobody_can_make_room_newcomers_of_a_group_are_one),
		cmocka_unit_test(test_groups_beyond_the_table_share_one_part),
		cmocka_unit_test(test_what_was_written_fades_in_an_hour),
		cmocka_unit_test(test_who_goes_on_at_full_speed_is_not_let_in_by_waiting),
		cmocka_unit_test(test_threads_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
