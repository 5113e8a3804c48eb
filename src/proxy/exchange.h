/*
 * exchange.h - the dossier: one question, what became of it, one record
 *
 * Begun with an exchange's first byte and a reserved place in the journal;
 * filled stage by stage; ended exactly once, which writes the record and counts.
 * Belongs to one worker.
 */
#ifndef WEIR_PROXY_EXCHANGE_H
#define WEIR_PROXY_EXCHANGE_H

#include "audit/record.h"
#include "net/dial.h"
#include "policy/ask.h"
#include "proxy/caller.h"
#include "proxy/engine.h"
#include "proxy/injection.h"
#include "proxy/route.h"

struct conn;  /* proxy/conn.h */
struct spend; /* proxy/spend.h */

enum close_by { CLOSE_NOBODY, CLOSE_CLIENT, CLOSE_ORIGIN, CLOSE_WEIR };

enum flag {
	FLAG_REUSED = 1,
	FLAG_RETRIED = 2,
	FLAG_WEBSOCKET = 4,
	FLAG_DELAYED = 8,
	/* of a model call's account */
	FLAG_OVER_HOLD = 16,
	FLAG_USAGE_ABSURD = 32,
	FLAG_REPORTED_ZERO = 64,
	FLAG_REPORTED_OFF = 128,
	FLAG_MODEL_UNPRICED = 256, /* the one that answered */
	FLAG_STREAM_CUT = 512,
	FLAG_COUNTED = 1024,     /* the provider's token counter was asked */
	FLAG_PARENT = 2048,      /* it went through the parent proxy */
	FLAG_DLP = 4096,         /* something in it was, or looked like, a secret */
	FLAG_INTERCEPTED = 8192, /* its TLS was opened here */
	FLAG_DISTRUSTED = 16384, /* and the client would not have it */
};

/* What a tunnel's first bytes said; protocols 0: they are still to come. */
struct first_bytes {
	uint8_t protocols; /* enum protocol */
	bool has_hello, has_sni, has_ech;
	bool is_sni_equal; /* to the ask's host */
	char *other_sni;   /* what a hello named instead; owned, or NULL */
};

struct exchange {
	struct snapshot *snapshot;
	struct uploads *uploads; /* the engine's */
	bool has_ledger;         /* the engine has one */
	struct arena arena; /* dies when the exchange ends; emptied when a tunnel opens */
	char id[EXCHANGE_ID];
	bool has_place; /* in the journal; else it is refused and not recorded */
	enum record_kind kind;
	const char *door;   /* its name */
	const char *parent; /* the outer exchange's id; it outlives this one */

	struct conn *conn;      /* whose it is; set by GREET */
	struct client *share;   /* the client's limits; so too */
	struct writer **writer; /* the connection's; made when one is needed */
	struct trailed trailed; /* its records before the last one */
	bool is_counted;        /* as a refusal, proxy/refusals.h */
	bool is_summed;         /* with others, unless it has an `open` record */
	bool may_write;         /* WHO has let it have a record, whatever becomes of it */

	/* GREET: what is asked.  Slices point into the request's buffer. */
	struct ask ask;
	const struct http_head *head; /* the request's; never NULL */
	struct first_bytes first;

	/* WHO: on whose behalf; a reference, or NULL: nobody's in particular */
	struct caller *who;
	struct grant
	    *grant;        /* what was verified, also where it is refused; a reference */
	bool is_heard;     /* its turn has come by client_rate */
	uint8_t nasked;    /* times the store was asked for its session */
	bool is_rechecked; /* or whether it still has nothing against it */
	bool is_armed;     /* who: its source is, it has brought no token */
	bool has_looked;   /* in the store, whether that is so still */
	bool is_begun;     /* counted for who->session */
	int64_t retry_s;   /* when waiting helps; 0: not said */
	const struct ruleset
	    *rules; /* who's, once asked for; the arena's or the snapshot's */

	/* at the gateway, or metered in place: which provider, or NULL; its call's money
	 */
	const struct route *route;
	struct spend *spend;              /* the connection's; NULL: no call */
	const struct record_money *money; /* set for the record */

	/* DECIDE, RESOLVE, JUDGE */
	struct admitted admitted;
	struct verdict verdict;
	struct injection injection; /* what goes into the request */
	struct vetted *vetted; /* the arena's; NULL until known and in an idle tunnel */
	char *canonical;       /* end of the CNAME chain when it differs; owned */
	const char *dropped;   /* why the answer was refused; static */
	struct addr *answer;   /* what the name resolved to, for the record; owned */
	uint8_t nanswer;
	size_t nlooked; /* LITERAL: metered hosts it has been held against */
	uint16_t flags;
	bool has_upstream;
	struct endpoint upstream;
	struct lease lease; /* JUDGE, the gateway's DECIDE: what may be sent there */
	uint64_t counted;   /* of what was sent, when a lease was last given up */

