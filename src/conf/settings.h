/*
 * settings.h - weir.yaml -> one struct, by the rows of settings.def
 *
 * Strict: unknown keys, wrong types, missing units and values out of range are
 * findings with their place; all of them are reported.  Relative paths are from
 * the file's directory.  Immutable once loaded.
 */
#ifndef WEIR_CONF_SETTINGS_H
#define WEIR_CONF_SETTINGS_H

#include "base/addr.h"
#include "conf/tree.h"

/* A reference (env:NAME, file:PATH, cred:NAME), resolved at load; there is no function that prints it. */
struct secret {
	char *bytes; /* NULL: not configured.  Wiped when freed. */
	size_t n;
};

enum errors_for { ERRORS_PUBLIC, ERRORS_DEVELOPER };
enum on_failure { ON_FAILURE_REFUSE, ON_FAILURE_DROP };

struct texts { char **p; size_t n; };
struct prefixes { struct prefix *p; size_t n; };
struct host_answers { char *name; struct addr *addr; size_t naddr; struct mark mark; };

struct settings {
	bool production, allow_report;
	int errors; /* enum errors_for */
	char *name;
	struct texts listen_proxy, listen_health; /* as written: "127.0.0.1:3128", "unix:/path" (made absolute) */
	int64_t workers; /* 0: auto */
	char *state_dir, *user;
	struct texts policies; /* absolute */
	struct texts dns_servers;
	struct { struct host_answers *p; size_t n; } dns_hosts; /* names as written; conf knows no hosts: policy's loader canonicalises */
	struct prefixes dns_nat64;
	int64_t dns_timeout;
	char *audit_path;
	struct secret audit_key;
	int audit_on_failure; /* enum on_failure */
	struct secret redact_key;
	char *redact_id;
	char *tls_roots; /* NULL: the system's */
	int64_t limits_head_timeout, limits_hello_timeout, limits_idle_keepalive, limits_idle; /* ms */
	int64_t limits_body_rate; /* bytes a minute */
	int64_t limits_connect_timeout, limits_response_timeout, limits_write_timeout; /* ms */
	int64_t limits_target, limits_head, limits_fields, limits_field;
	int64_t limits_response_head, limits_response_fields, limits_body;
	int64_t limits_client_connections, limits_client_connecting, limits_client_rate, limits_tunnels;
	int64_t limits_drain_timeout; /* ms */
	struct prefixes addresses_closed;
	int log_level, log_format; /* enum log_level, log_format */

	struct tree *tree; /* keeps marks and texts alive; NULL for defaults */
};

/* NULL after reporting. */
struct settings *settings_load_file(const char *path, struct report *rep) MUST_CHECK;
struct settings *settings_load_text(const char *name, struct str text, const char *directory, struct report *rep) MUST_CHECK;
void settings_free(struct settings *s); /* wipes secrets */

/* `weir check --defaults`: every row with its default, unit and help. */
void settings_print_defaults(struct buf *to, bool as_json);
/* What differs and cannot be reloaded: names of rows, for one log line each. */
size_t settings_not_reloadable(const struct settings *old, const struct settings *new, const char **key, size_t max);

#endif
