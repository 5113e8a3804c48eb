/*
 * cmd_abstract_test.c - abstract names are found whatever bytes are in them
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/abstract.h"

#define SHOWN_FULL 107 /* the whole of sun_path, behind its first NUL */

static struct str
guess(struct abstract_guess *g, char name[static ABSTRACT_MAX])
{
	return abstract_guess_next(g, name) ? (struct str){ name, g->n } : STR_NONE;
}

static void
test_a_shown_name_stands_for_each_that_it_may_be(void **state)
{
	static const struct str names[] = { { "a@b@c@", 6 }, { "a\0b@c@", 6 },
		{ "a@b\0c@", 6 }, { "a\0b\0c@", 6 }, { "a@b@c\0", 6 }, { "a\0b@c\0", 6 },
		{ "a@b\0c\0", 6 }, { "a\0b\0c\0", 6 } };
	struct abstract_guess g;
	char name[ABSTRACT_MAX];

	(void)state;
	abstract_guess_init(&g, STR("a@b@c@"));
	assert_true(abstract_guess_is_all(&g));
	for (size_t i = 0; i < COUNT_OF(names); i++)
		assert_row(names[i].p, str_eq(guess(&g, name), names[i]));
	assert_false(abstract_guess_next(&g, name));

	abstract_guess_init(&g, STR("plain"));
	assert_true(str_eq(guess(&g, name), STR("plain")));
	assert_false(abstract_guess_next(&g, name));
}

/* Is `real` among the guesses at what is shown of it? */
static bool
is_guessed(struct str real)
{
	char shown[ABSTRACT_MAX], name[ABSTRACT_MAX];
	struct abstract_guess g;
	struct str next;

	for (size_t i = 0; i < real.n; i++)
		shown[i] = real.p[i] == '\0' ? '@' : real.p[i];
	abstract_guess_init(&g, (struct str){ shown, real.n });
	while ((next = guess(&g, name)).p != NULL)
		if (str_eq(next, real))
			return true;
	return false;
}

static void
test_a_name_that_fills_its_room_with_nuls_is_guessed(void **state)
{
	char full[SHOWN_FULL] = "/tmp/\0.X11@unix/@";

	(void)state;
	assert_int_equal(ABSTRACT_MAX, SHOWN_FULL);
	assert_true(is_guessed((struct str){ full, sizeof(full) }));
	memset(full, '@', sizeof(full));
	assert_true(is_guessed((struct str){ full, sizeof(full) }));
	memset(full, '\0', sizeof(full));
	assert_true(is_guessed((struct str){ full, sizeof(full) }));
}

static void
test_what_was_not_tried_is_not_called_all(void **state)
{
	struct abstract_guess g;
	char name[ABSTRACT_MAX];
	size_t n = 0;

	(void)state;
	abstract_guess_init(&g, STR("@a@a@a@a@a@a@a@a@a@a@a@a@a@a@@@"));
	assert_false(abstract_guess_is_all(&g));
	while (abstract_guess_next(&g, name))
		n++;
	assert_int_equal(n, 4096 * 4);
}

/* ---- what the kernel says */

struct seen {
	struct str name;
	int kind;
	size_t found;
};

static void
see(void *arg, struct str name, int kind)
{
	struct seen *s = arg;

	s->found += str_eq(name, s->name) && kind == s->kind;
}

static int
bound(struct str name, int kind)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, kind, 0);

	memcpy(sa.sun_path + 1, name.p, name.n);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa,
			     (socklen_t)(sizeof(sa.sun_family) + 1 + name.n)),
	    0);
	return fd;
}

/* So that two runs of this test do not meet. */
static struct str
own_name(char room[static ABSTRACT_MAX], struct str name)
{
	int n = snprintf(room, ABSTRACT_MAX, "%d ", (int)getpid());

	memcpy(room + n, name.p, name.n);
	return (struct str){ room, (size_t)n + name.n };
}

/* By one way, or by the other; `shown` is how the name looks there. */
static void
check_way(int (*way)(abstract_see *, void *), struct str real, struct str shown, int kind)
{
	char room[2][ABSTRACT_MAX];
	struct seen s = { .name = own_name(room[0], shown), .kind = kind };
	int fd = bound(own_name(room[1], real), kind);

	assert_int_equal(way(see, &s), 0);
	assert_int_equal(s.found, 0); /* it takes no connections yet */
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(way(see, &s), 0);
	assert_int_equal(s.found, 1);
	close(fd);
	assert_int_equal(way(see, &s), 0);
	assert_int_equal(s.found, 1);
}

static void
test_a_listening_name_is_told_with_its_very_bytes(void **state)
{
	static const struct str names[] = { { "weir-abstract-test", 18 },
		{ "weir@abstract\0test\0", 19 }, { "weir abstract\n\xfftest", 19 } };
	struct seen none = { .name = STR("none") };
	int err = abstract_diagnose(see, &none);

	(void)state;
	if (err != 0) /* no unix_diag in this kernel, or none of it here */
		skip();
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		check_way(abstract_diagnose, names[i], names[i], SOCK_STREAM);
		check_way(abstract_diagnose, names[i], names[i], SOCK_SEQPACKET);
	}
}

static void
test_the_list_shows_a_listening_name(void **state)
{
	(void)state;
	check_way(abstract_list, STR("weir abstract"), STR("weir abstract"), SOCK_STREAM);
	check_way(abstract_list, (struct str){ "weir@a\0b", 8 }, STR("weir@a@b"),
	    SOCK_SEQPACKET);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_shown_name_stands_for_each_that_it_may_be),
		cmocka_unit_test(test_a_name_that_fills_its_room_with_nuls_is_guessed),
		cmocka_unit_test(test_what_was_not_tried_is_not_called_all),
		cmocka_unit_test(test_a_listening_name_is_told_with_its_very_bytes),
		cmocka_unit_test(test_the_list_shows_a_listening_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
