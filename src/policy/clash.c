/*
 * clash.c - what the rules of a policy say to each other, at load
 *
 * Two patterns share a host only when the base of one is the other's or lies
 * under it.  So looking up each pattern's base and all its suffixes finds every
 * pair once, from the narrower side.
 */
#include "policy/clash.h"

#include <stdlib.h>

struct checking {
	const struct tree *t;
	const struct layer *l;
	struct report *rep;
	bool opens_tls;
};

/* Is `narrow` wanted on with `other`, whose base is the same or above?  False: go on. */
typedef bool pair_fn(const struct rule *narrow, const struct rule_host *host,
    const struct entry *other, void *arg);

static bool
each_of(const struct entries *list, const struct rule *r, const struct rule_host *h,
    pair_fn *fn, void *arg)
{
	for (const struct entry *e = list->first; e != NULL; e = e->next)
		if (e->host != h && fn(r, h, e, arg))
			return true;
	return false;
}

static bool
each_wider_range(const struct index *x, const struct rule *r, const struct rule_host *h,
    pair_fn *fn, void *arg)
{
	for (size_t i = 0; i < x->nlength; i++) {
		const struct entries *list;
		struct prefix p;

		if (x->length[i] > h->pattern.prefix.len ||
		    !prefix_of(&p, &h->pattern.prefix.addr, x->length[i]) ||
		    !prefix_has(&p, &h->pattern.prefix.addr) ||
		    (list = index_range(x, &p)) == NULL)
			continue;
		if (each_of(list, r, h, fn, arg))
			return true;
	}
	return false;
}

/* None of its names is an ordinary one: `*` has nothing to do with it. */
static bool
is_only_special(const struct pattern *p)
{
	const char *suffix = p->kind == PATTERN_ANY ? NULL : host_special_suffix(p->base);

	return suffix != NULL && (p->kind == PATTERN_NAME || suffix[0] != '\0');
}

/*
 * Every entry that shares a host with h and is as wide or wider, until fn says
 * true.  Of the same base: all; of shorter ones: the wildcards.
 */
static bool
each_wider(const struct index *x, const struct rule *r, const struct rule_host *h,
    pair_fn *fn, void *arg)
{
	const struct pattern *p = &h->pattern;
	struct str name = p->base;
	const struct base *b;
	size_t at;

	if (p->kind == PATTERN_RANGE)
		return each_wider_range(x, r, h, fn, arg);
	if (p->kind != PATTERN_ANY && (b = index_base(x, name)) != NULL) {
		bool has_name = p->kind != PATTERN_BELOW,
		     has_below = p->kind != PATTERN_NAME;
		if ((has_name && each_of(&b->name, r, h, fn, arg)) ||
		    (has_below && each_of(&b->below, r, h, fn, arg)) ||
		    each_of(&b->deep, r, h, fn, arg))
			return true;
	}
	while (p->kind != PATTERN_ANY && str_find(name, '.', &at)) {
		name = str_sub(name, at + 1, name.n);
		if ((b = index_base(x, name)) != NULL &&
		    (each_of(&b->below, r, h, fn, arg) ||
			each_of(&b->deep, r, h, fn, arg)))
			return true;
	}
	if (is_only_special(p))
		return false;
	return each_of(&x->any, r, h, fn, arg);
}

/* ---- tcp beside http or https */

/* Is there a port on which both speak; if `alike`, by one protocol? */
static bool
share_ports(const struct rule *a, const struct rule *b, bool alike)
{
	static const struct ports usual[] = { { 80, 80 }, { 443, 443 } };
	const struct rule *const rule[2] = { a, b };
	const struct ports *list[2];
	size_t n[2];

	for (size_t i = 0; i < 2; i++) {
		list[i] = rule[i]->has_ports ? rule[i]->port : usual;
		n[i] = rule[i]->has_ports ? rule[i]->nport : 2;
	}
	for (size_t i = 0; i < n[0]; i++)
		for (size_t j = 0; j < n[1]; j++) {
			const struct ports *x = &list[0][i], *y = &list[1][j];
			uint16_t port = x->first > y->first ? x->first : y->first;
			unsigned of_a = rule_protocols_at(a, port),
				 of_b = rule_protocols_at(b, port);
			if (x->first <= y->last && y->first <= x->last &&
			    (alike ? (of_a & of_b) != 0 : of_a != 0 && of_b != 0))
				return true;
		}
	return false;
}

static bool
is_tcp(const struct rule *r)
{
	return (r->protocols & PROTOCOL_TCP) != 0;
}

