/*
 * audit_purse_test.c - what purse.h promises, and stream.h of a text that costs too much
 */
#include "audit/purse.h"

#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "redacting.h"
#include "unit.h"

#define DENSE_BYTES ((size_t)400 << 10) /* many times what a full purse pays for */

/* In parts: no text here is to look like a key. */
#define PEM_BEGIN \
	"-----BEGIN " \
	"PRIVATE KEY-----\n"
#define PEM_LINE "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2\n"
#define PEM_END \
	"-----END " \
	"PRIVATE KEY-----\n"

/* Lines, groups of lines, documents and fields with a secret in each, or none. */
static const char *const dense[] = { "pw=a1\n", "PASSWORD=hunter2\n",
	"{\"token\":\"a1\"}\n", "[\"token\",\"a1\"],", "{\"token\":\"a1\"}{}",
	"a{\\?b%2Fc_token=x&#5;\n", "password: |\n a1\n", "password:\n  a1b2c3\n",
	"token=\\\n", "x-token: a1\n b2\n", "mysql \n", "%41 \n",
	PEM_BEGIN PEM_LINE PEM_END };

static struct redactor *
keyed(void)
{
	return redactor_new(STR("a key"), "k1");
}

static struct buf
repeated(const char *unit, size_t n)
{
	struct buf b;

	buf_init(&b, 2 * n + 4096);
	while (b.n < n)
		buf_text(&b, unit);
	return b;
}

/* ---- the purse */

static void
test_a_purse_keeps_a_burst_and_no_more(void **state)
{
	struct purse p;

	(void)state;
	purse_init(&p);
	assert_int_equal(p.left, PURSE_BURST);
	purse_earn(&p, 1000);
	purse_close(&p);
	assert_int_equal(p.left, PURSE_BURST);
	assert_true(purse_pay(&p, PURSE_BURST));
	assert_false(purse_pay(&p, 1));
	purse_earn(&p, 10);
	assert_int_equal(p.left, 10 * PURSE_RATE);
}

/* One long line is judged by its length, not by what was left from others. */
static void
test_a_line_may_cost_what_it_earns_however_long_it_is(void **state)
{
	struct purse p;

	(void)state;
	purse_init(&p);
	purse_earn(&p, PURSE_BURST);
	assert_true(purse_pay(&p, PURSE_BURST * PURSE_RATE));
}

static void
test_what_could_not_be_paid_is_paid_by_what_is_masked(void **state)
{
	struct purse p;

	(void)state;
	purse_init(&p);
	purse_spend(&p, 0);
	assert_int_equal(p.stretch, PURSE_STRETCH);
	purse_spend(&p, 600000 * PURSE_RATE);
	assert_int_equal(p.stretch, PURSE_STRETCH + 600000);
	purse_waste(&p, PURSE_STRETCH_MAX);
	assert_int_equal(p.stretch, PURSE_STRETCH_MAX);
}

/* ---- a stream */

static void
test_a_dense_text_is_masked_in_stretches_once_the_purse_is_spent(void **state)
{
	struct redactor *r = keyed();
	struct buf in = repeated("pw=a1\n", DENSE_BYTES);

	(void)state;
	struct buf out = streamed(r, REDACT_TEXT, buf_view(&in), 0, in.n);
	size_t marks = count_of(buf_view(&out), "~redacted.password.");
	assert_in_range(marks, 1000, DENSE_BYTES / 6 / 10);
	assert_in_range(count_of(buf_view(&out), "~redacted.doubt."), 2,
	    DENSE_BYTES / PURSE_STRETCH + 1);
	assert_int_equal(count_of(buf_view(&out), "=a1"), 0);
	assert_true(str_starts(buf_view(&out), STR("pw=~redacted.password.")));
	assert_true(str_ends(buf_view(&out), STR("~\n")));
	buf_fini(&in);
	buf_fini(&out);
	redactor_free(r);
}

