/*
 * hung.h - a thread that may hang in the kernel
 *
 * A write to a file on a file system that is frozen, or whose server is away, does not
 * return, and nothing ends it.  So whoever does such writes says when one begins and
 * when it ends, others look whether it takes too long, and its end is waited for a
 * moment only.  All with the lock of whoever owns it.
 */
#ifndef WEIR_AUDIT_HUNG_H
#define WEIR_AUDIT_HUNG_H

#include <pthread.h>

#include "base/loop.h"

#define HUNG_MS ((msec)5000) /* in the kernel: it stands still */

struct hung {
	pthread_cond_t done;
	msec since; /* it is in the kernel; 0: not */
	bool is_told;
	bool is_over; /* the thread ends */
};

void hung_init(struct hung *h);
void hung_fini(struct hung *h);

void hung_begin(struct hung *h, msec now);
/* True: it had been told that it stands still. */
bool hung_end(struct hung *h);
/* True, once: it stands still. */
bool hung_watch(struct hung *h, msec now) MUST_CHECK;

/* The thread says it, as the last thing that it does with the lock. */
void hung_over(struct hung *h);
/*
 * The end of the thread, however long it goes on, with the lock, which is let go
 * meanwhile.  False: it stands still, and what it uses is its own from now on.
 */
bool hung_join(struct hung *h, pthread_t thread, pthread_mutex_t *lock) MUST_CHECK;

/* With the name, and without signals: they are the main thread's. */
pthread_t hung_thread(const char *name, void *(*run)(void *arg), void *arg);
/* Of the clock of clock_mono_us(). */
void hung_cond_init(pthread_cond_t *cond);
void hung_wait(pthread_cond_t *cond, pthread_mutex_t *lock, msec until);

#endif
