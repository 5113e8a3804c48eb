/*
 * redact.c - what redacting costs: megabytes for each second, and the worst nanoseconds
 *
 * Log text without secrets, the same with one secret in each line, and beside them
 * one compiled pattern for each rule on each line, which is how it is usually done.
 * Then what was made to be slow, of which only the slowest counts; files named on the
 * command line (a fuzzer's corpus) are repeated and measured, too.
 *
 * redact --search SECONDS LIMIT DIRECTORY [FILE...]: nothing but a search for what is
 * slower; of what costs more than LIMIT nanoseconds for each byte the slowest come into
 * the directory.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slow.h"

#define LOG_BYTES ((size_t)32 << 20)
#define ROUNDS 3

static unsigned
chance(unsigned below)
{
	static uint64_t state = 42;

	state = state * 6364136223846793005U + 1442695040888963407U;
	return (unsigned)(state >> 33) % below;
}

/* ---- texts */

static const char *const words[] = { "connection", "accepted", "from", "upstream",
	"retry", "worker", "finished", "batch", "of", "items", "in", "cache", "miss",
	"for", "the", "session", "opened", "user", "request", "served", "scheduler",
	"woke", "late", "checkpoint", "written", "segment", "rotated", "peer", "closed",
	"gracefully" };

static void
put_words(struct buf *b, unsigned n)
{
	while (n-- > 0)
		buf_fmt(b, "%s ", words[chance(sizeof(words) / sizeof(*words))]);
}

static void
put_line(struct buf *b)
{
	buf_fmt(
	    b, "2031-04-05T06:%02u:%02u.%03uZ ", chance(60), chance(60), chance(1000));
	switch (chance(4)) {
	case 0: /* a web server's */
		buf_fmt(b,
		    "10.0.%u.%u - - \"GET /v1/items/%u?page=%u&limit=20 HTTP/1.1\" 200 "
		    "%u "
		    "\"-\" \"Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101\"",
		    chance(256), chance(256), chance(100000), chance(50), chance(9000));
		break;
	case 1: /* key=value */
		buf_fmt(b, "level=info component=%s duration=%ums status=%u request_id=",
		    words[chance(9)], chance(900), 200 + chance(5));
		for (int i = 0; i < 4; i++)
			buf_fmt(b, "%04x%s", chance(65536), i < 3 ? "-" : " ");
		put_words(b, 6);
		break;
	case 2: /* a stack */
		buf_fmt(b, "ERROR at org.example.%s.%sFactory.create(%s.java:%u) ",
		    words[chance(20)], words[chance(20)], words[chance(20)], chance(400));
		put_words(b, 4);
		break;
	default:
		buf_text(b, "INFO ");
		put_words(b, 14);
		break;
	}
}

/* Made up; in parts, so that nobody takes it for a leak. */
static void
put_secret(struct buf *b)
{
	static const char letters[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	static const char *const heads[] = { " gh"
					     "p_",
		" password=", " Authorization: Bearer ",
		" sk-"
		"ant-api03-",
		" https://svc:" };

	size_t which = chance(sizeof(heads) / sizeof(*heads));
	buf_text(b, heads[which]);
	for (int i = 0; i < 40; i++)
		buf_char(b, letters[chance(sizeof(letters) - 1)]);
	buf_text(b, which == 4 ? "@db.example/x" : "");
}

static struct buf
log_text(bool has_secrets)
{
	struct buf b;

	buf_init(&b, 2 * LOG_BYTES);
	while (b.n < LOG_BYTES) {
		put_line(&b);
		if (has_secrets)
			put_secret(&b);
		buf_char(&b, '\n');
	}
	return b;
}

static void
say(const char *what, double ns)
{
	printf("%-44s %8.1f MB/s %8.2f ns/byte\n", what, 1e3 / ns, ns);
	fflush(stdout);
}

/* ---- one pattern for each rule */

#define B62 "[A-Za-z0-9]"
#define U64 "[A-Za-z0-9_-]"
#define S64 "[A-Za-z0-9+/]"
#define HEX "[0-9a-f]"
#define SHAPE(kind, literals, back, alphabet, pattern, vector) pattern,
static const char *const patterns[] = {
#include "audit/shapes.def"
};

static double
cost_of_patterns(struct str text)
{
	enum { N = sizeof(patterns) / sizeof(*patterns) };
	pcre2_code *code[N];
	pcre2_match_data *data = pcre2_match_data_create(4, NULL);
	struct str rest = text, line;
	size_t found = 0;
	int error;
	size_t at;

	for (size_t i = 0; i < N; i++) {
		code[i] = pcre2_compile(
		    (PCRE2_SPTR)patterns[i], PCRE2_ZERO_TERMINATED, 0, &error, &at, NULL);
		pcre2_jit_compile(code[i], PCRE2_JIT_COMPLETE);
	}
	double begin = slow_now_ns();
	while (str_split(&rest, '\n', &line))
		for (size_t i = 0; i < N; i++)
			found += pcre2_match(code[i], (PCRE2_SPTR)line.p, line.n, 0, 0,
				     data, NULL) > 0;
	double ns = (slow_now_ns() - begin) / (double)text.n;
	for (size_t i = 0; i < N; i++)
		pcre2_code_free(code[i]);
	pcre2_match_data_free(data);
	fprintf(stderr, "(patterns matched in %zu lines)\n", found);
	return ns;
}

static void
compare(const struct redactor *r)
{
	struct buf clean = log_text(false), secret = log_text(true);
	double units;

	say("log text without secrets",
	    slow_cost(r, REDACT_TEXT, buf_view(&clean), ROUNDS, NULL));
	say("one secret in each line",
	    slow_cost(r, REDACT_TEXT, buf_view(&secret), ROUNDS, &units));
	printf("    its units for each byte: %.1f of %zu\n", units, PURSE_RATE);
	say("one pattern for each rule, without secrets",
	    cost_of_patterns(str_sub(buf_view(&clean), 0, LOG_BYTES / 8)));
	buf_fini(&clean);
	buf_fini(&secret);
}

int
main(int argc, char **argv)
{
	struct redactor *r = redactor_new(STR("a key"), "k1");
	struct worst worst = { 0 };

	if (argc > 4 && strcmp(argv[1], "--search") == 0) {
		slow_search(r, (unsigned)strtoul(argv[2], NULL, 10),
		    strtod(argv[3], NULL), argv[4], argv + 5, argc - 5);
		redactor_free(r);
		return 0;
	}
	compare(r);
	slow_try_made_up(r, &worst);
	for (int i = 1; i < argc; i++)
		slow_try_file(r, argv[i], &worst);
	say("the slowest of what was made to be slow", worst.ns);
	printf("    as %s: %s\n", worst.form, worst.what);
	redactor_free(r);
	return 0;
}