static void
test_a_dense_text_comes_out_the_same_however_it_is_split(void **state)
{
	static const size_t steps[] = { 65536, 999 };
	struct redactor *r = keyed();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(dense); i++)
		for (int as = REDACT_TEXT; as <= REDACT_URL; as++) {
			struct buf in = repeated(dense[i], DENSE_BYTES);
			struct buf whole =
			    streamed(r, (enum redact_as)as, buf_view(&in), 0, in.n);

			for (size_t k = 0; k < COUNT_OF(steps); k++) {
				struct buf parts = streamed(
				    r, (enum redact_as)as, buf_view(&in), 0, steps[k]);

				if (!str_eq(buf_view(&whole), buf_view(&parts)))
					fail_msg(
					    "%s as %d by %zu", dense[i], as, steps[k]);
				buf_fini(&parts);
			}
			buf_fini(&in);
			buf_fini(&whole);
		}
	redactor_free(r);
}

static void
test_a_dense_text_passes_twice_as_it_did_once(void **state)
{
	struct redactor *r = keyed();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(dense); i++)
		for (int as = REDACT_TEXT; as <= REDACT_URL; as++) {
			struct buf in = repeated(dense[i], DENSE_BYTES);
			struct buf once =
			    streamed(r, (enum redact_as)as, buf_view(&in), 0, 65536);
			struct buf twice =
			    streamed(r, (enum redact_as)as, buf_view(&once), 0, 65536);

			if (!str_eq(buf_view(&once), buf_view(&twice)))
				fail_msg("%s as %d", dense[i], as);
			buf_fini(&in);
			buf_fini(&once);
			buf_fini(&twice);
		}
	redactor_free(r);
}

/* What a log or a database writes, a secret in each line: all of it is looked at. */
static void
test_a_secret_in_each_line_of_a_log_costs_no_more_than_it_earns(void **state)
{
	struct redactor *r = keyed();
	struct buf in;

	(void)state;
	buf_init(&in, 1 << 22);
	for (int i = 0; in.n < (size_t)2 << 20; i++)
		buf_fmt(&in,
		    "2031-04-05T06:07:08.%03dZ level=info component=worker duration=%dms "
		    "user=svc password=hunter%d finished the batch of items\n",
		    i % 1000, i % 900, i);
	struct buf out = streamed(r, REDACT_TEXT, buf_view(&in), 0, 65536);
	assert_int_equal(count_of(buf_view(&out), "~redacted.doubt."), 0);
	assert_int_equal(count_of(buf_view(&out), "~redacted.password."),
	    count_of(buf_view(&in), "\n"));
	buf_fini(&in);
	buf_fini(&out);
	redactor_free(r);
}

/* When the flood is over, what follows is looked at again. */
static void
test_what_follows_a_dense_text_is_looked_at(void **state)
{
	struct redactor *r = keyed();
	struct buf in = repeated("pw=a1\n", DENSE_BYTES);

	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_text(&in, "an ordinary line of some words without anything in it\n");
	buf_text(&in, "and the end, password=hunter2\n");
	struct buf out = streamed(r, REDACT_TEXT, buf_view(&in), 0, 65536);
	assert_int_equal(
	    count_of(buf_view(&out), "and the end, password=~redacted.password."), 1);
	assert_in_range(count_of(buf_view(&out), "an ordinary line"), 600, 1000);
	buf_fini(&in);
	buf_fini(&out);
	redactor_free(r);
}

/*
 * Wherever a stretch ends, it is where a line, a key's block or a group of lines ends:
 * `unit` moves over the place, and nothing of it is seen.
 */
static void
assert_hidden_at_each_border(
    const struct redactor *r, const char *unit, const char *secret)
{
	for (size_t more = 0; more < 40; more++) {
		struct buf in = repeated("pw=a1\n", DENSE_BYTES);

		for (size_t i = 0; i < more; i++)
			buf_text(&in, "x=1\n");
		for (size_t i = 0; i < 400; i++) {
			buf_text(&in, unit);
			buf_text(&in, "pw=a1\n");
		}
		struct buf out = streamed(r, REDACT_TEXT, buf_view(&in), 0, 65536);
		assert_row(unit, count_of(buf_view(&out), secret) == 0);
		assert_row(unit, count_of(buf_view(&out), "~redacted.doubt.") > 1);
		buf_fini(&in);
		buf_fini(&out);
	}
}

