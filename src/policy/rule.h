/*
 * rule.h - one allow or deny rule: read, checked by itself, asked
 *
 * What a rule's words may not mean together is found here (needs_sight, broad,
 * private over loopback, tcp without ports ...); what rules say to each other is
 * compile.h's.  Everything a rule holds lives in the arena it was read with;
 * `node`s are borrowed from the tree and good only while it is loaded.
 * The predicates are pure; any thread.
 */
#ifndef WEIR_POLICY_RULE_H
#define WEIR_POLICY_RULE_H

#include "conf/tree.h"
#include "policy/facts.h"
#include "policy/pattern.h"

struct inject; /* policy/inject.h */
struct settings;

/* What a policy may say depends on where it runs. */
struct ruleset_terms {
	bool is_production; /* private over loopback or link-local is an error */
	bool is_report_ok;  /* mode: report is allowed: laptop, or allow_report */
	bool opens_tls; /* tls.intercept: a rule over https may want to see requests */
	const struct settings *settings; /* whose providers are metered; for loading */
};

struct rule_host {
	struct pattern pattern;
	/* What it opens: before the rule's `private` the address it names itself. */
	const struct prefix *opens;
	size_t nopens;
	const struct node *node; /* while loading */
};

struct rule {
	const char *name;  /* "allow[3]" when it has none */
	const char *place; /* "FILE:LINE name"; inline: "NAME:allow[3] name" */
	const char *why;   /* deny: told to the client; may be NULL */
	size_t order;      /* in its file */
	bool is_deny, has_name;
	bool is_short; /* from the short form: neither opens nor closes addresses */

	struct rule_host *host;
	size_t nhost;
	unsigned protocols;       /* of an allow rule; any for deny */
	const struct ports *port; /* has_ports false: the protocol's own; for deny all */
	size_t nport;
	const struct str *method; /* HEAD is there when GET is */
	size_t nmethod;
	const struct str *path;
	size_t npath;
	bool has_ports, has_methods,
	    has_paths; /* an empty list is a list: nothing fits */

	const struct prefix *private;
	size_t nprivate;
	bool metadata, is_broad;
	bool has_websocket, has_ech;
	enum assurance assurance;
	enum dlp dlp;
	int64_t max_body;            /* -1: none */
	int64_t upload;              /* bytes for each session and host; 0: no limit */
	const struct inject *inject; /* NULL: nothing */

	const struct node *node; /* while loading: the rule's block */
};

/* What reading needs; the arena outlives the rules, the tree need not. */
struct rule_source {
	const struct tree *tree;
	const struct ruleset_terms *terms;
	struct arena *arena;
	struct report *rep;
	const char *name; /* instead of tree->file where `is_inline` */
	bool is_inline;
};

/* One entry of `allow` or `deny`; with errors in rep, *r holds what could be understood.
 */
void rule_read(struct rule *r, const struct rule_source *in, const struct node *block,
    bool is_deny, size_t number);
/* The rule a short form stands for, for one protocol; `hosts` may be NULL. */
void rule_read_short(struct rule *r, const struct rule_source *in,
    const struct node *network, const struct node *hosts, enum protocol protocol);
/* "http", "https:" ...; false when it is none. */
bool rule_protocol_parse(enum protocol *out, struct str text);

/* Children of a list; 0 for a null, and for anything else after reporting it. */
size_t rule_list(const struct rule_source *in, const struct node *n);

/* 0: not on this port.  Port 0 is any. */
unsigned rule_protocols_at(const struct rule *r, uint16_t port);
bool rule_can_name_method(struct str method); /* may `methods` have it at all? */
bool rule_has_method(const struct rule *r, struct str method); /* true without a list */
bool rule_has_path(
    const struct rule *r, struct str path);    /* with a list: only canonical ones */
bool rule_sees_requests(const struct rule *r); /* it has methods or paths */
/* Over https that is interception: what it says holds for requests, not for tunnels. */
bool rule_needs_sight(const struct rule *r);

#endif
