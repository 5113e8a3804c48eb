/*
 * redact.c - weir redact: standard input to standard output without its secrets
 */
#include <errno.h>
#include <getopt.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/stream.h"
#include "cmd/config.h"
#include "cmd/main.h"
#include "cmd/output.h"
#include "cmd/usage.h"
#include "conf/settings.h"
#include "wire/json.h"

#define PIECE 65536

static const char help[] =
    "usage: weir redact [--as text|json|header|url] [-c FILE]\n"
    "                   [--key REF [--key-id ID]]\n"
    "       weir redact --explain [--as text|json|header|url] [-c FILE]\n"
    "       weir redact --fingerprint -c FILE | --key REF [--key-id ID]\n"
    "\n"
    "Copies standard input to standard output without its secrets.  Each becomes a\n"
    "mark, ~redacted.KIND.ID.xxxxxxxxxxxx~, the same for one secret under one key.\n"
    "\n"
    "  -c, --config FILE   mask what this configuration's references name, too, with\n"
    "                      marks as it has them\n"
    "      --as FORM       how to read the input (default: text); json is documents,\n"
    "                      one behind the other, or lines\n"
    "      --explain       instead: one line for each secret, FROM-TO KIND: what gave "
    "it\n"
    "                      away; FROM and TO are bytes of the input\n"
    "      --fingerprint   the input is one secret: print its mark, to search for it\n"
    "      --key REF       the key of the marks: env:NAME, file:PATH or cred:NAME, as\n"
    "                      redact.key in weir.yaml(5); without it a random one, ID k0\n"
    "      --key-id ID     the key's id in the marks (default: k1)\n"
    "      --help          this text\n"
    "\n"
    "A line is given out as soon as it is whole, so it can stand in a pipe.\n"
    "\n"
    "Exits 0 when all was copied, 66 when the input, the key or the configuration\n"
    "cannot be read, 69 when the output cannot be written, 78 when the key or the\n"
    "configuration is wrong.\n";

