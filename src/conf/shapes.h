/*
 * shapes.h - what values of weir.yaml become in struct settings
 */
#ifndef WEIR_CONF_SHAPES_H
#define WEIR_CONF_SHAPES_H

#include "base/addr.h"
#include "conf/secret.h"

enum errors_for { ERRORS_PUBLIC, ERRORS_DEVELOPER };
enum on_failure { ON_FAILURE_REFUSE, ON_FAILURE_DROP };
enum public_sessions { PUBLIC_DENY, PUBLIC_ALLOW };
enum dns_mode { DNS_SYNTHETIC, DNS_FORWARD };
enum bind { BIND_FIRST, BIND_ARMED, BIND_NONE };
enum turns { TURNS_CURRENT, TURNS_CONCURRENT };
enum session_network { NETWORK_INHERIT, NETWORK_REQUIRED };
enum budget_mode { BUDGET_CLAMP, BUDGET_STRICT };
enum hosted_tools { HOSTED_STRIP, HOSTED_REFUSE };
enum unpriced { UNPRICED_REFUSE };
enum settle { SETTLE_TABLE, SETTLE_REPORTED };
enum per { PER_EVER, PER_DAY, PER_MONTH };
enum boundary {
	BOUNDARY_UNWRITTEN,
	BOUNDARY_DOCKER_INTERNAL,
	BOUNDARY_NETWORK_NONE,
	BOUNDARY_K8S_GATEWAY,
	BOUNDARY_K8S_SIDECAR,
	BOUNDARY_VM,
	BOUNDARY_PROVIDER_FIREWALL,
	BOUNDARY_NONE
};
enum provider_kind {
	PROVIDER_ANTHROPIC,
	PROVIDER_OPENAI,
	PROVIDER_GEMINI,
	PROVIDER_VERCEL,
	PROVIDER_OPENROUTER,
	PROVIDER_LITELLM,
	PROVIDER_NONE,
	PROVIDER_BEDROCK /* for `weir meter` only: no configuration names it */
};

#define SIZE_AUTO INT64_C(-1) /* a size that depends on what is there */
#define UNWRITTEN INT64_C(-1) /* an amount that is neither written nor has a default */

struct texts {
	char **p;
	size_t n;
};

struct prefixes {
	struct prefix *p;
	size_t n;
};

#define HOST_ANSWERS_MAX 16

struct host_answers {
	char *name;
	struct addr *addr;
	size_t naddr;
	struct mark mark;
};

struct hosts {
	struct host_answers *p;
	size_t n;
};

/*
 * Blocks of keys, of which there are lists and maps: one field for each row of their
 * table in blocks.c.  `name` is the key of a map's entry.
 */

/* sessions.keys: exactly one of secret, pem and jwks */
struct session_key {
	struct mark mark;
	char *issuer, *audience, *alg, *kid;
	struct secret secret, pem, jwks;
	struct texts tenants, profiles; /* it may speak for; none: any */
};

struct session_keys {
	struct session_key *p;
	size_t n;
};

/* sessions.static */
struct session_static {
	struct mark mark;
	char *user;
	struct secret password;
	char *claims; /* JSON */
};

struct session_statics {
	struct session_static *p;
	size_t n;
};

/* Claims that an issuer may call something else. */
enum claim {
	CLAIM_SUB,
	CLAIM_TENANT,
	CLAIM_SID,
	CLAIM_TURN,
	CLAIM_PAR,
	CLAIM_GEN,
	CLAIM_PROFILE,
	CLAIM_BUDGET,
	CLAIM_LIMITS,
	CLAIM_NETWORK,
	CLAIM_MODELS,
	CLAIM_HOSTED_TOOLS,
	CLAIM_PUBLIC,
	CLAIM_N
};

/* sessions.claims: by issuer, what it calls them; NULL: what we do */
struct claim_names {
	struct mark mark;
	char *name;
	char *as[CLAIM_N];
};

struct claim_maps {
	struct claim_names *p;
	size_t n;
};

/* Of one session: budget.default and budget.max, and a profile's own */
struct session_budget {
	int64_t turn_usd, session_usd; /* n$ */
	int64_t vm_seconds;
};

/* profiles */
struct session_profile {
	struct mark mark;
	char *name;
	struct texts policies; /* none: the top level's */
	struct session_budget fallback, max;
};

struct session_profiles {
	struct session_profile *p;
	size_t n;
};

/* credentials */
struct credential {
	struct mark mark;
	char *name;
	struct secret value;
	struct texts hosts, tenants; /* where it may go; whose it is (none: anybody's) */
	char *placeholder;           /* that the sandbox holds in its stead; or NULL */
};

struct credentials {
	struct credential *p;
	size_t n;
};

/* budget.tenants; "*" is every other one */
struct tenant_budget {
	struct mark mark;
	char *name;
	int64_t usd; /* n$ */
	int per;     /* enum per */
};

struct tenant_budgets {
	struct tenant_budget *p;
	size_t n;
};

/* budget.total, budget.public */
struct pool {
	int64_t usd; /* n$ */
	int per;     /* enum per */
};

/* redact.rules */
struct redact_rule {
	struct mark mark;
	char *name, *pattern, *literal;
	int64_t group; /* which is the secret; 0: the whole match */
	struct texts examples, counterexamples;
};

struct redact_rules {
	struct redact_rule *p;
	size_t n;
};

/* gateway.providers */
struct provider {
	struct mark mark;
	char *name;
	int kind; /* enum provider_kind */
	char *path, *upstream;
	struct texts hosts, paths; /* paths: of kind none */
	char *credential_header, *credential_scheme;
	struct secret credential_value;
	int settle; /* enum settle */
};

struct providers {
	struct provider *p;
	size_t n;
};

#endif
