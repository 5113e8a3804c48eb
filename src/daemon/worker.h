/*
 * worker.h - one thread: its loop, its listeners, its connections
 *
 * Made by main, started once; everything else is said to it through its mailbox.
 */
#ifndef WEIR_DAEMON_WORKER_H
#define WEIR_DAEMON_WORKER_H

#include "proxy/accept.h"

struct worker;

struct worker_options {
	struct snapshot *snapshot; /* referenced */
	struct journal *journal;
	struct sums *sums;
	struct names *names; /* or NULL */
	struct limits *limits;
	struct uploads *uploads;
	struct coined *coined;
	struct writers *writers;
	struct sessions *sessions;
	struct tokens *tokens;
	struct ledger *ledger; /* or NULL */
	struct mint *mint;
	size_t max_pipes, max_kept;
	bool says_refusals;
	struct loop *home;          /* where `emptied` is posted */
	void (*emptied)(void *arg); /* drained, or stopped; once */
	void *arg;
};

struct worker *worker_new(const struct worker_options *o, const char **why) MUST_CHECK;
/*
 * Before start.  The fd is borrowed; unix_path (lives on) when it is a Unix socket.  A
 * lent one listens on when this weir no longer does: who comes then waits for the next.
 */
void worker_listen(struct worker *w, int fd, const struct entrance *to, bool is_lent);
/* The same for a socket of datagrams. */
void worker_hear(struct worker *w, int fd, const struct door *door);
int worker_start(struct worker *w) MUST_CHECK; /* 0, or the errno that says why not */
/* Any thread, after start: */
void worker_reload(struct worker *w, struct snapshot *s); /* takes its own reference */
void worker_recap(struct worker *w);                      /* conns_recap() */
void worker_drain(struct worker *w);
void worker_stop(struct worker *w); /* now: connections are cut, records written */
/* After it is empty: ends the thread and frees all. */
void worker_free(struct worker *w);

#endif
