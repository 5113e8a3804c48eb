/*
 * room.h - how much room there is for the audit log
 *
 * Asked of the log's file system, at most once a second, by the journal's thread: while
 * records are written, and while there is little.  Below the reserve room is low, and
 * what is left of it above a quarter is told, so that it can be shared out; below a
 * quarter there is none.  A step back up needs a sixteenth of the reserve more, so that
 * a file system that is just there does not make the state change all the time.
 */
#ifndef WEIR_AUDIT_ROOM_H
#define WEIR_AUDIT_ROOM_H

#include <stdatomic.h>

#include "audit/logfile.h"
#include "base/loop.h"
#include "conf/shapes.h"

enum room_state { ROOM_ENOUGH, ROOM_LOW, ROOM_NONE };

struct room {
	int64_t reserve; /* bytes; 0: never asked; or SIZE_AUTO */
	bool drops;      /* on_failure: drop: nothing is refused for want of room alone */
	void (*share)(void *arg, int64_t left); /* while it is low, INT64_MAX: enough */
	void *arg;
	msec look_at;      /* not before; 0: at once */
	atomic_int state;  /* enum room_state; any thread */
	atomic_llong free; /* bytes, when it was last asked; 0: never; any thread */
};

const char *room_state_name(enum room_state s); /* enough, low, none */

/* Of a file system of so many bytes. */
int64_t room_reserve(int64_t reserve, int64_t size);
enum room_state room_judge(enum room_state was, int64_t reserve, int64_t free);
/* To be shared out while it is low.  `drops`: a quarter at least. */
int64_t room_left(int64_t reserve, int64_t free, bool drops);

/* True: the state is another, and the log says so; nothing is asked before its time. */
bool room_look(struct room *r, const struct logfile *f, msec now);
/* When it is to be asked again though nothing is written; 0: not. */
msec room_next(const struct room *r);

#endif
