/*
 * proxy_sieve_test.c - what must not leave does not, however it comes
 */
#include "unit.h"

#include <string.h>

#include "proxy/sieve.h"

/* No provider's form: nothing else finds it. */
static const char held[] = "Sesame~open~17";
/* A provider's form: in two pieces, so that no scanner takes this file for a leak. */
static const char shaped[] = "gh"
			     "p_0123456789abcdefghijABCDEFGHIJ012345";

struct fixture {
	struct redactor *redactor;
	struct known *known;
	struct sieve s;
};

static void
begin(struct fixture *f, enum dlp dlp)
{
	f->redactor = redactor_new(STR(""), "");
	f->known = known_new(&(struct str){ held, strlen(held) }, 1);
	sieve_init(&f->s, f->redactor, f->known, dlp);
}

static void
end(struct fixture *f)
{
	sieve_fini(&f->s);
	known_free(f->known);
	redactor_free(f->redactor);
}

/* What came out, and whether it was all. */
static bool
pass(struct fixture *f, struct str body, size_t n, struct buf *out)
{
	while (body.n > 0) {
		struct str piece = str_sub(body, 0, n < body.n ? n : body.n);

		sieve_add(&f->s, piece);
		body = str_sub(body, piece.n, body.n);
		if (!sieve_look(&f->s, body.n == 0))
			return false;
		buf_str(out, sieve_ready(&f->s));
		sieve_gone(&f->s);
	}
	return true;
}

static bool
contains(struct str text, const char *what)
{
	size_t n = strlen(what);

	for (size_t i = 0; i + n <= text.n; i++)
		if (memcmp(text.p + i, what, n) == 0)
			return true;
	return false;
}

static const size_t splits[] = { 1, 7, 1000, 100000 };

static void
test_a_held_secret_stops_a_body_wherever_it_is_cut(void **state)
{
	static const char *const guises[] = { held, "536573616d657e6f70656e7e3137",
		"U2VzYW1lfm9wZW5+MTc=", "Sesame%7Eopen%7E17" };

	(void)state;
	for (size_t g = 0; g < COUNT_OF(guises); g++)
		for (size_t i = 0; i < COUNT_OF(splits); i++) {
			struct buf body, out;
			struct fixture f;

			buf_init(&body, 1 << 20);
			buf_init(&out, 1 << 20);
			buf_fmt(&body, "what was before %s and after", guises[g]);
			begin(&f, DLP_NONE);
			assert_row(
			    guises[g], !pass(&f, buf_view(&body), splits[i], &out));
			assert_row(guises[g],
			    f.s.is_caught && strcmp(f.s.kind, SIEVE_HELD) == 0);
			assert_row(guises[g], !contains(buf_view(&out), guises[g]));
			assert_row(guises[g], out.n <= 16);
			end(&f);
			buf_fini(&body);
			buf_fini(&out);
		}
}

static void
test_what_is_clean_comes_out_as_it_came(void **state)
{
	static const enum dlp dlps[] = { DLP_NONE, DLP_MARK, DLP_BLOCK };
	struct buf body;

	(void)state;
	buf_init(&body, 1 << 20);
	while (body.n < 300000)
		buf_fmt(
		    &body, "line %zu of a text that says nothing, Sesame~open\n", body.n);
	for (size_t d = 0; d < COUNT_OF(dlps); d++)
		for (size_t i = 1; i < COUNT_OF(splits); i++) {
			struct fixture f;
			struct buf out;

			buf_init(&out, 1 << 20);
			begin(&f, dlps[d]);
			assert_true(pass(&f, buf_view(&body), splits[i], &out));
			assert_true(str_eq(buf_view(&out), buf_view(&body)));
			assert_null(f.s.kind);
			end(&f);
			buf_fini(&out);
		}
	buf_fini(&body);
}

static void
test_who_holds_nothing_looks_for_nothing_unless_a_rule_says_so(void **state)
{
	static const struct {
		const char *held;
		enum dlp dlp;
		bool looks;
	} rows[] = {
		{ NULL, DLP_NONE, false }, { NULL, DLP_MARK, true },
		{ NULL, DLP_BLOCK, true }, { held, DLP_NONE, true },
		{ "short", DLP_NONE, false }, /* nobody looks for so little */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct str secret = str_of(rows[i].held != NULL ? rows[i].held : "");
		struct known *known = known_new(&secret, 1);
		struct sieve s;

		sieve_init(&s, NULL, known, rows[i].dlp);
		assert_row(rows[i].held != NULL ? rows[i].held : "nothing",
		    sieve_looks(&s) == rows[i].looks);
		sieve_fini(&s);
		known_share(known); /* after a reload, others may have been told it */
		sieve_init(&s, NULL, NULL, DLP_NONE);
		assert_true(sieve_looks(&s));
		sieve_fini(&s);
		known_free(known);
	}
}

