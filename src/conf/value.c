/*
 * value.c - types of one value: numbers with their units, words, paths, references
 */
#include "conf/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/text.h"

static bool
int64_same(const void *a, const void *b)
{
	return *(const int64_t *)a == *(const int64_t *)b;
}

static bool
text_same(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return *x == NULL || *y == NULL ? *x == *y : strcmp(*x, *y) == 0;
}

static void
text_free(void *field)
{
	char **text = field;

	free(*text);
}

/* ---- true or false */

static bool
bool_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	(void)row;
	return node_bool(l->t, n, l->rep, field);
}

static bool
bool_same(const void *a, const void *b)
{
	return *(const bool *)a == *(const bool *)b;
}

const struct type type_BOOL = { "boolean", NULL, bool_read, bool_same, NULL, NULL, NULL,
	NULL };

/* ---- numbers */

/* Sets the field when the quantity is within the row's bounds. */
static bool
within(const struct loading *l, const struct row *row, const struct node *n,
    int64_t number, const char *(*text)(char[static QUANTITY_TEXT], int64_t), void *field)
{
	char min[QUANTITY_TEXT], max[QUANTITY_TEXT];

	if (number < row->min || number > row->max) {
		node_error(l->t, n, l->rep, "out_of_range", NULL,
		    "%.*s is not between %s and %s", STR_ARG(n->text),
		    text(min, row->min), text(max, row->max));
		return false;
	}
	*(int64_t *)field = number;
	return true;
}

static bool
int_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	return node_int(l->t, n, l->rep, row->min, row->max, field);
}

static bool
duration_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	int64_t ms;

	return node_duration(l->t, n, l->rep, &ms) &&
	       within(l, row, n, ms, duration_text, field);
}

static bool
size_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	int64_t bytes;

	return node_size(l->t, n, l->rep, &bytes) &&
	       within(l, row, n, bytes, size_text, field);
}

static bool
is_auto(const struct node *n)
{
	return n->type == NODE_SCALAR && str_eq(n->text, STR("auto"));
}

static bool
workers_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	if (is_auto(n)) {
		*(int64_t *)field = 0;
		return true;
	}
	return int_read(l, row, n, field);
}

static bool
size_or_auto_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	if (is_auto(n)) {
		*(int64_t *)field = SIZE_AUTO;
		return true;
	}
	if (n->type == NODE_SCALAR && str_ends(n->text, STR("%"))) {
		node_error(l->t, n, l->rep, "bad_size",
		    "write auto, for a share of what is there, 0, or a size: 1GiB",
		    "\"%.*s\" is no size", STR_ARG(n->text));
		return false;
	}
	return size_read(l, row, n, field);
}

/* "AMOUNT/PER", or 0 for no limit; *amount is a node of its own, so that its reader can
 * complain. */
static bool
rate_split(const struct loading *l, const struct node *n, struct str per,
    const char *hint, struct node *amount)
{
	struct str text;

	if (!node_str(l->t, n, l->rep, &text))
		return false;
	bool is_none = str_eq(text, STR("0"));
	if (!is_none && !str_ends(text, per)) {
		node_error(l->t, n, l->rep, "bad_rate", hint, "\"%.*s\" is not a rate",
		    STR_ARG(text));
		return false;
	}
	*amount = *n;
	amount->text = is_none ? text : str_sub(text, 0, text.n - per.n);
	amount->is_quoted = false;
	return true;
}

static bool
rate_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	struct node amount;

	return rate_split(
		   l, n, STR("/s"), "write how many a second: 100/s; or 0", &amount) &&
	       int_read(l, row, &amount, field);
}

static bool
body_rate_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	struct node amount;

	return rate_split(l, n, STR("/min"),
		   "write a size for each minute: 1KiB/min; or 0", &amount) &&
	       size_read(l, row, &amount, field);
}

static bool
minute_rate_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	struct node amount;

	return rate_split(l, n, STR("/min"), "write how many a minute: 120/min; or 0",
		   &amount) &&
	       int_read(l, row, &amount, field);
}

static bool
hour_rate_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	struct node amount;

	return rate_split(
		   l, n, STR("/h"), "write how many an hour: 600/h; or 0", &amount) &&
	       int_read(l, row, &amount, field);
}

const struct type type_INT = { "number", "", int_read, int64_same, NULL, NULL, NULL,
	NULL };
const struct type type_DURATION = { "duration", "ms", duration_read, int64_same, NULL,
	NULL, NULL, NULL };
