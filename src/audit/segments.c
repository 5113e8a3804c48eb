/*
 * segments.c - the files of one log
 */
#include "audit/segments.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/siblings.h"
#include "base/log.h"

#define PIECE ((off_t)1 << 20)
#define OVERLAP ((off_t)4096) /* a `start` record is shorter */
#define LOOK_BACK_MOST ((off_t)1 << 30)
#define PARTS_MOST 64                 /* files that one run may be in */
#define LINE_MOST ((size_t)128 << 10) /* a line of ours is shorter */
#define SAME_SECOND 1000

/* What is in one file: from here on. */
struct part {
	struct logfile file;
	off_t from, size;
};

/* ---- reading */

static bool
first_prev(const struct logfile *f, char prev[static CHAIN_HEX])
{
	struct buf text;
	struct str line;
	struct seal s;

	buf_init(&text, SIBLING_ROOM);
	bool is_found = sibling_first(f->fd, &text, &line, &s);

	if (is_found) {
		memcpy(prev, s.prev.p, CHAIN_HEX - 1);
		prev[CHAIN_HEX - 1] = '\0';
	}
	buf_fini(&text);
	return is_found;
}

static bool
last_digest(const struct logfile *f, char digest[static CHAIN_HEX])
{
	struct buf text;
	struct str line;
	struct seal s;

	buf_init(&text, SIBLING_ROOM);
	bool is_found = sibling_last(f->fd, logfile_size(f), &text, &line, &s);

	if (is_found)
		chain_digest(line, digest);
	buf_fini(&text);
	return is_found;
}

/* ---- siblings */

/* Not a pipe that waits, not what a link leads to. */
static bool
open_part(struct logfile *f, const char *path)
{
	struct stat st;

	*f = (struct logfile){ .path = path, .is_regular = true };
	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (f->fd < 0)
		return false;
	if (fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode))
		return true;
	logfile_close(f);
	return false;
}

typedef bool judge(const struct logfile *f, const char *digest);

static bool
ends_with(const struct logfile *f, const char *digest)
{
	char last[CHAIN_HEX];

	return last_digest(f, last) && strcmp(last, digest) == 0;
}

static bool
follows(const struct logfile *f, const char *digest)
{
	char prev[CHAIN_HEX];

	return first_prev(f, prev) && strcmp(prev, digest) == 0;
}

/* The sibling of which that is true, open; its path is owned. */
static bool
find(const char *path, judge *is_it, const char *digest, struct logfile *out)
{
	DIR *d = siblings_open(path);
	bool is_found = false;
	char *name;

	while (d != NULL && !is_found && (name = siblings_next(d, path)) != NULL) {
		struct logfile f;

		if (open_part(&f, name)) {
			if ((is_found = is_it(&f, digest)))
				*out = f;
			else
				logfile_close(&f);
		}
		if (!is_found)
			free(name);
	}
	if (d != NULL)
		closedir(d);
	return is_found;
}

static void
free_part(struct logfile *f)
{
	char *path = (char *)(uintptr_t)f->path; /* find() made it */

	logfile_close(f);
	free(path);
}

/* ---- the run that ended */

/* Where the run begins in this file: at `from`; false: further back, or not to be seen.
 */
static bool
find_begin(struct part *p, off_t *budget)
{
	struct buf text;
	size_t at;
	off_t end = p->size;
	bool is_found = false;

	buf_init(&text, (size_t)(PIECE + OVERLAP) + 65536);
	p->from = end;
	while (!is_found && p->from > 0 && *budget > 0) {
		off_t from = p->from > PIECE ? p->from - PIECE : 0;
		off_t n = p->from - from + OVERLAP;

		logfile_read(
		    p->file.fd, from, (size_t)(from + n < end ? n : end - from), &text);
		is_found = past_find_boundary(buf_view(&text), &at);
		*budget -= p->from - from;
		p->from = is_found ? from + (off_t)at : from;
	}
	buf_fini(&text);
	return is_found;
}

/* Shows the whole lines of `text`; what is behind them remains. */
static void
show_lines(struct past *p, struct buf *text, bool is_end)
{
	struct str rest = buf_view(text), line;
	size_t at;

	while (str_find(rest, '\n', &at)) {
		line = str_sub(rest, 0, at);
		rest = str_sub(rest, at + 1, rest.n);
		if (seal_is_whole(line))
			past_see(p, line);
	}
	if (is_end && seal_is_whole(rest)) /* all but its LF was written */
		past_see(p, rest);
	buf_drop(text, text->n - rest.n);
}

static void
show(const struct part *part, struct past *p)
{
	struct buf text, piece;
	off_t at = part->from;

	buf_init(&text, 2 * (size_t)PIECE);
	buf_init(&piece, (size_t)PIECE + 65536);
	while (at < part->size) {
		off_t n = part->size - at < PIECE ? part->size - at : PIECE;

		logfile_read(part->file.fd, at, (size_t)n, &piece);
		if (piece.n == 0)
			break;
		buf_str(&text, buf_view(&piece));
		at += (off_t)piece.n;
		show_lines(p, &text, at == part->size);
		if (text.n > LINE_MOST) /* no line of ours */
			buf_reset(&text);
	}
	buf_fini(&piece);
	buf_fini(&text);
}

