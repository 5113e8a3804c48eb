/*
 * audit_show.c - one record as a line for eyes
 */
#include "cmd/audit_show.h"

#include <inttypes.h>

#include "base/utf8.h"
#include "cmd/book_rows.h"

#define TIME_CELLS 23 /* to the millisecond */
#define TS_BYTES 27

enum color { PLAIN, RED, GREEN, CYAN, DIM };

static const char *const codes[] = { [PLAIN] = "",
	[RED] = "\033[31m",
	[GREEN] = "\033[32m",
	[CYAN] = "\033[36m",
	[DIM] = "\033[2m" };

static void
put_colored(struct buf *to, struct str s, int cells, enum color c, bool has_color)
{
	if (has_color)
		buf_text(to, codes[c]);
	row_show(to, s);
	if (has_color && c != PLAIN)
		buf_text(to, "\033[0m");
	for (int n = s.n > 0 ? (int)s.n : 1; n < cells; n++)
		buf_char(to, ' ');
	buf_char(to, ' ');
}

static void
put_time(struct buf *to, struct str ts)
{
	if (ts.n == TS_BYTES)
		ts.n = TIME_CELLS;
	row_show(to, ts);
	buf_text(to, "  ");
}

static void
put_word(struct buf *to, struct str word)
{
	if (word.n == 0)
		return;
	row_show(to, word);
	buf_char(to, ' ');
}

static void
put_target(struct buf *to, const struct entry *e)
{
	size_t at;
	bool is_v6 = str_find(e->host, ':', &at) && !str_starts(e->host, STR("["));

	if (is_v6)
		buf_char(to, '[');
	row_show(to, e->host);
	if (is_v6)
		buf_char(to, ']');
	if (e->port != ENTRY_NONE)
		buf_fmt(to, ":%" PRId64, e->port);
	buf_char(to, ' ');
	put_word(to, e->method);
	put_word(to, e->path);
	buf_char(to, ' ');
}

static int64_t
or_zero(int64_t n)
{
	return n == ENTRY_NONE ? 0 : n;
}

static void
put_usd(struct buf *to, const char *what, usd_nano amount)
{
	char text[USD_TEXT];

	if (amount != ENTRY_NONE)
		buf_fmt(to, "  %s%s USD", what, usd_print(amount, text));
}

static void
put_costs(struct buf *to, const struct entry *e, bool is_final)
{
	if (e->status != ENTRY_NONE)
		buf_fmt(to, "%" PRId64 " ", e->status);
	if (e->up != ENTRY_NONE || e->down != ENTRY_NONE)
		buf_fmt(
		    to, " %" PRId64 "/%" PRId64 " B", or_zero(e->up), or_zero(e->down));
	if (e->ms != ENTRY_NONE)
		buf_fmt(to, "  %" PRId64 " ms", e->ms);
	if (is_final)
		put_usd(to, "", e->charged);
	else
		put_usd(to, "reserved ", e->reserved);
}

static void
put_session(struct buf *to, const struct entry *e)
{
	if (e->sid.n == 0)
		return;
	buf_text(to, "  ");
	row_show(to, e->tenant);
	buf_char(to, '/');
	row_show(to, e->sid);
}

static void
put_exchange(struct buf *to, const struct entry *e, bool has_color)
{
	bool is_final = str_eq(e->phase, STR("final"));
	bool is_denied = str_eq(e->decision, STR("deny"));

	put_colored(to, e->decision, 5,
	    is_denied            ? RED
	    : e->decision.n == 0 ? PLAIN
				 : GREEN,
	    has_color);
	put_colored(to, e->kind, 7, PLAIN, has_color);
	if (!is_final)
		put_colored(to, e->phase, 0, DIM, has_color);
	put_target(to, e);
	put_word(to, e->reason);
	put_costs(to, e, is_final);
	put_session(to, e);
}

/* Not for eyes. */
static bool
is_digest(struct str key)
{
	static const struct str digests[] = { { "prev", 4 }, { "mac", 3 }, { "sig", 3 },
		{ "key", 3 } };

	for (size_t i = 0; i < sizeof(digests) / sizeof(*digests); i++)
		if (str_eq(key, digests[i]))
			return true;
	return false;
}

/* What belongs to the event stands behind it. */
static void
put_system(struct buf *to, const struct entry *e, bool has_color)
{
	bool is_behind = false;

	put_colored(to, e->kind, 13, CYAN, has_color);
	row_show(to, e->event);
	for (const struct json_value *v = e->root->child; v != NULL; v = v->next) {
		if (is_behind && v->type == JSON_STRING && !is_digest(v->key)) {
			buf_char(to, ' ');
			row_show(to, v->key);
			buf_char(to, '=');
			row_show(to, v->text);
		}
		is_behind = is_behind || str_eq(v->key, STR("event"));
	}
}

void
audit_show(struct buf *to, const struct entry *e, bool has_color)
{
	put_time(to, e->ts);
	if (str_eq(e->kind, STR("system")))
		put_system(to, e, has_color);
	else
		put_exchange(to, e, has_color);
	buf_char(to, '\n');
}

void
audit_show_fault(struct buf *to, const char *why, bool has_color)
{
	put_colored(to, STR("no record:"), 0, RED, has_color);
	row_show(to, str_of(why));
	buf_char(to, '\n');
}

static void
put_escaped(struct buf *to, uint32_t c, bool is_in_string)
{
	if (is_in_string)
		buf_fmt(to, "\\u%04x", (unsigned)c); /* none is above U+FFFF */
	else
		buf_char(to, ' ');
}

void
audit_show_json(struct buf *to, struct str line)
{
	bool is_in_string = false;

	while (line.n > 0) {
		uint32_t c;
		size_t n = utf8_char(line, &c);

		if (n == 0) { /* no JSON: its reader says so */
			n = 1;
			c = 0xfffd;
			buf_text(to, "\xef\xbf\xbd");
		} else if (utf8_is_control(c)) {
			put_escaped(to, c, is_in_string);
		} else {
			n = c == '\\' && line.n > 1 && (uint8_t)line.p[1] < 0x7f &&
				    (uint8_t)line.p[1] >= ' '
				? 2
				: n;
			buf_str(to, str_sub(line, 0, n));
		}
		is_in_string ^= c == '"';
		line = str_sub(line, n, line.n);
	}
	buf_char(to, '\n');
}
