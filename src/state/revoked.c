/*
 * revoked.c - which sessions and tokens were revoked, and until when that matters
 */
#include "state/revoked.h"

#include <stdlib.h>
#include <string.h>

#include "state/triple.h"

#define SESSION STR("s")
#define TOKEN STR("j")

struct revocation {
	int64_t until_ms;
};

void
revoked_init(struct revoked *r)
{
	pthread_mutex_init(&r->lock, NULL);
	map_init(&r->until);
	atomic_init(&r->n, 0);
}

void
revoked_fini(struct revoked *r)
{
	map_fini(&r->until, free);
	pthread_mutex_destroy(&r->lock);
}

/* Under the lock. */
static bool
has(struct revoked *r, struct str kind, struct str tenant, struct str name,
    int64_t now_ms)
{
	char memory[TRIPLE_MAX];
	struct revocation *one =
	    map_get(&r->until, triple_make(memory, kind, tenant, name));

	return one != NULL && one->until_ms > now_ms;
}

bool
revoked_has(
    struct revoked *r, struct str tenant, struct str sid, struct str jti, int64_t now_ms)
{
	bool is;

	if (atomic_load(&r->n) == 0)
		return false;
	pthread_mutex_lock(&r->lock);
	is = has(r, SESSION, tenant, sid, now_ms) ||
	     (jti.n > 0 && has(r, TOKEN, tenant, jti, now_ms));
	pthread_mutex_unlock(&r->lock);
	return is;
}

/* Under the lock. */
static void
drop_old(struct revoked *r, int64_t now_ms)
{
	struct str key;
	void *value;
	size_t at = 0;

	while (map_next(&r->until, &at, &key, &value))
		if (((struct revocation *)value)->until_ms <= now_ms) {
			char memory[TRIPLE_MAX];
			memcpy(memory, key.p, key.n);
			free(map_del(&r->until, (struct str){ memory, key.n }));
			at = 0; /* the map has changed */
		}
}

static void
add(struct revoked *r, struct str kind, struct str tenant, struct str name,
    int64_t until_ms, int64_t now_ms)
{
	struct revocation *one = mem_alloc(sizeof(*one));
	char memory[TRIPLE_MAX];

	one->until_ms = until_ms;
	pthread_mutex_lock(&r->lock);
	drop_old(r, now_ms);
	free(map_put(&r->until, triple_make(memory, kind, tenant, name), one));
	atomic_store(&r->n, r->until.n);
	pthread_mutex_unlock(&r->lock);
}

void
revoked_session(struct revoked *r, struct str tenant, struct str sid, int64_t until_ms,
    int64_t now_ms)
{
	add(r, SESSION, tenant, sid, until_ms, now_ms);
}

void
revoked_token(struct revoked *r, struct str tenant, struct str jti, int64_t until_ms,
    int64_t now_ms)
{
	add(r, TOKEN, tenant, jti, until_ms, now_ms);
}