/* The file before the first of `part`; false: the log begins with it. */
static bool
go_back(const char *path, struct part *part, const struct part *next, const char *head)
{
	char prev[CHAIN_HEX];
	struct stat st;

	if (next->size == 0)
		memcpy(prev, head, sizeof(prev));
	else if (!first_prev(&next->file, prev))
		return false;
	if (strcmp(prev, CHAIN_START) == 0)
		return false;
	if (!find(path, ends_with, prev, &part->file)) {
		log_warn("the file before this one of the audit log is not there: what "
			 "was open in it has no end",
		    "path", path, "head", prev);
		return false;
	}
	if (fstat(part->file.fd, &st) == 0)
		part->size = st.st_size;
	return true;
}

void
segments_recall(const struct logfile *f, const char *head, struct past *p)
{
	struct part *part = mem_zalloc(PARTS_MOST * sizeof(*part));
	off_t budget = LOOK_BACK_MOST;
	size_t n = 1;
	bool is_found;
	struct stat st;

	part[0].file = *f;
	if (!f->is_regular || fstat(f->fd, &st) != 0)
		goto out;
	part[0].size = st.st_size;
	while (!(is_found = find_begin(&part[n - 1], &budget)) && budget > 0 &&
	       n < PARTS_MOST && go_back(f->path, &part[n], &part[n - 1], head))
		n++;
	if (!is_found && (budget <= 0 || n == PARTS_MOST))
		log_warn("the audit log is not read back any further", "path", f->path);
	for (size_t i = n; i-- > 0;)
		show(&part[i], p);
	for (size_t i = 1; i < n; i++)
		free_part(&part[i].file);
out:
	free(part);
}

/* ---- cutting */

static void
put_stamp(struct buf *to, const char *path, usec now)
{
	time_t s = (time_t)(now / 1000000);
	char text[32];
	struct tm tm;

	gmtime_r(&s, &tm);
	strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &tm);
	buf_fmt(to, "%s.%s", path, text);
}

/* Another weir, or somebody who rotates, may put a file there at the same time. */
int
segments_move(const char *from, const char *to)
{
	struct stat st;

	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return errno;
	if (lstat(to, &st) == 0) /* a file system that knows no such promise */
		return EEXIST;
	return rename(from, to) == 0 ? 0 : errno;
}

int
segments_cut(const char *path, usec now, char **to)
{
	struct buf name;
	int error = EEXIST;

	for (int i = 0; error == EEXIST && i < SAME_SECOND; i++) {
		buf_init(&name, 8192);
		put_stamp(&name, path, now);
		if (i > 0)
			buf_fmt(&name, "-%d", i);
		*to = str_dup(buf_view(&name));
		buf_fini(&name);
		error = segments_move(path, *to);
		if (error != 0) {
			free(*to);
			*to = NULL;
		}
	}
	return error;
}

void
segments_sync(const char *path)
{
	char *directory = siblings_path(path, ".");
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && fsync(fd) != 0)
		log_warn("the audit log's directory cannot be synced", "path", directory);
	if (fd >= 0)
		close(fd);
	free(directory);
}

/* PATH.YYYYMMDDTHHMMSSZ[-N]: when, and which of that second; false: it is none. */
static bool
read_stamp(const char *path, const char *sibling, char when[static 17], long *n)
{
	static const char form[] = ".dddddddd"
				   "Tdddddd"
				   "Z";
	const char *at = sibling + strlen(path);

	if (strlen(at) < sizeof(form) - 1)
		return false;
	for (size_t i = 0; i < sizeof(form) - 1; i++)
		if (form[i] == 'd' ? !ascii_is_digit(at[i]) : at[i] != form[i])
			return false;
	memcpy(when, at + 1, 16);
	when[16] = '\0';
	at += sizeof(form) - 1;
	*n = *at == '-' ? strtol(at + 1, NULL, 10) : 0;
	return *at == '\0' || *at == '-';
}

static char *
newest(const char *path)
{
	DIR *d = siblings_open(path);
	char best[17] = "", *sibling, *found = NULL;
	long best_n = 0;

	while (d != NULL && (sibling = siblings_next(d, path)) != NULL) {
		char when[17];
		long n = 0;
		int order = read_stamp(path, sibling, when, &n) ? strcmp(when, best) : -1;

		if (order < 0 || (order == 0 && n < best_n)) {
			free(sibling);
			continue;
		}
		memcpy(best, when, sizeof(best));
		best_n = n;
		free(found);
		found = sibling;
	}
	if (d != NULL)
		closedir(d);
	return found;
}

size_t
segments_count(const char *path)
{
	DIR *d = siblings_open(path);
	size_t n = 1;
	char *sibling;

	for (; d != NULL && (sibling = siblings_next(d, path)) != NULL; n++)
		free(sibling);
	if (d != NULL)
		closedir(d);
	return n;
}

bool
segments_last(const char *path, char **to, char head[static CHAIN_HEX])
{
	char *name = newest(path), last[CHAIN_HEX];
	struct logfile f, other;
	bool is_last = false;

	if (name == NULL)
		return false;
	if (open_part(&f, name)) {
		is_last = last_digest(&f, last);
		logfile_close(&f);
	}
	if (is_last && find(path, follows, last, &other)) {
		free_part(&other); /* the log went on, and was moved by somebody */
		is_last = false;
	}
	if (!is_last) {
		free(name);
		return false;
	}
	*to = name;
	memcpy(head, last, sizeof(last));
	return true;
}
