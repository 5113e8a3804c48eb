/*
 * conn.h - one client connection: what it holds, and how it goes on
 *
 * GREET -> WHO -> DECIDE -> RESOLVE -> LITERAL -> DIAL -> JUDGE -> CARRY -> RECORD, and
 * then GREET again on a kept connection or inside a tunnel that carries plain HTTP. Every
 * way out leads through RECORD.  What a stage does is in origin_way.c; here is the
 * one thing all of them work on.  Belongs to one worker.
 */
#ifndef WEIR_PROXY_CONN_H
#define WEIR_PROXY_CONN_H

#include "net/datagram.h"
#include "net/tls_server.h"
#include "proxy/door.h"
#include "wire/body.h"

enum stage {
	STAGE_GREET,   /* bytes -> ask */
	STAGE_WHO,     /* on whose behalf */
	STAGE_HEAR,    /* what it asks, where that is not known before who it is */
	STAGE_DECIDE,  /* may it be looked up and dialled? */
	STAGE_RESOLVE, /* name -> vetted addresses */
	STAGE_LITERAL, /* an address instead of a name: a model provider's? */
	STAGE_DIAL,    /* vetted -> origin */
	STAGE_JUDGE,   /* all that is known -> allow */
	STAGE_CARRY,   /* tunnel | forward */
	STAGE_PROVE,   /* interception: TLS with the origin */
	STAGE_LEAF,    /* a certificate in its name */
	STAGE_ACCEPT,  /* TLS with the client */
	STAGE_FIRST,   /* refused before a byte: in which language is that to be said? */
	STAGE_HOLD,    /* weir's own answer is to come late */
	STAGE_ANSWER,  /* weir's own answer is on its way */
	STAGE_RECORD,  /* the exchange ends */
	STAGE_LINGER,  /* nothing is read any more, but the client may still be reading */
	STAGE_OPEN,    /* it is written that a credential will go */
	/* before GREET: */
	STAGE_SOURCE, /* whose a balancer's connection is */
	STAGE_SECURE, /* TLS with whoever connected */
	/* at the gateway alone: */
	STAGE_BODY,    /* the whole request, understood */
	STAGE_RESERVE, /* what it can cost is held */
	STAGE_SHAKE,   /* TLS with the provider */
};

enum next {
	NEXT, /* to the stage the table names */
	JUMP, /* to the stage already set */
	WAIT, /* a callback goes on */
	END,  /* the connection is closed */
};

struct conn;
struct counter;
struct gateway;
struct reach;
struct tls_start;

struct stage_row {
	const char *name;
	enum next (*run)(struct conn *c);
	enum stage then;
	/* While it waits: the client's socket has something to tell; NULL: not now. */
	enum next (*told)(struct conn *c, unsigned what);
	/* The same for the connection's timer; NULL: the wait's deadline is elsewhere. */
	enum next (*late)(struct conn *c);
};

/* What becomes of the connection after the record. */
enum after { AFTER_NEXT, AFTER_LINGER, AFTER_CLOSE, AFTER_RESET };

/* Bytes of the client's that are not a body on its way. */
struct request {
	struct buf in;        /* the head, and what came behind it */
	struct buf more;      /* what came behind the body */
	struct hearing heard; /* of `in` */
};

