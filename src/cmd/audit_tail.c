/*
 * audit_tail.c - weir audit tail: the last records, and those that come
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/reader.h"
#include "base/exit.h"
#include "cmd/audit.h"
#include "cmd/audit_filter.h"
#include "cmd/audit_show.h"
#include "cmd/backward.h"
#include "cmd/follow.h"
#include "cmd/output.h"
#include "cmd/usage.h"

#define OUT_MAX ((size_t)16 << 20)
#define OUT_FULL ((size_t)64 << 10)

struct tail {
	const struct audit_asked *o;
	struct audit_log *log;
	bool has_color;
	bool is_closed; /* standard output is */
	int status;
	struct arena arena;
	struct buf out;
};

static volatile sig_atomic_t was_stopped;

static void
on_stop(int number)
{
	(void)number;
	was_stopped = 1;
}

/* ---- saying */

static bool
wants_color(const struct audit_asked *o)
{
	const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");

	if (o->is_json || o->color == COLOR_NEVER)
		return false;
	if (o->color == COLOR_ALWAYS)
		return true;
	return (none == NULL || none[0] == '\0') && isatty(STDOUT_FILENO) == 1 &&
	       (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

/* Why it is none, or NULL; not fit to be shown: *fits is false. */
static const char *
judge(struct tail *t, struct str line, struct entry *e, bool *fits)
{
	const char *why;

	arena_reset(&t->arena);
	why = entry_read(e, line, &t->arena);
	*fits = why == NULL ? audit_filter_fits(t->o, e)
			    : audit_filter_is_open(t->o) && !t->o->is_json;
	return why;
}

static void
flush(struct tail *t)
{
	if (t->is_closed || output_flush(&t->out))
		return;
	t->is_closed = true;
	int failed = output_failed("audit");
	if (t->status == EXIT_YES)
		t->status = failed;
}

static void
say_unread(struct tail *t, const char *path, int error)
{
	fprintf(stderr, "weir audit: %s: %s\n", path, strerror(error));
	t->status = EXIT_NOINPUT;
}

static void
show(struct tail *t, const struct audit_line *l)
{
	struct entry e;
	bool fits;
	const char *why = judge(t, l->text, &e, &fits);

	if (l->is_too_long)
		why = "the line is too long";
	else if (!l->is_ended && why != NULL)
		why = "the line is not whole";
	if (!fits)
		return;
	if (why != NULL)
		audit_show_fault(&t->out, why, t->has_color);
	else if (t->o->is_json)
		audit_show_json(&t->out, l->text);
	else
		audit_show(&t->out, &e, t->has_color);
	if (t->out.n >= OUT_FULL)
		flush(t);
}

/* ---- where the last ones begin */

struct place {
	size_t file;
	off_t at;
};

/* Goes back in one file; true: all that were wanted are found. */
static bool
go_back(struct tail *t, size_t file, uint64_t *wanted, off_t *at)
{
	const struct audit_files *files = &t->log->files;
	bool is_own = file + 1 == files->n && files->own >= 0;
	int fd = is_own ? files->own
			: open(files->path[file], O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct backward b;
	struct entry e;
	struct str line;
	struct stat st;
	bool fits;

	*at = 0;
	if (fd < 0 || fstat(fd, &st) != 0) {
		if (fd >= 0 && !is_own)
			close(fd);
		return false; /* and on, in the file before; show_files() says it */
	}
	backward_init(&b, fd, st.st_size);
	*at = backward_end(&b);
	while (*wanted > 0 && backward_next(&b, &line, at)) {
		(void)judge(t, line, &e, &fits);
		*wanted -= fits;
	}
	backward_fini(&b);
	if (!is_own)
		close(fd);
	return *wanted == 0;
}

static struct place
find_begin(struct tail *t)
{
	const struct audit_files *f = &t->log->files;
	bool wants_all = t->o->since[0] != '\0' && !t->o->has_n;
	uint64_t wanted = t->o->n;
	struct place p = { .file = f->n };

	while (!wants_all && p.file > 0)
		if (go_back(t, p.file - 1, &wanted, &p.at))
			return (struct place){ p.file - 1, p.at };
		else
			p.file--;
	return (struct place){ 0, 0 };
}

/* ---- what comes */

/* All that is there now. */
static void
drain(struct tail *t, struct follow *f)
{
	struct audit_line line;
	enum followed got;

	while (
	    !t->is_closed && !was_stopped && (got = follow_next(f, &line)) != FOLLOW_IDLE)
		if (got == FOLLOW_LINE)
			show(t, &line);
		else
			fprintf(stderr, "weir audit: %s was truncated\n", f->path);
	flush(t);
}

/* A second signal is not waited for: whoever reads may be stuck. */
static void
follow(struct tail *t, struct follow *f)
{
	struct sigaction stop = { .sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND };
	bool goes_on = true;
	sigset_t stops, before;

	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGTERM);
	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	while (goes_on && !t->is_closed) {
		drain(t, f);
		sigprocmask(SIG_BLOCK, &stops, &before);
		goes_on = !was_stopped && !t->is_closed && follow_wait(f, &before);
		sigprocmask(SIG_SETMASK, &before, NULL);
	}
}

/* The log's own file is follow's now. */
static int
open_file(struct audit_files *files, size_t i)
{
	int fd = files->own;

	if (i + 1 < files->n || fd < 0)
		return open(files->path[i], O_RDONLY | O_CLOEXEC | O_NOCTTY);
	files->own = -1;
	return fd;
}

/* What is in the files from that place on. */
static void
show_files(struct tail *t, struct follow *f, const struct place *from)
{
	struct audit_files *files = &t->log->files;
	struct audit_line line;

	for (size_t i = from->file; i < files->n && !t->is_closed; i++) {
		bool goes_on = t->o->follows && i + 1 == files->n && files->own >= 0;
		int fd = open_file(files, i);

		if (fd < 0) {
			say_unread(t, files->path[i], errno);
			continue;
		}
		follow_file(f, fd, i == from->file ? from->at : 0);
		while (!t->is_closed && follow_here(f, &line) == FOLLOW_LINE)
			show(t, &line);
		if (f->error != 0)
			say_unread(t, files->path[i], f->error);
		if (!goes_on && follow_rest(f, &line) && !t->is_closed)
			show(t, &line);
	}
	flush(t);
}

/* A pipe has no end to begin at: all of it. */
static void
show_stream(struct tail *t)
{
	struct audit_reader r;
	struct audit_line line;
	enum audit_read what;

	audit_reader_init(&r, &t->log->files);
	while (!t->is_closed && (what = audit_reader_next(&r, &line)) != AUDIT_END)
		if (what == AUDIT_LINE) {
			show(t, &line);
		} else if (what == AUDIT_FAILED) {
			say_unread(t, audit_reader_path(&r), errno);
		}
	flush(t);
	audit_reader_fini(&r);
}

static bool
is_stream(const struct audit_files *f)
{
	struct stat st;

	for (size_t i = 0; i < f->n; i++)
		if (strcmp(f->path[i], "-") == 0 ||
		    (stat(f->path[i], &st) == 0 && !S_ISREG(st.st_mode) &&
			!S_ISDIR(st.st_mode)))
			return true;
	return false;
}

static void
run(struct tail *t)
{
	struct place from = find_begin(t);
	struct follow f;

	follow_init(&f, t->log->path != NULL ? t->log->path : t->log->files.path[0]);
	show_files(t, &f, &from);
	if (t->o->follows)
		follow(t, &f);
	follow_fini(&f);
}

int
audit_tail(struct audit_log *log, const struct audit_asked *o)
{
	struct tail t = { .o = o, .log = log, .status = EXIT_YES };

	signal(SIGPIPE, SIG_IGN);
	t.has_color = wants_color(o);
	arena_init(&t.arena, ENTRY_MEMORY);
	buf_init(&t.out, OUT_MAX);
	if (!is_stream(&log->files))
		run(&t);
	else if (o->follows)
		t.status = usage_refuse("audit", "-f follows a file, and that is none");
	else
		show_stream(&t);
	buf_fini(&t.out);
	arena_fini(&t.arena);
	return t.status;
}
