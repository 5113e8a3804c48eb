/*
 * hosts.h - dns.hosts of the settings -> answers by canonical name
 *
 * conf knows no hosts, so names come here as they were written; check, explain
 * and the snapshot all have them read by the one canonicaliser.
 */
#ifndef WEIR_POLICY_HOSTS_H
#define WEIR_POLICY_HOSTS_H

#include "conf/settings.h"
#include "wire/dns.h"

/*
 * Owned; its addresses are borrowed from the settings.  Names that are none, that
 * are addresses, or that are there twice are errors in the report and left out.
 */
struct static_host *static_hosts_build(
    const struct settings *s, struct report *rep, size_t *n) MUST_CHECK;
void static_hosts_free(struct static_host *hosts, size_t n);

#endif
