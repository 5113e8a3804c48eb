/*
 * background.c - a loop on a thread of its own, which steps back for others
 */
#include "base/background.h"

#include <sys/resource.h>

#define NICE 10

void
background_init(struct background *b)
{
	*b = (struct background){ .loop = loop_new() };
}

/* Linux knows a priority of each thread; where it may not be said, all are alike. */
static void *
thread(void *arg)
{
	struct background *b = arg;

	(void)setpriority(PRIO_PROCESS, 0, NICE);
	loop_run(b->loop);
	return NULL;
}

int
background_start(struct background *b)
{
	int error = pthread_create(&b->thread, NULL, thread, b);

	b->is_started = error == 0;
	return error;
}

void
background_fini(struct background *b)
{
	if (b->is_started) {
		loop_stop(b->loop);
		pthread_join(b->thread, NULL);
	}
	loop_free(b->loop);
	*b = (struct background){ .loop = NULL };
}
