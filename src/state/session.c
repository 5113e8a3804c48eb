/*
 * session.c - who is using weir right now, and what each may still do
 */
#include "state/session.h"

#include <assert.h>
#include <stdlib.h>

#include "state/session_row.h"
#include "state/triple.h"

#define MINUTE_US INT64_C(60000000)

const char *
session_answer_text(enum session_answer a)
{
	static const char *const text[SESSION_ANSWERS] = {
		[SESSION_OK] = "in order",
		[SESSION_ASK_STORE] = "only the store can know",
		[SESSION_INVALID] = "its ancestors are not in order",
		[SESSION_OWNER_MISMATCH] = "the session is somebody else's",
		[SESSION_REVOKED] = "it was revoked, or an ancestor was",
		[SESSION_TIME_EXHAUSTED] = "vmSeconds are over",
		[SESSION_NOT_ATTACHED] = "another source holds the session",
		[SESSION_TURN_ENDED] = "a later turn has begun",
		[SESSION_EXPIRED] = "exp is over",
		[SESSION_RATE_LIMITED] = "requestsPerMinute are used up",
		[SESSION_CONCURRENCY_LIMITED] = "concurrency is used up",
	};

	return a < SESSION_ANSWERS ? text[a] : text[SESSION_INVALID];
}

/* ---- limits: a lower one holds at once, a higher one only with a larger gen */

static int64_t
lower(int64_t a, int64_t b)
{
	return a < 0 ? b : b < 0 || a < b ? a : b;
}

static void
set_limits(
    struct session *s, const struct session_limits *l, int64_t vm_ms, bool is_newer)
{
	const int64_t limit[LIMITS] = {
		[LIMIT_REQUESTS] = l->requests_per_minute,
		[LIMIT_CONCURRENCY] = l->concurrency,
		[LIMIT_SESSION_TOKENS] = l->session_tokens,
		[LIMIT_UPLOAD] = l->upload,
	};

	int64_t upload = atomic_load(&s->limit[LIMIT_UPLOAD]);

	for (size_t i = 0; i < LIMITS; i++)
		atomic_store(&s->limit[i],
		    is_newer ? limit[i] : lower(limit[i], atomic_load(&s->limit[i])));
	if (atomic_load(&s->limit[LIMIT_UPLOAD]) != upload)
		atomic_fetch_add(&s->all->uploads, 1);
	atomic_store(&s->vm_ms, is_newer ? vm_ms : lower(vm_ms, atomic_load(&s->vm_ms)));
}

/*
 * A turn's limits are of that turn alone: where many run at once, the newest token may
 * be of another one, and says nothing of this.
 */
static void
set_turn_limits(
    struct session *s, struct str turn, int64_t gen, const struct session_limits *l)
{
	struct turn_limits *of = &s->turn_limits;
	bool is_other = !session_text_is(of->turn, turn),
	     is_newer = is_other || gen > of->gen;

	if (turn.n == 0 || (is_other && l->turn_calls < 0 && l->turn_tokens < 0))
		return;
	session_text_set(&of->turn, turn);
	of->gen = gen;
	of->calls = is_newer ? l->turn_calls : lower(l->turn_calls, of->calls);
	of->tokens = is_newer ? l->turn_tokens : lower(l->turn_tokens, of->tokens);
}

static void
set_grant(struct session *s, void *grant)
{
	if (grant == s->grant || s->all->ref == NULL || grant == NULL)
		return;
	s->all->ref(grant);
	if (s->grant != NULL)
		s->all->unref(s->grant);
	s->grant = grant;
}

/* Of this token, unless a newer one has spoken. */
static void
take_limits(struct session *s, const struct session_ask *ask)
{
	if (ask->gen < s->limits_gen)
		return;
	set_limits(s, &ask->limits, ask->vm_ms, ask->gen > s->limits_gen);
	set_turn_limits(s, ask->turn, ask->gen, &ask->limits);
	set_grant(s, ask->grant);
	s->limits_gen = ask->gen;
}

/* Of a token that may never have been seen here. */
static void
take_told(struct session *s, const struct session_kin *told)
{
	if (told->gen <= s->limits_gen)
		return;
	set_limits(s, &told->limits, told->vm_ms, true);
	set_turn_limits(s, told->turn, told->gen, &told->limits);
	set_grant(s, told->grant);
	s->limits_gen = told->gen;
}

