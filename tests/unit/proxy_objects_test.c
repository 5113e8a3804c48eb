/*
 * proxy_objects_test.c - what a provider keeps, and which session may name it
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proxy/objects.h"

static const struct object_note whole = { .model = { "gpt-5", 5 },
	.is_plain = true,
	.call = { "weir-call", 9 },
	.request = { "req_1", 5 },
	.day = 20261129,
	.tier = TIER_FLEX };

static void
put(struct buf *to, const struct object_note *o)
{
	buf_init(to, 4096);
	object_print(to, o);
}

static void
test_what_was_noted_is_read_again(void **state)
{
	struct object_note back;
	struct buf text;

	(void)state;
	put(&text, &whole);
	assert_true(object_parse(&back, buf_view(&text)));
	assert_true(str_eq(back.model, whole.model));
	assert_true(str_eq(back.call, whole.call));
	assert_true(str_eq(back.request, whole.request));
	assert_true(back.is_plain);
	assert_int_equal(back.day, whole.day);
	assert_int_equal(back.tier, whole.tier);
	buf_fini(&text);
}

static void
test_a_note_that_is_not_whole_is_none(void **state)
{
	struct object_note back;
	struct buf text;

	(void)state;
	put(&text, &whole);
	for (size_t n = 0; n < text.n; n++)
		assert_false(object_parse(&back, str_sub(buf_view(&text), 0, n)));
	buf_char(&text, 'x');
	assert_false(object_parse(&back, buf_view(&text)));
	assert_false(object_parse(&back, STR("1:m1:20:0:1:01:0")));
	assert_false(object_parse(&back, STR("1:m1:10:0:1:01:9")));
	assert_false(object_parse(&back, STR("1:m1:10:0:1:-1:0")));
	assert_true(object_parse(&back, STR("1:m1:10:0:1:01:0")));
	buf_fini(&text);
}

/* ---- whose */

static const struct {
	enum ledger_answer answer;
	const char *issuer, *tenant, *sid;
	enum reason reason;
} found[] = {
	{ LEDGER_OK, "iss", "acme", "s1", REASON_NONE },
	{ LEDGER_OK, "iss", "acme", "s2", REASON_OBJECT_NOT_OWNED },
	{ LEDGER_OK, "iss", "other", "s1", REASON_OBJECT_NOT_OWNED },
	{ LEDGER_OK, "", "acme", "s1", REASON_OBJECT_NOT_OWNED },
	{ LEDGER_OK, "iss", "acme", "", REASON_OBJECT_NOT_OWNED },
	{ LEDGER_UNKNOWN, "", "", "", REASON_OBJECT_NOT_OWNED },
	{ LEDGER_AWAY, "iss", "acme", "s1", REASON_LEDGER_UNAVAILABLE },
	{ LEDGER_ROLLED_BACK, "iss", "acme", "s1", REASON_LEDGER_ROLLBACK },
};

static void
test_only_the_session_that_made_it_may_name_it(void **state)
{
	const struct grant g = {
		.issuer = STR("iss"), .tenant = STR("acme"), .sid = STR("s1")
	};
	struct arena arena;
	struct buf text;

	(void)state;
	arena_init(&arena, 65536);
	put(&text, &whole);
	for (size_t i = 0; i < sizeof(found) / sizeof(*found); i++) {
		const struct ledger_reply r = { .answer = found[i].answer,
			.note = { .issuer = str_of(found[i].issuer),
			    .tenant = str_of(found[i].tenant),
			    .sid = str_of(found[i].sid),
			    .text = buf_view(&text),
			    .number = 4711 } };
		struct object_note out;

		assert_int_equal(object_read(&out, &r, &g, &arena), found[i].reason);
		if (found[i].reason == REASON_NONE)
			assert_int_equal(out.tokens, 4711);
	}
	buf_fini(&text);
	arena_fini(&arena);
}

/* Without sessions everybody would be the same nobody. */
static void
test_who_has_no_session_owns_nothing(void **state)
{
	const struct grant g = { .sid = STR_NONE };
	const struct ledger_reply r = { .answer = LEDGER_OK,
		.note = { .text = STR("1:m1:10:0:1:01:0") } };
	struct object_note out;
	struct arena arena;

	(void)state;
	arena_init(&arena, 65536);
	assert_int_equal(object_read(&out, &r, &g, &arena), REASON_OBJECT_NOT_OWNED);
	arena_fini(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_noted_is_read_again),
		cmocka_unit_test(test_a_note_that_is_not_whole_is_none),
		cmocka_unit_test(test_only_the_session_that_made_it_may_name_it),
		cmocka_unit_test(test_who_has_no_session_owns_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
