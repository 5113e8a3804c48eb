/*
 * output.c - standard output of a command whose reader may go away
 *
 * SIGPIPE must be ignored: who has seen enough closes the pipe, and that is no failure.
 */
#include "cmd/output.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"

/* Somebody made it non-blocking, for all who have it. */
static void
wait_for_room(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	(void)poll(&p, 1, -1);
}

bool
output_flush(struct buf *b)
{
	for (size_t at = 0; at < b->n;) {
		ssize_t n = write(STDOUT_FILENO, b->p + at, b->n - at);

		if (n < 0 && errno == EAGAIN)
			wait_for_room();
		else if (n < 0 && errno != EINTR)
			return false;
		at += n > 0 ? (size_t)n : 0;
	}
	buf_reset(b);
	return true;
}

int
output_failed(const char *command)
{
	if (errno == EPIPE)
		return EXIT_YES;
	fprintf(stderr, "weir %s: standard output: %s\n", command, strerror(errno));
	return EXIT_UNAVAILABLE;
}
