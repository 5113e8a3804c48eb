/*
 * segments.c - the files of one log
 */
#include "audit/segments.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

#define PIECE ((off_t)1 << 20)
#define OVERLAP ((off_t)4096) /* a `start` record is shorter */
#define LOOK_BACK_MOST ((off_t)1 << 30)
#define PARTS_MOST 64                  /* files that one run may be in */
#define FIRST_MOST ((size_t)128 << 10) /* a first line is shorter */
#define TAIL_ROOM ((size_t)2 << 20)
#define SAME_SECOND 1000

/* What is in one file: from here on. */
struct part {
	struct logfile file;
	off_t from, size;
};

const char *
segments_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* ---- reading */

/* Bytes of the file into `to`, fewer at its end. */
static void
read_at(const struct logfile *f, off_t from, off_t n, struct buf *to)
{
	buf_reset(to);
	while (n > 0) {
		char *room = buf_room(to, (size_t)n);
		ssize_t got =
		    room == NULL ? 0 : pread(f->fd, room, (size_t)n, from + (off_t)to->n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return;
		buf_grew(to, (size_t)got);
		n -= got;
	}
}

static bool
first_prev(const struct logfile *f, char prev[static CHAIN_HEX])
{
	struct buf text;
	size_t end;

	buf_init(&text, FIRST_MOST);
	read_at(f, 0, (off_t)FIRST_MOST, &text);
	bool is_read = str_find(buf_view(&text), '\n', &end) &&
		       chain_prev(str_sub(buf_view(&text), 0, end), prev);
	buf_fini(&text);
	return is_read;
}

/* The digest of the last whole line. */
static bool
last_digest(const struct logfile *f, char digest[static CHAIN_HEX])
{
	struct buf end;
	struct str rest;
	bool is_all, is_found = false;
	size_t at;

	buf_init(&end, TAIL_ROOM);
	rest = logfile_tail(f, &end, &is_all) == 0 ? buf_view(&end) : STR_NONE;
	while (!is_found && rest.n > 0) {
		struct str line = rest;

		if (line.p[line.n - 1] == '\n')
			line.n--;
		rest.n = 0;
		if (str_rfind(line, '\n', &at)) {
			rest = str_sub(line, 0, at + 1);
			line = str_sub(line, at + 1, line.n);
		}
		is_found = chain_is_sealed(line);
		if (is_found)
			chain_digest(line, digest);
	}
	buf_fini(&end);
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

/* A file beside the log, by its name. */
static char *
beside(const char *path, const char *name)
{
	struct buf full;

	buf_init(&full, 8192);
	buf_str(&full, (struct str){ path, (size_t)(segments_base(path) - path) });
	buf_text(&full, name);
	char *copy = str_dup(buf_view(&full));
	buf_fini(&full);
	return copy;
}

static DIR *
open_directory(const char *path)
{
	char *directory = beside(path, ".");
	DIR *d = opendir(directory);

	free(directory);
	return d;
}

/* PATH.1, PATH-20310405, PATH.20310405T060708Z */
static bool
is_sibling(const char *path, const char *name)
{
	const char *base = segments_base(path);
	size_t n = strlen(base);

	return strncmp(name, base, n) == 0 && name[n] != '\0';
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
	DIR *d = open_directory(path);
	const struct dirent *e;
	bool is_found = false;

	while (d != NULL && !is_found && (e = readdir(d)) != NULL) {
		struct logfile f;
		char *name;

		if (!is_sibling(path, e->d_name))
			continue;
		name = beside(path, e->d_name);
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

		read_at(&p->file, from, from + n < end ? n : end - from, &text);
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
		if (chain_is_sealed(line))
			past_see(p, line);
	}
	if (is_end && chain_is_sealed(rest)) /* all but its LF was written */
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

		read_at(&part->file, at, n, &piece);
		if (piece.n == 0)
			break;
		buf_str(&text, buf_view(&piece));
		at += (off_t)piece.n;
		show_lines(p, &text, at == part->size);
		if (text.n > FIRST_MOST) /* no line of ours */
			buf_reset(&text);
	}
	buf_fini(&piece);
	buf_fini(&text);
}

/* The file before the first of `part`; false: the log begins with it. */
static bool
go_back(const char *path, struct part *part, const struct part *next, const char *head)
{
	static const char zeros[] =
	    "0000000000000000000000000000000000000000000000000000000000000000";
	char prev[CHAIN_HEX];
	struct stat st;

	if (next->size == 0)
		memcpy(prev, head, sizeof(prev));
	else if (!first_prev(&next->file, prev))
		return false;
	if (strcmp(prev, zeros) == 0)
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
	struct stat st;

	part[0].file = *f;
	if (!f->is_regular || fstat(f->fd, &st) != 0)
		goto out;
	part[0].size = st.st_size;
	while (!find_begin(&part[n - 1], &budget) && budget > 0 && n < PARTS_MOST &&
	       go_back(f->path, &part[n], &part[n - 1], head))
		n++;
	if (budget <= 0)
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

int
segments_cut(const char *path, usec now, char **to)
{
	struct buf name;
	struct stat st;
	int error = EEXIST;

	for (int i = 0; error == EEXIST && i < SAME_SECOND; i++) {
		buf_init(&name, 8192);
		put_stamp(&name, path, now);
		if (i > 0)
			buf_fmt(&name, "-%d", i);
		*to = str_dup(buf_view(&name));
		buf_fini(&name);
		error = lstat(*to, &st) == 0     ? EEXIST
			: rename(path, *to) == 0 ? 0
						 : errno;
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
	char *directory = beside(path, ".");
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && fsync(fd) != 0)
		log_warn("the audit log's directory cannot be synced", "path", directory);
	if (fd >= 0)
		close(fd);
	free(directory);
}

/* BASE.YYYYMMDDTHHMMSSZ[-N]: when, and which of that second; false: it is none. */
static bool
read_stamp(const char *path, const char *name, char when[static 17], long *n)
{
	static const char form[] = ".dddddddd"
				   "Tdddddd"
				   "Z";
	const char *at = name + strlen(segments_base(path));

	if (!is_sibling(path, name) || strlen(at) < sizeof(form) - 1)
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
	DIR *d = open_directory(path);
	const struct dirent *e;
	char best[17] = "", *name = NULL;
	long best_n = 0;

	while (d != NULL && (e = readdir(d)) != NULL) {
		char when[17];
		long n;
		int order;

		if (!read_stamp(path, e->d_name, when, &n))
			continue;
		order = strcmp(when, best);
		if (order < 0 || (order == 0 && n < best_n))
			continue;
		memcpy(best, when, sizeof(best));
		best_n = n;
		free(name);
		name = beside(path, e->d_name);
	}
	if (d != NULL)
		closedir(d);
	return name;
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
