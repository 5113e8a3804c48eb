/*
 * network.h - a claim's `network` -> the innermost layer of rules
 *
 * "deny-all"; { "allow": [host, ...] }: those hosts, by whatever the policy lets be
 * spoken with them; or a CapabilityPolicy's network object, as a policy's short form:
 * its protocols on their usual ports.  Hosts are patterns as in a policy,
 * NETWORK_HOSTS_MAX at most. The layer only refuses: it opens no address, and the rule
 * that decides stays the policy's.  Pure.
 */
#ifndef WEIR_POLICY_NETWORK_H
#define WEIR_POLICY_NETWORK_H

#include "policy/ruleset.h"
#include "wire/json.h"

#define NETWORK_HOSTS_MAX 256

/* Owned (layer_free).  NULL: it is none of them; *why is static. */
struct layer *network_layer(const struct json_value *v, const char **why) MUST_CHECK;
struct layer *network_deny_all(void) MUST_CHECK;

#endif
