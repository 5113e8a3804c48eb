/*
 * audit_known_test.c - what known.h promises, and redact.h of what weir holds
 */
#include "audit/known.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/redact.h"
#include "unit.h"

/* No provider's form and no telling name: nothing else finds it. */
static const char secret[] = "Sesame~open/17+x\"";
static const char numeric[] = "4711081512345";
static const char lines[] = "{\n  \"user\": \"svc\",\n  \"pass phrase\": 17\n}\n";

static struct redactor *
holding(const char *const *of, size_t n)
{
	struct redactor *r = redactor_new(STR("a key"), "k1");
	struct str s[8];

	assert_true(n <= COUNT_OF(s));
	for (size_t i = 0; i < n; i++)
		s[i] = str_of(of[i]);
	redactor_hold(r, known_new(s, n));
	return r;
}

static void
mask(const struct redactor *r, enum redact_as as, struct str in, struct buf *out)
{
	buf_init(out, 1 << 20);
	redact(r, as, in, out);
}

static void
mark_of(const struct redactor *r, const char *of, struct buf *out)
{
	buf_init(out, 1000);
	redact_mark(r, "held", str_of(of), out);
}

/* ---- one secret, however written */

static const struct {
	const char *what, *in;
	const char *out; /* # stands for the mark */
} cases[] = {
	{ "as it is", "a Sesame~open/17+x\" b", "a # b" },
	{ "glued to words", "aSesame~open/17+x\"b", "a#b" },
	{ "percent", "?q=Sesame~open%2F17%2Bx%22&r=1", "?q=#&r=1" },
	{ "percent, lower case", "?q=Sesame~open%2f17%2bx%22&r=1", "?q=#&r=1" },
	{ "percent where it must", "/Sesame~open/17+x%22/r", "/#/r" },
	{ "percent where it need not", "/%53esame%7Eope%6e/17+x%22/r", "/#/r" },
	{ "percent, twice", "?q=Sesame~open%252F17%252Bx%2522&r=1", "?q=#&r=1" },
	{ "JSON", "say Sesame~open/17+x\\\" now", "say # now" },
	{ "JSON with a slash", "say Sesame~open\\/17+x\\\" now", "say # now" },
	{ "JSON in code points", "say \\u0053esame\\u007eopen/17\\u002bx\\u0022 now",
	    "say # now" },
	{ "JSON in JSON", "say Sesame~open/17+x\\\\\\\" now", "say # now" },
	{ "percent in JSON", "say Sesame~open\\u002517\\u0022 Sesame~open%2F17+x\\\" now",
	    "say Sesame~open\\u002517\\u0022 # now" },
	{ "HTML", "<p>Sesame~open&#x2F;17+x&quot;</p>", "<p>#</p>" },
	{ "HTML in decimal", "<p>Sesame&#126;open/17&#43;x&#34;</p>", "<p>#</p>" },
	{ "hexadecimal", "536573616d657e6f70656e2f31372b7822 is it", "# is it" },
	{ "hexadecimal, upper case", "536573616D657E6F70656E2F31372B7822 is it",
	    "# is it" },
	{ "base64", "U2VzYW1lfm9wZW4vMTcreCI= is it", "# is it" },
	{ "base64url", "U2VzYW1lfm9wZW4vMTcreCI is it", "# is it" },
	{ "base64 behind one byte", "YTpTZXNhbWV+b3Blbi8xNyt4Ig==", NULL },
	{ "base64 in a URL", "?b=U2VzYW1lfm9wZW4vMTcreCI%3D&c", "?b=#&c" },
	{ "all but its end, where the text ends", "said Sesame~open/17", NULL },
	{ "what only begins like it", "Sesame~street", "Sesame~street" },
	{ "a short piece of it", "said Sesame~o", "said Sesame~o" },
	{ "nothing", "", "" },
};

static void
expect(const char *what, const char *pattern, const char *mark, struct str got)
{
	struct buf b;

	buf_init(&b, 100000);
	for (; *pattern != '\0'; pattern++)
		if (*pattern == '#' && pattern[1] != 'x')
			buf_text(&b, mark);
		else
			buf_char(&b, *pattern);
	if (!str_eq(got, buf_view(&b)))
		fail_msg("%s: %.*s, not %s", what, STR_ARG(got), buf_cstr(&b));
	buf_fini(&b);
}

static void
test_a_held_secret_has_one_mark_in_every_encoding(void **state)
{
	struct redactor *r = holding((const char *const[]){ secret }, 1);
	struct buf mark;

	(void)state;
	mark_of(r, secret, &mark);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buf out;

		mask(r, REDACT_TEXT, str_of(cases[i].in), &out);
		if (cases[i].out != NULL)
			expect(
			    cases[i].what, cases[i].out, buf_cstr(&mark), buf_view(&out));
		else
			assert_row(cases[i].what,
			    strstr(buf_cstr(&out), "~redacted.held.k1.") != NULL);
		buf_fini(&out);
	}
	buf_fini(&mark);
	redactor_free(r);
}

static void
test_redacting_twice_is_redacting_once(void **state)
{
	/* the last is in every mark */
	struct redactor *r =
	    holding((const char *const[]){ secret, numeric, lines, "redacted.held" }, 4);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buf once, twice;

		mask(r, REDACT_TEXT, str_of(cases[i].in), &once);
		mask(r, REDACT_TEXT, buf_view(&once), &twice);
		assert_row(cases[i].what, str_eq(buf_view(&once), buf_view(&twice)));
		buf_fini(&once);
		buf_fini(&twice);
	}
	redactor_free(r);
}

