/*
 * glimpse.c - what a client's first bytes look like, and how it can be told no
 */
#include "proxy/glimpse.h"

bool
glimpse_is_tls(struct str first)
{
	return first.n > 0 && first.p[0] == TLS_HANDSHAKE;
}

bool
glimpse_is_http(struct str first)
{
	static const char version[] = " HTTP/1.";
	const char *end = first.n > 0 ? memchr(first.p, '\n', first.n) : NULL;
	size_t n = end != NULL ? (size_t)(end - first.p) : 0;

	if (n > 0 && first.p[n - 1] == '\r')
		n--;
	return n > sizeof(version) && first.p[0] >= 'A' && first.p[0] <= 'Z' &&
	       memcmp(first.p + n - sizeof(version), version, sizeof(version) - 1) == 0;
}

struct str
glimpse_alert(enum reason reason)
{
	static const char access_denied[] = { 0x15, 3, 3, 0, 2, 2, 49 };
	static const char unrecognized_name[] = { 0x15, 3, 3, 0, 2, 2, 112 };
	bool is_name = reason == REASON_SNI_MISSING || reason == REASON_SNI_MISMATCH ||
		       reason == REASON_HOST_NOT_ALLOWED;

	return (struct str){ is_name ? unrecognized_name : access_denied,
		sizeof(access_denied) };
}
