/*
 * match.c - ruleset + facts -> verdict
 *
 * Each layer is asked alone: do its deny rules refuse, else how far does any of
 * its allow rules get?  admit keeps all rules that may still win, judge takes
 * the first.  A layer can only take away from what the layers before it left.
 */
#include "policy/match.h"

#include <assert.h>
#include <string.h>

#include "policy/rewrite.h"

/* How far a rule of a host gets; the furthest any got names the reason. */
enum step { STEP_HOST, STEP_PORT, STEP_PROTOCOL, STEP_METHOD, STEP_PATH, STEP_ALL };

struct asking {
	const struct ruleset *rs;
	const struct facts *f;
	struct arena *arena;
	struct trace *trace;
};

/* What one layer says. */
struct answer {
	enum reason reason; /* REASON_NONE: it lets through */
	const struct rule *rule;
	const char *why;
	struct str methods;   /* for method_not_allowed */
	unsigned protocols;   /* left */
	bool is_named;        /* to the letter, by one of the rules left */
	bool needs_sight;     /* of the requests inside this TLS */
	bool has_opened;      /* some rule of the long form is left: `opened` counts */
	struct opened opened; /* of the rules left */
};

static void
note(const struct asking *q, const struct layer *l, const char *stage,
    const struct rule *r, const char *verdict, const char *why)
{
	if (q->trace != NULL)
		trace_add(
		    q->trace, stage, l == NULL ? NULL : l->model->name, r, verdict, why);
}

/* ---- addresses that rules open */

static struct opened
opened_by(const struct entry *e)
{
	return (struct opened){ e->host->opens, e->host->nopens, e->rule->metadata };
}

/* Without room in the arena nothing more is opened: the safe side. */
static void
open_more(struct arena *a, struct opened *sum, const struct opened *more)
{
	size_t n = sum->nprivate + more->nprivate;
	struct prefix *both;

	sum->metadata |= more->metadata;
	if (more->nprivate == 0 || more->private == sum->private)
		return;
	if (sum->nprivate == 0) {
		sum->private = more->private;
		sum->nprivate = more->nprivate;
		return;
	}
	if ((both = arena_alloc(a, n * sizeof(*both))) == NULL)
		return;
	memcpy(both, sum->private, sum->nprivate * sizeof(*both));
	memcpy(both + sum->nprivate, more->private, more->nprivate * sizeof(*both));
	sum->private = both;
	sum->nprivate = n;
}

static size_t
intersect(struct prefix *out, const struct opened *x, const struct opened *y)
{
	size_t n = 0;

	for (size_t i = 0; i < x->nprivate; i++)
		for (size_t j = 0; j < y->nprivate; j++) {
			bool is_outer = prefix_covers(x->private + i, y->private + j);
			if (!is_outer && !prefix_covers(y->private + j, x->private + i))
				continue;
			if (out != NULL)
				out[n] = is_outer ? y->private[j] : x->private[i];
			n++;
		}
	return n;
}

static void
open_less(struct arena *a, struct opened *sum, const struct opened *other)
{
	size_t n = intersect(NULL, sum, other);
	struct prefix *both = NULL;

	sum->metadata &= other->metadata;
	if (sum->private == other->private && sum->nprivate == other->nprivate)
		return;
	if (n > 0 && (both = arena_alloc(a, n * sizeof(*both))) != NULL)
		n = intersect(both, sum, other);
	sum->private = both;
	sum->nprivate = both == NULL ? 0 : n;
}

/* What is open after all layers so far. */
struct opening {
	bool is_limited; /* some layer had a rule for the host */
	struct opened opened;
};

static void
narrow_opening(struct arena *a, struct opening *sum, const struct answer *layer)
{
	if (!layer->has_opened)
		return;
	if (sum->is_limited)
		open_less(a, &sum->opened, &layer->opened);
	else
		sum->opened = layer->opened;
	sum->is_limited = true;
}

/* ---- deny rules */

/* Told to the client, too. */
static const char path_not_plain[] =
    "the path is not in its plain form, which begins with '/' and has no dot segment, "
    "'//', ';' or '\\', and no encoding of what needs none or of '/', '\\' and '%'";

