/*
 * past.c - what an audit log says of the weir that wrote it before
 */
#include "audit/past.h"

#include <stdlib.h>
#include <string.h>

#include "audit/record.h"
#include "wire/json.h"

#define LINE_MOST ((size_t)1 << 17)
#define EVENT_WITHIN 160 /* bytes of a line, only `seq` varies before it */
#define TS_TEXT (sizeof("2031-04-05T06:07:08.123456Z") - 1)
#define ID_TEXT (EXCHANGE_ID - 1)

/* In quotes that came from outside there would be backslashes before these. */
static const char before_ts[] = "{\"v\":1,\"ts\":\"";
static const char before_id[] = "\",\"id\":\"";
static const char before_phase[] = ",\"phase\":\"";
static const char system_event[] =
    ",\"kind\":\"system\",\"phase\":\"final\",\"event\":\"";
static const char lines_key[] = ",\"lines\":\"";

void
past_init(struct past *p)
{
	*p = (struct past){ 0 };
	map_init(&p->open);
}

static void
free_line(void *line)
{
	buf_fini(line);
	free(line);
}

void
past_fini(struct past *p)
{
	map_fini(&p->open, free_line);
}

/* Where `needle` ends in s; false: it is not there. */
static bool
find_end(struct str s, const char *needle, size_t *at)
{
	struct str want = str_of(needle);

	for (size_t i = 0; i + want.n <= s.n; i++)
		if (s.p[i] == want.p[0] && str_starts(str_sub(s, i, s.n), want)) {
			*at = i + want.n;
			return true;
		}
	return false;
}

/* An exchange's record begins alike, whoever made it. */
static bool
read_id(struct str line, struct str *id, struct str *rest)
{
	size_t at = sizeof(before_ts) - 1 + TS_TEXT;

	if (!str_starts(line, str_of(before_ts)) ||
	    !str_starts(str_sub(line, at, line.n), str_of(before_id)))
		return false;
	at += sizeof(before_id) - 1;
	if (line.n < at + ID_TEXT)
		return false;
	*id = str_sub(line, at, ID_TEXT);
	*rest = str_sub(line, at + ID_TEXT, line.n);
	return true;
}

static void
see_exchange(struct past *p, struct str line, struct str id, struct str rest)
{
	struct buf *known = map_get(&p->open, id);
	size_t at;

	if (!find_end(rest, before_phase, &at))
		return;
	if (str_starts(str_sub(rest, at, rest.n), STR("final\""))) {
		if (map_del(&p->open, id) != NULL)
			free_line(known);
		return;
	}
	if (known == NULL) {
		known = mem_alloc(sizeof(*known));
		buf_init(known, LINE_MOST);
		(void)map_put(&p->open, id, known);
	}
	buf_reset(known);
	buf_str(known, line);
}

static struct str
event_of(struct str line)
{
	struct str id, rest;
	size_t at, end;

	if (!str_starts(line, str_of(before_ts)) || read_id(line, &id, &rest) ||
	    !find_end(str_sub(line, 0, EVENT_WITHIN), system_event, &at))
		return STR_NONE;
	line = str_sub(line, at, line.n);
	return str_find(line, '"', &end) ? str_sub(line, 0, end) : STR_NONE;
}

/* A weir begins or ends here: nothing of what is before is open. */
static bool
is_boundary(struct str line)
{
	struct str event = event_of(line);

	return str_eq(event, STR("start")) || str_eq(event, STR("stop"));
}

static void
forget_all(struct past *p)
{
	map_fini(&p->open, free_line);
	map_init(&p->open);
}

/* A checkpoint says how many lines are before it. */
static void
see_system(struct past *p, struct str line)
{
	uint64_t lines = 0;
	size_t at;

	if (is_boundary(line))
		forget_all(p);
	if (!str_eq(event_of(line), STR("checkpoint")) || !find_end(line, lines_key, &at))
		return;
	for (; at < line.n && ascii_is_digit(line.p[at]) && lines < UINT64_MAX / 16; at++)
		lines = lines * 10 + (uint64_t)(line.p[at] - '0');
	p->lines = lines;
}

