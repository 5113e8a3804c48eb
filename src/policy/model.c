/*
 * model.c - one policy file -> named rules, checked, each with its place
 */
#include "policy/model.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define ARENA_MAX \
	((size_t)4 << 30) /* of a 16 MiB file; only a bound on our own mistakes */
#define PROTOCOLS 3

struct building {
	struct model *m;
	const struct tree *t;
	struct rule_source in;
};

static void *
room(struct building *b, size_t count, size_t size)
{
	void *p = arena_zalloc(&b->m->arena, (count == 0 ? 1 : count) * size);

	assert(p != NULL);
	return p;
}

static struct str
keep(struct building *b, struct str s)
{
	struct str copy = arena_str(&b->m->arena, s);

	assert(copy.p != NULL);
	return copy;
}

/* "policies/agent.yaml" -> "agent" */
static struct str
stem_of(const char *path)
{
	struct str s = str_of(path);
	size_t at;

	if (str_rfind(s, '/', &at))
		s = str_sub(s, at + 1, s.n);
	if (str_rfind(s, '.', &at) && at > 0)
		s = str_sub(s, 0, at);
	return s;
}

static void
read_policy_name(struct building *b, const struct node *root, const char *name)
{
	const struct node *n = node_get(root, "policy");
	struct str s = stem_of(name);

	if (n != NULL && node_str(b->t, n, b->in.rep, &s) && (s.n == 0 || s.n > 128))
		node_error(b->t, n, b->in.rep, "bad_text", NULL,
		    "a policy's name has 1 to 128 bytes");
	b->m->name = keep(b, s).p;
}

static void
read_mode(struct building *b, const struct node *root)
{
	const struct node *n = node_get(root, "mode");
	struct str s;

	if (n == NULL || !node_str(b->t, n, b->in.rep, &s))
		return;
	if (str_eq(s, STR("report"))) {
		b->m->is_report = true;
		if (!b->in.terms->is_report_ok)
			node_error(b->t, n, b->in.rep, "report_mode",
			    "write mode: enforce, or allow_report: true in weir.yaml",
			    "a policy that only reports lets through what it would "
			    "refuse, "
			    "which production: true does not allow");
		else
			node_warn(b->t, n, b->in.rep, "only_reports",
			    "write mode: enforce once its records are as they should be",
			    "this policy refuses nothing by its lists: what they would "
			    "refuse is only recorded");
	} else if (!str_eq(s, STR("enforce"))) {
		node_error(b->t, n, b->in.rep, "bad_value", "write enforce or report",
		    "\"%.*s\" is no mode", STR_ARG(s));
	}
}

/* ---- the short form */

struct short_form {
	const struct node *node, *hosts;
	bool is_deny_all;
	unsigned protocols;
};

static void
read_short_protocols(struct building *b, const struct node *n, struct short_form *f)
{
	enum protocol p;
	struct str s;

	f->protocols = PROTOCOL_HTTPS;
	if (n == NULL)
		return;
	f->protocols = 0;
	if (rule_list(&b->in, n) == 0)
		return;
	for (const struct node *at = n->child; at != NULL; at = at->next) {
		if (!node_str(b->t, at, b->in.rep, &s))
			continue;
		if (!rule_protocol_parse(&p, s))
			node_error(b->t, at, b->in.rep, "bad_value",
			    "write \"https:\" or \"http:\"",
			    "\"%.*s\" is no protocol weir knows", STR_ARG(s));
		else if (p == PROTOCOL_TCP)
			node_error(b->t, at, b->in.rep, "tcp_needs_ports",
			    "write an allow rule with protocol: tcp and ports",
			    "a tcp rule must name its ports, which the short form "
			    "cannot");
		else
			f->protocols |= p;
	}
}

static void
read_short_mode(struct building *b, const struct node *n, struct short_form *f)
{
	struct str s;

	f->is_deny_all = true; /* until it says otherwise */
	if (n == NULL) {
		node_error(b->t, f->node, b->in.rep, "missing_key",
		    "add mode: allowlist or mode: deny-all", "network must say its mode");
		return;
	}
	if (!node_str(b->t, n, b->in.rep, &s))
		return;
	if (str_eq(s, STR("allowlist")))
		f->is_deny_all = false;
	else if (!str_eq(s, STR("deny-all")))
		node_error(b->t, n, b->in.rep, "bad_value", "write allowlist or deny-all",
		    "\"%.*s\" is no mode of network", STR_ARG(s));
}

static void
check_deny_all(struct building *b, const struct node *root, const struct short_form *f)
{
	const struct node *allow = node_get(root, "allow");

	if (!f->is_deny_all || node_get(f->node, "mode") == NULL)
		return;
	if (f->hosts != NULL && f->hosts->n > 0)
		node_key_error(b->t, f->hosts, b->in.rep, "deny_all_with_hosts",
		    "write mode: allowlist, or take the hosts out",
		    "deny-all leaves no host allowed");
	if (allow != NULL && allow->n > 0)
		node_key_error(b->t, allow, b->in.rep, "deny_all_with_rules",
		    "take network out, or the allow rules",
		    "deny-all leaves nothing for allow rules");
}

