/*
 * background.h - a loop on a thread of its own, which steps back for others
 *
 * For what takes long and can wait: where processors are few, those who have a
 * connection to serve go first.  Posting to it is loop.h's; the rest belongs to
 * whoever owns it.
 */
#ifndef WEIR_BASE_BACKGROUND_H
#define WEIR_BASE_BACKGROUND_H

#include <pthread.h>

#include "base/loop.h"

struct background {
	struct loop *loop;
	pthread_t thread;
	bool is_started;
};

void background_init(struct background *b);
int background_start(struct background *b) MUST_CHECK; /* 0, or an errno: no thread */
/* Joins the thread, and runs here what it left; nothing may be posted any more. */
void background_fini(struct background *b); /* again is fine */

#endif
