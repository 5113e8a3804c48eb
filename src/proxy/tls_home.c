/*
 * tls_home.c - a worker's TLS client, kept until its last stream is closed
 */
#include "proxy/tls_home.h"

#include <stdlib.h>

struct tls_home *
tls_home_new(struct roots *r)
{
	struct tls_home *h = mem_zalloc(sizeof(*h));

	h->refs = 1;
	h->client = tls_client_new(r);
	return h;
}

struct tls_home *
tls_home_ref(struct tls_home *h)
{
	h->refs++;
	return h;
}

void
tls_home_unref(struct tls_home *h)
{
	if (h == NULL || --h->refs > 0)
		return;
	tls_client_free(h->client);
	free(h);
}
