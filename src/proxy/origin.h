/*
 * origin.h - connections to origins: in use, or kept for the next request
 *
 * A kept connection is used again only for the same key (whose it is, host and port)
 * and a vetted address, and only while not a byte has come over it unasked (response
 * queue poisoning).  Belongs to one worker; bounded; closed when idle too long.
 */
#ifndef WEIR_PROXY_ORIGIN_H
#define WEIR_PROXY_ORIGIN_H

#include "base/addr.h"
#include "base/map.h"
#include "net/stream.h"

struct vetted;

struct origin {
	struct stream stream;
	struct endpoint to;   /* the address dialled */
	bool is_secure;       /* TLS with the origin itself was begun */
	bool is_reused;       /* has carried a message before */
	bool is_parents;      /* a parent proxy brings it there */
	struct origins *pool; /* while kept, else NULL */
	struct list link;     /* among those with the same key */
	struct list age;      /* among all kept ones, oldest first */
	msec until;           /* then it is closed */
	struct str key;       /* owned */
};

struct origins {
	struct loop *loop;
	struct map by_key; /* struct list heads */
	struct list age;
	struct timer timer; /* the oldest one's */
	size_t n, max;
};

void origins_init(struct origins *p, struct loop *l, size_t max);
void origins_clear(struct origins *p); /* closes what is kept */
void origins_fini(struct origins *p);  /* the same, and for ever */

/* Not connected yet: its stream is what a dial goes into. */
struct origin *origin_new(void);
/* The dial is done; events go to notify. */
void origin_connected(struct origin *o, const struct endpoint *to,
    void (*notify)(void *arg, unsigned what), void *arg);
/* Freed at the end of the turn; NULL is fine. */
void origin_close(struct loop *l, struct origin *o);
/* The same with RST: the message must be seen cut. */
void origin_reset(struct loop *l, struct origin *o);

/* For how long it may wait; the pool owns it then, or has closed it: unasked bytes. */
void origin_keep(struct origins *p, struct origin *o, struct str key, msec idle_ms);
/* One that goes to an address in `to`, or NULL.  Events then go to notify. */
struct origin *origin_take(struct origins *p, struct str key, const struct vetted *to,
    void (*notify)(void *arg, unsigned what), void *arg);

#endif
