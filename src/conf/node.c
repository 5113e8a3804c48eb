/*
 * node.c - reading one value strictly, and saying what would be right
 */
#include "conf/node.h"

#include <stdio.h>
#include <string.h>

static void
add_at(const struct tree *t, struct mark mark, struct report *rep, enum severity severity,
    const char *code, const char *hint, const char *fmt, va_list ap)
{
	report_vadd(rep, severity, mark, t->source, code, hint, fmt, ap);
}

void
node_error(const struct tree *t, const struct node *n, struct report *rep,
    const char *code, const char *hint, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!n->is_broken)
		add_at(t, n->mark, rep, SEVERITY_ERROR, code, hint, fmt, ap);
	va_end(ap);
}

void
node_warn(const struct tree *t, const struct node *n, struct report *rep,
    const char *code, const char *hint, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!n->is_broken)
		add_at(t, n->mark, rep, SEVERITY_WARNING, code, hint, fmt, ap);
	va_end(ap);
}

void
node_key_error(const struct tree *t, const struct node *n, struct report *rep,
    const char *code, const char *hint, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_at(t, n->key_mark, rep, SEVERITY_ERROR, code, hint, fmt, ap);
	va_end(ap);
}

const struct node *
node_get(const struct node *block, const char *key)
{
	for (const struct node *n = block->child; n != NULL; n = n->next)
		if (str_eq(n->key, str_of(key)))
			return n;
	return NULL;
}

static bool
is_one_of(struct str text, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(text, str_of(words[i])))
			return true;
	return false;
}

bool
node_is_null(const struct node *n)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };

	return n->type == NODE_SCALAR && !n->is_quoted && is_one_of(n->text, nulls, 5);
}

static const char *
type_name(enum node_type type)
{
	static const char *const names[] = {
		[NODE_SCALAR] = "one value",
		[NODE_LIST] = "a list",
		[NODE_BLOCK] = "a block of keys",
	};

	return names[type];
}

bool
node_is(
    const struct tree *t, const struct node *n, struct report *rep, enum node_type type)
{
	static const char *const hints[] = {
		[NODE_SCALAR] = "write one value, without [ ] and { }",
		[NODE_LIST] = "write a list: [a, b]",
		[NODE_BLOCK] = "write keys with values: { key: value }",
	};

	if (n->is_broken)
		return false;
	if (node_is_null(n)) {
		node_error(t, n, rep, "null_value",
		    "give it a value, or leave the key out to have its default",
		    "%s is missing here", type_name(type));
		return false;
	}
	if (n->type != type)
		node_error(t, n, rep, "wrong_type", hints[type],
		    "%s must stand here, not %s", type_name(type), type_name(n->type));
	return n->type == type;
}

bool
node_str(const struct tree *t, const struct node *n, struct report *rep, struct str *out)
{
	if (!node_is(t, n, rep, NODE_SCALAR))
		return false;
	*out = n->text;
	return true;
}

bool
node_bool(const struct tree *t, const struct node *n, struct report *rep, bool *out)
{
	bool is_true;

	if (!node_is(t, n, rep, NODE_SCALAR))
		return false;
	is_true = str_eq(n->text, STR("true"));
	if (n->is_quoted || !(is_true || str_eq(n->text, STR("false")))) {
		node_error(t, n, rep, "bad_boolean",
		    "write true or false, without quotes",
		    "\"%.*s\" is not true or false", STR_ARG(n->text));
		return false;
	}
	*out = is_true;
	return true;
}

static const char *
integer_hint(const struct node *n, struct str digits)
{
	uint64_t value;

	if (n->is_quoted && str_decimal(digits, &value))
		return "write the number without quotes";
	if (digits.n > 1 && digits.p[0] == '0' && ascii_is_digit(digits.p[1]))
		return "write it without leading zeros";
	return "write a whole number in digits alone, such as 256";
}

bool
node_int(const struct tree *t, const struct node *n, struct report *rep, int64_t min,
    int64_t max, int64_t *out)
{
	uint64_t value;

	if (!node_is(t, n, rep, NODE_SCALAR))
		return false;
	bool is_negative = str_starts(n->text, STR("-"));
	struct str digits = str_sub(n->text, is_negative ? 1 : 0, n->text.n);
	if (n->is_quoted || !str_decimal(digits, &value) || (is_negative && value == 0)) {
		node_error(t, n, rep, "bad_integer", integer_hint(n, digits),
		    "\"%.*s\" is not a whole number", STR_ARG(n->text));
		return false;
	}
	int64_t number = value > INT64_MAX ? INT64_MAX : (int64_t)value;
	number = is_negative ? -number : number;
	if (value > INT64_MAX || number < min || number > max) {
		node_error(t, n, rep, "out_of_range", NULL,
		    "%.*s is not between %lld and %lld", STR_ARG(n->text), (long long)min,
		    (long long)max);
		return false;
	}
	*out = number;
	return true;
}

