/*
 * anchor.c - checkpoints in a second place
 */
#include "audit/anchor.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "audit/hung.h"
#include "base/count.h"
#include "base/log.h"

#define WAITING_MOST ((size_t)64 << 10) /* a week of them, and more */
#define RETRY_MS ((msec)5000)

struct anchor {
	char *path;
	struct buf added; /* the journal's thread's */

	pthread_mutex_t lock; /* of what follows, up to the blank line */
	pthread_cond_t wake;
	struct buf waiting; /* lines */
	bool is_anchored;
	bool wants_stop;
	struct hung at; /* the file, since when */

	pthread_t thread; /* what follows is its own, once it is started */
	bool is_started;
	struct logfile file; /* fd -1: not open */
	int uid, gid;
	struct buf writing; /* lines */
	msec retry_at;      /* 0: not */
	bool is_unsynced;
};

/* ---- lines that wait */

static size_t
count_lines(struct str text)
{
	size_t n = 0, at;

	for (; str_find(text, '\n', &at); n++)
		text = str_sub(text, at + 1, text.n);
	return n;
}

/* The newest says most: older ones make room for it. */
static void
append(struct buf *to, struct str lines)
{
	size_t end;

	while (to->n + lines.n > WAITING_MOST && str_find(buf_view(to), '\n', &end)) {
		buf_drop(to, end + 1);
		count_add(COUNT_AUDIT_ANCHOR_WAITING, -1);
	}
	buf_str(to, lines);
	count_add(COUNT_AUDIT_ANCHOR_WAITING, (int64_t)count_lines(lines));
}

void
anchor_add(struct anchor *a, struct str line)
{
	if (a != NULL)
		append(&a->added, line);
}

void
anchor_send(struct anchor *a)
{
	if (a == NULL || a->added.n == 0)
		return;
	pthread_mutex_lock(&a->lock);
	append(&a->waiting, buf_view(&a->added));
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
	count_add(COUNT_AUDIT_ANCHOR_WAITING, -(int64_t)count_lines(buf_view(&a->added)));
	buf_reset(&a->added);
}

/* ---- told */

/* Called with the lock. */
static void
become_ill(struct anchor *a, const char *why)
{
	count_add(COUNT_AUDIT_ANCHOR_ERRORS, 1);
	if (a->is_anchored)
		log_error("the audit anchor cannot be written", "path", a->path, "err",
		    why, "then", "checkpoints wait, and the log goes on");
	a->is_anchored = false;
}

/* Called with the lock. */
static void
become_well(struct anchor *a)
{
	if (!a->is_anchored)
		log_info("the audit anchor can be written again", "path", a->path);
	a->is_anchored = true;
}

bool
anchor_is_anchored(struct anchor *a)
{
	bool is_anchored;

	if (a == NULL)
		return true;
	pthread_mutex_lock(&a->lock);
	is_anchored = a->is_anchored;
	pthread_mutex_unlock(&a->lock);
	return is_anchored;
}

void
anchor_watch(struct anchor *a, msec now)
{
	if (a == NULL)
		return;
	pthread_mutex_lock(&a->lock);
	if (hung_watch(&a->at, now))
		become_ill(a, "it stands still");
	pthread_mutex_unlock(&a->lock);
}

/* ---- the file */

/* Not when it was moved: what is said later belongs to the place that is named. */
static int
reach(struct anchor *a)
{
	int error;

	if (a->file.fd >= 0 && !logfile_is_moved(&a->file))
		return 0;
	logfile_close(&a->file);
	if ((error = logfile_open(&a->file, a->path, a->uid, a->gid)) != 0)
		return error;
	logfile_end_line(&a->file);
	a->uid = a->gid = -1; /* rights are dropped by the next time */
	return 0;
}

/* All of it, or nothing. */
static int
write_all(struct anchor *a)
{
	size_t n = logfile_write(&a->file, buf_view(&a->writing));
	int error = errno;

	if (n == a->writing.n)
		return 0;
	logfile_take_back(&a->file, n);
	logfile_end_line(&a->file); /* where that could not be */
	return error;
}