struct session_limits
session_limits(struct session *s, struct str turn)
{
	struct session_limits l = {
		.requests_per_minute = atomic_load(&s->limit[LIMIT_REQUESTS]),
		.concurrency = atomic_load(&s->limit[LIMIT_CONCURRENCY]),
		.turn_calls = SESSION_UNLIMITED,
		.turn_tokens = SESSION_UNLIMITED,
		.session_tokens = atomic_load(&s->limit[LIMIT_SESSION_TOKENS]),
		.upload = atomic_load(&s->limit[LIMIT_UPLOAD]),
	};

	pthread_mutex_lock(&s->shard->lock);
	if (turn.n > 0 && session_text_is(s->turn_limits.turn, turn)) {
		l.turn_calls = s->turn_limits.calls;
		l.turn_tokens = s->turn_limits.tokens;
	}
	pthread_mutex_unlock(&s->shard->lock);
	return l;
}

/* ---- opening */

static unix_ms
end_of(const struct session *s)
{
	int64_t vm_ms = atomic_load(&s->vm_ms);

	return vm_ms < 0 || s->first_use > SESSION_FOREVER - vm_ms ? SESSION_FOREVER
								   : s->first_use + vm_ms;
}

unix_ms
session_deadline(const struct session *s, unix_ms expires)
{
	for (; s != NULL; s = s->parent)
		expires = end_of(s) < expires ? end_of(s) : expires;
	return expires;
}

/* Of the session and whoever it descends from. */
static enum session_answer
standing(const struct session *s, unix_ms now)
{
	for (const struct session *at = s; at != NULL; at = at->parent) {
		enum session_answer ended = (enum session_answer)atomic_load(&at->ended);
		if (ended != SESSION_OK)
			return ended;
		if (end_of(at) <= now)
			return SESSION_TIME_EXHAUSTED;
	}
	return SESSION_OK;
}

static bool
is_held_elsewhere(const struct session *s, struct str source, unix_ms now)
{
	return s->source != NULL && !str_eq(str_of(s->source), source) &&
	       (s->nseats > 0 || now - s->left < SESSION_DETACH_MS);
}

static enum session_answer
check_source(struct sessions *all, const struct session *s, const struct session_ask *ask,
    unix_ms now)
{
	if (ask->is_armed && !arms_stand_for(&all->arms, ask->source, session_name(s)))
		return SESSION_NOT_ATTACHED;
	switch (ask->bind) {
	case SESSION_BIND_FIRST:
		return is_held_elsewhere(s, ask->source, now) ? SESSION_NOT_ATTACHED
							      : SESSION_OK;
	case SESSION_BIND_ARMED:
		return arms_are_for(&all->arms, ask->source, session_name(s), now)
			   ? SESSION_OK
			   : SESSION_NOT_ATTACHED;
	case SESSION_BIND_NONE:
		return SESSION_OK;
	}
	return SESSION_NOT_ATTACHED;
}

static enum session_answer
check_turn(const struct session *s, const struct session_ask *ask)
{
	if (ask->turn.n == 0 || session_text_is(s->turn, ask->turn) ||
	    ask->turns_concurrent)
		return SESSION_OK;
	return s->turn == NULL ? SESSION_ASK_STORE : SESSION_TURN_ENDED;
}

/* Whoever revokes or disarms now comes before or after. */
enum session_answer
session_check(const struct session *s, const struct session_ask *ask, unix_ms now)
{
	struct sessions *all = s->all;
	enum session_answer a;

	if (revoked_has(&all->revoked, ask->tenant, ask->sid, ask->jti, now))
		return SESSION_REVOKED;
	if (!session_text_is(s->sub, ask->sub))
		return SESSION_OWNER_MISMATCH;
	if (!session_text_is(s->parent == NULL ? NULL : s->parent->sid, ask->par))
		return SESSION_INVALID;
	if ((a = standing(s, now)) != SESSION_OK)
		return a;
	/* this token's own, which may be less than the session's */
	if (ask->vm_ms >= 0 && s->first_use <= now - ask->vm_ms)
		return SESSION_TIME_EXHAUSTED;
	if ((a = check_source(all, s, ask, now)) != SESSION_OK)
		return a;
	if (ask->gen > s->gen)
		return SESSION_ASK_STORE;
	return check_turn(s, ask);
}

void
session_enter(struct session *s, const struct session_ask *ask, unix_ms now)
{
	if (ask->bind != SESSION_BIND_NONE)
		session_text_set(&s->source, ask->source);
	s->left = now;
	take_limits(s, ask);
	list_remove(&s->link);
	list_append(&s->shard->list, &s->link);
}

enum session_answer
session_open(struct sessions *all, const struct session_ask *ask, unix_ms now,
    struct session **out)
{
	char memory[TRIPLE_MAX];
	struct str key = triple_make(memory, ask->issuer, ask->tenant, ask->sid);
	struct session_shard *shard = sessions_shard(all, key);
	enum session_answer a = SESSION_ASK_STORE;

