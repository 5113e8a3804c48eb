/*
 * dns_query.h - one question of a client, read strictly, and weir's answer to it
 *
 * The client's message goes no further: what it asks is taken out of it, and the answer
 * is written anew with its question byte for byte.  Pure; any thread.
 * RFC 1035 4, RFC 6891, RFC 8914, RFC 9619; rules D1, D2, D5.
 */
#ifndef WEIR_WIRE_DNS_QUERY_H
#define WEIR_WIRE_DNS_QUERY_H

#include "wire/dns.h"

enum dns_rcode {
	DNS_RCODE_NOERROR = 0,
	DNS_RCODE_FORMERR = 1,
	DNS_RCODE_SERVFAIL = 2,
	DNS_RCODE_NXDOMAIN = 3,
	DNS_RCODE_NOTIMP = 4,
	DNS_RCODE_REFUSED = 5,
	DNS_RCODE_BADVERS = 16,
};

/* Extended DNS errors (RFC 8914 4) */
enum dns_ede { DNS_EDE_NONE = 0, DNS_EDE_BLOCKED = 15, DNS_EDE_PROHIBITED = 18 };

#define DNS_QUESTION_MAX 259 /* a name, its type and class */
#define DNS_UDP_MIN 512      /* what every client takes (RFC 1035 4.2.1) */
#define DNS_UDP_MAX 1232     /* what no path fragments */
#define DNS_MESSAGE_MAX 65535

enum dns_query_result {
	DNS_QUERY_OK,   /* one question of class IN, for a type that has an answer */
	DNS_QUERY_BAD,  /* rcode is the answer */
	DNS_QUERY_DROP, /* no query: shorter than a header, or an answer */
};

struct dns_query {
	uint16_t id;
	uint16_t flags;      /* as they came */
	struct str question; /* its bytes, a slice of the message; n 0: none was read */
	uint16_t type;
	bool is_host; /* the name is one that a host can have: */
	struct host host;
	bool has_opt;
	uint16_t room;        /* bytes of an answer that the client takes over UDP */
	enum dns_rcode rcode; /* BAD */
	const char *error;    /* BAD, DROP: a sentence; static */
};

enum dns_query_result dns_query_read(
    struct dns_query *out, struct str message) MUST_CHECK;

struct dns_reply {
	enum dns_rcode rcode;
	enum dns_ede ede;        /* said to who speaks EDNS */
	const struct addr *addr; /* those of the question's family are put in */
	size_t naddr;
	uint32_t ttl;
	size_t
	    room; /* bytes; what does not fit is left out, and the answer says so (TC) */
};

void dns_reply_put(struct buf *out, const struct dns_query *q, const struct dns_reply *r);

/* "A", "AAAA", "HTTPS", ... or "TYPE4711". */
#define DNS_TYPE_TEXT 12
const char *dns_type_text(char out[static DNS_TYPE_TEXT], uint16_t type);

#endif
