/*
 * recheck.h - what was revoked or disarmed at another weir ends here, too
 *
 * Instances that share a ledger learn from it alone what an operator revoked or disarmed
 * at one of them.  So no exchange begins on a token about which the ledger's last word is
 * older than half of sessions.recheck (recheck_is_due(), WHO asks then), and each
 * connection looks as often for what it has open: nothing goes on upon a word older than
 * the whole. For whoever came by an arm the arm is asked after in the same way. A ledger
 * that is away ends nothing: sessions that are open go on without it.
 *
 * On the connection's loop.
 */
#ifndef WEIR_PROXY_RECHECK_H
#define WEIR_PROXY_RECHECK_H

#include "base/timer.h"
#include "ledger/terms.h"

struct engine;
struct grant;
struct ledger_op;
struct session;

struct recheck {
	struct timer timer;
	struct ledger_op *asked;
	struct engine *e;          /* NULL: not begun */
	struct session *session;   /* borrowed */
	const struct grant *grant; /* borrowed */
	char *source;              /* whose arm it is; owned; NULL: it came by none */
	uint64_t arm_seen;         /* sessions_arm_changes() when that was asked */
};

bool recheck_is_due(const struct engine *e, struct session *s, const struct grant *g);
bool recheck_arm_is_due(const struct engine *e, struct str source);
/* Asks the ledger; NULL: it is busy. */
struct ledger_op *recheck_ask(
    struct engine *e, const struct grant *g, ledger_done *done, void *arg) MUST_CHECK;
/* What the ledger said about that token: when it is revoked, all that is open by it ends
 * here, in this turn of the loop or the next. */
void recheck_learn(struct engine *e, const struct grant *g, enum ledger_answer a);

/* Never NULL. */
struct ledger_op *recheck_ask_arm(
    struct engine *e, struct str source, ledger_done *done, void *arg) MUST_CHECK;

/* Nothing, where the ledger is nobody else's.  `source`: that an arm speaks for; empty:
 * none does. */
void recheck_start(struct recheck *r, struct engine *e, struct session *s,
    const struct grant *g, struct str source);
void recheck_stop(struct recheck *r); /* fine when it was not begun */

#endif
