/*
 * parent.h - upstream.proxy: the proxy that is the only way out of here
 *
 * Names and addresses are judged here all the same; the parent is only asked to connect
 * to what was judged.  Part of a snapshot: immutable, any thread.
 *
 * Codes of findings: bad_parent bad_no_proxy bad_credential
 */
#ifndef WEIR_PROXY_PARENT_H
#define WEIR_PROXY_PARENT_H

#include "base/guard.h"
#include "conf/settings.h"
#include "policy/pattern.h"

struct parent {
	struct host host;
	uint16_t port;
	bool is_tls;        /* it is spoken with over TLS, as tls.roots vouch for it */
	struct prefix self; /* of an address in place of a name */
	bool resolves;      /* it looks names up, and weir does not */
	const struct secret *credential; /* the settings' */
	struct pattern *direct;          /* upstream.no_proxy */
	size_t ndirect;
	struct arena arena; /* of what they are made of */
};

/* NULL: there is none, or what is wrong was reported. */
struct parent *parent_build(const struct settings *s, struct report *rep);
void parent_free(struct parent *p); /* NULL is fine */

/* Is this reached through it?  `to` NULL: it is not looked up.  p may be NULL. */
bool parent_takes(
    const struct parent *p, const struct host *host, const struct vetted *to);
/* Is it the parent that looks this name up? */
bool parent_resolves(const struct parent *p, const struct host *host);
/* What addresses it may have itself beside public ones: that which was written, or for a
 * name what a provider may have. */
struct opened parent_opened(const struct parent *p, const struct settings *s);
/* Appends the CONNECT that asks for the target. */
void parent_ask(const struct parent *p, const char *target, struct buf *out);

#endif
