/*
 * hung.c - a thread that may hang in the kernel
 */
#include "audit/hung.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define LOOK_MS 100

void
hung_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

void
hung_wait(pthread_cond_t *cond, pthread_mutex_t *lock, msec until)
{
	struct timespec ts = { .tv_sec = until / 1000,
		.tv_nsec = until % 1000 * 1000000 };

	pthread_cond_timedwait(cond, lock, &ts);
}

void
hung_init(struct hung *h)
{
	*h = (struct hung){ .since = 0 };
	hung_cond_init(&h->done);
}

void
hung_fini(struct hung *h)
{
	pthread_cond_destroy(&h->done);
}

void
hung_begin(struct hung *h, msec now)
{
	h->since = now;
}

bool
hung_end(struct hung *h)
{
	bool was_told = h->is_told;

	h->since = 0;
	h->is_told = false;
	return was_told;
}

static bool
stands_still(const struct hung *h, msec now)
{
	return h->since != 0 && now - h->since >= HUNG_MS;
}

bool
hung_watch(struct hung *h, msec now)
{
	if (h->is_told || !stands_still(h, now))
		return false;
	h->is_told = true;
	return true;
}

void
hung_over(struct hung *h)
{
	h->is_over = true;
	pthread_cond_signal(&h->done);
}

bool
hung_join(struct hung *h, pthread_t thread, pthread_mutex_t *lock)
{
	while (!h->is_over && !stands_still(h, clock_mono_ms()))
		hung_wait(&h->done, lock, clock_mono_ms() + LOOK_MS);
	if (!h->is_over) {
		pthread_detach(thread);
		return false;
	}
	pthread_mutex_unlock(lock);
	pthread_join(thread, NULL);
	pthread_mutex_lock(lock);
	return true;
}

pthread_t
hung_thread(const char *name, void *(*run)(void *arg), void *arg)
{
	sigset_t all, old;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, run, arg) != 0)
		abort();
	pthread_setname_np(thread, name);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return thread;
}
