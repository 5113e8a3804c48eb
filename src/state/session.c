/*
 * session.c - who is using weir right now, and what each may still do
 */
#include "state/session.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/map.h"
#include "state/arms.h"
#include "state/revoked.h"
#include "state/triple.h"

#define SHARDS 64 /* a power of two */
#define SHARD_MOST \
	1024 /* beyond it whoever nobody holds makes room: the store knows it */
#define SWEEP 4
#define MINUTE_US INT64_C(60000000)
#define WORDS \
	4 /* tokens of one session of which it is known when the store was asked \
	   */

enum limit {
	LIMIT_REQUESTS,
	LIMIT_CONCURRENCY,
	LIMIT_SESSION_TOKENS,
	LIMIT_UPLOAD,
	LIMITS
};

/* What may be used in one turn, as the newest token that limits a turn says. */
struct turn_limits {
	char *turn; /* NULL: no token has said anything */
	int64_t gen;
	int64_t calls, tokens;
};

/* When the store last said nothing against a token. */
struct word {
	uint64_t jti; /* by hash; 0: of a token that has none */
	unix_ms at;   /* 0: never */
};

struct session {
	struct list link; /* in its shard, least recently opened first */
	struct sessions *all;
	struct shard *shard;
	atomic_int refs;

	/* never changed */
	char *key; /* owned, as are all texts */
	size_t key_len;
	char *issuer, *tenant, *sid, *sub;
	struct session *parent; /* a reference; NULL: none */
	unix_ms first_use;

	/* under the shard's lock */
	int64_t gen, limits_gen; /* the largest seen; what the limits are from */
	char *turn;              /* the current one, or NULL */
	char *source;            /* that holds it, or NULL */
	unix_ms left;            /* when it was last seen there */
	struct list seats;
	size_t nseats;
	struct turn_limits turn_limits;
	void *grant;
	struct word word[WORDS];

	atomic_int ended; /* enum session_answer; SESSION_OK: it is not */
	atomic_llong limit[LIMITS], vm_ms;
	atomic_llong open, calls, tokens;
	atomic_llong
	    full_at; /* us: when a minute's requests are all there again (GCRA) */
};

struct shard {
	pthread_mutex_t lock;
	struct map sessions;
	struct list list;
};

struct sessions {
	struct session_ops ops;
	struct shard shard[SHARDS];
	struct arms arms;       /* its lock, and that of the next, are taken inside */
	struct revoked revoked; /* a shard's, and never one inside the other */
};

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

static struct shard *
shard_of(struct sessions *all, struct str key)
{
	return &all->shard[hash_bytes(key) & (SHARDS - 1)];
}

static bool
is_same(const char *have, struct str text)
{
	return have == NULL ? text.n == 0 : str_eq(str_of(have), text);
}

struct str
session_name(const struct session *s)
{
	return (struct str){ s->key, s->key_len };
}

/* ---- the registry */

struct sessions *
sessions_new(const struct session_ops *ops)
{
	struct sessions *all = mem_zalloc(sizeof(*all));

	all->ops = *ops;
	for (size_t i = 0; i < SHARDS; i++) {
		pthread_mutex_init(&all->shard[i].lock, NULL);
		map_init(&all->shard[i].sessions);
		list_init(&all->shard[i].list);
	}
	arms_init(&all->arms);
	revoked_init(&all->revoked);
	return all;
}

static void
set_grant(struct session *s, void *grant)
{
	const struct session_ops *ops = &s->all->ops;

	if (grant == s->grant || ops->ref == NULL || grant == NULL)
		return;
	ops->ref(grant);
	if (s->grant != NULL)
		ops->unref(s->grant);
	s->grant = grant;
}

/* Nobody holds it, and it is in no table any more. */
static void
session_drop(struct session *s)
{
	assert(list_is_empty(&s->seats));
	if (s->grant != NULL)
		s->all->ops.unref(s->grant);
	session_unref(s->parent);
	free(s->turn_limits.turn);
	free(s->key);
	free(s->issuer);
	free(s->tenant);
	free(s->sid);
	free(s->sub);
	free(s->turn);
	free(s->source);
	free(s);
}

/* Children hold their parents: as often as it takes until none is left. */
void
sessions_free(struct sessions *all)
{
	bool is_more = all != NULL;

	while (is_more) {
		is_more = false;
		for (size_t i = 0; i < SHARDS; i++) {
			struct list *at, *next;
			list_each_safe(at, next, &all->shard[i].list)
			{
				struct session *s = list_entry(at, struct session, link);
				if (atomic_load(&s->refs) > 0)
					continue;
				list_remove(&s->link);
				session_drop(s);
				is_more = true;
			}
		}
	}
	if (all == NULL)
		return;
	for (size_t i = 0; i < SHARDS; i++) {
		assert(list_is_empty(&all->shard[i].list));
		map_fini(&all->shard[i].sessions, NULL);
		pthread_mutex_destroy(&all->shard[i].lock);
	}
	arms_fini(&all->arms);
	revoked_fini(&all->revoked);
	free(all);
}

