/*
 * interfaces.c - where this machine stands
 */
#include "net/interfaces.h"

#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static unsigned
mask_bits(const struct sockaddr *mask)
{
	struct endpoint e;
	unsigned bits = 0;

	if (mask == NULL || !addr_from_sockaddr(&e, mask))
		return 128;
	for (size_t i = 0; i < sizeof(e.addr.b); i++)
		bits += (unsigned)__builtin_popcount(e.addr.b[i]);
	/* an IPv4 mask is seen in its mapped form: ::ffff:255.0.0.0 */
	return addr_is_v4(&e.addr) ? bits - 16 + 96 : bits;
}

static void
add(struct interfaces *i, const struct ifaddrs *at)
{
	struct endpoint e;

	if (at->ifa_addr == NULL || !addr_from_sockaddr(&e, at->ifa_addr))
		return;
	i->own[i->nown++] = e.addr;
	if (prefix_of(&i->onlink[i->nonlink], &e.addr, mask_bits(at->ifa_netmask)))
		i->nonlink++;
}

int
interfaces_read(struct interfaces *out)
{
	struct ifaddrs *all;
	size_t n = 0;

	if (getifaddrs(&all) != 0)
		return ERR_IO;
	for (struct ifaddrs *at = all; at != NULL; at = at->ifa_next)
		n++;
	*out = (struct interfaces){
		.own = mem_zalloc((n + 1) * sizeof(*out->own)),
		.onlink = mem_zalloc((n + 1) * sizeof(*out->onlink)),
	};
	for (struct ifaddrs *at = all; at != NULL; at = at->ifa_next)
		add(out, at);
	freeifaddrs(all);
	return 0;
}

void
interfaces_fini(struct interfaces *i)
{
	free(i->own);
	free(i->onlink);
	*i = (struct interfaces){ 0 };
}

bool
interfaces_eq(const struct interfaces *a, const struct interfaces *b)
{
	return a->nown == b->nown && a->nonlink == b->nonlink &&
	       memcmp(a->own, b->own, a->nown * sizeof(*a->own)) == 0 &&
	       memcmp(a->onlink, b->onlink, a->nonlink * sizeof(*a->onlink)) == 0;
}
