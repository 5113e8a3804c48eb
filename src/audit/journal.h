/*
 * journal.h - append-only JSON lines on a thread of their own, chained
 *
 * A place is reserved before an exchange begins, so that recording it can
 * neither fail nor block.  journal_write() hands over one line without its
 * `prev` and `mac`; the journal's thread adds them, writes many lines together,
 * and fsyncs each second.  When the file cannot be written, new reservations
 * fail (on_failure refuse) or lines are dropped and counted (drop); it tries
 * again by itself, and lines already taken are kept (bounded by the places).
 * Reservations also fail while its file system has less room than a quarter of the
 * reserve (room.h).
 *
 * prev: hex SHA-256 of the previous line's bytes without LF (first: 64 zeros);
 * mac: HMAC-SHA-256 over the line up to `,"mac"`.
 */
#ifndef WEIR_AUDIT_JOURNAL_H
#define WEIR_AUDIT_JOURNAL_H

#include "audit/room.h"

struct journal;
struct journal_wait;

struct journal_options {
	const char *path;   /* "-": stdout; NULL: records go nowhere (tests) */
	struct str key;     /* of the mac; empty: none */
	bool drops;         /* on_failure: drop */
	const char *name;   /* of this weir, for checkpoints */
	struct str sign;    /* their key, which signer_new() takes; empty: none */
	const char *anchor; /* where they are said, too; NULL: nowhere */
	uint64_t segment;   /* bytes of a file that is to be cut; 0: never */
	int64_t reserve;    /* of the file system, audit/room.h; 0: it may be full */
	void (*share)(void *arg, int64_t left); /* as in struct room, on its thread */
	void *share_arg;
	size_t places; /* how many exchanges may be open at once */
	int uid, gid;  /* owner of a file made while still root; -1: as is */
};

/* NULL after logging why (path and remedy): the file must be writable at start. */
struct journal *journal_open(const struct journal_options *o) MUST_CHECK;
void journal_close(
    struct journal *j); /* writes and fsyncs what was taken, ends the thread */
/* The thread starts here, after rights are dropped and before the first exchange. */
void journal_start(struct journal *j);

/* Any thread: */
bool journal_reserve(
    struct journal *j) MUST_CHECK; /* false: refuse the exchange (audit_unavailable) */
/* Uses up one place; the line is `{...` without closing brace, prev and mac; it is
 * copied. */
void journal_write(struct journal *j, struct str line);
void journal_give_back(struct journal *j); /* a place, unused */
/* A line without a reservation: system records; false when there is no room. */
bool journal_write_system(struct journal *j, struct str line);
/*
 * done(true): what this thread handed over is in the file, or may be dropped;
 * done(false): it cannot be written now.  Once, from the loop, never inside start.
 * NULL: there is nothing to wait for, since records go nowhere.
 */
struct journal_wait *journal_wait_start(struct journal *j, struct loop *on,
    void (*done)(void *arg, bool is_written), void *arg) MUST_CHECK;
void journal_wait_cancel(struct journal_wait *w); /* NULL is fine */
/* Behind all lines that this thread handed over. */
void journal_checkpoint(struct journal *j);
void journal_reopen(struct journal *j); /* SIGUSR1 */
void journal_watch(struct journal *j);  /* each second: does it, or its anchor, hang? */
bool journal_is_healthy(const struct journal *j);      /* for /readyz */
enum room_state journal_room(const struct journal *j); /* so too */
int64_t journal_free_bytes(const struct journal *j);   /* 0: not known */
bool journal_is_anchored(const struct journal *j); /* the anchor has all checkpoints */
uint64_t journal_next_seq(
    struct journal *j); /* the `seq` of a record: counts up over all threads */
void journal_head(
    struct journal *j, char out[static 65]); /* hex digest of the last line written */

#endif
