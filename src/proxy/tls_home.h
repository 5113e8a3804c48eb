/*
 * tls_home.h - a worker's TLS client, kept until its last stream is closed
 *
 * A reload may bring other roots; what is open goes on with those it began with.
 * Belongs to one worker.
 */
#ifndef WEIR_PROXY_TLS_HOME_H
#define WEIR_PROXY_TLS_HOME_H

#include "net/roots.h"
#include "net/tls.h"

struct tls_home {
	unsigned refs;
	struct tls_client *client;
};

struct tls_home *tls_home_new(struct roots *r);
struct tls_home *tls_home_ref(struct tls_home *h);
void tls_home_unref(struct tls_home *h); /* NULL is fine */

#endif
