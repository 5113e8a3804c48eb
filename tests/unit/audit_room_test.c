/*
 * audit_room_test.c - what room.h promises: when room is low, and what is left of it
 */
#include "audit/room.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit.h"

#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

static void
test_the_reserve_is_a_part_of_the_file_system(void **state)
{
	static const struct {
		int64_t reserve, size, is;
	} table[] = {
		{ SIZE_AUTO, 8 * MIB, 4 * MIB },  /* at most half of it */
		{ SIZE_AUTO, 10 * GIB, GIB },     /* at least that */
		{ SIZE_AUTO, 40 * GIB, 2 * GIB }, /* 5 % */
		{ SIZE_AUTO, 1000 * GIB, 4 * GIB },
		{ 3 * MIB, 4 * MIB, 3 * MIB }, /* as it is written */
		{ 0, 1000 * GIB, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(table); i++)
		assert_int_equal(
		    room_reserve(table[i].reserve, table[i].size), table[i].is);
}

static void
test_a_step_back_up_needs_more(void **state)
{
	static const struct {
		enum room_state was;
		int64_t free;
		enum room_state is;
	} table[] = {
		{ ROOM_ENOUGH, 1600, ROOM_ENOUGH },
		{ ROOM_ENOUGH, 1599, ROOM_LOW },
		{ ROOM_ENOUGH, 399, ROOM_NONE },
		{ ROOM_LOW, 1699, ROOM_LOW },
		{ ROOM_LOW, 1700, ROOM_ENOUGH },
		{ ROOM_LOW, 400, ROOM_LOW },
		{ ROOM_LOW, 399, ROOM_NONE },
		{ ROOM_NONE, 499, ROOM_NONE },
		{ ROOM_NONE, 500, ROOM_LOW },
		{ ROOM_NONE, 1699, ROOM_LOW },
		{ ROOM_NONE, 1700, ROOM_ENOUGH },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(table); i++)
		assert_int_equal(
		    room_judge(table[i].was, 1600, table[i].free), table[i].is);
	assert_int_equal(room_judge(ROOM_ENOUGH, 0, 0), ROOM_ENOUGH);
}

static void
test_a_quarter_of_the_reserve_is_not_shared_out(void **state)
{
	(void)state;
	assert_int_equal(room_left(1600, 1599, false), 1199);
	assert_int_equal(room_left(1600, 401, false), 1);
	assert_int_equal(room_left(1600, 0, false), 0);
	assert_int_equal(room_left(1600, 1599, true), 1199);
	assert_int_equal(room_left(1600, 401, true), 400); /* who writes little goes on */
	assert_int_equal(room_left(1600, 0, true), 400);
}

static void
share(void *arg, int64_t left)
{
	*(int64_t *)arg = left;
}

static void
test_it_is_asked_once_a_second_and_not_of_a_pipe(void **state)
{
	char path[] = "/tmp/weir-room-XXXXXX";
	int pipes[2];
	int64_t left = -1, free, size;
	struct logfile file = { .path = path, .fd = mkstemp(path), .is_regular = true };
	struct room r = { .reserve = INT64_MAX / 2, .share = share, .arg = &left };

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	assert_true(logfile_room(&file, &free, &size));
	assert_true(free <= size && size > 0);
	assert_true(room_look(&r, &file, 5000)); /* nobody has a disk of that size */
	assert_int_equal(atomic_load(&r.state), ROOM_NONE);
	assert_int_equal(left, 0);
	assert_int_equal(room_next(&r), 6000);
	left = -1;
	assert_false(room_look(&r, &file, 5999));
	assert_int_equal(left, -1);
	assert_false(room_look(&r, &file, 6000)); /* no change, but shared out anew */
	assert_int_equal(left, 0);
	r.reserve = 1;
	assert_true(room_look(&r, &file, 7000));
	assert_true(left == INT64_MAX);
	assert_int_equal(room_next(&r), 0);
	close(file.fd);
	unlink(path);
	file = (struct logfile){ .path = "-", .fd = pipes[1] };
	r.reserve = INT64_MAX / 2;
	assert_false(room_look(&r, &file, 9000));
	assert_int_equal(atomic_load(&r.state), ROOM_ENOUGH);
	close(pipes[0]);
	close(pipes[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_reserve_is_a_part_of_the_file_system),
		cmocka_unit_test(test_a_step_back_up_needs_more),
		cmocka_unit_test(test_a_quarter_of_the_reserve_is_not_shared_out),
		cmocka_unit_test(test_it_is_asked_once_a_second_and_not_of_a_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
