/*
 * redact.c - weir redact: stdin to stdout without its secrets
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/stream.h"
#include "cmd/main.h"

#define PIECE 65536
#define SECRET_MAX_BYTES 65536

struct options {
	enum redact_as as;
	bool is_fingerprint;
};

static const struct {
	const char *name;
	enum redact_as as;
} forms[] = {
	{ "text", REDACT_TEXT },
	{ "json", REDACT_JSON },
	{ "header", REDACT_HEADER },
	{ "url", REDACT_URL },
};

static const char usage_text[] =
    "usage: weir redact [--as text|json|header|url] [--fingerprint]\n"
    "\n"
    "Copies standard input to standard output without its secrets.  Each becomes\n"
    "~redacted.KIND.ID.xxxxxxxxxxxx~, the same for the same secret under one key.\n"
    "\n"
    "  --as FORM       how to read the input (default: text)\n"
    "  --fingerprint   the input is one secret: print its mark, to search for it\n";

static bool
form_find(const char *name, enum redact_as *as)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (strcmp(name, forms[i].name) == 0) {
			*as = forms[i].as;
			return true;
		}
	return false;
}

static bool
write_all(struct buf *out)
{
	for (size_t at = 0; at < out->n;) {
		ssize_t n = write(STDOUT_FILENO, out->p + at, out->n - at);

		if (n < 0 && errno != EINTR)
			return false;
		at += n > 0 ? (size_t)n : 0;
	}
	buf_reset(out);
	return true;
}

/* -1: stdin could not be read. */
static ssize_t
read_piece(char piece[static PIECE])
{
	ssize_t n;

	do
		n = read(STDIN_FILENO, piece, PIECE);
	while (n < 0 && errno == EINTR);
	return n;
}

static int
filter(const struct redactor *r, enum redact_as as)
{
	static char piece[PIECE];
	struct redact_stream stream;
	struct buf out;
	ssize_t n;
	bool is_written = true;

	redact_stream_init(&stream, r, as);
	buf_init(&out, 256 * STREAM_UNIT_MAX);
	while (is_written && (n = read_piece(piece)) > 0) {
		redact_stream_feed(&stream, (struct str){ piece, (size_t)n }, &out);
		is_written = write_all(&out);
	}
	redact_stream_end(&stream, &out);
	is_written = is_written && write_all(&out);
	redact_stream_fini(&stream);
	buf_fini(&out);
	if (!is_written || n < 0) {
		fprintf(stderr, "weir redact: %s: %s\n",
		    is_written ? "standard input" : "standard output", strerror(errno));
		return is_written ? EXIT_NOINPUT : EXIT_UNAVAILABLE;
	}
	return EXIT_YES;
}

/* A secret typed or echoed ends with a newline that is no part of it. */
static int
fingerprint(const struct redactor *r)
{
	static char secret[PIECE];
	size_t used = 0;
	struct buf out;
	ssize_t n = 1;

	while (used < sizeof(secret) && n > 0) {
		n = read(STDIN_FILENO, secret + used, sizeof(secret) - used);
		if (n < 0 && errno != EINTR)
			return EXIT_NOINPUT;
		used += n > 0 ? (size_t)n : 0;
	}
	while (used > 0 && (secret[used - 1] == '\n' || secret[used - 1] == '\r'))
		used--;
	if (used == 0) {
		fputs("weir redact: standard input holds no secret\n", stderr);
		return EXIT_NOINPUT;
	}
	buf_init(&out, PIECE);
	redact_mark(r, redact_kind(r, (struct str){ secret, used }),
	    (struct str){ secret, used }, &out);
	buf_char(&out, '\n');
	bool is_written = write_all(&out);
	buf_fini(&out);
	return is_written ? EXIT_YES : EXIT_UNAVAILABLE;
}

static int
usage_error(const char *what, const char *value)
{
	fprintf(stderr, "weir redact: %s %s\n%s", what, value, usage_text);
	return EXIT_USAGE;
}

/* -1: go on. */
static int
read_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "as", required_argument, NULL, 'a' },
		{ "fingerprint", no_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", longs, NULL)) != -1)
		switch (c) {
		case 'a':
			if (!form_find(optarg, &o->as))
				return usage_error(
				    "--as takes text, json, header or url, not", optarg);
			break;
		case 'f':
			o->is_fingerprint = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return EXIT_YES;
		case ':':
			return usage_error("a value is missing for", argv[optind - 1]);
		default:
			return usage_error("no such option:", argv[optind - 1]);
		}
	if (optind < argc)
		return usage_error("it reads standard input, not", argv[optind]);
	return -1;
}

int
cmd_redact(int argc, char **argv)
{
	struct options o = { .as = REDACT_TEXT };
	int code = read_options(argc, argv, &o);

	if (code != -1)
		return code;
	struct redactor *r = redactor_new(STR_NONE, NULL);
	code = o.is_fingerprint ? fingerprint(r) : filter(r, o.as);
	redactor_free(r);
	return code;
}