static bool
find_shared(
    const struct rule *r, const struct rule_host *h, const struct entry *other, void *arg)
{
	const struct checking *c = arg;

	if (is_tcp(r) == is_tcp(other->rule) || !share_ports(r, other->rule, false))
		return false;
	node_error(c->t, h->node, c->rep, "tcp_shared", "give each its own ports",
	    "%s is tcp and %s is not, and both speak for this host on one port",
	    is_tcp(r) ? r->name : other->rule->name,
	    is_tcp(r) ? other->rule->name : r->name);
	return true;
}

/* ---- rules that can never win */

static bool
covers_ports(const struct rule *outer, const struct rule *inner)
{
	if (outer->is_deny && !outer->has_ports)
		return true;
	if (!inner->has_ports) {
		for (unsigned p = PROTOCOL_HTTP; p <= PROTOCOL_HTTPS; p <<= 1)
			if ((inner->protocols & p) &&
			    !(rule_protocols_at(outer, p == PROTOCOL_HTTP ? 80 : 443) &
				p))
				return false;
		return !inner->is_deny;
	}
	if (inner->protocols & ~outer->protocols)
		return false;
	for (size_t i = 0; i < inner->nport; i++) {
		bool is_in = false;
		for (size_t j = 0; outer->has_ports && j < outer->nport; j++)
			is_in |= outer->port[j].first <= inner->port[i].first &&
				 inner->port[i].last <= outer->port[j].last;
		is_in |=
		    !outer->has_ports && inner->port[i].first == inner->port[i].last &&
		    (rule_protocols_at(outer, inner->port[i].first) & inner->protocols);
		if (!is_in)
			return false;
	}
	return true;
}

static bool
covers_words(bool has_outer, const struct str *outer, size_t nouter, bool has_inner,
    const struct str *inner, size_t ninner)
{
	if (!has_outer)
		return true;
	if (!has_inner)
		return false;
	for (size_t i = 0; i < ninner; i++) {
		bool is_in = false;
		for (size_t j = 0; j < nouter; j++)
			is_in |= str_eq(outer[j], inner[i]);
		if (!is_in)
			return false;
	}
	return true;
}

static bool
covers_requests(const struct rule *outer, const struct rule *inner)
{
	return covers_words(outer->has_methods, outer->method, outer->nmethod,
		   inner->has_methods, inner->method, inner->nmethod) &&
	       covers_words(outer->has_paths, outer->path, outer->npath, inner->has_paths,
		   inner->path, inner->npath);
}

/* The same pattern, earlier in the file, and nothing that would let `r` have its turn. */
static bool
find_shadow(
    const struct rule *r, const struct rule_host *h, const struct entry *other, void *arg)
{
	const struct rule **found = arg;

	if (other->rule->order >= r->order ||
	    !pattern_eq(&other->host->pattern, &h->pattern) ||
	    !covers_ports(other->rule, r) || !covers_requests(other->rule, r))
		return false;
	*found = other->rule;
	return true;
}

static bool
find_denier(
    const struct rule *r, const struct rule_host *h, const struct entry *other, void *arg)
{
	const struct rule **found = arg;

	if (!pattern_covers(&other->host->pattern, &h->pattern) ||
	    !covers_ports(other->rule, r) || !covers_requests(other->rule, r))
		return false;
	*found = other->rule;
	return true;
}

/* True when each host of the rule has something that takes its turn; *by is the last. */
static bool
is_taken(const struct index *x, const struct rule *r, pair_fn *fn, const struct rule **by)
{
	for (size_t i = 0; i < r->nhost; i++)
		if (!each_wider(x, r, &r->host[i], fn, by))
			return false;
	return r->nhost > 0;
}

/* ---- rules that keep nothing out */

/*
 * A wider one that has no list where this one has: what this one's list leaves out
 * comes in by that one.  Not so where this one says what a credential goes into, and
 * the other is about more hosts: then the lists are the credential's.
 */
static bool
find_undoer(
    const struct rule *r, const struct rule_host *h, const struct entry *other, void *arg)
{
	const struct rule **found = arg, *o = other->rule;
	bool is_without =
	    (r->has_methods && !o->has_methods) || (r->has_paths && !o->has_paths);

	if (!is_without || !covers_requests(o, r) || !share_ports(r, o, true) ||
	    !pattern_covers(&other->host->pattern, &h->pattern) ||
	    (r->inject != NULL && !pattern_eq(&other->host->pattern, &h->pattern)))
		return false;
	*found = o;
	return true;
}