struct unit {
	const char *name;
	int64_t factor;
};

/* What is asked for where a number must have a unit. */
struct quantity {
	const char *noun, *code, *hint;
	struct unit unit[5];
};

static const struct quantity duration = {
	"duration",
	"bad_duration",
	"write a whole number and its unit: 250ms, 5s, 2m or 24h",
	{ { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } },
};

static const struct quantity size = {
	"size",
	"bad_size",
	"write a whole number and its unit: 512B, 16KiB, 10MiB, 1GiB or 2TiB",
	{ { "B", 1 }, { "KiB", 1 << 10 }, { "MiB", 1 << 20 }, { "GiB", 1 << 30 },
	    { "TiB", (int64_t)1 << 40 } },
};

/* 0: there is no such unit. */
static int64_t
factor_of(const struct quantity *q, struct str unit)
{
	for (size_t i = 0; i < sizeof(q->unit) / sizeof(q->unit[0]); i++)
		if (q->unit[i].name != NULL && str_eq(unit, str_of(q->unit[i].name)))
			return q->unit[i].factor;
	return 0;
}

static bool
node_quantity(const struct tree *t, const struct node *n, struct report *rep,
    const struct quantity *q, int64_t *out)
{
	size_t digits = 0;
	uint64_t number;

	if (!node_is(t, n, rep, NODE_SCALAR))
		return false;
	while (digits < n->text.n && ascii_is_digit(n->text.p[digits]))
		digits++;
	bool is_number = str_decimal(str_sub(n->text, 0, digits), &number);
	if (is_number && number == 0 &&
	    digits == n->text.n) { /* nothing, in whatever unit */
		*out = 0;
		return true;
	}
	int64_t factor = factor_of(q, str_sub(n->text, digits, n->text.n));
	if (!is_number || factor == 0) {
		node_error(t, n, rep, q->code, q->hint,
		    is_number && digits == n->text.n ? "the %s %.*s has no unit"
						     : "the %s \"%.*s\" is not readable",
		    q->noun, STR_ARG(n->text));
		return false;
	}
	if (number > (uint64_t)(INT64_MAX / factor)) {
		node_error(t, n, rep, "out_of_range", NULL, "the %s %.*s is too large",
		    q->noun, STR_ARG(n->text));
		return false;
	}
	*out = (int64_t)number * factor;
	return true;
}

static const char *
quantity_text(char out[static QUANTITY_TEXT], const struct quantity *q, int64_t value)
{
	const struct unit *best = &q->unit[0];

	for (size_t i = 1; i < sizeof(q->unit) / sizeof(q->unit[0]); i++)
		if (q->unit[i].name != NULL && value % q->unit[i].factor == 0)
			best = &q->unit[i];
	snprintf(out, QUANTITY_TEXT, "%lld%s", (long long)(value / best->factor),
	    value == 0 ? "" : best->name);
	return out;
}

const char *
duration_text(char out[static QUANTITY_TEXT], int64_t ms)
{
	return quantity_text(out, &duration, ms);
}

const char *
size_text(char out[static QUANTITY_TEXT], int64_t bytes)
{
	return quantity_text(out, &size, bytes);
}

bool
node_duration(const struct tree *t, const struct node *n, struct report *rep, int64_t *ms)
{
	return node_quantity(t, n, rep, &duration, ms);
}

bool
node_size(const struct tree *t, const struct node *n, struct report *rep, int64_t *bytes)
{
	return node_quantity(t, n, rep, &size, bytes);
}

void
node_check_keys(const struct tree *t, const struct node *block, struct report *rep,
    const char *const *known, size_t n)
{
	for (const struct node *at = block->child; at != NULL; at = at->next) {
		if (is_one_of(at->key, known, n))
			continue;
		const char *near = report_suggest(at->key, known, n);
		char hint[96] = "";
		if (near != NULL)
			snprintf(hint, sizeof(hint), "did you mean \"%s\"?", near);
		node_key_error(t, at, rep, "unknown_key", near == NULL ? NULL : hint,
		    "there is no key \"%.*s\" here", STR_ARG(at->key));
	}
}