struct conn {
	struct list link;
	struct engine *e;
	const struct door *door; /* it came through */
	struct stream client;
	struct client *share;  /* of this client's limits */
	struct writer *writer; /* of what it has recorded without a session; or NULL */
	struct endpoint peer;
	struct endpoint to;    /* where it was going; transparent only */
	const char *unix_path; /* the listener's */
	struct timer timer;
	const struct stage_row *way; /* by enum stage */
	uint8_t stage;
	uint8_t after;
	bool is_running, is_closed;
	bool is_surplus; /* over limits.client_connections: only told so */
	bool is_tls;     /* its listener's clients shake hands first */
	bool is_paid;    /* its handshake was counted in place of its first request, */
	bool is_slowed;  /* and was over limits.client_rate */
	bool has_connecting, has_tunnel_place, has_lookup;
	bool is_waiting;      /* the first byte of a request */
	bool needs_judging;   /* a reload's slices have not come to it yet */
	bool is_dialled_anew; /* a kept connection was dead: not another one */
	bool has_looked;      /* in the store, whether the source is armed */
	uint64_t arm_seen;    /* sessions_arm_changes() when it was asked */
	bool has_grace;       /* its session is over, what streams may end */
	uint32_t lingered;
	usec entered; /* its first byte, where others come before a door's own; or 0 */
	struct request *rq; /* NULL while idle or tunnelling */
	struct exchange *x;
	struct exchange
	    *outer;         /* the CONNECT whose tunnel carries requests that weir sees */
	struct caller *who; /* the identity last seen, and its seat; or NULL */
	int64_t upload;     /* what who's family may send to a host, as it was judged */
	struct timer until; /* who's deadline */
	struct ledger_op *asked;
	enum next (*counted)(struct conn *c); /* how it goes on, proxy/counts.h */
	struct ledger_op *counting;           /* asked for what is open, so too */
	struct lookup *lookup;
	enum next (*found)(struct conn *c, const struct found *found); /* is told */
	struct reach *reach;
	struct origin *dialled; /* what it reaches into */
	struct origin *origin;
	struct mint_wait *minting;
	struct leaf *leaf; /* to be shown to the client */
	struct tunnel *tunnel;
	struct forward *forward;
	/* at the gateway: */
	struct gateway *gateway;
	struct body_reader reading;  /* the request's body */
	msec body_begun, body_moved; /* its first byte was awaited, the last one came */
	msec rate_at;                /* this minute of it began, */
	uint64_t rate_bytes;         /* in which so many have come */
	bool is_reading, is_continued;
	struct counter *counter;
	struct tls_start *shaking;
	struct journal_wait *written; /* that its `open` record is */
	struct buf out;               /* an answer not wholly taken yet */
};

/* Begins the way; who it is and its places are known.  Takes the fd. */
void conn_open(struct conn *c, int fd);
/* The same for one question in a datagram. */
void conn_open_datagram(struct conn *c, const struct datagram *d);
/* Writes the records, gives everything back.  END; again is fine. */
enum next conn_close(struct conn *c);

enum next conn_jump(struct conn *c, enum stage to);
/* From what a callback decided, until something must be waited for. */
void conn_go_on(struct conn *c, enum next n);

/* Who hears and answers the client now: inside a tunnel it is not the entrance. */
const struct door *conn_door(const struct conn *c);

/* How a client of that address is named where sources are: all of loopback is one. */
const char *client_source(const struct addr *a, char out[static ADDR_TEXT]);
/* Who shares limits and kept connections. */
const char *conn_share(const struct conn *c, char out[static ADDR_TEXT]);

/* Whose kept connections to origins it may use: that client's, as that session. */
void conn_origin_key(const struct conn *c, struct buf *out);

void conn_need_request(struct conn *c);
void conn_drop_request(struct conn *c);
/* Its place among those that have a new name looked up, when it has one. */
void conn_end_lookup(struct conn *c);
/* Its place among those that look up and dial, when it has one. */
void conn_end_connecting(struct conn *c);
/* After done(): what carried is freed at the end of the turn. */
void conn_drop_carrier(struct conn *c);
/* It is nobody's in particular any more. */
void conn_leave(struct conn *c);
/* What has been asked for and has not come. */
void conn_cancel(struct conn *c);
/* What one of c's own two has carried so far. */
struct tally conn_tally(const struct conn *c, const struct exchange *x);
/* An exchange's record before its last one, proxy/trail.h. */
bool conn_says(struct trailed *t) MUST_CHECK;
/* One of c's own two, or NULL; with its record. */
void conn_end_exchange(struct conn *c, struct exchange **x);

/* A carrier is done: what the streams tell is the connection's again. */
void conn_take_back(struct conn *c);
/* An origin's events while nothing carries. */
void conn_on_origin(void *c, unsigned what);

#endif