static void
check_lists(const struct checking *c, const struct rule *r)
{
	const struct rule *by = NULL;

	for (size_t i = 0; i < r->nhost; i++)
		if (each_wider(&c->l->allow, r, &r->host[i], find_undoer, &by)) {
			node_warn(c->t, r->node, c->rep, "undone",
			    "give that one methods and paths, too; its paths: [\"/**\"] "
			    "would say that all is meant",
			    "the methods and paths of this rule keep nothing out: %s "
			    "opens a host and port of it without them",
			    rule_place(by));
			return;
		}
}

static void
check_rule(const struct checking *c, const struct rule *r)
{
	const struct rule *by = NULL;

	for (size_t i = 0; i < r->nhost; i++)
		(void)each_wider(
		    &c->l->allow, r, &r->host[i], find_shared, (void *)(uintptr_t)c);
	if (c->l->model->ndeny > 0 && is_taken(&c->l->deny, r, find_denier, &by))
		node_warn(c->t, r->node, c->rep, "never_wins", NULL,
		    "this rule can never win: %s denies all of it", rule_place(by));
	else if (is_taken(&c->l->allow, r, find_shadow, &by))
		node_warn(c->t, r->node, c->rep, "never_wins", NULL,
		    "this rule can never win: %s comes first and matches all of it",
		    rule_place(by));
	else
		check_lists(c, r);
}

/* ---- deny rules that cannot look */

/* By the order of deny rules, what each denies unseen. */
struct blind {
	const struct rule **rule;
	unsigned opaque; /* protocols that nobody here looks into */
};

/* May `allow` let something pass unseen where `deny` holds? */
static bool
share_unseen(const struct rule *deny, const struct rule *allow, unsigned opaque)
{
	static const struct ports usual = { 443, 443 };
	const struct ports *port = allow->has_ports ? allow->port : &usual;
	size_t n = allow->has_ports ? allow->nport : 1;

	if (!rule_sees_requests(deny) || (allow->protocols & opaque) == 0)
		return false;
	if (!deny->has_ports)
		return true;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < deny->nport; j++)
			if (port[i].first <= deny->port[j].last &&
			    deny->port[j].first <= port[i].last)
				return true;
	return false;
}

/* From an allow rule to the deny rules as wide or wider, and the other way round. */
static bool
note_blind_denier(
    const struct rule *r, const struct rule_host *h, const struct entry *other, void *arg)
{
	struct blind *unseen = arg;

	(void)h;
	if (share_unseen(other->rule, r, unseen->opaque))
		unseen->rule[other->rule->order] = r;
	return false;
}

static bool
note_unseen(
    const struct rule *r, const struct rule_host *h, const struct entry *other, void *arg)
{
	struct blind *unseen = arg;

	(void)h;
	if (share_unseen(r, other->rule, unseen->opaque))
		unseen->rule[r->order] = other->rule;
	return false;
}

static bool
has_looking_deny(const struct model *m)
{
	for (size_t i = 0; i < m->ndeny; i++)
		if (rule_sees_requests(&m->deny[i]))
			return true;
	return false;
}

static void
check_sight(const struct checking *c)
{
	const struct model *m = c->l->model;
	struct blind unseen = {
		.opaque = c->opens_tls ? PROTOCOL_TCP : PROTOCOL_TCP | PROTOCOL_HTTPS,
	};

	if (!has_looking_deny(m))
		return;
	unseen.rule = mem_zalloc(m->ndeny * sizeof(const struct rule *));
	for (size_t i = 0; i < m->nallow; i++)
		for (size_t k = 0; k < m->allow[i].nhost; k++)
			(void)each_wider(&c->l->deny, &m->allow[i], &m->allow[i].host[k],
			    note_blind_denier, &unseen);
	for (size_t i = 0; i < m->ndeny; i++) {
		const struct rule *r = &m->deny[i];
		for (size_t k = 0; k < r->nhost && rule_sees_requests(r); k++)
			(void)each_wider(
			    &c->l->allow, r, &r->host[k], note_unseen, &unseen);
		if (unseen.rule[i] != NULL)
			node_warn(c->t, r->node, c->rep, "denies_unseen",
			    "take methods and paths out if that is meant, or name the "
			    "ports of plain http",
			    "weir cannot see methods and paths in %s, so this denies all "
			    "of its hosts that %s allows",
			    c->opens_tls ? "tcp" : "https or tcp",
			    rule_place(unseen.rule[i]));
	}
	free(unseen.rule);
}