/* The same. */
static const char deny_unseen[] =
    "a deny rule looks at methods or paths, and what is inside this tunnel is not in "
    "sight, so it denies all of the host";

/* Will weir see what is inside? */
static bool
will_see(const struct asking *q)
{
	return q->rs->terms.opens_tls && !q->f->has_request &&
	       q->f->protocols == PROTOCOL_HTTPS;
}

/* What of it nobody can look into. */
static unsigned
opaque_of(const struct asking *q)
{
	unsigned seen = PROTOCOL_HTTP | (q->rs->terms.opens_tls ? PROTOCOL_HTTPS : 0u);

	return q->f->protocols & ~seen;
}

/*
 * A deny rule with methods or paths wants to see the request.  Where nobody can
 * (`*opaque`), it denies the whole host; so it does when what it sees may be
 * rewritten behind it, or is no plain path.
 */
static const char *
denial(const struct asking *q, const struct rule *r, unsigned *opaque)
{
	const struct facts *f = q->f;

	if (rule_protocols_at(r, f->port) == 0)
		return NULL;
	if (!rule_sees_requests(r))
		return r->why != NULL ? r->why : "a deny rule names it";
	if (!f->has_request) {
		*opaque = opaque_of(q);
		return *opaque == f->protocols ? deny_unseen : NULL;
	}
	if (rewrite_find(f->head, f->query) != REWRITES_NOTHING)
		return "the request carries what rewrites it, where a deny rule looks at "
		       "requests";
	if (!rule_has_method(r, f->method))
		return NULL;
	if (r->has_paths && !path_is_canonical(f->path))
		return path_not_plain;
	return rule_has_path(r, f->path)
		   ? (r->why != NULL ? r->why : "a deny rule names it")
		   : NULL;
}

/* What no deny rule of a layer could look into. */
struct unseen {
	unsigned protocols;
	const struct rule *by; /* the first such rule */
	bool is_awaited;       /* some rule waits for the request */
};

static bool
is_denied(const struct asking *q, const struct layer *l, struct answer *out,
    struct unseen *opaque)
{
	const struct entry *e;
	struct walk w;

	if (l->model->ndeny == 0)
		return false;
	walk_host(&w, &l->deny, q->f->host);
	while ((e = walk_next(&w)) != NULL) {
		unsigned unseen = 0;
		const char *why = denial(q, e->rule, &unseen);

		if (why != NULL) {
			out->reason = REASON_HOST_DENIED;
			out->rule = e->rule;
			out->why = why;
			note(q, l, "deny", e->rule, "deny", why);
			return true;
		}
		if (unseen != 0 && opaque->by == NULL)
			opaque->by = e->rule;
		opaque->protocols |= unseen;
		opaque->is_awaited |= rule_sees_requests(e->rule) &&
				      rule_protocols_at(e->rule, q->f->port) != 0;
	}
	return false;
}

/* False: its deny rules refuse.  Else the walk stands before its allow rules. */
static bool
enter_layer(const struct asking *q, const struct layer *l, struct answer *out,
    struct unseen *opaque, struct walk *w)
{
	*out = (struct answer){ .reason = REASON_NONE };
	*opaque = (struct unseen){ 0 };
	if (is_denied(q, l, out, opaque))
		return false;
	walk_host(w, &l->allow, q->f->host);
	return true;
}

/* ---- allow rules */

static enum step
step_of(const struct asking *q, const struct rule *r, unsigned *protocols)
{
	const struct facts *f = q->f;

	*protocols = rule_protocols_at(r, f->port);
	if (*protocols == 0)
		return STEP_PORT;
	if ((*protocols & f->protocols) == 0)
		return STEP_PROTOCOL;
	*protocols &= f->protocols;
	if (f->has_request && !rule_has_method(r, f->method))
		return STEP_METHOD;
	if (f->has_request && !rule_has_path(r, f->path))
		return STEP_PATH;
	return STEP_ALL;
}

static const char *const step_names[] = { "host", "port", "protocol", "method", "path",
	"allow" };

