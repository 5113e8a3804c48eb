/*
 * services.c - what this process lives on: never dialled for a client
 */
#include "daemon/services.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ledger/address.h"
#include "proxy/snapshot.h"

#define STORE_MAX ((size_t)16) /* addresses of one name */

static size_t
look_up(const struct address *at, struct endpoint *out)
{
	static const struct addrinfo hints = { .ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	size_t n = 0;
	int err = getaddrinfo(at->host, NULL, &hints, &found);

	if (err != 0) {
		log_warn("the ledger's host has no address, so that none is closed",
		    "host", at->host, "error", gai_strerror(err));
		return 0;
	}
	for (struct addrinfo *i = found; i != NULL && n < STORE_MAX; i = i->ai_next)
		if (addr_from_sockaddr(&out[n], i->ai_addr))
			out[n++].port = (uint16_t)at->port;
	freeaddrinfo(found);
	return n;
}

static size_t
store(const struct settings *set, struct endpoint *out)
{
	struct str url = str_of(set->ledger_url), scheme = STR("redis://");
	struct address at;
	size_t n = 0;

	if (!str_starts(url, scheme))
		return 0;
	if (address_read(&at, str_sub(url, scheme.n, url.n)))
		n = look_up(&at, out);
	address_fini(&at);
	return n;
}

size_t
services_gather(
    const struct settings *set, const struct sockets *sockets, struct endpoint **out)
{
	struct resolver_options dns = snapshot_dns(set, NULL, 0);
	size_t n;

	*out = mem_alloc((RESOLVER_SERVERS_MAX + STORE_MAX + sockets->n) * sizeof(**out));
	n = resolver_servers(&dns, *out);
	n += store(set, *out + n);
	return n + sockets_endpoints(sockets, *out + n);
}
