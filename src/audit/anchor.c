/*
 * anchor.c - checkpoints in a second place
 */
#include "audit/anchor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/log.h"

#define WAITING_MOST ((size_t)64 << 10) /* a week of them, and more */
#define RETRY_MS ((msec)5000)
#define ANYTIME 1 /* no time is earlier */

static void
become_ill(struct anchor *a, int error, msec now)
{
	count_add(COUNT_AUDIT_ANCHOR_ERRORS, 1);
	a->retry_at = now + RETRY_MS;
	if (atomic_exchange(&a->is_anchored, false))
		log_error("the audit anchor cannot be written", "path", a->path, "err",
		    strerror(error), "then", "checkpoints wait, and the log goes on");
}

static void
become_well(struct anchor *a)
{
	a->retry_at = 0;
	if (!atomic_exchange(&a->is_anchored, true))
		log_info("the audit anchor can be written again", "path", a->path);
}

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

void
anchor_init(struct anchor *a, const char *path, int uid, int gid)
{
	int error;

	*a = (struct anchor){ .file = { .fd = -1 }, .uid = uid, .gid = gid };
	buf_init(&a->waiting, WAITING_MOST);
	atomic_init(&a->is_anchored, true);
	if (path == NULL)
		return;
	a->path = mem_strdup(path);
	if ((error = reach(a)) != 0)
		become_ill(a, error, clock_mono_us() / 1000);
}

void
anchor_fini(struct anchor *a)
{
	logfile_close(&a->file);
	buf_fini(&a->waiting);
	free(a->path);
}

/* The newest says most: older ones make room for it. */
static void
make_room(struct anchor *a, size_t n)
{
	size_t end;

	while (a->waiting.n + n > WAITING_MOST &&
	       str_find(buf_view(&a->waiting), '\n', &end))
		buf_drop(&a->waiting, end + 1);
}

void
anchor_add(struct anchor *a, struct str line)
{
	if (a->path == NULL)
		return;
	make_room(a, line.n);
	buf_str(&a->waiting, line);
	if (a->retry_at == 0)
		a->retry_at = ANYTIME;
}

/* All of it, or nothing.  errno where it is false. */
static bool
write_all(struct anchor *a)
{
	size_t n = logfile_write(&a->file, buf_view(&a->waiting));
	int error = errno;

	if (n < a->waiting.n) {
		logfile_take_back(&a->file, n);
		logfile_end_line(&a->file); /* where that could not be */
		errno = error;
		return false;
	}
	buf_reset(&a->waiting);
	return logfile_sync(&a->file);
}

void
anchor_write(struct anchor *a, msec now)
{
	int error;

	if (a->retry_at == 0 || now < a->retry_at)
		return;
	if ((error = reach(a)) != 0)
		become_ill(a, error, now);
	else if (!write_all(a))
		become_ill(a, errno, now);
	else
		become_well(a);
}
