/*
 * lines.c - bytes that come in pieces -> the lines in them
 */
#include "audit/lines.h"

#include <string.h>

void
lines_init(struct lines *l)
{
	*l = (struct lines){ .at = 0 };
	buf_init(&l->held, LINES_MAX + 2 * LINES_PIECE);
}

void
lines_fini(struct lines *l)
{
	buf_fini(&l->held);
}

void
lines_reset(struct lines *l)
{
	buf_reset(&l->held);
	l->at = l->looked = 0;
	l->number = l->thrown = 0;
}

/* What has been given out goes, and all but the length of what is too long. */
static void
make_room(struct lines *l)
{
	buf_drop(&l->held, l->at);
	l->looked -= l->at;
	l->at = 0;
	if (l->held.n <= LINES_MAX && l->thrown == 0)
		return;
	l->thrown += l->held.n;
	l->looked = 0;
	buf_reset(&l->held);
}

char *
lines_room(struct lines *l)
{
	make_room(l);
	return buf_room(&l->held, LINES_PIECE);
}

void
lines_grew(struct lines *l, size_t n)
{
	buf_grew(&l->held, n);
}

/* The bytes from `at` up to `end` are a line, or the end of one. */
static void
give(struct lines *l, size_t end, struct audit_line *out)
{
	uint64_t bytes = l->thrown + (end - l->at);
	bool is_ended = end<l->held.n, is_too_long = bytes> LINES_MAX;

	*out = (struct audit_line){
		.text = str_sub(buf_view(&l->held), l->at, end - l->at),
		.bytes = bytes,
		.number = ++l->number,
		.is_ended = is_ended,
		.is_too_long = is_too_long,
	};
	if (out->is_too_long)
		out->text = STR_NONE;
	l->at = l->looked = end + out->is_ended;
	l->thrown = 0;
}

bool
lines_next(struct lines *l, struct audit_line *out)
{
	size_t at;

	if (!str_find(str_sub(buf_view(&l->held), l->looked, l->held.n), '\n', &at)) {
		l->looked = l->held.n;
		return false;
	}
	give(l, l->looked + at, out);
	return true;
}

bool
lines_last(struct lines *l, struct audit_line *out)
{
	if (l->thrown == 0 && l->at == l->held.n)
		return false;
	give(l, l->held.n, out);
	return true;
}