static void
read_short_form(struct building *b, const struct node *root, struct short_form *f)
{
	static const char *const known[] = { "mode", "protocols", "hosts", "resolveDns" };
	const struct node *n;
	bool ignored;

	*f = (struct short_form){ .node = node_get(root, "network") };
	if (f->node == NULL || !node_is(b->t, f->node, b->in.rep, NODE_BLOCK)) {
		f->node = NULL;
		return;
	}
	node_check_keys(
	    b->t, f->node, b->in.rep, known, sizeof(known) / sizeof(known[0]));
	if ((n = node_get(f->node, "resolveDns")) !=
	    NULL) /* weir always resolves itself */
		(void)node_bool(b->t, n, b->in.rep, &ignored);
	f->hosts = node_get(f->node, "hosts");
	read_short_protocols(b, node_get(f->node, "protocols"), f);
	read_short_mode(b, node_get(f->node, "mode"), f);
	check_deny_all(b, root, f);
}

static void
add_short_rules(struct building *b, const struct short_form *f)
{
	if (f->node == NULL || f->is_deny_all)
		return;
	for (unsigned p = PROTOCOL_HTTP; p <= PROTOCOL_TCP; p <<= 1)
		if (f->protocols & p)
			rule_read_short(&b->m->allow[b->m->nallow++], &b->in, f->node,
			    f->hosts, (enum protocol)p);
}

/* ---- rules */

static void
add_allow_rules(struct building *b, const struct node *n)
{
	size_t i = 0;

	if (rule_list(&b->in, n) > 0)
		for (const struct node *at = n->child; at != NULL; at = at->next)
			rule_read(&b->m->allow[b->m->nallow++], &b->in, at, false, i++);
}

static bool
is_behind(const struct mark *a, const struct mark *b)
{
	return a->line > b->line || (a->line == b->line && a->column > b->column);
}

static void
read_allow(struct building *b, const struct node *root)
{
	const struct node *n = node_get(root, "allow");
	struct short_form f;
	bool is_short_last;

	read_short_form(b, root, &f);
	b->m->allow = room(b, PROTOCOLS + (n == NULL ? 0 : n->n), sizeof(*b->m->allow));
	is_short_last =
	    n != NULL && f.node != NULL && is_behind(&f.node->key_mark, &n->key_mark);
	if (!is_short_last) /* the order in the file is the order of decision */
		add_short_rules(b, &f);
	if (n != NULL)
		add_allow_rules(b, n);
	if (is_short_last)
		add_short_rules(b, &f);
	for (size_t i = 0; i < b->m->nallow; i++)
		b->m->allow[i].order = i;
	if (b->m->nallow == 0 && !(f.node != NULL && f.is_deny_all))
		node_warn(b->t, root, b->in.rep, "empty_policy",
		    "write allow rules, or network: { mode: deny-all } if that is meant",
		    "this policy allows nothing");
}

static void
read_deny(struct building *b, const struct node *root)
{
	const struct node *n = node_get(root, "deny");
	size_t count = n == NULL ? 0 : rule_list(&b->in, n);

	b->m->deny = room(b, count, sizeof(*b->m->deny));
	for (const struct node *at = count == 0 ? NULL : n->child; at != NULL;
	     at = at->next) {
		struct rule *r = &b->m->deny[b->m->ndeny];
		rule_read(r, &b->in, at, true, b->m->ndeny);
		r->order = b->m->ndeny++;
	}
}

static void
check_names(struct building *b, const struct rule *rule, size_t n, struct map *seen)
{
	for (size_t i = 0; i < n; i++) {
		const struct rule *r = &rule[i];
		const struct rule *before;

		if (!r->has_name)
			continue;
		before = map_put(seen, str_of(r->name), (void *)(uintptr_t)r);
		if (before != NULL)
			node_error(b->t, node_get(r->node, "name"), b->in.rep,
			    "duplicate_name", "give each rule a name of its own",
			    "the rule at line %zu has that name too",
			    before->node->mark.line);
	}
}

/* ---- the policy's own tests */

static void
read_request(struct building *b, const struct node *n, struct expectation *e)
{
	struct str text, method = STR_NONE, target;
	bool is_url, is_connect;
	size_t at;

	if (!node_str(b->t, n, b->in.rep, &text))
		return;
	target = text = str_trim(text);
	if (str_find(text, ' ', &at)) {
		method = str_sub(text, 0, at);
		target = str_trim(str_sub(text, at + 1, text.n));
	}
	is_url = memmem(target.p, target.n, "://", 3) != NULL;
	is_connect = method.n == 0 || str_eq(method, STR("CONNECT"));
	if (!is_url && (!is_connect || !str_find(target, ':', &at)))
		node_error(b->t, n, b->in.rep, "bad_expect",
		    "write GET https://host/path, or host:port for a CONNECT",
		    "\"%.*s\" is no request", STR_ARG(text));
	e->method = keep(b, method);
	e->target = keep(b, target);
}