static const char *
step_why(enum step step, const struct facts *f)
{
	switch (step) {
	case STEP_HOST:
		return "no rule names this host";
	case STEP_PORT:
		return "not on this port";
	case STEP_PROTOCOL:
		return "not by this protocol";
	case STEP_METHOD:
		return "not this method";
	case STEP_PATH:
		return path_is_canonical(f->path) ? "not this path" : path_not_plain;
	case STEP_ALL:
		return "fits";
	}
	return NULL;
}

static enum reason
step_reason(enum step step, const struct facts *f)
{
	switch (step) {
	case STEP_HOST:
		return f->host->is_literal ? REASON_IP_LITERAL_NOT_ALLOWED
					   : REASON_HOST_NOT_ALLOWED;
	case STEP_PORT:
		return REASON_PORT_NOT_ALLOWED;
	case STEP_PROTOCOL:
		return REASON_PROTOCOL_NOT_ALLOWED;
	case STEP_METHOD:
		return REASON_METHOD_NOT_ALLOWED;
	case STEP_PATH:
		return REASON_PATH_NOT_ALLOWED;
	case STEP_ALL:
		return REASON_NONE;
	}
	return REASON_INTERNAL;
}

/* Methods of the rules that would have fitted but for theirs, each once. */
static struct str
allowed_methods(const struct asking *q, const struct layer *l)
{
	struct buf b;
	struct walk w;
	const struct entry *e;
	struct str out;
	unsigned protocols;

	buf_init(&b, 1024);
	walk_host(&w, &l->allow, q->f->host);
	while ((e = walk_next(&w)) != NULL) {
		if (step_of(q, e->rule, &protocols) != STEP_METHOD)
			continue;
		for (size_t i = 0; i < e->rule->nmethod; i++) {
			struct str method = e->rule->method[i], rest = buf_view(&b),
				   piece;
			bool is_there = false;

			while (b.n > 0 && str_split(&rest, ',', &piece))
				is_there |= str_eq(str_trim(piece), method);
			if (!is_there)
				buf_fmt(
				    &b, "%s%.*s", b.n > 0 ? ", " : "", STR_ARG(method));
		}
	}
	out = arena_str(q->arena, buf_view(&b));
	buf_fini(&b);
	return out.p == NULL ? STR("") : out;
}

/* How the layer refuses when no rule of it fits. */
static void
refuse_unfit(
    const struct asking *q, const struct layer *l, enum step furthest, struct answer *out)
{
	out->reason = step_reason(furthest, q->f);
	out->rule = NULL;
	out->why = step_why(furthest, q->f);
	if (furthest == STEP_METHOD)
		out->methods = allowed_methods(q, l);
	note(q, l, step_names[furthest], NULL, "deny", out->why);
}

/* All rules of a layer that may still win. */
static void
admit_layer(const struct asking *q, const struct layer *l, struct answer *out)
{
	enum step furthest = STEP_HOST;
	struct unseen opaque;
	unsigned protocols;
	const struct entry *e;
	struct walk w;

	if (!enter_layer(q, l, out, &opaque, &w))
		return;
	while ((e = walk_next(&w)) != NULL) {
		struct opened opened = opened_by(e);
		enum step step = step_of(q, e->rule, &protocols);

		furthest = step > furthest ? step : furthest;
		note(q, l, step_names[step], e->rule, step == STEP_ALL ? "pass" : "skip",
		    step_why(step, q->f));
		if (step != STEP_ALL || (protocols & ~opaque.protocols) == 0)
			continue;
		if (out->protocols == 0)
			out->rule = e->rule;
		out->is_named |= !pattern_is_wildcard(&e->host->pattern);
		out->protocols |= protocols & ~opaque.protocols;
		if (e->rule->is_short)
			continue;
		out->has_opened = true;
		open_more(q->arena, &out->opened, &opened);
	}
	if (out->protocols != 0)
		return;
	if (furthest == STEP_ALL) {
		out->reason = REASON_HOST_DENIED;
		out->rule = opaque.by;
		out->why = deny_unseen;
		note(q, l, "deny", opaque.by, "deny", out->why);
		return;
	}
	refuse_unfit(q, l, furthest, out);
}

/* ---- the rule that decides, and what it asks of the exchange */

