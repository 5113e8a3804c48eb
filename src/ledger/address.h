/*
 * address.h - where a Redis is: HOST[:PORT][/DB], or the path of a socket
 */
#ifndef WEIR_LEDGER_ADDRESS_H
#define WEIR_LEDGER_ADDRESS_H

#include "base/str.h"

struct address {
	char *host; /* owned; or the path of a socket */
	int port;   /* 0: a socket */
	char *database;
};

/* A host of colons stands in brackets.  False: that is no address; fini is fine, too. */
bool address_read(struct address *a, struct str where);
void address_unix(struct address *a, struct str path);
void address_fini(struct address *a);
void address_complain(const char *url); /* into the log */

#endif