static void
read_expected_reason(struct building *b, const struct node *n, struct expectation *e)
{
	const char *name[REASON_N], *near;
	char hint[96] = "they are listed in weir-policy(5)";
	struct str s;

	if (!node_str(b->t, n, b->in.rep, &s))
		return;
	if (e->allow)
		node_key_error(
		    b->t, n, b->in.rep, "bad_expect", NULL, "only a denial has a reason");
	for (int r = 0; r < REASON_N; r++)
		name[r] = reason_row((enum reason)r)->name;
	if ((e->reason = reason_find(s)) != REASON_NONE)
		return;
	near = report_suggest(s, name, REASON_N);
	if (near != NULL)
		snprintf(hint, sizeof(hint), "did you mean \"%s\"?", near);
	node_error(b->t, n, b->in.rep, "bad_value", hint, "there is no reason \"%.*s\"",
	    STR_ARG(s));
}

static void
read_fault(struct building *b, const struct node *n, struct expectation *e)
{
	struct str s;

	if (!node_str(b->t, n, b->in.rep, &s))
		return;
	if (str_eq(s, STR("timeout")))
		e->dns_error = REASON_DNS_TIMEOUT;
	else if (str_eq(s, STR("nxdomain")) || str_eq(s, STR("servfail")))
		e->dns_error = REASON_DNS_FAILED;
	else
		node_error(b->t, n, b->in.rep, "bad_value",
		    "write a list of addresses, or nxdomain, servfail or timeout",
		    "\"%.*s\" is no answer of DNS", STR_ARG(s));
}

static void
read_answers(struct building *b, const struct node *n, struct expectation *e)
{
	size_t count;
	struct str s;

	if (n->type == NODE_SCALAR && !node_is_null(n)) {
		read_fault(b, n, e);
		return;
	}
	count = rule_list(&b->in, n);
	e->has_answers = true;
	e->answer = room(b, count, sizeof(*e->answer));
	for (const struct node *at = count == 0 ? NULL : n->child; at != NULL;
	     at = at->next) {
		if (!node_str(b->t, at, b->in.rep, &s))
			continue;
		if (addr_parse(&e->answer[e->nanswer], s))
			e->nanswer++;
		else
			node_error(b->t, at, b->in.rep, "bad_value", NULL,
			    "\"%.*s\" is no address", STR_ARG(s));
	}
}

static void
read_expectation(struct building *b, const struct node *n, struct expectation *e)
{
	static const char *const known[] = { "allow", "deny", "reason", "answers" };
	const struct node *allow, *deny, *at;

	e->node = n;
	if (!node_is(b->t, n, b->in.rep, NODE_BLOCK))
		return;
	node_check_keys(b->t, n, b->in.rep, known, sizeof(known) / sizeof(known[0]));
	allow = node_get(n, "allow");
	deny = node_get(n, "deny");
	if ((allow == NULL) == (deny == NULL)) {
		node_error(b->t, n, b->in.rep, "bad_expect", NULL,
		    "an expectation is either allow: REQUEST or deny: REQUEST");
		return;
	}
	e->allow = allow != NULL;
	read_request(b, e->allow ? allow : deny, e);
	if ((at = node_get(n, "reason")) != NULL)
		read_expected_reason(b, at, e);
	if ((at = node_get(n, "answers")) != NULL)
		read_answers(b, at, e);
}

static void
read_expect(struct building *b, const struct node *root)
{
	const struct node *n = node_get(root, "expect");
	size_t count = n == NULL ? 0 : rule_list(&b->in, n);

	b->m->expect = room(b, count, sizeof(*b->m->expect));
	for (const struct node *at = count == 0 ? NULL : n->child; at != NULL;
	     at = at->next)
		read_expectation(b, at, &b->m->expect[b->m->nexpect++]);
}

struct model *
model_build(const struct tree *t, const char *name, bool is_inline,
    const struct ruleset_terms *terms, struct report *rep)
{
	static const char *const known[] = { "policy", "mode", "network", "allow", "deny",
		"expect" };
	struct model *m = mem_zalloc(sizeof(*m));
	struct building b = { m, t, { t, terms, &m->arena, rep, name, is_inline } };
	struct map seen;

	arena_init(&m->arena, ARENA_MAX);
	read_policy_name(&b, t->root, name);
	if (node_get(t->root, "policies") != NULL ||
	    node_get(t->root, "listen") != NULL) {
		node_error(t, t->root, rep, "not_a_policy",
		    "a configuration is named with -c: weir check -c FILE",
		    "this is a configuration, not a policy");
		return m;
	}
	node_check_keys(t, t->root, rep, known, sizeof(known) / sizeof(known[0]));
	read_mode(&b, t->root);
	read_allow(&b, t->root);
	read_deny(&b, t->root);
	read_expect(&b, t->root);
	map_init(&seen);
	check_names(&b, m->allow, m->nallow, &seen);
	check_names(&b, m->deny, m->ndeny, &seen);
	map_fini(&seen, NULL);
	return m;
}

void
model_free(struct model *m)
{
	if (m == NULL)
		return;
	arena_fini(&m->arena);
	free(m);
}