const struct type type_SIZE = { "size", "bytes", size_read, int64_same, NULL, NULL, NULL,
	NULL };
const struct type type_SIZE_or_auto = { "size or auto", "bytes", size_or_auto_read,
	int64_same, NULL, NULL, NULL, NULL };
const struct type type_WORKERS = { "number or auto", "", workers_read, int64_same, NULL,
	NULL, NULL, NULL };
const struct type type_RATE = { "rate", "a second", rate_read, int64_same, NULL, NULL,
	NULL, NULL };
const struct type type_MINUTE_RATE = { "rate a minute", "a minute", minute_rate_read,
	int64_same, NULL, NULL, NULL, NULL };
const struct type type_HOUR_RATE = { "rate an hour", "an hour", hour_rate_read,
	int64_same, NULL, NULL, NULL, NULL };
const struct type type_BODY_RATE = { "size a minute", "bytes a minute", body_rate_read,
	int64_same, NULL, NULL, NULL, NULL };

/* ---- words */

static bool
is_visible(char c)
{
	return (unsigned char)c > ' ' && c != 0x7f;
}

static bool
is_on_a_line(char c)
{
	return (unsigned char)c >= ' ' && c != 0x7f;
}

/* RFC 9110 5.6.2 */
static bool
is_token_character(char c)
{
	return ascii_is_alnum(c) || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool
is_word_character(char c)
{
	return ascii_is_alnum(c) || c == '-' || c == '_';
}

static bool
word_read(const struct loading *l, const struct row *row, const struct node *n,
    void *field, bool (*is_fit)(char c), const char *of_what)
{
	struct str text;

	if (!node_str(l->t, n, l->rep, &text))
		return false;
	if (text.n < (size_t)row->min || text.n > (size_t)row->max) {
		node_error(l->t, n, l->rep, "out_of_range", NULL,
		    "%s has %lld to %lld characters, not %zu", row->key,
		    (long long)row->min, (long long)row->max, text.n);
		return false;
	}
	for (size_t i = 0; i < text.n; i++) {
		if (is_fit(text.p[i]))
			continue;
		node_error(l->t, n, l->rep, "bad_text", NULL, "%s consists of %s only",
		    row->key, of_what);
		return false;
	}
	*(char **)field = str_dup(text);
	return true;
}

static bool
text_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	return word_read(l, row, n, field, is_visible, "characters that can be seen");
}

static bool
line_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	return word_read(l, row, n, field, is_on_a_line, "characters of one line");
}

static bool
token_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	return word_read(
	    l, row, n, field, is_token_character, "letters, digits and !#$%&'*+-.^_`|~");
}

static bool
plain_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	return word_read(l, row, n, field, is_word_character, "letters, digits, - and _");
}

const struct type type_TEXT = { "text", "characters", text_read, text_same, text_free,
	NULL, NULL, NULL };
const struct type type_LINE = { "line", "characters", line_read, text_same, text_free,
	NULL, NULL, NULL };
const struct type type_TOKEN = { "token", "characters", token_read, text_same, text_free,
	NULL, NULL, NULL };
const struct type type_WORD = { "word", "characters", plain_read, text_same, text_free,
	NULL, NULL, NULL };

/* ---- one of a few words */

static bool
enum_read(const struct loading *l, const struct row *row, const struct node *n,
    void *field, const char *const *name, size_t count)
{
	struct str text;
	char hint[128];

	if (!node_str(l->t, n, l->rep, &text))
		return false;
	for (size_t i = 0; i < count; i++)
		if (str_eq(text, str_of(name[i]))) {
			*(int *)field = (int)i;
			return true;
		}
	snprintf(hint, sizeof(hint), "write %s", row->type->name);
	node_error(l->t, n, l->rep, "bad_choice", hint, "\"%.*s\" is none of the choices",
	    STR_ARG(text));
	return false;
}

static bool
enum_same(const void *a, const void *b)
{
	return *(const int *)a == *(const int *)b;
}

/* Names in the order of their enum. */
#define ENUM(id, label, ...) \
	static bool id##_read(const struct loading *l, const struct row *row, \
	    const struct node *n, void *field) \
	{ \
		static const char *const name[] = { __VA_ARGS__ }; \
		return enum_read( \
		    l, row, n, field, name, sizeof(name) / sizeof(name[0])); \
	} \
	const struct type type_ENUM_##id = { label, NULL, id##_read, enum_same, NULL, \
		NULL, NULL, NULL }

