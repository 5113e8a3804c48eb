/*
 * address.c - where a Redis is
 */
#include "ledger/address.h"

#include <stdlib.h>

#include "base/log.h"

#define PORT 6379
#define DATABASES 65536

bool
address_read(struct address *a, struct str where)
{
	struct str host = where, database = STR("0"), port = STR_NONE;
	uint64_t n = PORT, db;
	size_t at;

	*a = (struct address){ .port = 0 };
	if (str_find(where, '/', &at)) {
		host = str_sub(where, 0, at);
		database = str_sub(where, at + 1, where.n);
	}
	if (str_starts(host, STR("[")) && str_find(host, ']', &at)) {
		port = str_sub(host, at + 1, host.n);
		host = str_sub(host, 1, at - 1);
	} else if (str_rfind(host, ':', &at)) {
		port = str_sub(host, at, host.n);
		host = str_sub(host, 0, at);
	}
	if (port.n > 0 &&
	    (port.p[0] != ':' || !str_decimal(str_sub(port, 1, port.n), &n)))
		return false;
	if (host.n == 0 || n == 0 || n > 65535 || !str_decimal(database, &db) ||
	    db >= DATABASES)
		return false;
	a->host = str_dup(host);
	a->database = str_dup(database);
	a->port = (int)n;
	return true;
}

void
address_unix(struct address *a, struct str path)
{
	*a = (struct address){ .host = str_dup(path), .database = mem_strdup("0") };
}

void
address_fini(struct address *a)
{
	free(a->host);
	free(a->database);
	*a = (struct address){ .port = 0 };
}

void
address_complain(const char *url)
{
	log_error(
	    "this is no address of a redis", "url", url, "right", "redis://HOST:PORT/DB");
}
