/*
 * metered.h - hosts of model providers, which only the gateway reaches
 *
 * Money leaves by calling a provider where nobody counts.  So their hosts are refused
 * before any rule is asked, whatever the rules say; a rule that names one is an error
 * at load, a wider one a warning.  Where TLS is opened, a tunnel to one on its port is
 * let in instead, and each call in it is metered in place.
 *
 * Immutable once made; any thread.
 */
#ifndef WEIR_POLICY_METERED_H
#define WEIR_POLICY_METERED_H

#include "conf/settings.h"
#include "policy/pattern.h"
#include "wire/url.h"

struct metered_host {
	struct pattern pattern;
	const char *where; /* a sentence: by which base URL it is reached */
	uint16_t port;     /* the provider's */
};

struct metered {
	struct arena arena; /* holds all of it */
	struct metered_host *p;
	size_t n;
};

/* What is no host is left out: whoever loads the providers says so. */
struct metered *metered_new(const struct settings *s);
void metered_free(struct metered *m); /* NULL is fine */
/* NULL: the host is nobody's; m may be NULL. */
const struct metered_host *metered_find(const struct metered *m, const struct host *h);
/* Is it where a provider with a meter is called, or lives, by the settings alone? */
bool metered_sells(const struct settings *s, const struct host *h);

#endif
