/*
 * proxy_scrub_test.c - a provider's answer without the credential that was sent to it
 */
#include "unit.h"

#include <string.h>

#include "proxy/scrub.h"

/* No provider's form: nothing else finds it. */
static const char secret[] = "Sesame~open~17";

static void
init(struct scrub *s, const char *of)
{
	scrub_init(s, known_new(&(struct str){ of, strlen(of) }, 1));
}

static void
fini(struct scrub *s)
{
	struct known *known = (struct known *)(uintptr_t)s->known;

	scrub_fini(s);
	known_free(known);
}

/* What came out, when the text comes in pieces of n bytes. */
static void
in_pieces(struct buf *out, const char *text, size_t n)
{
	struct str rest = str_of(text);
	struct scrub s;

	init(&s, secret);
	buf_init(out, 10000);
	while (rest.n > 0) {
		scrub_feed(&s, str_sub(rest, 0, n), out);
		rest = str_sub(rest, n < rest.n ? n : rest.n, rest.n);
	}
	scrub_end(&s, out);
	fini(&s);
}

static const struct {
	const char *name, *text, *out;
} rows[] = {
	{ "nothing to hide", "an answer", "an answer" },
	{ "as it is", "key Sesame~open~17 is bad", "key ************** is bad" },
	{ "twice", "Sesame~open~17Sesame~open~17", "****************************" },
	{ "hexadecimal", "<536573616d657e6f70656e7e3137>",
	    "<****************************>" },
	{ "hexadecimal, upper case", "<536573616D657E6F70656E7E3137>",
	    "<****************************>" },
	/* the last character also tells of what follows */
	{ "base64", "U2VzYW1lfm9wZW5+MTc=", "******************c=" },
	{ "base64url", "U2VzYW1lfm9wZW5-MTc", "******************c" },
	{ "base64 behind one byte", "eFNlc2FtZX5vcGVufjE3", "eF******************" },
	{ "base64 behind two bytes",
	    "eHhTZXNhbWV+b3Blbn4xNw==", "eHh******************w==" },
	{ "what only begins like it passes", "Sesame~open~1", "Sesame~open~1" },
	{ "a false beginning, then it", "SesaSesame~open~17", "Sesa**************" },
};

static void
test_a_credential_is_found_in_every_encoding_and_across_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (size_t n = 1; n <= strlen(rows[i].text); n++) {
			struct buf out;

			in_pieces(&out, rows[i].text, n);
			if (strcmp(buf_cstr(&out), rows[i].out) != 0)
				fail_msg("%s, %zu at a time: %s", rows[i].name, n,
				    buf_cstr(&out));
			buf_fini(&out);
		}
}

static void
test_only_the_beginning_of_a_secret_waits(void **state)
{
	struct scrub s;
	struct buf out;

	(void)state;
	init(&s, secret);
	buf_init(&out, 1000);
	scrub_feed(&s, STR("data: {\"x\":1}\n\nSes"), &out);
	assert_string_equal(buf_cstr(&out), "data: {\"x\":1}\n\n");
	scrub_feed(&s, STR("!"), &out);
	assert_string_equal(buf_cstr(&out), "data: {\"x\":1}\n\nSes!");
	fini(&s);
	buf_fini(&out);
}

static void
test_a_secret_too_short_to_look_for_leaves_text_alone(void **state)
{
	char text[] = "a secret1 of seven";
	struct scrub s;
	struct buf out;

	(void)state;
	init(&s, "secret1");
	buf_init(&out, 1000);
	scrub_text(&s, text, sizeof(text) - 1);
	scrub_feed(&s, str_of(text), &out);
	assert_string_equal(buf_cstr(&out), "a secret1 of seven");
	fini(&s);
	buf_fini(&out);
}

static void
test_a_credential_is_found_however_its_characters_are_escaped(void **state)
{
	static const char key[] = "k-Ab/c+d=e&f\"01234567";
	static const char *const texts[] = {
		"k-Ab%2Fc%2Bd%3De%26f%2201234567",
		"k-Ab%2fc%2bd%3de%26f%2201234567",
		"k-Ab/c+d=e&f\\\"01234567",
		"k-Ab\\/c+d=e&f\\\"01234567",
		"k-Ab&#x2F;c+d&#x3D;e&#x26;f&#x22;01234567",
		"k-Ab%252Fc%252Bd%253De%2526f%252201234567",
		"k-Ab%252fc%252bd%253de%2526f%252201234567",
		"%6B%2D%41%62%2F%63%2B%64%3D%65%26%66%22%30%31%32%33%34%35%36"
		"%37",
		"\\u006b\\u002d\\u0041\\u0062\\u002f\\u0063\\u002b\\u0064"
		"\\u003d\\u0065\\u0026\\u0066\\u0022\\u0030\\u0031\\u0032"
		"\\u0033\\u0034\\u0035\\u0036\\u0037",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		for (size_t n = 1; n <= strlen(texts[i]); n++) {
			struct str rest = str_of(texts[i]);
			struct scrub s;
			struct buf out;

			init(&s, key);
			buf_init(&out, 1000);
			for (; rest.n > 0; rest = str_sub(rest, n, rest.n))
				scrub_feed(&s, str_sub(rest, 0, n), &out);
			scrub_end(&s, &out);
			fini(&s);
			assert_row(
			    texts[i], strspn(buf_cstr(&out), "*") == strlen(texts[i]));
			buf_fini(&out);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_a_credential_is_found_in_every_encoding_and_across_pieces),
		cmocka_unit_test(
		    test_a_credential_is_found_however_its_characters_are_escaped),
		cmocka_unit_test(test_only_the_beginning_of_a_secret_waits),
		cmocka_unit_test(test_a_secret_too_short_to_look_for_leaves_text_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
