/*
 * door.h - what an entrance can do: bytes -> ask, and an answer -> bytes
 *
 * A connection came through one door and reaches it by these ops alone.  A new
 * door is a `const struct door` and a row in daemon/sockets.c that says which
 * listeners lead to it.
 */
#ifndef WEIR_PROXY_DOOR_H
#define WEIR_PROXY_DOOR_H

#include "proxy/exchange.h"
#include "wire/auth.h"
#include "wire/dns_query.h"
#include "wire/hello.h"
#include "wire/socks.h"

/* How far a SOCKS client's handshake is. */
enum socks_phase { SOCKS_OFFER, SOCKS_LOGIN, SOCKS_KNOWN, SOCKS_ASK };

/* What a door has made of a client's bytes so far. */
struct hearing {
	struct http_reader reader;
	struct http_head head; /* slices of the bytes */
	size_t used;           /* of the bytes: the ask's; 0: not all of it is there */
	int64_t at;            /* offset of the byte that was refused, or -1 */
	struct str say;        /* to the client, before it says more; static */
	bool is_halfway;       /* after HEARD_WHO: the ask is still to come */
	/* of a SOCKS client */
	enum socks_phase phase;
	bool has_login;
	struct auth login; /* the exchange's arena's */
	uint8_t rep;       /* of what is not SOCKS; 0: the reason's */
	/* of a DNS client */
	struct dns_query query;
	bool is_framed;  /* over TCP, behind its length */
	bool is_dropped; /* what was sent has no answer */
	/* of a client that was led here */
	bool is_nameless; /* nothing but its first bytes can say where it wants to go */
	struct hello_reader hello;
	size_t fed; /* bytes that the hello's reader has taken; 0: it is not begun */
};

enum heard {
	HEARD_MORE,    /* what there is so far is no whole ask */
	HEARD_WHO,     /* who asks can be told, and wants to know it before asking */
	HEARD_ASK,     /* x->ask, x->kind, x->head and h->used are filled */
	HEARD_NOTHING, /* x->reason and x->error say why, h->at where */
};

/* For doors that speak HTTP/1.1: ASK when x->head is whole. */
void door_begin(struct hearing *h, const struct snapshot *s);
enum heard door_read_head(struct hearing *h, struct exchange *x, struct str in);

/* What a client brings to say on whose behalf it asks. */
enum brought { BROUGHT_NOTHING, BROUGHT_CREDENTIAL, BROUGHT_NONSENSE };

struct stage_row;

struct door {
	const char *name;            /* in records: "proxy" */
	enum record_kind kind;       /* so too, until more is known */
	struct str opened;           /* said when a tunnel is open */
	int opened_status;           /* and the status that is, for the record */
	const struct stage_row *way; /* by enum stage */
	bool is_light;               /* its asks are none of a session's requests */
	bool is_metered;  /* its asks are calls: no rule's cap on uploads holds them */
	bool is_eager;    /* whoever connects has asked something by that */
	bool is_unproven; /* a sender can say that it is at any address */
	bool is_balanced; /* its clients may come through a balancer */
	const struct door
	    *inside; /* who hears plain HTTP in a tunnel; NULL: no tunnels */

	void (*begin)(struct hearing *h, const struct snapshot *s);
	/* `in`: all bytes so far; `outer`: whose tunnel they came out of, or NULL. */
	enum heard (*hear)(struct hearing *h, struct exchange *x,
	    const struct exchange *outer, struct str in);
	/* CREDENTIAL: *out is the exchange's. */
	enum brought (*brings)(struct auth *out, struct exchange *x);
	/*
	 * What policy admits and the door answers by itself: the status, the whole
	 * answer in `out`; or 0, for it is the origin's to answer.  NULL: it always is.
	 */
	int (*answer)(struct buf *out, const struct exchange *x);
	/* The status of a refusal here; NULL: its reason's. */
	int (*status)(const struct exchange *x);
	/* After a refusal: is it certain where another ask would begin? */
	bool (*may_follow)(const struct exchange *x);
	/*
	 * The whole answer to a refused exchange, into `out`.  `closes`: nothing
	 * more will be read.  `at`: offset of the byte that was refused, or -1.
	 */
	void (*refuse)(
	    struct buf *out, const struct exchange *x, bool closes, int64_t at);
};

/* For doors that speak HTTP: does the request have a body? */
bool door_has_body(const struct http_head *h);
/* The first fields of a refusal: what refused it, and why. */
void door_put_why(struct buf *out, const struct exchange *x);
/* Its last ones but for the length: when to come again, and over which connection. */
void door_put_next(struct buf *out, const struct exchange *x, int status, bool closes);
/* For hear(): why it is none. */
enum heard door_refused(struct exchange *x, enum reason reason, const char *error);
/* For doors whose protocol has no place for a credential. */
enum brought door_brings_nothing(struct auth *out, struct exchange *x);
/* For may_follow(): nothing does. */
bool door_ends(const struct exchange *x);

extern const struct door door_http;
extern const struct door door_gateway;
extern const struct door door_in_place; /* calls inside a tunnel to their provider */
extern const struct door door_socks;
extern const struct door door_dns, door_dns_udp;
extern const struct door door_transparent;

#endif
