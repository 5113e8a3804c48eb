/*
 * record.h - the facts of one exchange -> one line of the audit log, redacted
 *
 * Key order is fixed (doc/AUDIT-FORMAT.md); absent things are left out, except
 * `session`, which is null.  No query values, no bodies, no header values.  Text
 * is valid UTF-8, control characters escaped, capped after redaction.
 */
#ifndef WEIR_AUDIT_RECORD_H
#define WEIR_AUDIT_RECORD_H

#include "audit/redact.h"
#include "base/loop.h"
#include "base/money.h"
#include "policy/verdict.h"

/* Of those a RECORD_OPEN and each RECORD_PROGRESS come before the end is known. */
enum record_phase { RECORD_FINAL, RECORD_OPEN, RECORD_PROGRESS };
enum record_kind {
	RECORD_CONNECT,
	RECORD_HTTP,
	RECORD_GATEWAY,
	RECORD_SOCKS5,
	RECORD_DNS,
	RECORD_TRANSPARENT,
	RECORD_SYSTEM
};
/* Their words, in that order; NULL ends them. */
extern const char *const record_kinds[], *const record_phases[];

#define EXCHANGE_ID 27 /* 26 base32 characters and a NUL */
#define RECORD_FLAGS 16

/* What a model call used and cost. */
struct record_money {
	struct str model;   /* that answered */
	const char *prices; /* the table's digest */
	const char *basis;  /* table, reported or estimate; NULL: not settled */
	int64_t input, cache_read, cache_write, output, reasoning; /* tokens */
	usd_nano reserved, charged, turn_left, session_left;
	bool has_turn_left, has_session_left;
};

/* Borrowed for the call; zero or NULL: left out. */
struct record {
	usec ts;                 /* wall clock at its first byte */
	const char *id, *parent; /* EXCHANGE_ID text */
	uint64_t seq;
	enum record_kind kind;
	enum record_phase phase;
	const struct verdict *verdict;
	bool allowed;
	enum reason reason; /* the final one: also faults after an allow */
	const struct ruleset *ruleset;
	uint64_t generation;
	bool has_session;
	struct str profile, issuer, tenant, sub, sid, turn, jti; /* empty: left out */
	const char *client_addr; /* text; "unix:/path" for sockets */
	const char *door;        /* "proxy" */
	const struct host *host; /* canonical, when it parsed */
	struct str host_raw;     /* else what was sent */
	uint16_t port;
	const char *protocol;
	struct str method, path,
	    query; /* path is redacted, of the query only key names are kept */
	const char *dns_canonical; /* end of the CNAME chain when it differs */
	const struct addr *answer;
	size_t nanswer;
	const char *dns_dropped; /* why the answer was refused (guard's sentence) */
	const char *sni;
	bool has_ech;
	const struct endpoint *upstream; /* the address dialled */
	bool has_assurance;
	enum assurance assurance;
	uint64_t up, down;
	msec total_ms, dns_ms, connect_ms, ttfb_ms; /* -1: did not happen */
	int status;        /* what the client was told; 0: nothing */
	const char *close; /* who ended it: client, origin, weir */
	const char *flag[RECORD_FLAGS];
	size_t nflag;
	struct str error;                 /* operator's words */
	const struct record_money *money; /* of a model call; NULL: none */
	struct str traceparent;
};

/* Appends `{"v":1,...` without the closing brace: the journal adds prev, mac and "}". */
void record_print(
    const struct record *r, const struct redactor *redactor, struct buf *to);
/* A `system` record: event name and pairs of key and text, ended by NULL. */
void record_print_system(usec ts, uint64_t seq, const char *event,
    const struct redactor *redactor, struct buf *to, ...) __attribute__((sentinel));
#define RECORD_TIME 28 /* RFC 3339, UTC, microseconds, and a NUL */
void record_time(char out[static RECORD_TIME], usec ts);
/* 26 characters of base32 from the kernel's random source (buffered per thread). */
void exchange_id_make(char out[static EXCHANGE_ID]);

#endif
