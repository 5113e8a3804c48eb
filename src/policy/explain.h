/*
 * explain.h - what would happen to a request, and why, offline
 *
 * Runs the very steps of the live path (match_admit, match_address, match_judge)
 * on facts made from text, keeps the trace, and on a refusal works out the
 * smallest rule that would admit exactly this request and what else that rule
 * would admit.  Pure: what was looked up comes in as answers.
 */
#ifndef WEIR_POLICY_EXPLAIN_H
#define WEIR_POLICY_EXPLAIN_H

#include "policy/cap.h"
#include "policy/fix.h"
#include "policy/match.h"

struct explain_ask {
	enum via via;
	bool is_https_inside; /* https://...: a CONNECT and the request inside it */
	struct str method;    /* empty: GET, or CONNECT */
	struct str target;    /* the raw authority (connect) or request-target (http) */
	const struct http_head *head; /* the request's fields; NULL: not known */
	const struct addr *answer;    /* DNS answers, in the order A and AAAA gave them */
	size_t nanswer;
	bool has_answers;      /* false and no dns_error: not looked up */
	enum reason dns_error; /* REASON_DNS_FAILED, REASON_DNS_TIMEOUT or REASON_NONE */
	int64_t upload_limit;  /* limits.upload; 0: none */
	int64_t upload_claim;  /* the session's; CAP_UNSAID: none */
};

/* From the words of a person: HOST:PORT, http://... or https://... */
void explain_ask_init(struct explain_ask *ask, struct str method, struct str target);
/* The canonical host it is about; false: it is malformed. */
bool explain_host(const struct explain_ask *ask, struct host *out);

#define WARNING_MAX 4

struct explained {
	struct verdict verdict;
	bool has_target; /* host and port below are canonical */
	struct host host;
	uint16_t port;
	bool is_address_evaluated;
	bool may_upgrade;   /* the request may become a websocket */
	struct cap upload;  /* where allowed: what holds of all caps */
	struct vetted dial; /* count 0 unless allowed and evaluated; in dial order */
	struct trace trace;
	struct fix fix;
	const char *warning[WARNING_MAX];
	size_t nwarning;
};

/* Everything in *out that is not static or the ruleset's lives in the arena. */
void explain(struct explained *out, const struct ruleset *rs, const struct place *place,
    const struct explain_ask *ask, struct arena *a);

/* One object on one line, without its end; rs NULL: no layer is named.  id: JSON text
 * that is echoed; p NULL: no id key. */
void explain_print_json(
    const struct explained *e, const struct ruleset *rs, struct str id, struct buf *to);
void explain_print_text(
    const struct explained *e, const struct ruleset *rs, struct buf *to);

#endif
