/*
 * reader.c - the lines of an audit log, from its files
 */
#include "audit/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void
audit_reader_init(struct audit_reader *r, char *const *path, size_t npath)
{
	*r = (struct audit_reader){
		.path = path, .npath = npath, .at = SIZE_MAX, .fd = -1
	};
	lines_init(&r->lines);
}

static void
close_file(struct audit_reader *r)
{
	if (r->fd > STDERR_FILENO)
		close(r->fd);
	r->fd = -1;
}

void
audit_reader_fini(struct audit_reader *r)
{
	close_file(r);
	lines_fini(&r->lines);
}

static enum audit_read
open_next(struct audit_reader *r)
{
	r->at++; /* SIZE_MAX is before the first */
	if (r->at >= r->npath)
		return AUDIT_END;
	lines_reset(&r->lines);
	r->is_at_end = false;
	r->fd = strcmp(r->path[r->at], "-") == 0
		    ? STDIN_FILENO
		    : open(r->path[r->at], O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return r->fd < 0 ? AUDIT_FAILED : AUDIT_FILE;
}

/* False: it cannot be read further. */
static bool
read_more(struct audit_reader *r)
{
	char *room = lines_room(&r->lines);
	ssize_t n;

	do
		n = read(r->fd, room, LINES_PIECE);
	while (n < 0 && errno == EINTR);
	lines_grew(&r->lines, n > 0 ? (size_t)n : 0);
	r->is_at_end = n <= 0;
	return n >= 0;
}

enum audit_read
audit_reader_next(struct audit_reader *r, struct audit_line *out)
{
	if (r->at != SIZE_MAX && r->at >= r->npath)
		return AUDIT_END;
	if (r->fd < 0)
		return open_next(r);
	while (!lines_next(&r->lines, out)) {
		if (!r->is_at_end && !read_more(r)) {
			close_file(r);
			return AUDIT_FAILED;
		}
		if (!r->is_at_end)
			continue;
		if (lines_last(&r->lines, out))
			return AUDIT_LINE;
		close_file(r);
		return open_next(r);
	}
	return AUDIT_LINE;
}
