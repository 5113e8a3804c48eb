/*
 * settings.h - weir.yaml -> one struct, by the rows of settings.def
 *
 * Strict: unknown keys, wrong types, missing units and values out of range are
 * findings with their place; all of them are reported.  Relative paths are from
 * the file's directory.  Immutable once loaded.
 */
#ifndef WEIR_CONF_SETTINGS_H
#define WEIR_CONF_SETTINGS_H

#include "conf/shapes.h"
#include "conf/tree.h"

/* One field for each row of settings.def; NULL and n == 0 mean absent. */
struct settings {
	bool production, allow_report;
	int errors; /* enum errors_for */
	char *name;
	/* as written: "127.0.0.1:3128", "unix:/path" (made absolute) */
	struct texts listen_proxy, listen_health;
	int64_t workers; /* 0: auto */
	char *state_dir, *user;
	struct texts policies;    /* absolute */
	struct texts dns_servers; /* "ADDRESS" or "ADDRESS:PORT" */
	/* names as written; conf knows no hosts: policy's loader canonicalises */
	struct hosts dns_hosts;
	struct prefixes dns_nat64;
	int64_t dns_timeout;
	int dns_door_mode; /* enum dns_mode */
	struct prefix dns_door_pool4;
	int64_t dns_door_ttl, dns_door_names;
	char *audit_path; /* "-": stdout */
	struct secret audit_key;
	int audit_on_failure; /* enum on_failure */
	int64_t audit_open_after, audit_progress;
	struct secret audit_sign;
	char *audit_anchor;
	int64_t audit_segment; /* bytes; 0: never */
	int64_t audit_sums;
	int64_t audit_reserve; /* bytes; 0: none; or SIZE_AUTO */
	int64_t audit_writers;
	struct secret redact_key;
	char *redact_id;
	bool redact_cards;
	struct redact_rules redact_rules;
	char *tls_roots;                                     /* NULL: the system's */
	struct secret tls_intercept_cert, tls_intercept_key; /* PEM; both or neither */
	int64_t tls_intercept_leaves, tls_intercept_waiting;
	struct secret tls_listen_cert, tls_listen_key; /* PEM; both or neither */
	/* ms */
	int64_t limits_head_timeout, limits_hello_timeout, limits_idle_keepalive;
	int64_t limits_idle, limits_connect_timeout, limits_response_timeout;
	int64_t limits_write_timeout, limits_drain_timeout, limits_stream_grace;
	int64_t limits_body_rate; /* bytes a minute; 0: no limit */
	/* bytes, or fields */
	int64_t limits_target, limits_head, limits_fields, limits_field;
	int64_t limits_response_head, limits_response_fields, limits_body;
	int64_t limits_client_bodies, limits_bodies;
	int64_t limits_client_connections, limits_client_connecting, limits_tunnels,
	    limits_upload;
	int64_t limits_new_names, limits_lookups;
	int64_t limits_client_rate; /* a second; 0: no limit */
	int64_t limits_refusals;    /* a minute; 0: no limit */
	struct prefixes addresses_closed;
	struct prefixes proxy_protocol_from; /* who must say whose a connection is */
	int log_level, log_format;           /* enum log_level, log_format */

	int boundary_kind; /* enum boundary */
	struct texts listen_gateway, listen_socks5, listen_dns, listen_transparent,
	    listen_admin;
	struct session_profiles profiles;
	struct credentials credentials;
	bool sessions_required;
	struct session_keys sessions_keys;
	struct session_statics sessions_static;
	char *sessions_default; /* JSON */
	struct claim_maps sessions_claims;
	int sessions_public, sessions_bind, sessions_turns, sessions_network;
	int64_t sessions_max_ttl; /* seconds */
	int64_t sessions_recheck;
	int budget_mode;
	int64_t budget_floor;
	int64_t budget_share; /* millionths */
	int64_t budget_drain; /* ms */
	struct session_budget budget_default, budget_max;
	struct tenant_budgets budget_tenants;
	struct pool budget_total, budget_public;
	char *gateway_prices;
	int gateway_unpriced, gateway_hosted;
	bool gateway_count_tokens;
	int64_t gateway_max_tokens_per_second;
	struct providers gateway_providers;
	char *upstream_proxy;
	struct texts upstream_no_proxy;
	struct secret upstream_credential;
	bool upstream_resolve;
	char *ledger_url;
	struct secret ledger_password;