struct options {
	enum redact_as as;
	bool is_fingerprint, is_explained;
	const char *config, *key, *key_id;
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

/* ---- the key */

/* A configuration with nothing else in it: a reference means here what it means there. */
static void
print_config(const struct options *o, struct buf *to)
{
	struct json_out j;

	json_out_init(&j, to);
	json_open(&j, '{');
	json_key(&j, "redact");
	json_open(&j, '{');
	json_key(&j, "key");
	json_text(&j, o->key);
	if (o->key_id != NULL) {
		json_key(&j, "id");
		json_text(&j, o->key_id);
	}
	json_close(&j, '}');
	json_close(&j, '}');
}

/* Without places: the user wrote options, not the lines that print_config made. */
static void
say_why(const struct report *rep)
{
	for (size_t i = 0; i < rep->n; i++) {
		const struct finding *f = &rep->finding[i];
		const char *hint = f->hint == NULL ? "" : f->hint;

		fprintf(stderr, "weir redact: %s%s%s [%s]\n", f->text,
		    hint[0] == '\0' ? "" : "; ", hint, f->code);
	}
}

static struct redactor *
redactor_of(const struct settings *s)
{
	return redactor_new(
	    (struct str){ s->redact_key.bytes, s->redact_key.n }, s->redact_id);
}

/* What production refuses is no matter here; NULL after saying what is. */
static struct redactor *
redactor_configured(const struct options *o, int *status)
{
	struct redactor *r = NULL;
	struct report rep;

	report_init(&rep);
	struct settings *s = settings_load_file(o->config, &rep);
	if (s != NULL) {
		size_t errors = rep.errors; /* what production refuses */
		r = redactor_of(s);
		redactor_hold(r, known_of(s));
		redactor_obey(r, rules_load(s, &rep));
		if (rep.errors > errors) {
			redactor_free(r);
			r = NULL;
		}
	}
	if (r == NULL)
		report_say(&rep);
	*status = config_status(&rep, o->config);
	settings_free(s);
	report_fini(&rep);
	return r;
}

/* NULL after saying why; *status is how to end then. */
static struct redactor *
redactor_for(const struct options *o, int *status)
{
	struct redactor *r = NULL;
	struct buf config;
	struct report rep;

	if (o->config != NULL)
		return redactor_configured(o, status);
	if (o->key == NULL)
		return redactor_new(STR_NONE, NULL);
	buf_init(&config, (size_t)1 << 16);
	report_init(&rep);
	print_config(o, &config);
	struct settings *s = settings_load_text("--key", buf_view(&config), ".", &rep);
	if (s != NULL)
		r = redactor_of(s);
	say_why(&rep);
	*status = config_status_of_reference(&rep);
	settings_free(s);
	report_fini(&rep);
	buf_fini(&config);
	return r;
}

/* ---- in and out */

static int
fail(int code, const char *what)
{
	fprintf(stderr, "weir redact: %s: %s\n", what, strerror(errno));
	return code;
}

/* Somebody made it non-blocking, for all who have it. */
static void
wait_for_input(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	(void)poll(&p, 1, -1);
}

/* 0 at the end, -1: it cannot be read. */
static ssize_t
read_some(char *to, size_t n)
{
	ssize_t got;

	while (
	    (got = read(STDIN_FILENO, to, n)) < 0 && (errno == EINTR || errno == EAGAIN))
		if (errno == EAGAIN)
			wait_for_input();
	return got;
}

static void
tell(void *arg, size_t from, size_t to, const char *kind, const char *why)
{
	buf_fmt(arg, "%zu-%zu %s: %s\n", from, to, kind, why);
}

static int
filter(const struct redactor *r, const struct options *o)
{
	static char piece[PIECE];
	struct redact_stream stream;
	struct buf out;
	ssize_t n;
	int code = EXIT_YES;

	redact_stream_init(&stream, r, o->as);
	buf_init(&out, 256 * STREAM_UNIT_MAX);
	if (o->is_explained)
		redact_stream_explain(&stream, tell, &out);
	while (code == EXIT_YES && (n = read_some(piece, PIECE)) > 0) {
		redact_stream_feed(&stream, (struct str){ piece, (size_t)n }, &out);
		if (!output_flush(&out))
			code = fail(EXIT_UNAVAILABLE, "standard output");
	}
	if (n < 0)
		code = fail(EXIT_NOINPUT, "standard input");
	redact_stream_end(&stream, &out);
	if (code != EXIT_UNAVAILABLE && !output_flush(&out))
		code = fail(EXIT_UNAVAILABLE, "standard output");
	redact_stream_fini(&stream);
	buf_fini(&out);
	return code;
}

/* All of the input without the newline it ends with, which is no part of a secret. */
static int
read_secret(char *to, size_t max, struct str *secret)
{
	size_t used = 0;
	ssize_t n = 1;

	while (used < max && (n = read_some(to + used, max - used)) > 0)
		used += (size_t)n;
	if (n < 0)
		return fail(EXIT_NOINPUT, "standard input");
	while (used > 0 && (to[used - 1] == '\n' || to[used - 1] == '\r'))
		used--;
	*secret = (struct str){ to, used };
	if (used > 0 && used < max)
		return EXIT_YES;
	fprintf(stderr, "weir redact: standard input holds no secret of 1 to %d bytes\n",
	    PIECE - 1);
	return EXIT_NOINPUT;
}

static int
fingerprint(const struct redactor *r)
{
	static char bytes[PIECE];
	struct str secret;
	struct buf out;
	int code = read_secret(bytes, sizeof(bytes), &secret);

	buf_init(&out, PIECE);
	if (code == EXIT_YES) {
		redact_mark(r, redact_kind(r, secret), secret, &out);
		buf_char(&out, '\n');
	}
	OPENSSL_cleanse(bytes, sizeof(bytes));
	if (!output_flush(&out))
		code = fail(EXIT_UNAVAILABLE, "standard output");
	buf_fini(&out);
	return code;
}

/* ---- the command */

static const struct option options[] = {
	{ "as", required_argument, NULL, 'a' },
	{ "explain", no_argument, NULL, 'e' },
	{ "fingerprint", no_argument, NULL, 'f' },
	{ "config", required_argument, NULL, 'c' },
	{ "key", required_argument, NULL, 'k' },
	{ "key-id", required_argument, NULL, 'i' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* False: *code is how to end. */
static bool
take_option(int c, char **argv, struct options *o, int *code)
{
	switch (c) {
	case 'a':
		if (form_find(optarg, &o->as))
			return true;
		*code = usage_refuse(
		    argv[0], "--as takes text, json, header or url, not %s", optarg);
		return false;
	case 'e':
		o->is_explained = true;
		return true;
	case 'f':
		o->is_fingerprint = true;
		return true;
	case 'c':
		o->config = optarg;
		return true;
	case 'k':
		o->key = optarg;
		return true;
	case 'i':
		o->key_id = optarg;
		return true;
	case 'h':
		fputs(help, stdout);
		*code = EXIT_YES;
		return false;
	default:
		*code = usage_refuse_option(argv[0], options, argv, c);
		return false;
	}
}

static bool
read_options(int argc, char **argv, struct options *o, int *code)
{
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":c:h", options, NULL)) != -1)
		if (!take_option(c, argv, o, code))
			return false;
	if (optind < argc)
		*code = usage_refuse(
		    argv[0], "it reads standard input, not %s", argv[optind]);
	else if (o->key_id != NULL && o->key == NULL)
		*code = usage_refuse(argv[0], "--key-id names the key that --key gives");
	else if (o->config != NULL && o->key != NULL)
		*code = usage_refuse(argv[0], "--key or --config, not both");
	else if (o->is_fingerprint && o->key == NULL && o->config == NULL)
		*code = usage_refuse(argv[0], "--fingerprint needs --key or --config: a "
					      "mark under a random key is found "
					      "nowhere");
	else
		return true;
	return false;
}

int
cmd_redact(int argc, char **argv)
{
	struct options o = { .as = REDACT_TEXT };
	int code = EXIT_CONFIG;

	if (!read_options(argc, argv, &o, &code))
		return code;
	struct redactor *r = redactor_for(&o, &code);
	if (r == NULL)
		return code;
	code = o.is_fingerprint ? fingerprint(r) : filter(r, &o);
	redactor_free(r);
	return code;
}
