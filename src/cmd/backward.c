/*
 * backward.c - the lines of a file from its end to its beginning
 */
#include "cmd/backward.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define HELD_MAX (LINES_MAX + 2 * LINES_PIECE)

static bool
read_all(int fd, char *to, size_t n, off_t at)
{
	for (size_t got = 0; got < n;) {
		ssize_t more = pread(fd, to + got, n - got, at + (off_t)got);

		if (more == 0 || (more < 0 && errno != EINTR))
			return false;
		got += more > 0 ? (size_t)more : 0;
	}
	return true;
}

/* The piece before what is held. */
static bool
read_before(struct backward *b)
{
	size_t n = b->from > (off_t)LINES_PIECE ? LINES_PIECE : (size_t)b->from;

	if (b->held.n > LINES_MAX) {
		buf_reset(&b->held);
		b->is_too_long = true;
	}
	if (buf_room(&b->held, n) == NULL)
		return false;
	memmove(b->held.p + n, b->held.p, b->held.n);
	if (!read_all(b->fd, b->held.p, n, b->from - (off_t)n))
		return false;
	buf_grew(&b->held, n);
	b->from -= (off_t)n;
	return true;
}

/* Cuts off what stands behind the last LF; false: there is no LF. */
static bool
cut(struct backward *b, struct str *tail)
{
	size_t at;

	if (!str_rfind(buf_view(&b->held), '\n', &at))
		return false;
	*tail = str_sub(buf_view(&b->held), at + 1, b->held.n);
	b->held.n = at;
	return true;
}

void
backward_init(struct backward *b, int fd, off_t end)
{
	struct str tail;

	*b = (struct backward){ .fd = fd, .from = end };
	buf_init(&b->held, HELD_MAX);
	while (!cut(b, &tail))
		if (b->from == 0 || !read_before(b)) {
			b->is_done = true;
			break;
		}
	b->is_too_long = false;
}

void
backward_fini(struct backward *b)
{
	buf_fini(&b->held);
}

off_t
backward_end(const struct backward *b)
{
	return b->is_done ? 0 : b->from + (off_t)b->held.n + 1;
}

bool
backward_next(struct backward *b, struct str *line, off_t *at)
{
	if (b->is_done)
		return false;
	while (!cut(b, line)) {
		if (b->from > 0 && read_before(b))
			continue;
		*line = buf_view(&b->held);
		b->held.n = 0;
		b->is_done = true;
		if (b->from > 0)
			return false;
		break;
	}
	*at = b->from + (off_t)b->held.n + !b->is_done;
	if (b->is_too_long)
		*line = STR_NONE;
	b->is_too_long = false;
	return true;
}
