/*
 * room.c - how much room there is for the audit log
 */
#include "audit/room.h"

#include "base/count.h"
#include "base/log.h"

#define LOOK_MS 1000
#define GIB (INT64_C(1) << 30)
#define AUTO_LEAST GIB
#define AUTO_MOST (4 * GIB) /* of a large disk 5 % are more than a log needs */

static const char *const names[] = {
	[ROOM_ENOUGH] = "enough",
	[ROOM_LOW] = "low",
	[ROOM_NONE] = "none",
};

const char *
room_state_name(enum room_state s)
{
	return names[s];
}

static int64_t
lower(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t
higher(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int64_t
room_reserve(int64_t reserve, int64_t size)
{
	if (reserve != SIZE_AUTO)
		return reserve;
	return lower(size / 2, lower(higher(size / 20, AUTO_LEAST), AUTO_MOST));
}

enum room_state
room_judge(enum room_state was, int64_t reserve, int64_t free)
{
	int64_t margin = reserve / 16;

	if (reserve == 0)
		return ROOM_ENOUGH;
	if (free < reserve / 4 + (was == ROOM_NONE ? margin : 0))
		return ROOM_NONE;
	if (free < reserve || (was != ROOM_ENOUGH && free - reserve < margin))
		return ROOM_LOW;
	return ROOM_ENOUGH;
}

int64_t
room_left(int64_t reserve, int64_t free, bool drops)
{
	return higher(free - reserve / 4, drops ? reserve / 4 : 0);
}

/* More than there can ever be: not a matter of what is on it. */
static void
say_impossible(const struct room *r, const char *path, int64_t reserve, int64_t size)
{
	log_warn("audit.reserve is more than the audit log's file system holds", "path",
	    path, "size", NUM(size), "reserve", NUM(reserve), "then",
	    r->drops             ? "records are written while they fit"
	    : size < reserve / 4 ? "every exchange is refused"
				 : "who wrote most of the log is refused, and soon all");
}

static void
say(const struct room *r, enum room_state s, const struct logfile *f, int64_t reserve,
    int64_t free)
{
	const char *path = f->path;

	switch (s) {
	case ROOM_ENOUGH:
		log_info("the audit log's file system has room again", "path", path,
		    "free", NUM(free));
		break;
	case ROOM_LOW:
		log_warn("the audit log's file system has little room", "path", path,
		    "free", NUM(free), "reserve", NUM(reserve), "then",
		    "who wrote most of the log is refused first");
		break;
	case ROOM_NONE:
		log_error("the audit log's file system has no room to spare", "path",
		    path, "free", NUM(free), "reserve", NUM(reserve), "then",
		    r->drops ? "records are written while they fit"
			     : "new exchanges are refused");
		break;
	}
}

bool
room_look(struct room *r, const struct logfile *f, msec now)
{
	enum room_state was = (enum room_state)atomic_load(&r->state), is;
	int64_t free, size, reserve;

	if (r->reserve == 0 || now < r->look_at)
		return false;
	r->look_at = now + LOOK_MS;
	if (!logfile_room(f, &free, &size))
		return false;
	reserve = room_reserve(r->reserve, size);
	is = room_judge(was, reserve, free);
	count_add(COUNT_AUDIT_FREE, free - atomic_exchange(&r->free, free));
	if (r->share != NULL && (is != ROOM_ENOUGH || was != ROOM_ENOUGH))
		r->share(r->arg,
		    is == ROOM_ENOUGH ? INT64_MAX : room_left(reserve, free, r->drops));
	if (is == was)
		return false;
	if (was == ROOM_ENOUGH && reserve > size)
		say_impossible(r, f->path, reserve, size);
	atomic_store(&r->state, (int)is);
	say(r, is, f, reserve, free);
	return true;
}

msec
room_next(const struct room *r)
{
	return atomic_load(&r->state) != ROOM_ENOUGH ? r->look_at : 0;
}
