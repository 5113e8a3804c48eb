/*
 * logfile.c - the file under a journal
 */
#include "audit/logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/log.h"

#define TAIL_MAX ((size_t)256 << 10) /* more than two of the longest lines */
#define PATIENCE_MS 500

static const struct {
	int error;
	const char *remedy;
} remedies[] = {
	{ ENOENT, "make the directory audit.path is in" },
	{ ENOTDIR, "make the directory audit.path is in" },
	{ EACCES,
	    "let the user weir runs as read and write it, and write its directory" },
	{ EPERM, "let the user weir runs as read and write it, and write its directory" },
	{ EROFS, "name a file on a writable file system in audit.path" },
	{ EISDIR, "name a file in audit.path" },
	{ ELOOP, "name the file itself in audit.path, not a link to it" },
	{ EINVAL, "this is no audit log; name another file in audit.path" },
	{ ENOSPC, "make room on its file system" },
	{ EWOULDBLOCK, "another process writes it: stop that one, or name another file "
		       "in audit.path" },
};

void
logfile_complain(const char *path, int error)
{
	const char *remedy = "name a file that can be appended to in audit.path";

	for (size_t i = 0; i < sizeof(remedies) / sizeof(*remedies); i++)
		if (remedies[i].error == error)
			remedy = remedies[i].remedy;
	log_error("audit log cannot be used", "path", path, "err", strerror(error),
	    "remedy", remedy);
}

static bool
is_stdout(const char *path)
{
	return strcmp(path, "-") == 0;
}

/* A file made now belongs to whom weir will run as. */
static int
open_path(const char *path, int uid, int gid)
{
	int flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
	int fd = open(path, flags | O_CREAT | O_EXCL, 0640);

	if (fd < 0)
		return errno == EEXIST ? open(path, flags) : -1;
	if ((uid != -1 || gid != -1) && fchown(fd, (uid_t)uid, (gid_t)gid) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

int
logfile_open(struct logfile *f, const char *path, int uid, int gid)
{
	struct logfile next = {
		.path = path, .fd = STDOUT_FILENO, .patience_ms = PATIENCE_MS
	};
	struct stat st;
	int error = 0;

	if (!is_stdout(path) && (next.fd = open_path(path, uid, gid)) < 0)
		return errno;
	if (fstat(next.fd, &st) != 0) {
		error = errno;
		goto out;
	}
	next.is_regular = S_ISREG(st.st_mode) && !is_stdout(path);
	next.dev = st.st_dev;
	next.ino = st.st_ino;
	if (next.is_regular && flock(next.fd, LOCK_EX | LOCK_NB) != 0)
		error = errno;
out:
	if (error != 0)
		logfile_close(&next);
	else
		*f = next;
	return error;
}

void
logfile_close(struct logfile *f)
{
	if (f->fd > STDERR_FILENO)
		close(f->fd);
	f->fd = -1;
}

static int
read_end(const struct logfile *f, struct buf *to, bool *is_all)
{
	struct stat st;

	if (fstat(f->fd, &st) != 0)
		return errno;
	off_t from = st.st_size > (off_t)TAIL_MAX ? st.st_size - (off_t)TAIL_MAX : 0;
	*is_all = from == 0;
	for (;;) {
		char *room = buf_room(to, 65536);
		ssize_t n = pread(f->fd, room, 65536, from + (off_t)to->n);

		if (n < 0 && errno != EINTR)
			return errno;
		if (n == 0)
			return 0;
		buf_grew(to, n > 0 ? (size_t)n : 0);
	}
}

int
logfile_tail(const struct logfile *f, struct buf *end, bool *is_all)
{
	size_t at;
	int error;

	*is_all = true;
	if (!f->is_regular)
		return 0;
	if ((error = read_end(f, end, is_all)) != 0 || *is_all)
		return error;
	if (!str_find(buf_view(end), '\n', &at) || at + 1 == end->n)
		return EINVAL; /* no line of ours is that long */
	buf_drop(end, at + 1);
	return 0;
}

/* Of a pipe poll(2) says that PIPE_BUF bytes fit, so that no write of them waits. */
static bool
may_write(const struct logfile *f, size_t *n)
{
	struct pollfd p = { .fd = f->fd, .events = POLLOUT };

	if (f->is_regular)
		return true;
	*n = *n < PIPE_BUF ? *n : PIPE_BUF;
	if (poll(&p, 1, f->patience_ms) != 0)
		return true; /* what is wrong with it, write(2) will say */
	errno = EAGAIN;
	return false;
}

void
logfile_read(int fd, off_t from, size_t n, struct buf *to)
{
	buf_reset(to);
	while (to->n < n) {
		char *room = buf_room(to, n - to->n);
		ssize_t got =
		    room == NULL ? 0 : pread(fd, room, n - to->n, from + (off_t)to->n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return;
		buf_grew(to, (size_t)got);
	}
}

size_t
logfile_write(const struct logfile *f, struct str bytes)
{
	size_t at = 0;

	while (at < bytes.n) {
		size_t most = bytes.n - at;
		ssize_t n;

		if (!may_write(f, &most))
			return at;
		n = write(f->fd, bytes.p + at, most);
		if (n > 0)
			at += (size_t)n;
		else if (n < 0 && errno != EINTR)
			return at;
	}
	return at;
}

void
logfile_take_back(const struct logfile *f, size_t n)
{
	struct stat st;

	if (n > 0 && f->is_regular && fstat(f->fd, &st) == 0 && st.st_size >= (off_t)n &&
	    ftruncate(f->fd, st.st_size - (off_t)n) != 0)
		log_warn("a line begun in the old audit log stays there", "path", f->path,
		    "err", strerror(errno));
}

void
logfile_end_line(const struct logfile *f)
{
	struct buf end;
	bool is_all;

	buf_init(&end, LOGFILE_TAIL_ROOM);
	if (logfile_tail(f, &end, &is_all) == 0 && end.n > 0 && end.p[end.n - 1] != '\n')
		(void)logfile_write(f, STR("\n"));
	buf_fini(&end);
}

off_t
logfile_size(const struct logfile *f)
{
	struct stat st;

	return f->is_regular && fstat(f->fd, &st) == 0 ? st.st_size : 0;
}

bool
logfile_sync(const struct logfile *f)
{
	return !f->is_regular || fdatasync(f->fd) == 0;
}

static int64_t
bytes_of(fsblkcnt_t blocks, unsigned long size)
{
	return size > 0 && blocks < (fsblkcnt_t)INT64_MAX / size
		   ? (int64_t)(blocks * size)
		   : INT64_MAX;
}

bool
logfile_room(const struct logfile *f, int64_t *free, int64_t *size)
{
	struct statvfs s;

	if (!f->is_regular || fstatvfs(f->fd, &s) != 0 || s.f_blocks == 0)
		return false;
	*free = bytes_of(s.f_bavail, s.f_frsize);
	*size = bytes_of(s.f_blocks, s.f_frsize);
	return true;
}

bool
logfile_is_moved(const struct logfile *f)
{
	struct stat st;

	if (!f->is_regular)
		return false;
	return lstat(f->path, &st) != 0 || st.st_dev != f->dev || st.st_ino != f->ino;
}

bool
logfile_is_removed(const struct logfile *f)
{
	struct stat st;

	return f->is_regular && fstat(f->fd, &st) == 0 && st.st_nlink == 0;
}
