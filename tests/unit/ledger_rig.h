/*
 * ledger_rig.h - a ledger of each kind to test, asked one question at a time
 */
#ifndef WEIR_TESTS_UNIT_LEDGER_RIG_H
#define WEIR_TESTS_UNIT_LEDGER_RIG_H

#include <sys/types.h>

#include "ledger/ledger.h"

enum rig_kind { RIG_MEMORY, RIG_SQLITE, RIG_REDIS };

struct rig {
	enum rig_kind kind;
	char directory[64]; /* of the store and of what was seen */
	char url[128];
	pid_t redis; /* 0: none */
	_Atomic int64_t shift_us;
	msec patience_ms, sweep_ms;
	struct loop *loop;
	struct ledger *ledger;
};

#define RIG_CLOSED_SWEEP 600000 /* ms: no sweep comes by itself */

/* A directory of its own, and a redis-server in it where it takes one. */
void rig_init(struct rig *r, enum rig_kind kind);
void rig_fini(struct rig *r);
/* Another instance on the same store; `directory` of its own. */
void rig_join(struct rig *r, const struct rig *first);

void rig_open(
    struct rig *r); /* fails the test where it cannot; waits until it is there */
struct ledger *rig_try_open(struct rig *r);
void rig_close(struct rig *r);
void rig_wait_health(struct rig *r, enum ledger_answer is);

void redis_start(struct rig *r);
void redis_kill(struct rig *r);  /* with SIGKILL */
void redis_empty(struct rig *r); /* all it had on disk, while it does not run */

/* The texts of the reply are gone, but claims, kin and note have theirs in static memory.
 */
struct ledger_reply rig_reserve(struct rig *r, const struct ledger_reserve *q);
struct ledger_reply rig_session(struct rig *r, const struct ledger_who *who);
struct ledger_reply rig_settle(struct rig *r, const struct ledger_settle *s);
struct ledger_reply rig_look(struct rig *r, const struct ledger_scope *scope);
struct ledger_reply rig_renew(struct rig *r, const char *request, msec lease_ms);
struct ledger_reply rig_adjust(struct rig *r, const struct ledger_adjust *a);
struct ledger_reply rig_forget(struct rig *r, const struct ledger_forget *f);
struct ledger_reply rig_revoke(struct rig *r, const char *sid);
struct ledger_reply rig_note_put(struct rig *r, const struct ledger_note *n);
struct ledger_reply rig_note_add(struct rig *r, const struct ledger_note *n);
struct ledger_reply rig_note_get(struct rig *r, const struct ledger_note *n);
struct ledger_reply rig_note_delete(struct rig *r, const struct ledger_note *n);
/* Runs the loop for what was started on it: until `*is_done`. */
void rig_run_until(struct rig *r, const bool *is_done);

#endif