	struct secret_files secret_files; /* that references named */
	bool is_pruned;
	bool is_part;      /* of settings_load_part(): not all secrets are there */
	struct tree *tree; /* keeps marks and texts alive; NULL for defaults */
};

/*
 * A whole configuration, which must name policies.  NULL after reporting; but when
 * nothing is wrong than what production: true refuses, that is reported and the
 * settings are there, so that the policies can be looked at: rep->errors says whether
 * they may be served.
 */
struct settings *settings_load_file(const char *path, struct report *rep) MUST_CHECK;
/*
 * The same for a command that needs no secret, or few: only references of the rows in
 * `wanted`, or of the sections, are resolved; NULL ends it.  All other secrets are
 * absent, so nothing may be served by it, and nothing masked.
 */
struct settings *settings_load_part(
    const char *path, const char *const *wanted, struct report *rep) MUST_CHECK;
/* The values alone, as `weir explain --batch` has them. */
struct settings *settings_load_text(const char *name, struct str text,
    const char *directory, struct report *rep) MUST_CHECK;
/* What `weir run` serves without a configuration: this machine, and nobody else. */
struct settings *settings_laptop(struct report *rep) MUST_CHECK;
void settings_free(struct settings *s); /* wipes secrets */
/* Each secret that a reference names, wherever it stands; not of a part. */
void settings_secrets(const struct settings *s, secret_see *see, void *arg);
/* Wipes and frees what can be reloaded: settings_not_reloadable() wants none of it. */
void settings_prune(struct settings *s);

/* Without a door (listen.proxy, listen.gateway) there is nothing to run: an error. */
void settings_check_listener(const struct settings *s, struct report *rep);
/*
 * What a start on this machine would refuse: no listener, no such user, no directory
 * for what it makes.  A user matters to root only: for others it is a warning.
 */
void settings_check_start(const struct settings *s, struct report *rep);
/* Of a file: an error for each that a reload by whoever runs now could not read. */
void settings_check_readable(const struct settings *s, struct report *rep);
/* As root, and `user` is there: the same as that user would find it, as warnings. */
void settings_check_reload(const struct settings *s, struct report *rep);
/* audit.sign is no key that can sign. */
void settings_refuse_sign(const struct settings *s, struct report *rep);
/* A warning where nothing is recorded. */
void settings_check_audit(const struct settings *s, struct report *rep);
/* A warning where audit.reserve is more than the log's file system holds. */
void settings_check_reserve(const struct settings *s, struct report *rep);
/* For whoever has found that what stands at the key is of no use: `why` is a sentence. */
void settings_refuse(const struct settings *s, struct report *rep, const char *key,
    const char *code, const char *why);
/* Where the key stands, or would: "FILE:LINE" or "FILE", for people. */
void settings_place(const struct settings *s, const char *key, char *out, size_t n);
/* For whoever has found that no certificate is in them. */
void settings_refuse_roots(const struct settings *s, struct report *rep);

/* The i-th of the rows that say where to listen, with its key; NULL: there are no more.
 */
const struct texts *settings_listeners(
    const struct settings *s, size_t i, const char **key);

/* production: true as root without `user`: where it runs, not what is written.  Whoever
 * looks at it as root may start it as somebody else. */
void settings_check_user(
    const struct settings *s, enum severity severity, struct report *rep);

/* `weir check --defaults`: every row with its default, unit and help. */
void settings_print_defaults(struct buf *to, bool as_json);
/* What differs and cannot be reloaded: names of rows, for one log line each. */
size_t settings_not_reloadable(
    const struct settings *old, const struct settings *new, const char **key, size_t max);

#endif
