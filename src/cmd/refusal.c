/*
 * refusal.c - what to do about a refusal that should not have been
 */
#include "cmd/refusal.h"

#include <stddef.h>
#include <string.h>

#define POLICY "policy does not allow this host so: weir explain says by which rule"
#define AWAY "weir itself does not reach it: its network, or upstream.proxy"
#define UNKNOWN "weir's own name server does not know it: addresses and dns of weir"

/* The first that `why` begins with. */
static const struct {
	const char *why, *mend;
} mends[] = {
	{ "session_",
	    "a session's token is wanted, and one that weir takes: --token-file FILE" },
	{ "turn_ended",
	    "the token is of an earlier turn: --token-file FILE of this one" },
	{ "profile_unknown", "the token names a profile that weir does not have" },
	{ "port_not_allowed",
	    "policy allows this host at other ports: --allow HOST:PORT, or the rule's "
	    "ports" },
	{ "address_denied",
	    "the name is at an address that may not be dialled: a rule's private: opens "
	    "it, or weir asks another name server than is meant" },
	{ "ip_literal_not_allowed", "policy allows names: --allow takes the host's" },
	{ "metered_host", "a model provider is reached through the gateway only: --allow "
			  "another host" },
	{ "host_", POLICY },
	{ "protocol_not_allowed", POLICY },
	{ "method_not_allowed", POLICY },
	{ "path_not_allowed", POLICY },
	{ "assurance_too_low", POLICY },
	{ "request_malformed",
	    "is it a door with TLS? then it is https://HOST:PORT, or tls:HOST:PORT" },
	{ "dns_", UNKNOWN },
	{ "connect_", AWAY },
	{ "audit_unavailable", "weir cannot write its audit log: its own log says why" },
	{ "ledger_", "weir's ledger cannot be used: its own log says why" },
	{ "reply 2", "policy, or the session, does not allow it: weir audit tail says by "
		     "which rule" },
	{ "reply 3", AWAY },
	{ "reply 4", UNKNOWN },
	{ "reply 5", AWAY },
	{ "reply ", "weir audit tail says why" },
};

const char *
refusal_mend(const char *why)
{
	for (size_t i = 0; i < sizeof(mends) / sizeof(mends[0]); i++)
		if (strncmp(why, mends[i].why, strlen(mends[i].why)) == 0)
			return mends[i].mend;
	return NULL;
}