/* Nothing of it waits that could not be the beginning of a secret. */
static void
test_without_dlp_nothing_is_held_back_for_nothing(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, DLP_NONE);
	sieve_add(&f.s, STR("hello Sesa"));
	assert_true(sieve_look(&f.s, false));
	assert_true(str_eq(sieve_ready(&f.s), STR("hello ")));
	sieve_gone(&f.s);
	sieve_add(&f.s, STR("me street.\n"));
	assert_true(sieve_look(&f.s, false));
	assert_true(str_eq(sieve_ready(&f.s), STR("Sesame street.\n")));
	end(&f);
}

static void
test_it_is_caught_before_the_body_ends(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, DLP_NONE);
	sieve_add(&f.s, STR("before Sesame~open~17"));
	assert_true(sieve_look(&f.s, false)); /* it could go on as another word */
	assert_true(str_eq(sieve_ready(&f.s), STR("before ")));
	sieve_gone(&f.s);
	sieve_add(&f.s, STR(" "));
	assert_false(sieve_look(&f.s, false));
	end(&f);
}

static void
test_what_looks_like_a_secret_is_for_the_rule_to_say(void **state)
{
	static const struct {
		enum dlp dlp;
		bool passes, is_found;
	} rows[] = {
		{ DLP_NONE, true, false },
		{ DLP_MARK, true, true },
		{ DLP_BLOCK, false, true },
	};

	(void)state;
	for (size_t d = 0; d < COUNT_OF(rows); d++)
		for (size_t i = 0; i < COUNT_OF(splits); i++) {
			struct buf body, out;
			struct fixture f;

			buf_init(&body, 1 << 20);
			buf_init(&out, 1 << 20);
			while (body.n < 65530) /* it lies across two pieces */
				buf_text(&body, "nothing.\n");
			buf_fmt(&body, "key = %s\n", shaped);
			while (body.n < 200000)
				buf_text(&body, "nothing.\n");
			begin(&f, rows[d].dlp);
			assert_int_equal(
			    pass(&f, buf_view(&body), splits[i], &out), rows[d].passes);
			assert_int_equal(f.s.kind != NULL, rows[d].is_found);
			assert_int_equal(
			    contains(buf_view(&out), shaped), rows[d].passes);
			end(&f);
			buf_fini(&body);
			buf_fini(&out);
		}
}

static void
test_heads_are_looked_at_in_target_and_fields(void **state)
{
	static const struct {
		const char *name, *format;
	} rows[] = {
		{ "path", "GET /x/%s HTTP/1.1\r\nHost: a.test\r\n\r\n" },
		{ "query", "GET /?q=%s HTTP/1.1\r\nHost: a.test\r\n\r\n" },
		{ "field", "GET / HTTP/1.1\r\nHost: a.test\r\nX-Note: %s\r\n\r\n" },
		{ "last field", "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: "
				"1\r\nX: a %s b\r\n\r\n" },
	};
	static const struct {
		const char *secret;
		enum dlp dlp;
		bool passes;
	} asks[] = {
		{ held, DLP_NONE, false },
		{ held, DLP_MARK, false },
		{ shaped, DLP_NONE, true },
		{ shaped, DLP_MARK, true },
		{ shaped, DLP_BLOCK, false },
		{ "nothing", DLP_BLOCK, true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (size_t k = 0; k < COUNT_OF(asks); k++) {
			const char *at = strstr(rows[i].format, "%s");
			struct fixture f;
			struct buf head;

			buf_init(&head, 4096);
			buf_add(&head, rows[i].format, (size_t)(at - rows[i].format));
			buf_text(&head, asks[k].secret);
			buf_text(&head, at + 2);
			begin(&f, asks[k].dlp);
			assert_row(rows[i].name,
			    sieve_head(&f.s, buf_view(&head)) == asks[k].passes);
			assert_row(rows[i].name,
			    (f.s.kind != NULL) ==
				(strcmp(asks[k].secret, "nothing") != 0 &&
				    (asks[k].dlp != DLP_NONE || asks[k].secret == held)));
			end(&f);
			buf_fini(&head);
		}
}

static void
test_a_coding_hides_what_is_in_it(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, DLP_NONE);
	assert_true(sieve_coded(&f.s) && f.s.kind == NULL);
	end(&f);
	begin(&f, DLP_MARK);
	assert_true(sieve_coded(&f.s) && f.s.kind != NULL);
	end(&f);
	begin(&f, DLP_BLOCK);
	assert_false(sieve_coded(&f.s));
	end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_held_secret_stops_a_body_wherever_it_is_cut),
		cmocka_unit_test(test_what_is_clean_comes_out_as_it_came),
		cmocka_unit_test(
		    test_who_holds_nothing_looks_for_nothing_unless_a_rule_says_so),
		cmocka_unit_test(test_without_dlp_nothing_is_held_back_for_nothing),
		cmocka_unit_test(test_it_is_caught_before_the_body_ends),
		cmocka_unit_test(test_what_looks_like_a_secret_is_for_the_rule_to_say),
		cmocka_unit_test(test_heads_are_looked_at_in_target_and_fields),
		cmocka_unit_test(test_a_coding_hides_what_is_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