void
past_see(struct past *p, struct str line)
{
	struct str id, rest;

	if (read_id(line, &id, &rest))
		see_exchange(p, line, id, rest);
	else
		see_system(p, line);
	p->lines++;
}

bool
past_find_boundary(struct str text, size_t *at)
{
	struct str line;
	size_t begin = text.n;

	while (begin > 0) {
		size_t end = text.p[begin - 1] == '\n' ? begin - 1 : begin;

		if (!str_rfind(str_sub(text, 0, end), '\n', &begin))
			begin = 0;
		else
			begin++;
		line = str_sub(text, begin, end - begin);
		if (is_boundary(line)) {
			*at = begin;
			return true;
		}
	}
	return false;
}

/* ---- the record of what is lost */

struct writing {
	struct json_out out;
	bool has_outcome;
};

static void
put(struct writing *w, const char *key, struct str json)
{
	json_key(&w->out, key);
	json_raw(&w->out, json);
}

static void
put_outcome(struct writing *w)
{
	if (w->has_outcome)
		return;
	w->has_outcome = true;
	put(w, "outcome", STR("\"lost\""));
	put(w, "flags", STR("[\"lost\"]"));
	put(w, "error", STR("\"weir ended before this did\""));
}

/* Is what follows `outcome` in a record? */
static bool
is_behind_outcome(struct str key)
{
	static const char *const keys[] = { "model", "usage", "usd", "prices",
		"traceparent", "approval" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (str_eq(key, str_of(keys[i])))
			return true;
	return false;
}

static bool
is_replaced(struct str key)
{
	return str_eq(key, STR("reason")) || str_eq(key, STR("decision")) ||
	       str_eq(key, STR("prev")) || str_eq(key, STR("mac"));
}

static void
put_member(
    struct writing *w, struct str key, struct str value, uint64_t seq, bool allowed)
{
	char name[32], digits[STR_DIGITS];

	if (is_replaced(key) || key.n >= sizeof(name))
		return;
	memcpy(name, key.p, key.n);
	name[key.n] = '\0';
	if (is_behind_outcome(key))
		put_outcome(w);
	if (str_eq(key, STR("seq"))) {
		put(w, name, str_digits(digits, seq));
	} else if (str_eq(key, STR("phase"))) {
		put(w, name, STR("\"final\""));
		put(w, "decision", allowed ? STR("\"allow\"") : STR("\"deny\""));
		put(w, "reason", STR("\"internal\""));
	} else {
		put(w, name, value);
	}
}

/* The line again, with another end.  False: it is no record. */
static bool
print_lost(struct str line, uint64_t seq, struct buf *to)
{
	struct writing w = { 0 };
	struct arena arena;
	struct json_in in;
	enum json_token t = JSON_BAD;
	size_t at;
	bool allowed = find_end(line, ",\"decision\":\"allow\"", &at);

	arena_init(&arena, LINE_MOST);
	json_in_init(&in, line, &arena);
	json_out_init(&w.out, to);
	json_open(&w.out, '{');
	if (json_next(&in) != JSON_OBJECT)
		goto out;
	while ((t = json_next(&in)) == JSON_KEY) {
		struct str key = in.text;

		at = in.at;
		if (!json_skip(&in))
			break;
		put_member(&w, key, str_sub(line, at, in.at - at), seq, allowed);
	}
	put_outcome(&w);
out:
	arena_fini(&arena);
	return t == JSON_OBJECT_END;
}

bool
past_next(struct past *p, uint64_t seq, struct buf *to)
{
	struct str id;
	void *line;

	while (map_next(&p->open, &p->at, &id, &line)) {
		size_t before = to->n;

		if (print_lost(buf_view(line), seq, to))
			return true;
		to->n = before;
	}
	return false;
}