static enum assurance
assurance_of(const struct facts *f)
{
	switch ((enum protocol)f->protocols) {
	case PROTOCOL_HTTP:
		return ASSURE_HOST;
	case PROTOCOL_HTTPS:
		if (f->has_request)
			return ASSURE_HOST;
		if (f->has_ech) /* the outer name says nothing of the inner one */
			return ASSURE_NAME;
		return f->has_sni && f->is_sni_equal ? ASSURE_SNI : ASSURE_ADDRESS;
	case PROTOCOL_TCP:
		return ASSURE_ADDRESS;
	}
	return ASSURE_NAME;
}

/* An ECH that weir answers itself hides nothing from it, whatever the rule. */
static enum reason
judge_tls(const struct facts *f, const struct rule *r, bool is_seen, const char **why)
{
	if (f->protocols != PROTOCOL_HTTPS)
		return REASON_NONE;
	*why = "the first bytes are no TLS ClientHello";
	if (!f->has_hello)
		return REASON_TLS_REQUIRED;
	*why = "the ClientHello has no SNI";
	if (!f->has_sni && !f->host->is_literal)
		return REASON_SNI_MISSING;
	*why = f->host->is_literal ? "to an address TLS carries no SNI"
				   : "the SNI is another host";
	if (f->has_sni && (f->host->is_literal || !f->is_sni_equal))
		return REASON_SNI_MISMATCH;
	*why = "the ClientHello has the ECH extension";
	if (f->has_ech && !is_seen && (r == NULL || !r->has_ech))
		return REASON_ECH_REFUSED;
	return REASON_NONE;
}

static enum reason
judge_request(const struct facts *f, const struct rule *r, const char **why)
{
	if (!f->has_request) {
		*why = "the request is not in sight";
		return rule_sees_requests(r) ? REASON_METHOD_NOT_ALLOWED : REASON_NONE;
	}
	if (rule_sees_requests(r))
		switch (rewrite_find(f->head, f->query)) {
		case REWRITES_NOTHING:
			break;
		case REWRITES_METHOD:
			*why = rewrite_why(REWRITES_METHOD);
			return REASON_METHOD_NOT_ALLOWED;
		case REWRITES_PATH:
			*why = rewrite_why(REWRITES_PATH);
			return REASON_PATH_NOT_ALLOWED;
		}
	*why = "the rule does not let websocket be spoken";
	if (f->wants_websocket && !r->has_websocket)
		return REASON_PROTOCOL_NOT_ALLOWED;
	*why = "the body is larger than the rule allows";
	if (r->max_body >= 0 && f->length > r->max_body)
		return REASON_BODY_TOO_LARGE;
	return REASON_NONE;
}

/* With `sight` what is about the request waits for it. */
static enum reason
judge_rule(const struct facts *f, const struct rule *r, bool sight, const char **why)
{
	enum reason reason;

	reason = judge_tls(f, r, sight || f->has_request, why);
	if (reason == REASON_NONE && !sight)
		reason = judge_request(f, r, why);
	if (reason != REASON_NONE)
		return reason;
	*why = "the exchange is bound less tightly than the rule asks";
	if (!sight && assurance_of(f) < r->assurance)
		return REASON_ASSURANCE_TOO_LOW;
	*why = NULL;
	return REASON_NONE;
}

/* In a tunnel whose rules want TLS, other first bytes have a reason of their own. */
static const struct rule *
wants_tls(const struct asking *q, const struct layer *l)
{
	const struct entry *e;
	unsigned protocols;
	struct walk w;

	if (q->f->via != VIA_CONNECT || (q->f->protocols & PROTOCOL_HTTPS))
		return NULL;
	walk_host(&w, &l->allow, q->f->host);
	while ((e = walk_next(&w)) != NULL)
		if (step_of(q, e->rule, &protocols) == STEP_PROTOCOL &&
		    (protocols & PROTOCOL_HTTPS))
			return e->rule;
	return NULL;
}

static void
refuse_at_judge(
    const struct asking *q, const struct layer *l, enum step furthest, struct answer *out)
{
	refuse_unfit(q, l, furthest, out);
	if (furthest != STEP_PROTOCOL || (out->rule = wants_tls(q, l)) == NULL)
		return;
	out->reason = REASON_TLS_REQUIRED;
	out->why = "the first bytes are no TLS ClientHello";
}

