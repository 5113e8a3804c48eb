/*
 * follow.c - a log as it grows, over rotation and truncation
 */
#include "cmd/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/files.h"
#include "audit/seal.h"
#include "audit/siblings.h"

#define LOOK_MS 1000 /* by itself, where the system tells of changes */
#define POLL_MS 250  /* where it does not */
#define PAUSE_MS 20  /* a busy directory must not keep this busy */
#define EVENTS 4096

static int
watch(const char *path)
{
	char *directory = siblings_path(path, ".");
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	if (fd >= 0 &&
	    inotify_add_watch(fd, directory,
		IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE) < 0) {
		close(fd);
		fd = -1;
	}
	free(directory);
	return fd;
}

void
follow_init(struct follow *f, const char *path)
{
	*f = (struct follow){ .path = path, .fd = -1, .notify = watch(path) };
	lines_init(&f->lines);
	chain_init(&f->last, STR_NONE);
}

void
follow_fini(struct follow *f)
{
	if (f->fd >= 0)
		close(f->fd);
	if (f->notify >= 0)
		close(f->notify);
	lines_fini(&f->lines);
	chain_fini(&f->last);
}

void
follow_file(struct follow *f, int fd, off_t at)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = fd;
	f->at = at;
	f->error = 0;
	lines_reset(&f->lines);
}

/* ---- which file is next */

static bool
open_file(struct follow *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		follow_file(f, fd, 0);
		return true;
	}
	if (fd >= 0)
		close(fd);
	return false;
}

/* Another file stands at the path, or this one was never there. */
static bool
is_elsewhere(const struct follow *f, off_t *size)
{
	struct stat own, there;

	*size = 0;
	if (stat(f->path, &there) != 0)
		return true;
	*size = there.st_size;
	return f->fd < 0 || fstat(f->fd, &own) != 0 || own.st_dev != there.st_dev ||
	       own.st_ino != there.st_ino;
}

/*
 * What is written next is written elsewhere: only when this is seen to have begun is
 * this file at its end.  That was read before; so it is read once more.
 */
static bool
go_on(struct follow *f, bool *was_drained)
{
	off_t size;
	char *after;
	bool is_open;

	if (!is_elsewhere(f, &size))
		return false;
	after = f->has_last ? audit_files_after(f->path, f->last.head) : NULL;
	if (after == NULL && size == 0 && f->fd >= 0)
		return false;
	if (!*was_drained && f->fd >= 0) {
		*was_drained = true;
		free(after);
		return true;
	}
	*was_drained = false;
	is_open = open_file(f, after != NULL ? after : f->path);
	free(after);
	return is_open;
}

/* ---- lines */

static enum followed
read_more(struct follow *f)
{
	char *room = lines_room(&f->lines);
	struct stat st;
	ssize_t n;

	if (f->fd < 0)
		return FOLLOW_IDLE;
	if (fstat(f->fd, &st) == 0 && st.st_size < f->at) {
		f->at = 0;
		lines_reset(&f->lines);
		return FOLLOW_CUT;
	}
	do
		n = pread(f->fd, room, LINES_PIECE, f->at);
	while (n < 0 && errno == EINTR);
	f->error = n < 0 ? errno : 0;
	if (n <= 0)
		return FOLLOW_IDLE;
	lines_grew(&f->lines, (size_t)n);
	f->at += n;
	return FOLLOW_LINE;
}

static void
remember(struct follow *f, const struct audit_line *l)
{
	struct seal s;

	if (!seal_read(&s, l->text))
		return;
	chain_continue(&f->last, l->text);
	f->has_last = true;
}

enum followed
follow_here(struct follow *f, struct audit_line *out)
{
	while (!lines_next(&f->lines, out)) {
		enum followed got = read_more(f);

		if (got != FOLLOW_LINE)
			return got;
	}
	remember(f, out);
	return FOLLOW_LINE;
}

enum followed
follow_next(struct follow *f, struct audit_line *out)
{
	bool was_drained = false;
	enum followed got;

	do
		got = follow_here(f, out);
	while (got == FOLLOW_IDLE && go_on(f, &was_drained));
	return got;
}

bool
follow_rest(struct follow *f, struct audit_line *out)
{
	return lines_last(&f->lines, out);
}

/* ---- waiting */

static void
forget_events(int notify)
{
	char events[EVENTS] __attribute__((aligned(__alignof__(struct inotify_event))));

	while (read(notify, events, sizeof(events)) > 0)
		continue;
}

bool
follow_wait(struct follow *f, const sigset_t *mask)
{
	struct pollfd p[] = {
		{ .fd = STDOUT_FILENO, .events = 0 }, /* POLLERR: its reader is gone */
		{ .fd = f->notify, .events = POLLIN },
	};
	long ms = f->notify < 0 ? POLL_MS : LOOK_MS;
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	const struct timespec most = { .tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * 1000000 };

	if (ppoll(NULL, 0, &pause, mask) < 0 || ppoll(p, 2, &most, mask) < 0)
		return false;
	if (f->notify >= 0)
		forget_events(f->notify);
	return (p[0].revents & (POLLERR | POLLHUP | POLLNVAL)) == 0;
}
