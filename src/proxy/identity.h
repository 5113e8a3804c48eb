/*
 * identity.h - a token, a password or an arm -> a grant, and a grant -> its session
 *
 * What WHO, the admin socket and every door ask alike.  From any thread: what it
 * changes is in state's shared tables.
 */
#ifndef WEIR_PROXY_IDENTITY_H
#define WEIR_PROXY_IDENTITY_H

#include "proxy/engine.h"
#include "wire/auth.h"

struct identity_source {
	struct engine *e;
	struct snapshot *snapshot;
	struct str source; /* as limits key clients: a socket or an address */
};

/*
 * REASON_NONE: *out is a reference.  Else why not, *why a sentence for the record
 * (static).  A token verified before is found by its digest.
 */
enum reason identity_token(struct tokens *known, const struct snapshot *s,
    struct str token, struct grant **out, const char **why) MUST_CHECK;
/* A token, or a user of sessions.static and the password. */
enum reason identity_brought(const struct identity_source *from,
    const struct auth *brought, struct grant **out, const char **why) MUST_CHECK;
/* REASON_NONE and *out NULL: the source is not armed. */
enum reason identity_armed(
    const struct identity_source *from, struct grant **out, const char **why) MUST_CHECK;

/* What to put to state/session; borrows from the grant. */
struct session_ask identity_ask(
    const struct snapshot *s, struct grant *g, struct str source);
/* What to put to the store. */
struct ledger_who identity_ledger_who(const struct snapshot *s, const struct grant *g);
/* What a client is told where the store said that.  EXHAUSTED is for whoever reserved to
 * tell, and what cannot be said to a session's question is our own mistake. */
enum reason identity_refusal(enum ledger_answer a);
/* What the store answered goes to state/session.  REASON_NONE: ask that again. */
enum reason identity_learn(struct engine *e, const struct snapshot *s,
    const struct session_ask *ask, const struct ledger_reply *reply, unix_ms now,
    const char **why) MUST_CHECK;
/* What the store, asked when sessions_arm_changes() said `seen`, answered about the
 * source's arm: LEDGER_OK or LEDGER_UNKNOWN.  *reason: why its token is not good, or
 * REASON_NONE.  False: an operator has changed it meanwhile; ask again. */
bool identity_learn_arm(const struct identity_source *from, uint64_t seen,
    const struct ledger_reply *reply, enum reason *reason, const char **why) MUST_CHECK;

#endif
