/*
 * session_row.h - a session as the table holds it
 *
 * For state/sessions (the table), state/session (what a session may do), state/seat (who
 * is present) and state/operator alone; for all others a session is opaque.
 *
 * Any thread.  What never changes and what is atomic is read by whoever has a reference;
 * the rest under the lock of the session's shard.  Inside of that only the arms' and the
 * revocations' locks are taken, and those of the mailboxes of whoever is told; never
 * another shard's.  Times are milliseconds since 1970.
 */
#ifndef WEIR_STATE_SESSION_ROW_H
#define WEIR_STATE_SESSION_ROW_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "base/map.h"
#include "state/arms.h"
#include "state/revoked.h"

#define SESSION_SHARDS 64 /* a power of two */
/* Tokens of one session of which it is known when the store was asked. */
#define SESSION_WORDS 4

enum session_limit {
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
struct session_word {
	uint64_t jti; /* by hash; 0: of a token that has none */
	int64_t at;   /* 0: never */
};

struct session {
	struct list link; /* in its shard, least recently opened first */
	struct sessions *all;
	struct session_shard *shard;
	atomic_int refs;

	/* never changed */
	char *key; /* owned, as are all texts */
	size_t key_len;
	char *issuer, *tenant, *sid, *sub;
	struct session *parent; /* a reference; NULL: none */
	int64_t first_use;

	/* under the shard's lock */
	int64_t gen, limits_gen; /* the largest seen; what the limits are from */
	char *turn;              /* the current one, or NULL */
	char *source;            /* that holds it, or NULL */
	int64_t left;            /* when it was last seen there */
	struct list seats;
	size_t nseats;
	struct turn_limits turn_limits;
	void *grant; /* a reference, or NULL */
	struct session_word word[SESSION_WORDS];

	atomic_int ended; /* enum session_answer; 0: it is not */
	atomic_llong limit[LIMITS], vm_ms;
	atomic_llong open, calls, tokens;
	atomic_llong
	    full_at; /* us: when a minute's requests are all there again (GCRA) */
};

struct session_shard {
	pthread_mutex_t lock;
	struct map sessions;
	struct list list;
};

struct sessions {
	void (*ref)(void *grant); /* sessions.h's ops, of `grant` above; or NULL */
	void (*unref)(void *grant);
	struct session_shard shard[SESSION_SHARDS];
	atomic_ullong uploads;  /* changes of some session's LIMIT_UPLOAD */
	struct arms arms;       /* its lock, and that of the next, are taken inside */
	struct revoked revoked; /* a shard's, and never one inside the other */
};

struct session_parts;

struct session_shard *sessions_shard(struct sessions *all, struct str key);
/*
 * A new one in the table, under its shard's lock.  Takes the reference to the parent
 * (NULL: none); the texts are copied.
 */
struct session *sessions_add(struct sessions *all, struct session_shard *shard,
    struct str key, const struct session_parts *of, struct str sub,
    struct session *parent, int64_t first_use);
/* fn on every session, each under its lock; the sum of what it returns. */
size_t sessions_walk(struct sessions *all,
    size_t (*fn)(struct session *s, const void *arg), const void *arg);

/* NULL and the empty text are the same: there is none. */
bool session_text_is(const char *have, struct str text);
void session_text_set(char **to, struct str text);

/* 0: there is none. */
static inline uint64_t
session_jti_hash(struct str jti)
{
	return jti.n == 0 ? 0 : hash_bytes(jti);
}

#endif