/* The first rule of a layer that matches wholly. */
static void
judge_layer(const struct asking *q, const struct layer *l, struct answer *out)
{
	enum step step, furthest = STEP_HOST;
	struct unseen opaque;
	unsigned protocols;
	const struct entry *e;
	struct walk w;

	if (!enter_layer(q, l, out, &opaque, &w))
		return;
	while ((e = walk_next(&w)) != NULL &&
	       (step = step_of(q, e->rule, &protocols)) != STEP_ALL)
		furthest = step > furthest ? step : furthest;
	if (e == NULL) {
		refuse_at_judge(q, l, furthest, out);
		return;
	}
	out->rule = e->rule;
	out->protocols = protocols;
	out->has_opened = !e->rule->is_short;
	out->opened = opened_by(e);
	out->needs_sight =
	    will_see(q) && (opaque.is_awaited || rule_needs_sight(e->rule));
	out->reason = judge_rule(q->f, e->rule, out->needs_sight, &out->why);
	note(q, l, "rule", e->rule, out->reason == REASON_NONE ? "allow" : "deny",
	    out->needs_sight && out->reason == REASON_NONE
		? "once the request inside is seen"
		: out->why);
}

/* ---- what holds whatever the lists say */

static bool
is_never_method(struct str method)
{
	return str_eq(method, STR("TRACE")) || str_eq(method, STR("TRACK")) ||
	       str_eq(method, STR("CONNECT"));
}

/* A tunnel to a provider, whose TLS is opened so that its calls are metered; or its name.
 */
static bool
is_metered_in_place(const struct asking *q, const struct metered_host *m)
{
	const struct facts *f = q->f;

	return m != NULL && q->rs->terms.opens_tls && !f->has_request &&
	       f->via != VIA_HTTP && (f->protocols & PROTOCOL_HTTPS) != 0 &&
	       (f->via == VIA_DNS || f->port == m->port);
}

static const struct metered_host *
metered_of(const struct asking *q)
{
	return metered_find(q->rs->metered, q->f->host);
}

