/*
 * operator.c - what operators do to sessions
 */
#include "state/operator.h"

#include <assert.h>

#include "state/seat.h"
#include "state/session_row.h"
#include "state/triple.h"

/* Which of them it concerns. */
struct walking {
	struct str tenant, name;
	uint64_t jti;
	struct str source;
};

static size_t
mark_revoked(struct session *s, const void *arg)
{
	const struct walking *w = arg;

	if (session_text_is(s->tenant, w->tenant) && session_text_is(s->sid, w->name))
		atomic_store(&s->ended, SESSION_REVOKED);
	return 0;
}

static size_t
tell_ended(struct session *s, const void *arg)
{
	(void)arg;
	for (const struct session *at = s; at != NULL; at = at->parent)
		if (atomic_load(&at->ended) != SESSION_OK)
			return seats_tell(s, 0, 0, SESSION_REVOKED);
	return 0;
}

static size_t
tell_token(struct session *s, const void *arg)
{
	const struct walking *w = arg;

	return session_text_is(s->tenant, w->tenant)
		   ? seats_tell(s, w->jti, 0, SESSION_REVOKED)
		   : 0;
}

static size_t
tell_detached(struct session *s, const void *arg)
{
	const struct walking *w = arg;

	if (!session_text_is(s->tenant, w->tenant) || !session_text_is(s->sid, w->name))
		return 0;
	session_text_set(&s->source, STR_NONE);
	return seats_tell(s, 0, 0, SESSION_NOT_ATTACHED);
}

size_t
sessions_revoke(
    struct sessions *all, struct str tenant, struct str sid, unix_ms until, unix_ms now)
{
	const struct walking w = { .tenant = tenant, .name = sid };

	revoked_session(&all->revoked, tenant, sid, until, now);
	(void)sessions_walk(all, mark_revoked, &w);
	return sessions_walk(all, tell_ended, &w); /* sub-agents, too */
}

size_t
sessions_revoke_token(
    struct sessions *all, struct str tenant, struct str jti, unix_ms until, unix_ms now)
{
	const struct walking w = { .tenant = tenant, .jti = hash_bytes(jti) };

	revoked_token(&all->revoked, tenant, jti, until, now);
	return sessions_walk(all, tell_token, &w);
}

size_t
sessions_detach(struct sessions *all, struct str tenant, struct str sid)
{
	const struct walking w = { .tenant = tenant, .name = sid };

	return sessions_walk(all, tell_detached, &w);
}

/* ---- arms */

/* All that the source holds; where sessions are bound to none, what came by the arm. */
static size_t
tell_disarmed(struct session *s, const void *arg)
{
	const struct walking *w = arg;

	if (!str_eq(session_name(s), w->name))
		return 0;
	if (!session_text_is(s->source, w->source))
		return seats_tell(s, 0, seat_arm(w->source), SESSION_NOT_ATTACHED);
	session_text_set(&s->source, STR_NONE);
	return seats_tell(s, 0, 0, SESSION_NOT_ATTACHED);
}

/* Takes the arm, which stood for the source until now. */
static void
end_arm(struct sessions *all, struct str source, struct arm *a, struct str key)
{
	const struct walking w = { .name = arm_session(a), .source = source };

	if (!str_eq(w.name, key))
		(void)sessions_walk(all, tell_disarmed, &w);
	arm_free(a);
}

bool
sessions_arm_told(struct sessions *all, struct str source, struct str token,
    const struct session_ask *of, unix_ms until, unix_ms now, uint64_t seen)
{
	char memory[TRIPLE_MAX];
	struct str key = triple_make(memory, of->issuer, of->tenant, of->sid);
	const struct arm_order order = { .source = source,
		.token = token,
		.session = key,
		.until_ms = until,
		.ends_ms = of->expires };
	struct arm *old;

	if (!arms_put(&all->arms, &order, seen, now, &old))
		return false;
	if (old != NULL)
		end_arm(all, source, old, key);
	return true;
}

void
sessions_arm(struct sessions *all, struct str source, struct str token,
    const struct session_ask *of, unix_ms until, unix_ms now)
{
	bool is_done = sessions_arm_told(all, source, token, of, until, now, ARMS_LATEST);

	assert(is_done);
	(void)is_done;
}

bool
sessions_disarm(struct sessions *all, struct str source)
{
	struct arm *old;

	if (!arms_take(&all->arms, source, ARMS_LATEST, &old) || old == NULL)
		return false;
	end_arm(all, source, old, STR_NONE);
	return true;
}

bool
sessions_disarm_told(struct sessions *all, struct str source, unix_ms now, uint64_t seen)
{
	struct arm *old;

	if (!arms_miss(&all->arms, source, seen, now, &old))
		return false;
	if (old != NULL)
		end_arm(all, source, old, STR_NONE);
	return true;
}

uint64_t
sessions_arm_changes(struct sessions *all, struct str source)
{
	return arms_changes(&all->arms, source);
}

bool
sessions_arm_is_stale(
    struct sessions *all, struct str source, unix_ms now, int64_t most_ms)
{
	return arms_are_stale(&all->arms, source, now, most_ms);
}

bool
sessions_armed(struct sessions *all, struct str source, unix_ms now, struct buf *to)
{
	return arms_token(&all->arms, source, now, to);
}
