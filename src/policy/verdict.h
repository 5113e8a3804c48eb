/*
 * verdict.h - what policy answers; the zero value is deny
 */
#ifndef WEIR_POLICY_VERDICT_H
#define WEIR_POLICY_VERDICT_H

#include "base/guard.h"
#include "policy/facts.h"

enum reason {
	REASON_NONE, /* nothing to say: allowed, or not decided yet */
#define REASON(id, name, status, codex, type, class, proxy_error, socks, text) \
	REASON_##id,
#include "policy/reasons.def"
#undef REASON
	REASON_N
};

enum reason_type {
	TYPE_MALFORMED,
	TYPE_SESSION,
	TYPE_POLICY,
	TYPE_BUDGET,
	TYPE_LIMIT,
	TYPE_UPSTREAM,
	TYPE_UNAVAILABLE
};
enum reason_class {
	CLASS_TERMINAL,
	CLASS_EXHAUSTED,
	CLASS_CANCELLED,
	CLASS_RETRYABLE,
	CLASS_PERMANENT
};

struct reason_row {
	const char *name;         /* the stable id: "host_not_allowed" */
	int status, codex_status; /* 0: recorded only, never an answer */
	enum reason_type type;
	enum reason_class class;
	const char *proxy_error; /* RFC 9209 */
	int socks;               /* RFC 1928 REP */
	const char *text;        /* a sentence to act on; %s is the target */
};

/* REASON_NONE: name "ok", status 200. */
const struct reason_row *reason_row(enum reason r);
enum reason reason_find(struct str name); /* REASON_NONE when unknown */
const char *reason_type_name(enum reason_type t);
const char *reason_class_name(enum reason_class c);

struct rule;

/* What lets through what the lists refuse in report mode. */
struct would {
	bool is_set;
	enum reason reason;
	const struct rule *rule;
};

struct verdict {
	bool allow;
	/* remove the fields of fields.def (else they were refused or there were none) */
	bool strip_rewriters;
	bool needs_sight;   /* of what is inside this TLS: its requests are still to be
			       judged */
	enum reason reason; /* REASON_NONE when allowed */
	/* the deciding rule: of the outermost refusing layer, or of the innermost when
	 * allowed; may be NULL */
	const struct rule *rule;
	size_t layer; /* its layer's number, 0 outermost */
	/* operator's words (rule's `why`, address sentence); static or the ruleset's */
	const char *why;
	struct would would;
	struct str allow_methods; /* for 405: "GET, HEAD"; the arena's */

	/* of the deciding rules, tightest over the layers */
	enum assurance assurance;    /* how this exchange is bound, once judged */
	enum protocol protocol;      /* once judged */
	int64_t max_body;            /* -1: no limit by rule */
	uint64_t upload;             /* bytes for each session and host; 0: the same */
	enum dlp dlp;                /* strictest over the layers */
	const struct rule *injector; /* puts a credential into the request; or NULL */
};

/* What the first step let in: may be looked up and dialled. */
struct admitted {
	unsigned protocols; /* what may be spoken by the rules left */
	bool is_tcp;        /* only tcp is left: relay at once */
	bool is_coined;  /* only wildcards name the host: the client chose its labels */
	bool is_metered; /* a model provider's: each call inside is metered in place */
	/* union over a layer's rules, intersected over layers; the arena's */
	struct opened opened;
	struct would would; /* report mode: admitted though the lists refuse */
	/* the first one left, of the innermost layer; may be NULL */
	const struct rule *rule;
	size_t layer; /* its layer */
};

/* One line of the trace that explain prints; collected only when asked for. */
struct trace_line {
	const char *stage; /* "shape", "deny", "host", "port", ... */
	const char *layer; /* its policy's name, or NULL */
	const struct rule *rule;
	const char *verdict; /* allow, deny, skip, pass */
	const char *why;
};

struct trace {
	struct arena *arena;
	struct trace_line *line;
	size_t n, cap;
};

/* Texts are static or live as long as the trace.  NULL t: nothing is kept. */
void trace_add(struct trace *t, const char *stage, const char *layer,
    const struct rule *rule, const char *verdict, const char *why);

#endif
