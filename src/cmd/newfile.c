/*
 * newfile.c - a file that a command makes
 */
#include "cmd/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool
complain(const char *command, const char *path)
{
	fprintf(stderr, "weir %s: %s cannot be written: %s\n", command, path,
	    strerror(errno));
	return false;
}

/* A full disk may say so only when it is synced, or closed. */
static bool
fill(int fd, struct str text)
{
	ssize_t n = write(fd, text.p, text.n);

	if (n >= 0 && (size_t)n < text.n)
		errno = ENOSPC;
	return n == (ssize_t)text.n && fsync(fd) == 0;
}

bool
newfile_write(const char *command, const char *path, mode_t mode, struct str text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	bool is_written;

	if (fd < 0)
		return complain(command, path);
	is_written = fill(fd, text);
	if (close(fd) != 0)
		is_written = false;
	if (is_written)
		return true;
	(void)complain(command, path);
	unlink(path);
	return false;
}

bool
newfile_replace(const char *command, const char *path, mode_t mode, struct str text)
{
	struct buf beside;
	bool is_done;

	buf_init(&beside, 8192);
	buf_fmt(&beside, "%s.new", path);
	(void)unlink(buf_cstr(&beside)); /* of one that was cut off */
	is_done = newfile_write(command, buf_cstr(&beside), mode, text);
	if (is_done && rename(buf_cstr(&beside), path) != 0) {
		is_done = complain(command, path);
		unlink(buf_cstr(&beside));
	}
	buf_fini(&beside);
	return is_done;
}