struct session *
session_ref(struct session *s)
{
	atomic_fetch_add(&s->refs, 1);
	return s;
}

/* It stays known; sweep() lets it go when there are too many. */
void
session_unref(struct session *s)
{
	if (s == NULL)
		return;
	int before = atomic_fetch_sub(&s->refs, 1);
	assert(before > 0);
	(void)before;
}

static void
sweep(struct shard *shard)
{
	for (size_t i = 0; i < SWEEP && shard->sessions.n > SHARD_MOST; i++) {
		struct session *s = list_entry(shard->list.next, struct session, link);

		list_remove(&s->link);
		if (atomic_load(&s->refs) > 0) {
			list_append(&shard->list, &s->link);
			continue;
		}
		map_del(&shard->sessions, session_name(s));
		session_drop(s);
	}
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

	for (size_t i = 0; i < LIMITS; i++)
		atomic_store(&s->limit[i],
		    is_newer ? limit[i] : lower(limit[i], atomic_load(&s->limit[i])));
	atomic_store(&s->vm_ms, is_newer ? vm_ms : lower(vm_ms, atomic_load(&s->vm_ms)));
}

static void
replace_text(char **to, struct str text)
{
	if (is_same(*to, text))
		return;
	free(*to);
	*to = text.n == 0 ? NULL : str_dup(text);
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
	bool is_other = !is_same(of->turn, turn), is_newer = is_other || gen > of->gen;

	if (turn.n == 0 || (is_other && l->turn_calls < 0 && l->turn_tokens < 0))
		return;
	replace_text(&of->turn, turn);
	of->gen = gen;
	of->calls = is_newer ? l->turn_calls : lower(l->turn_calls, of->calls);
	of->tokens = is_newer ? l->turn_tokens : lower(l->turn_tokens, of->tokens);
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
	if (turn.n > 0 && is_same(s->turn_limits.turn, turn)) {
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
	if (ask->turn.n == 0 || is_same(s->turn, ask->turn) || ask->turns_concurrent)
		return SESSION_OK;
	return s->turn == NULL ? SESSION_ASK_STORE : SESSION_TURN_ENDED;
}

/* Under the shard's lock: whoever revokes or disarms now comes before or after. */
static enum session_answer
check(struct sessions *all, const struct session *s, const struct session_ask *ask,
    unix_ms now)
{
	enum session_answer a;

	if (revoked_has(&all->revoked, ask->tenant, ask->sid, ask->jti, now))
		return SESSION_REVOKED;
	if (!is_same(s->sub, ask->sub))
		return SESSION_OWNER_MISMATCH;
	if (!is_same(s->parent == NULL ? NULL : s->parent->sid, ask->par))
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

static void
entered(struct session *s, const struct session_ask *ask, unix_ms now)
{
	if (ask->bind != SESSION_BIND_NONE)
		replace_text(&s->source, ask->source);
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
	struct shard *shard = shard_of(all, key);
	enum session_answer a = SESSION_ASK_STORE;

	if (ask->expires <= now)
		return SESSION_EXPIRED;
	/* the store is not asked about it */
	if (revoked_has(&all->revoked, ask->tenant, ask->sid, ask->jti, now))
		return SESSION_REVOKED;
	pthread_mutex_lock(&shard->lock);
	struct session *s = map_get(&shard->sessions, key);
	if (s != NULL && (a = check(all, s, ask, now)) == SESSION_OK) {
		entered(s, ask, now);
		*out = session_ref(s);
	}
	pthread_mutex_unlock(&shard->lock);
	return a;
}

/* ---- what the store said */

/* Takes the reference to the parent. */
static struct session *
session_new(struct sessions *all, struct shard *shard, struct str key,
    const struct session_ask *ask, struct str sid, struct session *parent,
    unix_ms first_use)
{
	struct session *s = mem_zalloc(sizeof(*s));

	s->all = all;
	s->shard = shard;
	s->key = str_dup(key);
	s->key_len = key.n;
	s->issuer = str_dup(ask->issuer);
	s->tenant = str_dup(ask->tenant);
	s->sid = str_dup(sid);
	s->sub = str_dup(ask->sub);
	s->parent = parent;
	s->first_use = first_use;
	s->gen = s->limits_gen = -1; /* until a token of its own is seen */
	list_init(&s->seats);
	for (size_t i = 0; i < LIMITS; i++)
		atomic_init(&s->limit[i], SESSION_UNLIMITED);
	atomic_init(&s->vm_ms, SESSION_UNLIMITED);
	sweep(shard);
	map_put(&shard->sessions, key, s);
	count_add(COUNT_SESSIONS_OPENED, 1);
	list_append(&shard->list, &s->link);
	return s;
}

/* Found or made, locked: unlock its shard.  NULL: it is somebody else's, or has another
 * parent; nothing is locked.  Takes the reference to the parent. */
static struct session *
locked(struct sessions *all, const struct session_ask *ask, struct str sid,
    struct session *parent, unix_ms first_use, unix_ms now)
{
	char memory[TRIPLE_MAX];
	struct str key = triple_make(memory, ask->issuer, ask->tenant, sid);
	struct shard *shard = shard_of(all, key);

	pthread_mutex_lock(&shard->lock);
	struct session *s = map_get(&shard->sessions, key);
	if (s == NULL) {
		s = session_new(all, shard, key, ask, sid, parent, first_use);
		parent = NULL;
	} else if (!is_same(s->sub, ask->sub) || s->parent != parent) {
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

static uint64_t
jti_hash(struct str jti)
{
	return jti.n == 0 ? 0 : hash_bytes(jti);
}

/* Under the lock.  The oldest makes room: who is not found is asked after, never less. */
static void
confirm(struct session *s, struct str jti, unix_ms now)
{
	struct word *at = &s->word[0];
	uint64_t hash = jti_hash(jti);

	for (size_t i = 0; i < WORDS; i++) {
		if (s->word[i].at != 0 && s->word[i].jti == hash) {
			at = &s->word[i];
			break;
		}
		if (s->word[i].at < at->at)
			at = &s->word[i];
	}
	*at = (struct word){ hash, now };
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
		replace_text(&s->turn, ask->turn);
	if (gen > s->gen)
		s->gen = gen;
	confirm(s, ask->jti, now);
	pthread_mutex_unlock(&s->shard->lock);
	return SESSION_OK;
}

bool
session_is_stale(struct session *s, struct str jti, unix_ms now, int64_t most_ms)
{
	uint64_t hash = jti_hash(jti);
	bool is_fresh = false;

	pthread_mutex_lock(&s->shard->lock);
	for (size_t i = 0; i < WORDS && !is_fresh; i++) {
		const struct word *w = &s->word[i];
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
		s->all->ops.ref(grant);
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

struct session_parts
session_name_parts(struct str name)
{
	struct session_parts p;

	p.issuer = triple_take(&name);
	p.tenant = triple_take(&name);
	p.sid = triple_take(&name);
	return p;
}

int64_t
session_upload(const struct session *s)
{
	int64_t least = SESSION_UNLIMITED;

	for (; s != NULL; s = s->parent)
		least = lower(least, atomic_load(&s->limit[LIMIT_UPLOAD]));
	return least;
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

/* ---- presence */

static uint64_t
arm_hash(struct str source)
{
	return hash_bytes(source) | 1;
}

enum session_answer
seat_take(struct seat *seat, struct session *s, const struct session_ask *ask,
    unix_ms now, void (*told)(void *arg, enum session_answer why), void *arg)
{
	enum session_answer a;

	pthread_mutex_lock(&s->shard->lock);
	if ((a = check(s->all, s, ask, now)) == SESSION_OK) {
		entered(s, ask, now);
		*seat = (struct seat){ .session = session_ref(s),
			.jti = jti_hash(ask->jti),
			.arm = ask->is_armed ? arm_hash(ask->source) : 0,
			.told = told,
			.arg = arg };
		list_append(&s->seats, &seat->link);
		if (s->nseats++ == 0)
			count_add(COUNT_SESSIONS_OPEN, 1);
	}
	pthread_mutex_unlock(&s->shard->lock);
	assert(a != SESSION_ASK_STORE); /* it was asked before, and said so */
	return a;
}

/* Under the lock. */
static void
unseat(struct session *s, struct seat *seat)
{
	if (list_is_empty(&seat->link))
		return;
	list_remove(&seat->link);
	if (--s->nseats == 0)
		count_add(COUNT_SESSIONS_OPEN, -1);
}

void
seat_leave(struct seat *seat, unix_ms now)
{
	struct session *s = seat->session;

	if (s == NULL)
		return;
	pthread_mutex_lock(&s->shard->lock);
	unseat(s, seat);
	s->left = now;
	pthread_mutex_unlock(&s->shard->lock);
	seat->session = NULL;
	session_unref(s);
}

/* Under the lock; those of that token and that arm, or of any (0). */
static size_t
tell(struct session *s, uint64_t jti, uint64_t arm, enum session_answer why)
{
	struct list *at, *next;
	size_t n = 0;

	list_each_safe(at, next, &s->seats)
	{
		struct seat *seat = list_entry(at, struct seat, link);
		if ((jti != 0 && seat->jti != jti) || (arm != 0 && seat->arm != arm))
			continue;
		unseat(s, seat);
		seat->told(seat->arg, why);
		n++;
	}
	return n;
}

/* ---- what operators do */

/* fn on every session, each under its lock; the sum of what it returns. */
struct walking {
	struct str tenant, name;
	uint64_t jti;
	struct str source;
};

static size_t
each_session(struct sessions *all,
    size_t (*fn)(struct session *s, const struct walking *w), const struct walking *w)
{
	size_t sum = 0;

	for (size_t i = 0; i < SHARDS; i++) {
		struct list *at;
		pthread_mutex_lock(&all->shard[i].lock);
		list_each(at, &all->shard[i].list) sum +=
		    fn(list_entry(at, struct session, link), w);
		pthread_mutex_unlock(&all->shard[i].lock);
	}
	return sum;
}

static size_t
mark_revoked(struct session *s, const struct walking *w)
{
	if (is_same(s->tenant, w->tenant) && is_same(s->sid, w->name))
		atomic_store(&s->ended, SESSION_REVOKED);
	return 0;
}

static size_t
tell_ended(struct session *s, const struct walking *w)
{
	(void)w;
	for (const struct session *at = s; at != NULL; at = at->parent)
		if (atomic_load(&at->ended) != SESSION_OK)
			return tell(s, 0, 0, SESSION_REVOKED);
	return 0;
}

static size_t
tell_token(struct session *s, const struct walking *w)
{
	return is_same(s->tenant, w->tenant) ? tell(s, w->jti, 0, SESSION_REVOKED) : 0;
}

static size_t
tell_detached(struct session *s, const struct walking *w)
{
	if (!is_same(s->tenant, w->tenant) || !is_same(s->sid, w->name))
		return 0;
	replace_text(&s->source, STR_NONE);
	return tell(s, 0, 0, SESSION_NOT_ATTACHED);
}

size_t
sessions_revoke(
    struct sessions *all, struct str tenant, struct str sid, unix_ms until, unix_ms now)
{
	const struct walking w = { .tenant = tenant, .name = sid };

	revoked_session(&all->revoked, tenant, sid, until, now);
	(void)each_session(all, mark_revoked, &w);
	return each_session(all, tell_ended, &w); /* sub-agents, too */
}

size_t
sessions_revoke_token(
    struct sessions *all, struct str tenant, struct str jti, unix_ms until, unix_ms now)
{
	const struct walking w = { .tenant = tenant, .jti = hash_bytes(jti) };

	revoked_token(&all->revoked, tenant, jti, until, now);
	return each_session(all, tell_token, &w);
}

size_t
sessions_detach(struct sessions *all, struct str tenant, struct str sid)
{
	const struct walking w = { .tenant = tenant, .name = sid };

	return each_session(all, tell_detached, &w);
}

/* ---- arms */

/* All that the source holds; where sessions are bound to none, what came by the arm. */
static size_t
tell_disarmed(struct session *s, const struct walking *w)
{
	if (!str_eq(session_name(s), w->name))
		return 0;
	if (!is_same(s->source, w->source))
		return tell(s, 0, arm_hash(w->source), SESSION_NOT_ATTACHED);
	replace_text(&s->source, STR_NONE);
	return tell(s, 0, 0, SESSION_NOT_ATTACHED);
}

/* Takes the arm, which stood for the source until now. */
static void
end_arm(struct sessions *all, struct str source, struct arm *a, struct str key)
{
	const struct walking w = { .name = arm_session(a), .source = source };

	if (!str_eq(w.name, key))
		(void)each_session(all, tell_disarmed, &w);
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

/* ---- looking at all */

void
sessions_each(struct sessions *all, struct str tenant,
    void (*fn)(void *arg, const struct session_view *v), void *arg)
{
	for (size_t i = 0; i < SHARDS; i++) {
		struct list *at;
		pthread_mutex_lock(&all->shard[i].lock);
		list_each(at, &all->shard[i].list)
		{
			const struct session *s = list_entry(at, struct session, link);
			const struct session_view v = {
				.issuer = str_of(s->issuer),
				.tenant = str_of(s->tenant),
				.sid = str_of(s->sid),
				.sub = str_of(s->sub),
				.turn = str_of(s->turn),
				.source = str_of(s->source),
				.first_use = s->first_use,
				.open = atomic_load(&s->open),
				.seats = (int64_t)s->nseats,
				.calls = atomic_load(&s->calls),
				.tokens = atomic_load(&s->tokens),
				.is_ended = atomic_load(&s->ended) != SESSION_OK,
			};
			if (tenant.n == 0 || str_eq(tenant, v.tenant))
				fn(arg, &v);
		}
		pthread_mutex_unlock(&all->shard[i].lock);
	}
}
