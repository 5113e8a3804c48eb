/*
 * logging.h - the log of a running weir: its level, its form, and what it must not say
 *
 * Every value that is logged, on any thread, passes the redactor that the configuration
 * in force asks for; a reload replaces it under a lock.  All calls here are main's.
 */
#ifndef WEIR_DAEMON_LOGGING_H
#define WEIR_DAEMON_LOGGING_H

#include <pthread.h>

#include "audit/redact.h"
#include "conf/settings.h"

struct logging {
	pthread_rwlock_t lock; /* workers log while a reload replaces it: */
	struct redactor *redactor;
};

#define LOGGING_NONE \
	{ \
		.lock = PTHREAD_RWLOCK_INITIALIZER \
	}

/* The first time, and the filter is set: `l` stays where it is until logging_end(). */
void logging_begin(struct logging *l, const struct settings *set);
void logging_set(struct logging *l, const struct settings *set); /* after a reload */
/* No thread logs any more but this one; fine when it was not begun. */
void logging_end(struct logging *l);

/* What was found in files: each a line, without the secrets that stand there. */
void logging_report(struct logging *l, const struct report *rep);

#endif
