/*
 * seat.c - who is present at a session, and is told when it must end
 */
#include "state/seat.h"

#include <assert.h>

#include "base/count.h"
#include "state/session_row.h"

uint64_t
seat_arm(struct str source)
{
	return hash_bytes(source) | 1;
}

enum session_answer
seat_take(struct seat *seat, struct session *s, const struct session_ask *ask,
    unix_ms now, void (*told)(void *arg, enum session_answer why), void *arg)
{
	enum session_answer a;

	pthread_mutex_lock(&s->shard->lock);
	if ((a = session_check(s, ask, now)) == SESSION_OK) {
		session_enter(s, ask, now);
		*seat = (struct seat){ .session = session_ref(s),
			.jti = session_jti_hash(ask->jti),
			.arm = ask->is_armed ? seat_arm(ask->source) : 0,
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

size_t
seats_tell(struct session *s, uint64_t jti, uint64_t arm, enum session_answer why)
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