/* 0, or the errno that says why what is to be written is not there. */
static int
say(struct anchor *a)
{
	int error;

	if ((error = reach(a)) != 0 || (error = write_all(a)) != 0)
		return error;
	count_add(
	    COUNT_AUDIT_ANCHOR_WAITING, -(int64_t)count_lines(buf_view(&a->writing)));
	buf_reset(&a->writing);
	a->is_unsynced = !logfile_sync(&a->file);
	return a->is_unsynced ? errno : 0;
}

/* ---- its thread */

/* Called with the lock. */
static void
take(struct anchor *a)
{
	struct buf swap;

	if (a->writing.n > 0) { /* it could not be said */
		append(&a->writing, buf_view(&a->waiting));
		count_add(COUNT_AUDIT_ANCHOR_WAITING,
		    -(int64_t)count_lines(buf_view(&a->waiting)));
		buf_reset(&a->waiting);
		return;
	}
	swap = a->writing;
	a->writing = a->waiting;
	a->waiting = swap;
}

/* Called with the lock, which is let go meanwhile. */
static void
try(struct anchor *a)
{
	int error;

	take(a);
	hung_begin(&a->at, clock_mono_ms());
	pthread_mutex_unlock(&a->lock);
	error = say(a);
	pthread_mutex_lock(&a->lock);
	hung_end(&a->at);
	a->retry_at = error != 0 ? clock_mono_ms() + RETRY_MS : 0;
	if (error != 0)
		become_ill(a, strerror(error));
	else
		become_well(a);
}

static bool
has_more(const struct anchor *a)
{
	return a->waiting.n > 0 || a->writing.n > 0 || a->is_unsynced;
}

/* Called with the lock: until there is something to be said, or somebody says stop. */
static void
wait_for_work(struct anchor *a)
{
	while (!a->wants_stop && (!has_more(a) || clock_mono_ms() < a->retry_at))
		if (a->retry_at == 0)
			pthread_cond_wait(&a->wake, &a->lock);
		else
			hung_wait(&a->wake, &a->lock, a->retry_at);
}

static void *
run(void *arg)
{
	struct anchor *a = arg;

	pthread_mutex_lock(&a->lock);
	for (;;) {
		wait_for_work(a);
		if (has_more(a))
			try(a);
		if (a->wants_stop)
			break;
	}
	hung_over(&a->at);
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* ---- from its beginning to its end */

struct anchor *
anchor_new(const char *path, int uid, int gid)
{
	struct anchor *a;
	int error;

	if (path == NULL)
		return NULL;
	a = mem_zalloc(sizeof(*a));
	a->file.fd = -1;
	a->uid = uid;
	a->gid = gid;
	a->path = mem_strdup(path);
	a->is_anchored = true;
	buf_init(&a->added, WAITING_MOST);
	buf_init(&a->waiting, WAITING_MOST);
	buf_init(&a->writing, WAITING_MOST);
	pthread_mutex_init(&a->lock, NULL);
	hung_cond_init(&a->wake);
	hung_init(&a->at);
	if ((error = reach(a)) != 0)
		become_ill(a, strerror(error));
	return a;
}

void
anchor_start(struct anchor *a)
{
	if (a == NULL)
		return;
	a->thread = hung_thread("weir-anchor", run, a);
	a->is_started = true;
}

void
anchor_close(struct anchor *a)
{
	bool is_over = true;

	if (a == NULL)
		return;
	pthread_mutex_lock(&a->lock);
	a->wants_stop = true;
	pthread_cond_signal(&a->wake);
	if (a->is_started)
		is_over = hung_join(&a->at, a->thread, &a->lock);
	else if (has_more(a))
		try(a);
	size_t left =
	    count_lines(buf_view(&a->waiting)) + count_lines(buf_view(&a->writing));
	pthread_mutex_unlock(&a->lock);
	if (left > 0)
		log_error("checkpoints are not in the audit anchor", "path", a->path,
		    "count", NUM((int64_t)left));
	if (!is_over)
		return; /* it is its thread's, for as long as that is there */
	logfile_close(&a->file);
	buf_fini(&a->added);
	buf_fini(&a->waiting);
	buf_fini(&a->writing);
	pthread_cond_destroy(&a->wake);
	hung_fini(&a->at);
	pthread_mutex_destroy(&a->lock);
	free(a->path);
	free(a);
}
