/*
 * explain.h - what would happen to a request, and why, offline
 *
 * Runs the very steps of the live path (match_admit, match_address, match_judge)
 * on facts made from text, keeps the trace, and on a refusal works out the
 * smallest rule that would admit exactly this request and what else that rule
 * would admit.  Pure.
 */
#ifndef WEIR_POLICY_EXPLAIN_H
#define WEIR_POLICY_EXPLAIN_H

#include "policy/match.h"

struct explain_ask {
	enum via via;
	bool is_https_inside; /* https://...: CONNECT and the request inside it */
	struct str method;    /* empty: GET, or CONNECT */
	struct str target;    /* the raw authority (connect) or request-target (http) */
	const struct addr *answer; /* DNS answers; NULL and !has_answers: not looked up */
	size_t nanswer;
	bool has_answers;
	enum reason dns_error; /* REASON_DNS_FAILED, REASON_DNS_TIMEOUT or REASON_NONE */
};

struct explained {
	struct verdict verdict;
	bool has_target; /* host and port below are canonical */
	struct host host;
	uint16_t port;
	bool is_address_evaluated;
	struct vetted dial; /* count 0 unless allowed and evaluated */
	struct trace trace;
	struct str
	    fix; /* a rule in JSON: {"name":...,"host":...}; empty when none would do */
	struct str also_admits[8];
	size_t nalso;
	const char *warning[4];
	size_t nwarning;
};

void explain(struct explained *out, const struct ruleset *rs, const struct place *place,
    const struct explain_ask *ask, struct arena *a);
void explain_print_json(const struct explained *e, const struct ruleset *rs,
    struct str id, struct buf *to); /* id.p NULL: no id key */
void explain_print_text(
    const struct explained *e, const struct ruleset *rs, struct buf *to);
/* The paste-able YAML of the smallest rule for a refused host and port (also for the
 * laptop's log line). */
void explain_fix_yaml(const struct explained *e, struct buf *to);

#endif