static void
test_no_stretch_ends_within_what_belongs_together(void **state)
{
	struct redactor *r = keyed();

	(void)state;
	assert_hidden_at_each_border(
	    r, PEM_BEGIN PEM_LINE PEM_LINE PEM_LINE PEM_END, "QUJDREVG");
	assert_hidden_at_each_border(
	    r, "password: |\n  its first line\n  its second line\nend\n", "line");
	assert_hidden_at_each_border(r, "password:\n  a1b2c3d4\nend\n", "a1b2c3d4");
	redactor_free(r);
}

static void
test_documents_behind_a_stretch_are_still_documents(void **state)
{
	struct redactor *r = keyed();
	struct buf in = repeated("{\"token\":\"a1\"}", DENSE_BYTES);

	(void)state;
	for (int i = 0; i < 3000; i++)
		buf_text(&in, "{\"an\":\"ordinary\",\"document\":1}");
	struct buf out = streamed(r, REDACT_JSON, buf_view(&in), 0, 4096);
	assert_true(count_of(buf_view(&out), "~redacted.doubt.") > 1);
	assert_int_equal(count_of(buf_view(&out), "~{"), 0);
	assert_true(
	    str_ends(buf_view(&out), STR("{\"an\":\"ordinary\",\"document\":1}")));
	buf_fini(&in);
	buf_fini(&out);
	redactor_free(r);
}

static void
test_a_document_that_costs_too_much_is_not_looked_at_to_its_end(void **state)
{
	struct redactor *r = keyed();
	struct buf all = repeated("\"a\\\\?b%2Fc_token=x&#5;\",", (size_t)1 << 20), in;

	(void)state;
	buf_init(&in, 1 << 22);
	buf_fmt(&in, "[%s0]", buf_cstr(&all));
	assert_in_range(redact_work(r, REDACT_JSON, buf_view(&in)), in.n, 10 * in.n);
	struct buf out = streamed(r, REDACT_JSON, buf_view(&in), 0, in.n);
	assert_int_equal(count_of(buf_view(&out), "~redacted."), 1);
	assert_true(str_starts(buf_view(&out), STR("~redacted.doubt.")));
	buf_fini(&all);
	buf_fini(&in);
	buf_fini(&out);
	redactor_free(r);
}

struct told {
	size_t doubts, bytes;
};

static void
on_told(void *arg, size_t from, size_t to, const char *kind, const char *why)
{
	struct told *t = arg;

	if (strcmp(kind, "doubt") != 0)
		return;
	assert_non_null(strstr(why, "costs more than is left to pay"));
	t->doubts++;
	t->bytes += to - from;
}

static void
test_explaining_names_the_stretches_that_are_masked(void **state)
{
	struct redactor *r = keyed();
	struct buf in = repeated("pw=a1\n", DENSE_BYTES), none;
	struct buf out = streamed(r, REDACT_TEXT, buf_view(&in), 0, 65536);
	struct redact_stream s;
	struct told told = { 0 };

	(void)state;
	buf_init(&none, 1 << 24);
	redact_stream_init(&s, r, REDACT_TEXT);
	redact_stream_explain(&s, on_told, &told);
	redact_stream_feed(&s, buf_view(&in), &none);
	redact_stream_end(&s, &none);
	redact_stream_fini(&s);
	assert_int_equal(none.n, 0);
	assert_int_equal(told.doubts, count_of(buf_view(&out), "~redacted.doubt."));
	assert_in_range(told.bytes, in.n / 2, in.n);
	buf_fini(&in);
	buf_fini(&out);
	buf_fini(&none);
	redactor_free(r);
}

/* A stretch is held until it ends, and no longer. */
static void
test_a_stretch_is_masked_in_bounded_memory(void **state)
{
	struct redactor *r = keyed();
	struct buf in = repeated("password: |\n a1\n b2\n", (size_t)64 << 10);
	struct redact_stream s;
	struct buf out;

	(void)state;
	buf_init(&out, 1 << 26);
	redact_stream_init(&s, r, REDACT_TEXT);
	for (int i = 0; i < 40; i++) {
		redact_stream_feed(&s, buf_view(&in), &out);
		assert_true(s.held.n <= 2 * PURSE_STRETCH_MAX);
	}
	redact_stream_end(&s, &out);
	assert_int_equal(count_of(buf_view(&out), " b2\n"), 0);
	redact_stream_fini(&s);
	buf_fini(&in);
	buf_fini(&out);
	redactor_free(r);
}