void
clash_check(
    const struct tree *t, const struct layer *l, bool opens_tls, struct report *rep)
{
	struct checking c = { t, l, rep, opens_tls };

	check_sight(&c);
	for (size_t i = 0; i < l->model->nallow; i++)
		check_rule(&c, &l->model->allow[i]);
}

/* ---- layers */

static bool
find_common(
    const struct rule *r, const struct rule_host *h, const struct entry *other, void *arg)
{
	(void)h;
	(void)arg;
	return share_ports(r, other->rule, true);
}

/* Marks the rules of the inner layer that some outer, narrower rule leaves something of.
 */
static bool
mark_common(
    const struct rule *r, const struct rule_host *h, const struct entry *other, void *arg)
{
	bool *is_left = arg;

	if (find_common(r, h, other, NULL))
		is_left[other->rule->order] = true;
	return false;
}

void
clash_check_layers(const struct tree *t, const struct layer *inner,
    const struct layer *outer, struct report *rep)
{
	const struct model *in = inner->model, *out = outer->model;
	bool *is_left = mem_zalloc(in->nallow + 1);

	for (size_t i = 0; i < in->nallow; i++)
		for (size_t j = 0; j < in->allow[i].nhost && !is_left[i]; j++)
			is_left[i] = each_wider(&outer->allow, &in->allow[i],
			    &in->allow[i].host[j], find_common, NULL);
	for (size_t i = 0; i < out->nallow; i++)
		for (size_t j = 0; j < out->allow[i].nhost; j++)
			(void)each_wider(&inner->allow, &out->allow[i],
			    &out->allow[i].host[j], mark_common, is_left);
	for (size_t i = 0; i < in->nallow; i++)
		if (!is_left[i] && in->allow[i].nhost > 0)
			node_warn(t, in->allow[i].node, rep, "never_wins", NULL,
			    "this rule can never win: the layer outside, %s, allows none "
			    "of it",
			    out->name);
	free(is_left);
}

/* ---- who injects */

static bool
find_injector(
    const struct rule *r, const struct rule_host *h, const struct entry *other, void *arg)
{
	const struct rule **by = arg;

	(void)h;
	if (r->inject == NULL || other->rule->inject == NULL ||
	    !share_ports(r, other->rule, false))
		return false;
	*by = other->rule;
	return true;
}

/* Both for one host, whichever names it more narrowly. */
static bool
inject_both(const struct layer *a, const struct layer *b, const struct rule **of_b)
{
	const struct rule *found;

	for (size_t i = 0; i < a->model->nallow; i++)
		for (size_t k = 0; k < a->model->allow[i].nhost; k++)
			if (each_wider(&b->allow, &a->model->allow[i],
				&a->model->allow[i].host[k], find_injector, of_b))
				return true;
	for (size_t i = 0; i < b->model->nallow; i++)
		for (size_t k = 0; k < b->model->allow[i].nhost; k++)
			if (each_wider(&a->allow, &b->model->allow[i],
				&b->model->allow[i].host[k], find_injector, &found)) {
				*of_b = &b->model->allow[i];
				return true;
			}
	return false;
}

void
clash_check_injects(const struct tree *t, const struct layer *inner,
    const struct layer *outer, struct report *rep)
{
	const struct rule *r = NULL;

	if (inject_both(outer, inner, &r))
		node_error(t, r->node, rep, "inject_twice",
		    "leave inject to one of the layers",
		    "the layer outside, %s, injects for a host of this rule, too",
		    outer->model->name);
}

/* ---- metered hosts */

static void
check_host(const struct tree *t, const struct rule_host *h, const struct metered *m,
    struct report *rep)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct pattern *p = &m->p[i].pattern;

		if (pattern_covers(p, &h->pattern)) {
			node_error(t, h->node, rep, "metered_host", NULL,
			    "this is a model provider's host, and only the gateway "
			    "reaches it: %s",
			    m->p[i].where);
			return;
		}
		if (pattern_covers(&h->pattern, p)) {
			node_warn(t, h->node, rep, "metered_host", NULL,
			    "a model provider's host (%.*s) is among these; it stays "
			    "closed, and only the gateway reaches it",
			    STR_ARG(p->base));
			return;
		}
	}
}

void
clash_check_metered(const struct tree *t, const struct layer *l, const struct metered *m,
    struct report *rep)
{
	if (m == NULL || m->n == 0)
		return;
	for (size_t i = 0; i < l->model->nallow; i++)
		for (size_t k = 0; k < l->model->allow[i].nhost; k++)
			check_host(t, &l->model->allow[i].host[k], m, rep);
}