static void
test_of_two_that_overlap_nothing_is_left(void **state)
{
	struct redactor *r =
	    holding((const char *const[]){ "abcdefgh1234", "1234ijklmnop" }, 2);
	struct buf out;

	(void)state;
	mask(r, REDACT_TEXT, STR("see abcdefgh1234ijklmnop."), &out);
	assert_null(strstr(buf_cstr(&out), "ijkl"));
	assert_null(strstr(buf_cstr(&out), "abcd"));
	buf_fini(&out);
	redactor_free(r);
}

static void
test_a_value_of_several_lines_is_found_line_by_line_without_its_brackets(void **state)
{
	struct redactor *r = holding((const char *const[]){ lines }, 1);
	struct buf out;

	(void)state;
	mask(r, REDACT_TEXT, STR("{\n it said \"pass phrase\": 17 twice\n}\n"), &out);
	assert_null(strstr(buf_cstr(&out), "phrase"));
	assert_true(str_starts(buf_view(&out), STR("{\n it said ~redacted.held.k1.")));
	assert_true(str_ends(buf_view(&out), STR(" twice\n}\n")));
	buf_fini(&out);
	redactor_free(r);
}

static void
test_json_with_a_held_number_stays_json(void **state)
{
	struct redactor *r = holding((const char *const[]){ numeric }, 1);
	struct buf out, mark;

	(void)state;
	mark_of(r, numeric, &mark);
	mask(r, REDACT_JSON,
	    STR("{\"a\":4711081512345,\"b\":[\"4711081512345\",\"\\\"4711081512345\"]}"),
	    &out);
	expect("numbers", "{\"a\":\"#\",\"b\":[\"#\",\"\\\"#\"]}", buf_cstr(&mark),
	    buf_view(&out));
	buf_fini(&out);
	buf_fini(&mark);
	redactor_free(r);
}

static void
test_a_secret_too_short_to_look_for_leaves_text_alone(void **state)
{
	struct redactor *r = holding((const char *const[]){ "sesame7" }, 1);
	struct buf out;

	(void)state;
	mask(r, REDACT_TEXT, STR("say sesame7 now"), &out);
	assert_string_equal(buf_cstr(&out), "say sesame7 now");
	buf_fini(&out);
	redactor_free(r);
}

/* ---- a host's name, in which there are no capitals */

static void
test_in_a_host_a_held_secret_is_known_without_its_capitals(void **state)
{
	static const char upper[] = "KEkDc7o_-o2U"
				    "fC_yEPoak_C7";
	static const char lower[] = "kekdc7o_-o2u"
				    "fc_yepoak_c7";
	struct redactor *r = holding((const char *const[]){ upper }, 1);
	struct buf in, out, mark;

	(void)state;
	mark_of(r, upper, &mark);
	buf_init(&in, 1000);
	buf_fmt(&in, "a.%s.test", lower);
	mask(r, REDACT_HOST, buf_view(&in), &out);
	expect("in a host", "a.#.test", buf_cstr(&mark), buf_view(&out));
	buf_fini(&out);
	mask(r, REDACT_TEXT, buf_view(&in), &out);
	assert_true(str_eq(buf_view(&out), buf_view(&in)));
	buf_fini(&out);
	buf_fini(&in);
	buf_fini(&mark);
	redactor_free(r);
}

/* ---- what is shared */

static bool
finds(const struct redactor *r, const char *what)
{
	struct buf out;
	bool found;

	mask(r, REDACT_TEXT, str_of(what), &out);
	found = strstr(buf_cstr(&out), "~redacted.held.") != NULL;
	buf_fini(&out);
	return found;
}

static void
test_old_secrets_are_masked_by_all_as_long_as_anybody_holds_them(void **state)
{
	struct redactor *bare = redactor_new(STR_NONE, NULL);
	struct redactor *old = holding((const char *const[]){ "the old secret" }, 1);
	struct redactor *new = holding((const char *const[]){ "the new secret" }, 1);

	(void)state;
	assert_true(finds(new, "the old secret"));
	assert_true(finds(old, "the new secret"));
	assert_true(finds(bare, "the old secret"));
	redactor_free(old);
	assert_false(finds(new, "the old secret"));
	assert_true(finds(new, "the new secret"));
	assert_true(finds(bare, "the new secret"));
	redactor_free(new);
	assert_false(finds(bare, "the new secret"));
	redactor_free(bare);
}

static void
test_whoever_holds_many_finds_each(void **state)
{
	struct redactor *r = redactor_new(STR("a key"), "k1");
	struct str s[300];
	char text[300][32];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(s); i++) {
		snprintf(text[i], sizeof(text[i]), "one of many, the %03zu", i);
		s[i] = str_of(text[i]);
	}
	redactor_hold(r, known_new(s, COUNT_OF(s)));
	for (size_t i = 0; i < COUNT_OF(s); i++)
		assert_row(text[i], finds(r, text[i]));
	redactor_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_held_secret_has_one_mark_in_every_encoding),
		cmocka_unit_test(test_redacting_twice_is_redacting_once),
		cmocka_unit_test(test_of_two_that_overlap_nothing_is_left),
		cmocka_unit_test(
		    test_a_value_of_several_lines_is_found_line_by_line_without_its_brackets),
		cmocka_unit_test(test_json_with_a_held_number_stays_json),
		cmocka_unit_test(test_a_secret_too_short_to_look_for_leaves_text_alone),
		cmocka_unit_test(
		    test_in_a_host_a_held_secret_is_known_without_its_capitals),
		cmocka_unit_test(
		    test_old_secrets_are_masked_by_all_as_long_as_anybody_holds_them),
		cmocka_unit_test(test_whoever_holds_many_finds_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