/*
 * Whatever is left to pay, a text goes out when it is paid, settled, and is counted then,
 * or nothing of it is: also where its marks cost more than was thought before they were
 * made.
 */
static void
test_what_is_not_paid_is_neither_given_out_nor_counted(void **state)
{
	static const struct {
		enum redact_as as;
		const char *in;
	} rows[] = { { REDACT_JSON, "{\"token\":\"a1\",\"d\":[\"token\",\"a1b2\"]}" },
		{ REDACT_TEXT, "a{\\?b%2Fc_token=x&#5;" },
		{ REDACT_HEADER, "x-token: a1\n b2\n" },
		{ REDACT_URL, "/p?api_key=hunter2&key=ab" } };
	struct redactor *r = keyed();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct str in = str_of(rows[i].in);
		struct buf whole = redacted(r, rows[i].as, in);
		bool is_paid = false;

		for (size_t left = 0; left < 4000; left++) {
			struct purse p = { .left = left };
			int64_t counted = count_get(COUNT_REDACTED, 0);
			struct buf out;

			buf_init(&out, REDACTING_MAX);
			size_t n =
			    redact_paid(r, rows[i].as, in, &p, NULL, NULL, NULL, &out);
			assert_row(rows[i].in, n == 0 || n == in.n);
			assert_row(rows[i].in, (n == 0) == (p.stretch > 0));
			assert_row(rows[i].in, n > 0 || !is_paid); /* more pays no less */
			assert_row(
			    rows[i].in, n > 0 ? str_eq(buf_view(&out), buf_view(&whole))
					      : out.n == 0);
			assert_row(rows[i].in,
			    (count_get(COUNT_REDACTED, 0) > counted) == (n > 0));
			is_paid = n > 0;
			buf_fini(&out);
		}
		assert_row(rows[i].in, is_paid);
		buf_fini(&whole);
	}
	redactor_free(r);
}

/*
 * A mark may take a quote or a bracket away in what only looks like JSON: where it is cut
 * does not depend on them.
 */
static void
test_what_is_no_json_passes_twice_as_it_did_once(void **state)
{
	static const char *const rows[] = {
		("\"a\":[\"b\",\"c\"],\"d\"{\\\"secret\\\":\\e\":1,\"f\":\"{"
		 "\\\"secret\\\":\\\"s\\;\"}\"}\n"),
		"{\"a\":x password=\"b}\n{\"c\":\"d\"}\n",
		"[x] token=a1} {\"token\":\"b2\n",
		"password='a{\nb'}\n",
		"{a password=\"b\nc\"}\n{\"d\":1}\n",
		"} password={\"a\":\"b2\"\n{\"c\":\"password=d3\"}{\"e\":1}\n",
	};
	static const size_t steps[] = { 1, 7, SIZE_MAX };
	struct redactor *r = keyed();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct str in = str_of(rows[i]);
		struct buf once = streamed(r, REDACT_JSON, in, in.n, in.n);

		assert_row(rows[i], count_of(buf_view(&once), "~redacted.") > 0);
		for (size_t k = 0; k < COUNT_OF(steps); k++) {
			struct buf split = streamed(
			    r, REDACT_JSON, in, 0, steps[k] < in.n ? steps[k] : in.n);
			struct buf twice = streamed(r, REDACT_JSON, buf_view(&once),
			    steps[k] < once.n ? steps[k] : once.n, once.n);

			assert_string_equal(buf_cstr(&split), buf_cstr(&once));
			assert_string_equal(buf_cstr(&twice), buf_cstr(&once));
			buf_fini(&split);
			buf_fini(&twice);
		}
		buf_fini(&once);
	}
	redactor_free(r);
}

