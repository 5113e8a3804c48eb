/*
 * stream.h - one duplex byte stream with edge-triggered events
 *
 * One event for each socket, assigned into the object, added once, edge
 * triggered (the kernel tells a change once; `ready` remembers it until the
 * bytes are used up).  Plain sockets here; a TLS stream offers the same calls
 * through `ops`.  Belongs to one worker.
 */
#ifndef WEIR_NET_STREAM_H
#define WEIR_NET_STREAM_H

#include <sys/types.h>
#include <sys/uio.h>

#include "base/loop.h"
#include "base/quota.h"

enum {
	STREAM_READ = 1,  /* bytes or end may be there */
	STREAM_WRITE = 2, /* room may be there */
	STREAM_HUP = 4,   /* the peer has sent its end, or all is lost */
};

/*
 * Reads of one stream before others have their turn: who reads until there is nothing
 * counts them and kicks.  Bytes do not tell: a TLS record may bring one.
 */
#define STREAM_READS 64

struct stream;

struct stream_ops {
	ssize_t (*read)(struct stream *s, void *p, size_t n);
	ssize_t (*peek)(const struct stream *s); /* NULL: cannot be told */
	bool (*is_quiet)(struct stream *s);
	ssize_t (*write)(struct stream *s, const struct iovec *v, int n);
	/* What the socket's events mean to who reads and writes; NULL: what they say. */
	unsigned (*seen)(struct stream *s, unsigned seen);
	void (*shut)(struct stream *s); /* no more will be written */
	void (*close)(struct stream *s);
	bool is_plain; /* bytes may go round user space (splice) */
};

struct stream {
	struct event ev;
	int fd;              /* -1: closed */
	uint8_t ready;       /* STREAM_* seen and not used up */
	bool is_kicked;      /* the last notify() came of a kick */
	bool is_short;       /* the last read got less than it asked for */
	struct event *later; /* a kick for the next turn; NULL when there is none */
	const struct stream_ops *ops;
	struct quota *quota; /* of what may be written; borrowed, or NULL: no limit */
	void (*notify)(void *arg, unsigned what); /* what became ready */
	void *arg;
};

/* Takes the fd.  No event is delivered before the loop runs again. */
void stream_open(struct stream *s, struct loop *l, int fd,
    void (*notify)(void *arg, unsigned what), void *arg);
/* What is no socket of its own: nothing is watched, so that only kicks are told. */
void stream_open_quiet(struct stream *s, struct loop *l, int fd,
    const struct stream_ops *ops, void (*notify)(void *arg, unsigned what), void *arg);
/* Another owner; what is `ready` stays so and is not told again. */
void stream_attach(struct stream *s, void (*notify)(void *arg, unsigned what), void *arg);
/* > 0: bytes; 0: end; -EAGAIN (and STREAM_READ is cleared); another -errno: broken. */
ssize_t stream_read(struct stream *s, void *p, size_t n);
/* What a read of one byte would give; nothing is used up, and `ready` stays as it is. */
ssize_t stream_peek(const struct stream *s);
/* The same with what it would give; of a plain stream alone. */
ssize_t stream_look(const struct stream *s, void *p, size_t n);
/*
 * Nothing came that was not asked for, not even an end: it can be used for another
 * message.  What came is used up, so that otherwise it is only good for closing.
 */
bool stream_is_quiet(struct stream *s);
/*
 * > 0: bytes taken; -EAGAIN (and STREAM_WRITE is cleared); another -errno: broken.
 * -EDQUOT: it may take no more; what went before used up its quota.
 */
ssize_t stream_write(struct stream *s, const struct iovec *v, int n);
/* Of what is written from now on; NULL: no limit. */
void stream_limit(struct stream *s, struct quota *q);

/* False: a read would only say EAGAIN; notify() comes when it would not. */
static inline bool
stream_may_read(const struct stream *s)
{
	return (s->ready & STREAM_READ) != 0;
}

/*
 * Who must not miss an end asks this, and pays for it with a read: libevent folds
 * EPOLLERR into "readable and writable", so a reset that comes in the same turn as
 * the last bytes looks like a socket that was drained.
 */
static inline bool
stream_may_have_ended(const struct stream *s)
{
	return s->is_short || stream_may_read(s);
}

/*
 * notify() comes once more from the loop with what is `ready`, though nothing new
 * happened: in this turn, but in the next one when the last notify() was of a kick
 * already, so that who kicks again and again lets others have their turn.
 */
void stream_kick(struct stream *s);
void stream_shut(struct stream *s);
void stream_close(struct stream *s); /* fine when closed */
void stream_reset(
    struct stream *s); /* close with RST: the peer must not read a clean end */

/* What a stream had under it, while somebody off the loop still reads or writes it. */
struct stream_left {
	struct stream stream; /* nobody watches it */
};

/* `s` is closed, what was under it is not: that is the caller's to close. */
struct stream_left stream_leave(struct stream *s) MUST_CHECK;
void stream_left_close(struct stream_left *left);

#endif