ENUM(errors, "public or developer", "public", "developer");
ENUM(on_failure, "refuse or drop", "refuse", "drop");
ENUM(log_level, "error, warn, info or debug", "error", "warn", "info", "debug");
ENUM(log_format, "text or json", "text", "json");
/* the first is what an absent key is, and nobody writes */
ENUM(boundary,
    "docker-internal, network-none, k8s-gateway, k8s-sidecar, vm, provider-firewall or "
    "none",
    "", "docker-internal", "network-none", "k8s-gateway", "k8s-sidecar", "vm",
    "provider-firewall", "none");
ENUM(public, "deny or allow", "deny", "allow");
ENUM(bind, "first, armed or none", "first", "armed", "none");
ENUM(turns, "current or concurrent", "current", "concurrent");
ENUM(network, "inherit or required", "inherit", "required");
ENUM(budget_mode, "clamp or strict", "clamp", "strict");
ENUM(hosted, "strip or refuse", "strip", "refuse");
ENUM(dns_mode, "synthetic or forward", "synthetic", "forward");
ENUM(unpriced, "refuse", "refuse");
ENUM(settle, "table or reported", "table", "reported");
ENUM(per, "ever, day or month", "ever", "day", "month");
ENUM(provider_kind, "anthropic, openai, gemini, vercel, openrouter, litellm or none",
    "anthropic", "openai", "gemini", "vercel", "openrouter", "litellm", "none");

/* ---- paths and references */

char *
path_from(const struct loading *l, const struct node *n)
{
	struct str text;
	struct buf path;

	if (!node_str(l->t, n, l->rep, &text))
		return NULL;
	if (text.n == 0) {
		node_error(l->t, n, l->rep, "bad_path", NULL, "a path is missing here");
		return NULL;
	}
	buf_init(&path, TEXT_ANY);
	if (text.p[0] != '/')
		buf_fmt(&path, "%s/", l->directory);
	buf_str(&path, text);
	char *copy = str_dup(buf_view(&path));
	buf_fini(&path);
	return copy;
}

static bool
path_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	char *path = path_from(l, n);

	(void)row;
	if (path == NULL)
		return false;
	*(char **)field = path;
	return true;
}

static bool
path_or_stdout_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	if (n->type == NODE_SCALAR && str_eq(n->text, STR("-"))) {
		*(char **)field = mem_strdup("-");
		return true;
	}
	return path_read(l, row, n, field);
}

static bool
roots_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	if (n->type == NODE_SCALAR && str_eq(n->text, STR("system")))
		return true; /* NULL */
	return path_read(l, row, n, field);
}

static bool
reference_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	(void)row;
	if (l->is_unwanted)
		return secret_is_reference(l->t, n, l->rep);
	return secret_read(field, l->t, n, l->directory, l->secret_files, l->rep);
}

static bool
public_key_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	(void)row;
	if (l->is_unwanted)
		return secret_is_reference(l->t, n, l->rep);
	return secret_read_public(field, l->t, n, l->directory, l->secret_files, l->rep);
}

static bool
ca_key_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	(void)row;
	if (l->is_unwanted)
		return secret_is_reference(l->t, n, l->rep);
	return secret_read_grave(field, l->t, n, l->directory, l->secret_files, l->rep);
}

static bool
reference_same(const void *a, const void *b)
{
	return secret_eq(a, b);
}

static void
reference_free(void *field)
{
	secret_wipe(field);
}

static void
reference_show(const void *field, secret_see *see, void *arg)
{
	const struct secret *s = field;

	if (s->n > 0)
		see(s, arg);
}

const struct type type_PATH = { "path", NULL, path_read, text_same, text_free, NULL, NULL,
	NULL };
const struct type type_PATH_or_stdout = { "path or \"-\"", NULL, path_or_stdout_read,
	text_same, text_free, NULL, NULL, NULL };
const struct type type_ROOTS = { "system or a path", NULL, roots_read, text_same,
	text_free, NULL, NULL, NULL };
const struct type type_SECRET = { "env:NAME, file:PATH or cred:NAME", NULL,
	reference_read, reference_same, reference_free, NULL, NULL, reference_show };
const struct type type_CA_KEY = { "env:NAME, file:PATH or cred:NAME", NULL, ca_key_read,
	reference_same, reference_free, NULL, NULL, reference_show };
const struct type type_PUBLIC_KEY = { "env:NAME, file:PATH or cred:NAME", NULL,
	public_key_read, reference_same, reference_free, NULL, NULL, NULL };