	/* what became of it */
	enum reason reason; /* REASON_NONE: all went well */
	enum close_by closed_by;
	int status;        /* told to the client */
	const char *error; /* operator's words; static, or the arena's */
	uint64_t up, down;
	usec wall, begun;
	usec resolving, dialling, answered; /* when; 0: not yet.  answered: first byte */
	msec dns_ms, connect_ms;            /* -1: did not happen */
};

struct exchange *exchange_begin(struct engine *e, const char *door, const char *parent);

/* Is it bytes that are to be passed on, not a request to be read?  Once it is asked. */
static inline bool
exchange_is_tunnel(const struct exchange *x)
{
	return !x->ask.has_request && x->ask.via != VIA_DNS;
}

/* On whose account it is: a session's family, or the client where there is none; bytes
 * that no other one has. */
void exchange_account(const struct exchange *x, struct buf *out);
/*
 * Once, at WHO.  False: room for records is scarce, and its account has had its part
 * (state/writers.h).  It is to be refused, and that counts for the account as a record
 * would, so that a flood stays refused.
 */
bool exchange_may_write(struct engine *e, struct exchange *x) MUST_CHECK;
/* The same of a refusal, or of who did not come so far; where it is false it is summed,
 * and counts for nothing. */
bool exchange_may_record(struct engine *e, struct exchange *x) MUST_CHECK;
/* Is it a request in a TLS that was opened here? */
static inline bool
exchange_is_inside_tls(const struct exchange *x)
{
	return x->ask.has_request && x->first.protocols == PROTOCOL_HTTPS;
}

/* A tunnel's: the bytes of its head go away. */
void exchange_forget_head(struct exchange *x);

/* DECIDE: may this be looked up and dialled at all?  False: x->reason says why not. */
bool exchange_admit(struct exchange *x) MUST_CHECK;
/* Would another host be admitted in place of the ask's?  False: x->reason says why not.
 */
bool exchange_knows(
    struct exchange *x, const struct grant *by, const struct host *other) MUST_CHECK;
/* RESOLVE: the answers against the guard.  False: x->reason. */
bool exchange_vet(struct exchange *x, const struct found *found) MUST_CHECK;
/*
 * The same for the address in use: a request inside a tunnel, whose rules may be
 * others than those its tunnel was dialled under.  False: x->reason.
 */
bool exchange_vet_upstream(struct exchange *x) MUST_CHECK;
/* JUDGE: all that is known now; true: x->verdict is an allow. */
bool exchange_judge(struct exchange *x) MUST_CHECK;
/*
 * At the gateway: may so much be sent to its provider?  `read`: how long the body is,
 * where it did not say so.  Calls that a meter limits always may; false: x->reason.
 */
bool exchange_may_call(struct exchange *x, uint64_t read) MUST_CHECK;
/*
 * DECIDE, with a request in sight or where only tcp is left: what JUDGE will refuse
 * whatever the address is neither looked up nor dialled.  False: x->reason.
 */
bool exchange_foresee(struct exchange *x) MUST_CHECK;
/* JUDGE: what the deciding rule puts in.  False: x->reason. */
bool exchange_inject(struct exchange *x, bool is_tls) MUST_CHECK;
/* An idle tunnel keeps the dossier only, not what judging needed. */
void exchange_shrink(struct exchange *x);
/*
 * Before JUDGE: a reload may have come since it was admitted, and what is in
 * force now counts.  False: x->reason.
 */
bool exchange_renew(struct exchange *x, struct snapshot *s) MUST_CHECK;
/*
 * Again under another snapshot (a reload), for a tunnel that is open.  True: it
 * may stay, and holds the new one.  `sent`: the bytes that it has sent by itself, which
 * count where a cap now holds; 0 where others send them (the requests inside).
 */
bool exchange_rejudge(struct exchange *x, struct snapshot *s, uint64_t sent) MUST_CHECK;

/* Is it allowed, and would be under that one, too, whatever it may send?  Nothing is
 * changed. */
bool exchange_would_stay(const struct exchange *x, const struct snapshot *s) MUST_CHECK;

/* RESOLVE: may the parent proxy alone know the addresses?  False: x->reason. */
bool exchange_trusts_parent(struct exchange *x) MUST_CHECK;

/* RESOLVE, DIAL: when they begin, and which origin it was in the end; NULL: only the
 * parent proxy knows. */
void exchange_resolving(struct exchange *x);
void exchange_dialling(struct exchange *x);
void exchange_dialled(struct exchange *x, const struct endpoint *to, bool is_reused);

/* Bytes of an exchange. */
struct tally {
	uint64_t up, down;
};

/*
 * A record while it lasts, with what was carried so far.  False: there is no place in
 * the journal for it.
 */
bool exchange_says(struct engine *e, struct exchange *x, const char *client,
    enum record_phase phase, struct tally so_far) MUST_CHECK;
/* Writes the record, counts, gives everything back.  `client` is the source's text. */
void exchange_end(struct engine *e, struct exchange *x, const char *client);

enum reason reason_of_dial(int err);
enum reason reason_of_lookup(int err);

#endif