	if (ask->expires <= now)
		return SESSION_EXPIRED;
	/* the store is not asked about it */
	if (revoked_has(&all->revoked, ask->tenant, ask->sid, ask->jti, now))
		return SESSION_REVOKED;
	pthread_mutex_lock(&shard->lock);
	struct session *s = map_get(&shard->sessions, key);
	if (s != NULL && (a = session_check(s, ask, now)) == SESSION_OK) {
		session_enter(s, ask, now);
		*out = session_ref(s);
	}
	pthread_mutex_unlock(&shard->lock);
	return a;
}

/* ---- what the store said */

/* Found or made, locked: unlock its shard.  NULL: it is somebody else's, or has another
 * parent; nothing is locked.  Takes the reference to the parent. */
static struct session *
locked(struct sessions *all, const struct session_ask *ask, struct str sid,
    struct session *parent, unix_ms first_use, unix_ms now)
{
	char memory[TRIPLE_MAX];
	struct str key = triple_make(memory, ask->issuer, ask->tenant, sid);
	struct session_shard *shard = sessions_shard(all, key);

	pthread_mutex_lock(&shard->lock);
	struct session *s = map_get(&shard->sessions, key);
	if (s == NULL) {
		const struct session_parts of = { ask->issuer, ask->tenant, sid };
		s = sessions_add(all, shard, key, &of, ask->sub, parent, first_use);
		parent = NULL;
	} else if (!session_text_is(s->sub, ask->sub) || s->parent != parent) {
		pthread_mutex_unlock(&shard->lock);
		s = NULL;
	}
	session_unref(parent);
	/* asked under the lock: who revokes it now marks it when it is in the table */
	if (s != NULL && revoked_has(&all->revoked, ask->tenant, sid, STR_NONE, now))
		atomic_store(&s->ended, SESSION_REVOKED);
	return s;
}

static bool
are_kin_in_order(const struct session_ask *ask, const struct session_facts *f)
{
	if (f->nkin > SESSION_ANCESTORS || (f->nkin == 0) != (ask->par.n == 0) ||
	    (f->nkin > 0 && !str_eq(f->kin[0].sid, ask->par)))
		return false;
	for (size_t i = 0; i < f->nkin; i++) {
		if (str_eq(f->kin[i].sid, ask->sid))
			return false;
		for (size_t k = 0; k < i; k++)
			if (str_eq(f->kin[i].sid, f->kin[k].sid))
				return false;
	}
	return true;
}

/* The whole line above it, outermost first; false: it is not in order. */
static bool
learn_kin(struct sessions *all, const struct session_ask *ask,
    const struct session_facts *f, unix_ms now, struct session **parent)
{
	*parent = NULL;
	for (size_t i = f->nkin; i-- > 0;) {
		const struct session_kin *kin = &f->kin[i];
		struct session *s =
		    locked(all, ask, kin->sid, *parent, kin->first_use, now);
		if (s == NULL)
			return false;
		take_told(s, kin);
		*parent = session_ref(s);
		pthread_mutex_unlock(&s->shard->lock);
	}
	return true;
}

/* Under the lock.  The oldest makes room: who is not found is asked after, never less. */
static void
confirm(struct session *s, struct str jti, unix_ms now)
{
	struct session_word *at = &s->word[0];
	uint64_t hash = session_jti_hash(jti);

	for (size_t i = 0; i < SESSION_WORDS; i++) {
		if (s->word[i].at != 0 && s->word[i].jti == hash) {
			at = &s->word[i];
			break;
		}
		if (s->word[i].at < at->at)
			at = &s->word[i];
	}
	*at = (struct session_word){ hash, now };
}

enum session_answer
session_learn(struct sessions *all, const struct session_ask *ask,
    const struct session_facts *f, unix_ms now)
{
	struct session *parent, *s;

	if (!are_kin_in_order(ask, f) || !learn_kin(all, ask, f, now, &parent) ||
	    (s = locked(all, ask, ask->sid, parent, f->first_use, now)) == NULL)
		return SESSION_INVALID;
	int64_t gen = f->gen > ask->gen ? f->gen : ask->gen;
	if (f->has_newer)
		take_told(s, &f->newer);
	take_limits(s, ask);
	/* an answer that comes late says nothing of what has begun since */
	if (ask->turn.n > 0 && !ask->turns_concurrent && gen >= s->gen)
		session_text_set(&s->turn, ask->turn);
	if (gen > s->gen)
		s->gen = gen;
	confirm(s, ask->jti, now);
	pthread_mutex_unlock(&s->shard->lock);
	return SESSION_OK;
}

