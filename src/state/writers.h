/*
 * writers.h - who fills the audit log
 *
 * Each session with its sub-agents, and each client without one, is a writer; those of
 * one tenant are a group, and so are all clients without a session.  What a writer wrote
 * counts for about an hour: it fades, and what is an hour old is down to a third.
 *
 * When the room for records is scarce, what is left is shared out as if everybody went
 * on for another hour as in the last one: in equal parts among groups, and each group's
 * part among its writers; who needs less leaves the rest to the others (max-min
 * fairness).  Who wrote more than its part may not go on.  So a flood takes nothing
 * from those that write little, however many writers of one group make it.
 *
 * The table is bounded: who wrote least, and is not here now, makes room, but what it
 * wrote counts on for its group; where nobody can, newcomers of a group are one writer.
 *
 * A lock for each writer_ref(), then atomics.  Any thread.
 */
#ifndef WEIR_STATE_WRITERS_H
#define WEIR_STATE_WRITERS_H

#include "base/str.h"

#define WRITERS_PLENTY INT64_MAX
#define WRITERS_AGE_MS 60000

struct writers; /* the table */
struct writer;  /* counted */

struct writers *writers_new(size_t most);
void writers_free(struct writers *all); /* every writer has been put back */

/* `name`: bytes that no other writer has, in whatever group; made when new. */
struct writer *writer_ref(struct writers *all, struct str group, struct str name);
void writer_unref(struct writer *w); /* NULL is fine */

/* It wrote so many bytes, or would have had it not been refused. */
void writer_wrote(struct writer *w, size_t bytes);
/* False: room is scarce, and it has had its part. */
bool writer_may(const struct writer *w) MUST_CHECK;

/* So many bytes are left to be shared out; WRITERS_PLENTY: enough, nobody is refused. */
void writers_share(struct writers *all, int64_t left);
/* Each WRITERS_AGE_MS: a sixtieth of all counts goes, and who has none. */
void writers_age(struct writers *all);

#endif
