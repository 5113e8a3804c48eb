/*
 * relay.h - two streams, both ways, until both have ended
 *
 * Copies small reads through the worker's one buffer, splices large ones
 * through pipes lent by a pool only while bytes are in them, and copies when
 * the pool is dry.  Back-pressure: a side is read only while the other takes.
 * Half-close is passed on.  An idle relay holds no buffer and no pipe.
 */
#ifndef WEIR_NET_RELAY_H
#define WEIR_NET_RELAY_H

#include "net/stream.h"

/* A worker's pool of pipes and its scratch buffer (64 KiB).  SIGPIPE is ignored from the
 * first on. */
struct pipes;
struct pipes *pipes_new(size_t max_pipes);
void pipes_free(struct pipes *p);

enum relay_end {
	RELAY_DONE,        /* both directions ended cleanly */
	RELAY_CLIENT_GONE, /* reset or error on the client's side */
	RELAY_ORIGIN_GONE,
	RELAY_IDLE,    /* nothing either way for idle_ms */
	RELAY_STALLED, /* one side took nothing for stall_ms though bytes waited */
	RELAY_SPENT,   /* the client sent more than the origin's stream may take */
	RELAY_CAUGHT,  /* its filter let something not pass */
};

enum { RELAY_UP, RELAY_DOWN }; /* client to origin, origin to client */

enum way_state {
	WAY_OPEN,
	WAY_ENDED, /* its end was seen; what is held is still to be handed on */
	WAY_OVER,
};

/*
 * What came from one side, on its way to the other: *out (at first `in`, borrowed until
 * the next call) is what may be handed on.  False: nothing may any more.
 */
typedef bool relay_pass(void *arg, int way, struct str in, struct str *out);

struct relay {
	struct stream *client, *origin;
	struct loop *loop;
	struct pipes *pipes;
	uint64_t up, down;          /* bytes handed on */
	uint32_t idle_ms, stall_ms; /* 0: no limit */
	msec last;                  /* when something moved */
	struct timer timer;
	struct relay_way {
		void *held; /* pipe or block with bytes not yet taken; NULL when none */
		uint32_t pending; /* bytes in it */
		uint8_t state;    /* enum way_state */
		uint8_t bulk; /* > 0: reads come large: splice; a small one takes 1 off */
		bool is_block; /* what `held` is */
		msec since;    /* when the taker last took something, while bytes wait */
	} way[2];
	uint8_t how;          /* enum relay_end: the first thing that went wrong */
	bool is_origin_first; /* the first end that was seen was the origin's */
	bool is_copied;   /* never splice: a stream is not plain, or the kernel cannot */
	bool was_pending; /* CAUGHT while bytes waited for the client */
	relay_pass *pass; /* or NULL: all passes */
	void *pass_arg;
	bool is_settled; /* looked at since it last moved */
	/* once; the relay is over, streams are still the owner's */
	void (*done)(void *arg, enum relay_end how);
	void *arg;
};

/*
 * Takes over both streams' events.  `first` bytes read from the client already
 * (up) and from the origin already (down) are sent on first; they are borrowed
 * for the call and counted.  done() is never called inside start; when it says
 * that a side is gone the other is to be reset, not closed: it must not read a
 * clean end.
 */
void relay_start(struct relay *r, struct loop *l, struct pipes *p, struct stream *client,
    struct stream *origin, struct str first_up, struct str first_down, msec idle_ms,
    msec stall_ms, void (*done)(void *arg, enum relay_end how), void *arg);
/*
 * All that comes from now on passes through it; called right after relay_start(), whose
 * first bytes it is not shown.
 */
void relay_filter(struct relay *r, relay_pass *pass, void *arg);
void relay_cancel(struct relay *r); /* gives back what it holds; streams stay open */

#endif