bool
session_is_stale(struct session *s, struct str jti, unix_ms now, int64_t most_ms)
{
	uint64_t hash = session_jti_hash(jti);
	bool is_fresh = false;

	pthread_mutex_lock(&s->shard->lock);
	for (size_t i = 0; i < SESSION_WORDS && !is_fresh; i++) {
		const struct session_word *w = &s->word[i];
		/* one of tomorrow is worth nothing: the clock was set back */
		is_fresh =
		    w->jti == hash && w->at > 0 && w->at <= now && w->at > now - most_ms;
	}
	pthread_mutex_unlock(&s->shard->lock);
	return !is_fresh;
}

void
session_confirm(struct session *s, struct str jti, unix_ms now)
{
	pthread_mutex_lock(&s->shard->lock);
	confirm(s, jti, now);
	pthread_mutex_unlock(&s->shard->lock);
}

size_t
session_ancestors(struct session *s, struct session *out[static SESSION_ANCESTORS])
{
	size_t n = 0;

	for (s = s->parent; s != NULL; s = s->parent)
		out[n++] = s;
	return n;
}

void *
session_grant(struct session *s)
{
	pthread_mutex_lock(&s->shard->lock);
	void *grant = s->grant;
	if (grant != NULL)
		s->all->ref(grant);
	pthread_mutex_unlock(&s->shard->lock);
	return grant;
}

struct session *
session_root(struct session *s)
{
	while (s->parent != NULL)
		s = s->parent;
	return s;
}

int64_t
session_upload(const struct session *s)
{
	int64_t least = SESSION_UNLIMITED;

	for (; s != NULL; s = s->parent)
		least = lower(least, atomic_load(&s->limit[LIMIT_UPLOAD]));
	return least;
}

uint64_t
sessions_upload_changes(const struct sessions *all)
{
	return atomic_load(&all->uploads);
}

/* ---- exchanges */

/* 0: one more is within the minute's, and is taken; else how long until it would be. */
static int64_t
take_request(struct session *s, int64_t now_us)
{
	int64_t most = atomic_load(&s->limit[LIMIT_REQUESTS]);
	long long old = atomic_load(&s->full_at), full;

	if (most < 0)
		return 0;
	if (most == 0)
		return MINUTE_US;
	do {
		full = (old > now_us ? old : now_us) + MINUTE_US / most;
		if (full - now_us > MINUTE_US)
			return full - now_us - MINUTE_US;
	} while (!atomic_compare_exchange_weak(&s->full_at, &old, full));
	return 0;
}

static void
give_request(struct session *s)
{
	int64_t most = atomic_load(&s->limit[LIMIT_REQUESTS]);

	if (most > 0)
		atomic_fetch_sub(&s->full_at, MINUTE_US / most);
}

static bool
take_place(struct session *s)
{
	int64_t most = atomic_load(&s->limit[LIMIT_CONCURRENCY]);
	long long open = atomic_load(&s->open);

	do {
		if (most >= 0 && open >= most)
			return false;
	} while (!atomic_compare_exchange_weak(&s->open, &open, open + 1));
	return true;
}

/* Of one session alone. */
static enum session_answer
begin_one(struct session *s, unix_ms now, int64_t *retry_ms)
{
	int64_t wait_us;

	if (!take_place(s))
		return SESSION_CONCURRENCY_LIMITED;
	if ((wait_us = take_request(s, now * 1000)) == 0)
		return SESSION_OK;
	atomic_fetch_sub(&s->open, 1);
	*retry_ms = (wait_us + 999) / 1000;
	return SESSION_RATE_LIMITED;
}

enum session_answer
session_begin(struct session *s, unix_ms now, int64_t *retry_ms)
{
	enum session_answer a = SESSION_OK;
	struct session *at = s;

	*retry_ms = 1000;
	while (at != NULL && (a = begin_one(at, now, retry_ms)) == SESSION_OK)
		at = at->parent;
	if (a == SESSION_OK)
		return a;
	for (; s != at; s = s->parent) {
		atomic_fetch_sub(&s->open, 1);
		give_request(s);
	}
	return a;
}

void
session_end(struct session *s)
{
	for (; s != NULL; s = s->parent) {
		long long before = atomic_fetch_sub(&s->open, 1);
		assert(before > 0);
		(void)before;
	}
}

void
session_used(struct session *s, int64_t tokens)
{
	for (; s != NULL; s = s->parent) {
		atomic_fetch_add(&s->calls, 1);
		atomic_fetch_add(&s->tokens, tokens);
	}
}
