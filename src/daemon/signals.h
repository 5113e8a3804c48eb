/*
 * signals.h - what weir is told by signals, in its loop
 *
 * On main's thread.
 */
#ifndef WEIR_DAEMON_SIGNALS_H
#define WEIR_DAEMON_SIGNALS_H

#include <event2/event.h>
#include <stdbool.h>

#include "base/loop.h"

#define SIGNALS 4

struct signals {
	struct event *event[SIGNALS]; /* owned; NULL: not watched */
};

/* SIGTERM, SIGINT, SIGHUP and SIGUSR1 are told on the loop from now on; what a closed
 * peer or a full file system would kill by (SIGPIPE, SIGXFSZ) is an error where it is
 * written. */
void signals_watch(
    struct signals *s, struct loop *loop, event_callback_fn told, void *arg);
void signals_forget(struct signals *s); /* fine when they were not watched */
/* Threads that are started meanwhile inherit the mask, so that signals come to main
 * alone. */
void signals_block(bool blocks);

#endif
