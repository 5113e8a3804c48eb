#include "wire/sse.h"

#include <string.h>

enum state {
	FIELD, /* a line's name, or its end */
	COLON, /* just after it: one space is no part of the value */
	VALUE,
};

enum kind { OTHER_FIELD, DATA_FIELD, NAME_FIELD };

static const char bom[] = "\xef\xbb\xbf"; /* may stand at the very beginning */

void
sse_init(struct sse *s)
{
	*s = (struct sse){ .state = FIELD };
}

bool
sse_is_between(const struct sse *s)
{
	return s->is_over || !s->has_line;
}

static void
begin_event(struct sse *s)
{
	s->begin = s->at;
	s->name = STR_NONE;
	s->name_is_cut = s->has_data = s->has_line = s->is_over = false;
}

static void
begin_line(struct sse *s)
{
	s->state = FIELD;
	s->kind = OTHER_FIELD;
	s->field_n = 0;
}

static void
take(struct sse *s, struct str *in, size_t n)
{
	*in = str_sub(*in, n, in->n);
	s->at += n;
}

/* The field's name is over.  True: *text parts this line of data from the one before. */
static bool
begin_value(struct sse *s, struct str *text)
{
	struct str field = { s->field, s->field_n };

	s->state = COLON;
	if (str_eq(field, STR("event"))) {
		s->kind = NAME_FIELD;
		s->name = STR_NONE;
		s->name_is_cut = false;
	}
	if (!str_eq(field, STR("data")))
		return false;
	s->kind = DATA_FIELD;
	*text = STR("\n");
	if (s->has_data)
		return true;
	s->has_data = true;
	return false;
}

static void
add_name(struct sse *s, struct str piece)
{
	size_t room = SSE_NAME - s->name.n, n = piece.n < room ? piece.n : room;

	memcpy(s->name_text + s->name.n, piece.p, n);
	s->name = (struct str){ s->name_text, s->name.n + n };
	s->name_is_cut |= n < piece.n;
}

static struct str
until_line_end(struct str in)
{
	size_t n = 0;

	while (n < in.n && in.p[n] != '\r' && in.p[n] != '\n')
		n++;
	return str_sub(in, 0, n);
}

/* One byte of a field's name; it may be the colon. */
static bool
read_field(struct sse *s, struct str *in, struct str *text)
{
	char c = in->p[0];

	take(s, in, 1);
	if (s->bom < 3 && s->bom == s->at - 1) {
		if (c == bom[s->bom]) {
			s->bom++;
			return false;
		}
		if (s->bom > 0) /* part of a mark is part of a name */
			s->field_n = sizeof(s->field);
	}
	s->has_line = true;
	if (c == ':')
		return begin_value(s, text);
	if (s->field_n < sizeof(s->field))
		s->field[s->field_n++] = c;
	return false;
}

static bool
read_value(struct sse *s, struct str *in, struct str *text)
{
	if (s->state == COLON) {
		s->state = VALUE;
		if (in->p[0] == ' ') {
			take(s, in, 1);
			return false;
		}
	}
	*text = until_line_end(*in);
	take(s, in, text->n);
	if (s->kind == NAME_FIELD)
		add_name(s, *text);
	return s->kind == DATA_FIELD;
}

/* A CR or LF was read.  A blank line ends the event; a name alone is an empty value. */
static enum sse_token
end_line(struct sse *s, struct str *text)
{
	bool is_blank = s->state == FIELD && s->field_n == 0;
	bool is_join = s->state == FIELD && !is_blank && begin_value(s, text);

	begin_line(s);
	if (is_join)
		return SSE_DATA;
	if (!is_blank)
		return SSE_MORE;
	s->is_over = true;
	return s->has_data ? SSE_EVENT : SSE_BLANK;
}

static enum sse_token
step(struct sse *s, struct str *in, struct str *text)
{
	char c = in->p[0];
	bool is_pair = s->after_cr && c == '\n'; /* a CR LF's second half */

	s->after_cr = false;
	if (c == '\r' || c == '\n') {
		take(s, in, 1);
		s->after_cr = c == '\r';
		return is_pair ? SSE_MORE : end_line(s, text);
	}
	if (s->state == FIELD)
		return read_field(s, in, text) ? SSE_DATA : SSE_MORE;
	return read_value(s, in, text) ? SSE_DATA : SSE_MORE;
}

enum sse_token
sse_next(struct sse *s, struct str *in, struct str *text)
{
	enum sse_token t = SSE_MORE;

	if (s->is_over)
		begin_event(s);
	while (t == SSE_MORE && in->n > 0)
		t = step(s, in, text);
	return t;
}
