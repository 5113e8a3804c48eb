/*
 * original.c - where a connection was going before it was led here
 */
#include "net/original.h"

#include <netinet/in.h>

#define ORIGINAL_DST 80 /* SO_ORIGINAL_DST and IP6T_SO_ORIGINAL_DST are the same */

/* What REDIRECT remembers; of a connection it did not touch there is nothing, or the
 * socket's own address. */
static bool
is_redirected(int fd, struct endpoint *out)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);

	if (getsockopt(fd, IPPROTO_IP, ORIGINAL_DST, &sa, &len) == 0)
		return addr_from_sockaddr(out, (const struct sockaddr *)&sa);
	len = sizeof(sa);
	return getsockopt(fd, IPPROTO_IPV6, ORIGINAL_DST, &sa, &len) == 0 &&
	       addr_from_sockaddr(out, (const struct sockaddr *)&sa);
}

bool
original_destination(int fd, struct endpoint *out)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);

	if (is_redirected(fd, out))
		return true;
	return getsockname(fd, (struct sockaddr *)&sa, &len) == 0 &&
	       addr_from_sockaddr(out, (const struct sockaddr *)&sa);
}
