/*
 * reader.c - the lines of an audit log, from its files
 */
#include "audit/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void
audit_reader_init(struct audit_reader *r, const struct audit_files *files)
{
	*r = (struct audit_reader){ .files = files, .at = SIZE_MAX, .fd = -1 };
	lines_init(&r->lines);
}

const char *
audit_reader_path(const struct audit_reader *r)
{
	return r->files->path[r->at];
}

static bool
is_own(const struct audit_reader *r)
{
	return r->at + 1 == r->files->n && r->files->own >= 0;
}

static void
close_file(struct audit_reader *r)
{
	if (r->fd > STDERR_FILENO && r->fd != r->files->own)
		close(r->fd);
	r->fd = -1;
}

void
audit_reader_fini(struct audit_reader *r)
{
	close_file(r);
	lines_fini(&r->lines);
}

static int
open_file(const struct audit_reader *r)
{
	const char *path = audit_reader_path(r);

	if (is_own(r))
		return r->files->own;
	return strcmp(path, "-") == 0 ? STDIN_FILENO
				      : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

static enum audit_read
open_next(struct audit_reader *r)
{
	r->at++; /* SIZE_MAX is before the first */
	if (r->at >= r->files->n)
		return AUDIT_END;
	lines_reset(&r->lines);
	r->is_at_end = false;
	r->fd = open_file(r);
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
	if (r->at != SIZE_MAX && r->at >= r->files->n)
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
