/*
 * signals.c - what weir is told by signals, in its loop
 */
#include "daemon/signals.h"

#include <pthread.h>
#include <signal.h>

static const int signals[SIGNALS] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1 };

void
signals_watch(struct signals *s, struct loop *loop, event_callback_fn told, void *arg)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file at its limit is as a full disk */
	for (size_t i = 0; i < SIGNALS; i++) {
		s->event[i] = evsignal_new(loop_base(loop), signals[i], told, arg);
		evsignal_add(s->event[i], NULL);
	}
}

void
signals_forget(struct signals *s)
{
	for (size_t i = 0; i < SIGNALS; i++)
		if (s->event[i] != NULL)
			event_free(s->event[i]);
}

void
signals_block(bool blocks)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < SIGNALS; i++)
		sigaddset(&set, signals[i]);
	pthread_sigmask(blocks ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}