static void
test_a_block_within_a_keys_value_is_masked_to_its_end(void **state)
{
	static const char *const keys[] = { "password: x ", "password=\"x ",
		"Cookie: a=b; k=", "Authorization: Bearer ", "--password a",
		"secret is a1b2c3d4!" };
	struct redactor *r = keyed();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		struct buf in;

		buf_init(&in, 4096);
		buf_fmt(&in, "%s%s%s%send\n", keys[i], PEM_BEGIN, PEM_LINE, PEM_END);
		struct buf once = redacted(r, REDACT_TEXT, buf_view(&in));
		struct buf twice = redacted(r, REDACT_TEXT, buf_view(&once));
		struct buf split = streamed(r, REDACT_TEXT, buf_view(&in), 1, 7);

		assert_row(keys[i], count_of(buf_view(&once), "QUJDREVG") == 0);
		assert_row(keys[i], count_of(buf_view(&once), "\nend\n") == 1);
		assert_string_equal(buf_cstr(&twice), buf_cstr(&once));
		assert_string_equal(buf_cstr(&split), buf_cstr(&once));
		buf_fini(&in);
		buf_fini(&once);
		buf_fini(&twice);
		buf_fini(&split);
	}
	redactor_free(r);
}

/* Its mark makes one line of two, and the line may be a head then. */
static void
test_a_block_that_makes_one_line_of_two_passes_twice_as_it_did_once(void **state)
{
	static const char *const ends[] = { "(\\", ":", " |", " # c", "\",", "" };
	struct redactor *r = keyed();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		struct buf in;

		buf_init(&in, 4096);
		buf_fmt(&in, "Cookie:$0\x10 ti\",\"%s%s%s%s\n hunter2\nend\n", PEM_BEGIN,
		    PEM_LINE,
		    "-----END "
		    "PRIVATE KEY-----",
		    ends[i]);
		struct buf once = redacted(r, REDACT_TEXT, buf_view(&in));
		struct buf twice = redacted(r, REDACT_TEXT, buf_view(&once));
		struct buf whole = streamed(r, REDACT_TEXT, buf_view(&in), 0, in.n);
		struct buf again = streamed(r, REDACT_TEXT, buf_view(&whole), 0, whole.n);

		assert_string_equal(buf_cstr(&twice), buf_cstr(&once));
		assert_string_equal(buf_cstr(&again), buf_cstr(&whole));
		assert_int_equal(count_of(buf_view(&once), "QUJDREVG"), 0);
		buf_fini(&in);
		buf_fini(&once);
		buf_fini(&twice);
		buf_fini(&whole);
		buf_fini(&again);
	}
	redactor_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_purse_keeps_a_burst_and_no_more),
		cmocka_unit_test(test_a_line_may_cost_what_it_earns_however_long_it_is),
		cmocka_unit_test(test_what_could_not_be_paid_is_paid_by_what_is_masked),
		cmocka_unit_test(
		    test_a_dense_text_is_masked_in_stretches_once_the_purse_is_spent),
		cmocka_unit_test(
		    test_a_dense_text_comes_out_the_same_however_it_is_split),
		cmocka_unit_test(test_a_dense_text_passes_twice_as_it_did_once),
		cmocka_unit_test(
		    test_a_secret_in_each_line_of_a_log_costs_no_more_than_it_earns),
		cmocka_unit_test(test_what_follows_a_dense_text_is_looked_at),
		cmocka_unit_test(test_no_stretch_ends_within_what_belongs_together),
		cmocka_unit_test(test_documents_behind_a_stretch_are_still_documents),
		cmocka_unit_test(
		    test_a_document_that_costs_too_much_is_not_looked_at_to_its_end),
		cmocka_unit_test(test_explaining_names_the_stretches_that_are_masked),
		cmocka_unit_test(test_a_stretch_is_masked_in_bounded_memory),
		cmocka_unit_test(test_what_is_no_json_passes_twice_as_it_did_once),
		cmocka_unit_test(test_a_block_within_a_keys_value_is_masked_to_its_end),
		cmocka_unit_test(
		    test_a_block_that_makes_one_line_of_two_passes_twice_as_it_did_once),
		cmocka_unit_test(test_what_is_not_paid_is_neither_given_out_nor_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