static bool
is_refused_anyway(
    const struct asking *q, const struct metered_host *metered, struct verdict *v)
{
	*v = (struct verdict){ .reason = REASON_HOST_NOT_ALLOWED, .max_body = -1 };
	if (metered != NULL) {
		v->reason = REASON_METERED_HOST;
		v->why = metered->where;
		note(q, NULL, "host", NULL, "deny", v->why);
		return true;
	}
	if (q->rs->nlayer == 0) {
		v->reason = q->f->host->is_literal ? REASON_IP_LITERAL_NOT_ALLOWED
						   : REASON_HOST_NOT_ALLOWED;
		v->why = "there is no policy";
		note(q, NULL, "host", NULL, "deny", v->why);
		return true;
	}
	if (!q->f->has_request || !is_never_method(q->f->method))
		return false;
	/* RFC 9110 9.3.8: TRACE would show the client what was added for the origin */
	v->reason = REASON_METHOD_NOT_ALLOWED;
	v->why = "this method never passes";
	v->allow_methods = STR("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
	note(q, NULL, "method", NULL, "deny", v->why);
	return true;
}

/* What report mode lets through: what the lists refuse, not what binds an exchange to its
 * host. */
static bool
is_list_reason(enum reason r)
{
	return r == REASON_HOST_NOT_ALLOWED || r == REASON_HOST_DENIED ||
	       r == REASON_PORT_NOT_ALLOWED || r == REASON_PROTOCOL_NOT_ALLOWED ||
	       r == REASON_METHOD_NOT_ALLOWED || r == REASON_PATH_NOT_ALLOWED ||
	       r == REASON_IP_LITERAL_NOT_ALLOWED || r == REASON_TLS_REQUIRED ||
	       r == REASON_BODY_TOO_LARGE || r == REASON_ASSURANCE_TOO_LOW;
}

static void
refuse(struct verdict *v, const struct answer *answer, size_t layer)
{
	v->reason = answer->reason;
	v->rule = answer->rule;
	v->layer = layer;
	v->why = answer->why;
	v->allow_methods = answer->methods;
}

/* A refusal of a layer that only reports: noted, and the layer opens nothing. */
static bool
is_only_reported(const struct asking *q, const struct layer *l, struct answer *answer,
    struct would *would)
{
	if (!l->model->is_report || !is_list_reason(answer->reason))
		return false;
	if (!would->is_set)
		*would = (struct would){ true, answer->reason, answer->rule };
	note(q, l, "report", answer->rule, "pass", "this layer only reports");
	*answer = (struct answer){
		.reason = REASON_NONE,
		.protocols = q->f->protocols,
		.has_opened = true,
	};
	return true;
}

bool
match_admit(const struct ruleset *rs, const struct facts *f, struct arena *a,
    struct admitted *out, struct verdict *v, struct trace *trace)
{
	struct facts left = *f;
	struct asking q = { rs, &left, a, trace };
	struct opening opening = { 0 };
	struct answer answer;
	bool is_named = f->host->is_literal; /* by some layer, to the letter */
	const struct metered_host *metered = metered_of(&q);

	*out = (struct admitted){ 0 };
	if (is_metered_in_place(&q, metered)) {
		out->protocols = PROTOCOL_HTTPS;
		out->is_metered = true;
		note(&q, NULL, "host", NULL, "pass", "each call is metered in place");
		return true;
	}
	if (is_refused_anyway(&q, metered, v))
		return false;
	for (size_t i = 0; i < rs->nlayer; i++) {
		const struct layer *l = rs->layer[i];

		admit_layer(&q, l, &answer);
		if (answer.reason != REASON_NONE &&
		    !is_only_reported(&q, l, &answer, &out->would)) {
			refuse(v, &answer, i);
			*out = (struct admitted){ 0 };
			return false;
		}
		left.protocols = answer.protocols;
		is_named |= answer.is_named;
		narrow_opening(a, &opening, &answer);
		if (answer.rule != NULL && !l->is_claim) {
			out->rule = answer.rule;
			out->layer = i;
		}
	}
	out->protocols = left.protocols;
	out->is_tcp = left.protocols == PROTOCOL_TCP;
	out->is_coined = !is_named;
	out->opened = opening.opened;
	return true;
}

/* ---- answers */

/* A name decides whether TLS is opened, before its addresses are known: to what looks at
 * requests by address all TLS is out of sight. */
static bool
is_out_of_sight(const struct asking *q, const struct rule *r)
{
	return !q->f->has_request && (q->f->protocols & ~(unsigned)PROTOCOL_HTTP) != 0 &&
	       rule_sees_requests(r) && rule_protocols_at(r, q->f->port) != 0;
}

static const struct rule *
address_denier(const struct asking *q, const struct layer *l, const struct addr *addr)
{
	const struct entry *e;
	struct walk w;

	walk_addr(&w, &l->deny, addr);
	while ((e = walk_next(&w)) != NULL) {
		unsigned opaque = 0;
		if (denial(q, e->rule, &opaque) != NULL || is_out_of_sight(q, e->rule))
			return e->rule;
	}
	return NULL;
}

/* True: a deny rule of the layer names one of the answers. */
static bool
is_answer_denied(const struct asking *q, const struct layer *l, const struct addr *found,
    size_t n, const struct place *place, struct answer *out)
{
	for (size_t i = 0; i < n && l->has_address_deny; i++) {
		struct addr inner = guard_unwrap(&found[i], place);
		const struct rule *r = address_denier(q, l, &found[i]);

		if (r == NULL && (r = address_denier(q, l, &inner)) == NULL)
			continue;
		out->reason = REASON_HOST_DENIED;
		out->rule = r;
		out->why =
		    r->why != NULL ? r->why : "a deny rule names an address of this host";
		note(q, l, "address", r, "deny", out->why);
		return true;
	}
	return false;
}

bool
match_address(const struct ruleset *rs, const struct facts *f, const struct admitted *in,
    const struct addr *found, size_t n, const struct place *place, struct vetted *out,
    struct verdict *v, struct trace *trace)
{
	struct asking q = { rs, f, NULL, trace };
	struct would would = in->would;
	struct answer answer = { 0 };
	const char *why;

	*out = (struct vetted){ 0 };
	*v = (struct verdict){ .reason = REASON_ADDRESS_DENIED, .max_body = -1 };
	for (size_t i = 0; i < rs->nlayer; i++)
		if (is_answer_denied(&q, rs->layer[i], found, n, place, &answer) &&
		    !is_only_reported(&q, rs->layer[i], &answer, &would)) {
			refuse(v, &answer, i);
			v->would = would;
			return false;
		}
	if (!guard_vet(out, found, n, f->port, place, &in->opened, &why)) {
		v->why = why;
		v->would = would;
		v->rule = in->rule;
		v->layer = in->layer;
		note(&q, NULL, "address", in->rule, "deny", why);
		return false;
	}
	*v = (struct verdict){ .would = would, .max_body = -1 };
	note(&q, NULL, "address", NULL, "pass", "every address may be dialled");
	return true;
}

/* ---- the last word */

static void
take_rule(struct verdict *v, const struct answer *answer, size_t layer)
{
	const struct rule *r = answer->rule;

	if (r == NULL)
		return;
	v->rule = r;
	v->layer = layer;
	if (r->max_body >= 0 && (v->max_body < 0 || r->max_body < v->max_body))
		v->max_body = r->max_body;
	if (r->upload > 0 && (v->upload == 0 || (uint64_t)r->upload < v->upload))
		v->upload = (uint64_t)r->upload;
	if (r->dlp > v->dlp)
		v->dlp = r->dlp;
	if (r->inject != NULL)
		v->injector = r;
}

/* The address in use was vetted under every rule that might have won; only one has. */
static bool
is_dialled_open(const struct asking *q, const struct addr *dialled,
    const struct place *place, const struct opened *opened, struct verdict *v)
{
	struct vetted vetted;
	const char *why;

	if (dialled == NULL ||
	    guard_vet(&vetted, dialled, 1, q->f->port, place, opened, &why))
		return true;
	v->reason = REASON_ADDRESS_DENIED;
	v->why = why;
	note(q, NULL, "address", v->rule, "deny", why);
	return false;
}

/* No rule is asked: only what binds a TLS to its host. */
static void
judge_metered(const struct asking *q, struct verdict *v)
{
	*v = (struct verdict){ .protocol = PROTOCOL_HTTPS,
		.assurance = assurance_of(q->f),
		.max_body = -1 };
	v->reason = judge_tls(q->f, NULL, true, &v->why);
	v->allow = v->needs_sight = v->reason == REASON_NONE;
	v->why = v->allow ? NULL : v->why;
	note(q, NULL, "judge", NULL, v->allow ? "allow" : "deny", v->why);
}

void
match_judge(const struct ruleset *rs, const struct facts *f, struct arena *a,
    const struct addr *dialled, const struct place *place, struct verdict *v,
    struct trace *trace)
{
	struct asking q = { rs, f, a, trace };
	struct opening opening = { 0 };
	struct answer answer;
	const struct metered_host *metered = metered_of(&q);

	assert((f->protocols & (f->protocols - 1)) == 0 && f->protocols != 0);
	if (is_metered_in_place(&q, metered)) {
		judge_metered(&q, v);
		return;
	}
	if (is_refused_anyway(&q, metered, v))
		return;
	v->protocol = (enum protocol)f->protocols;
	v->assurance = assurance_of(f);
	for (size_t i = 0; i < rs->nlayer; i++) {
		const struct layer *l = rs->layer[i];

		judge_layer(&q, l, &answer);
		if (answer.reason != REASON_NONE &&
		    !is_only_reported(&q, l, &answer, &v->would)) {
			refuse(v, &answer, i);
			return;
		}
		v->needs_sight |= answer.needs_sight;
		if (!l->is_claim) /* it says where, the policy says how */
			take_rule(v, &answer, i);
		narrow_opening(a, &opening, &answer);
	}
	if (!is_dialled_open(&q, dialled, place, &opening.opened, v))
		return;
	v->allow = true;
	v->reason = REASON_NONE;
	v->why = NULL;
	v->strip_rewriters = f->has_request;
}
