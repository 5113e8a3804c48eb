/*
 * socks.h - SOCKS5: the three messages of a client, and what answers them
 *
 * A client offers methods; where a user and a password are wanted it sends them; then it
 * asks for a destination.  Each reader takes one message at the beginning of `in`, which
 * may hold less than it or more, and refuses the first octet that is wrong without
 * waiting for the rest.  Pure; any thread.
 * RFC 1928 3, 4, 6; RFC 1929 2; rules S1-S5.
 */
#ifndef WEIR_WIRE_SOCKS_H
#define WEIR_WIRE_SOCKS_H

#include "base/addr.h"

enum socks_result {
	SOCKS_MORE, /* the message is not whole */
	SOCKS_DONE,
	SOCKS_BAD,
};

/* What every message's reader says of it. */
struct socks_read {
	size_t used;       /* DONE: octets of the message */
	size_t at;         /* BAD: the octet that was refused */
	const char *error; /* BAD: a sentence; static */
	uint8_t rep;       /* BAD: the reply to a request */
};

struct socks_methods {
	bool has_none, has_login; /* 0 and 2; no other means anything here */
};
enum socks_result socks_read_methods(
    struct socks_methods *out, struct socks_read *r, struct str in) MUST_CHECK;

struct socks_login {
	struct str user, password; /* slices of `in`, NULs and all */
};
enum socks_result socks_read_login(
    struct socks_login *out, struct socks_read *r, struct str in) MUST_CHECK;

struct socks_request {
	bool is_addr;
	struct addr addr; /* when is_addr */
	struct str name;  /* else: a slice of `in`, not looked at */
	uint16_t port;    /* as it came: 0 is for whoever judges it */
};
/* CONNECT alone; anything else is BAD. */
enum socks_result socks_read_request(
    struct socks_request *out, struct socks_read *r, struct str in) MUST_CHECK;

/* Replies to a request (RFC 1928 6) that no reason stands for. */
#define SOCKS_REP_FAILURE 1
#define SOCKS_REP_COMMAND 7 /* not supported */
#define SOCKS_REP_TYPE 8    /* of address, not supported */

/* What weir says; the bound address is none of a client's business (rule S5). */
#define SOCKS_TAKES_NONE "\5\0"
#define SOCKS_TAKES_LOGIN "\5\2"
#define SOCKS_TAKES_NOTHING "\5\377"
#define SOCKS_LOGIN_GOOD "\1\0"
#define SOCKS_LOGIN_BAD "\1\1"
#define SOCKS_OPENED "\5\0\0\1\0\0\0\0\0\0"
void socks_put_reply(struct buf *out, uint8_t rep);

#endif
