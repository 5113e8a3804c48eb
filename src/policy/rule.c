/*
 * rule.c - one allow or deny rule: read, checked by itself, asked
 */
#include "policy/rule.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/guard.h"
#include "policy/inject.h"
#include "policy/punycode.h"

#define TEXT_MAX 200 /* names and whys go into answers and records */
#define METHOD_MAX 32

static void *
room(const struct rule_source *in, size_t count, size_t size)
{
	void *p = arena_zalloc(in->arena, (count == 0 ? 1 : count) * size);

	assert(p != NULL); /* the arena is sized for the largest policy file */
	return p;
}

static struct str
keep(const struct rule_source *in, struct str s)
{
	struct str copy = arena_str(in->arena, s);

	assert(copy.p != NULL);
	return copy;
}

size_t
rule_list(const struct rule_source *in, const struct node *n)
{
	if (n == NULL || node_is_null(n) || !node_is(in->tree, n, in->rep, NODE_LIST))
		return 0;
	return n->n;
}

static const char *
read_text(const struct rule_source *in, const struct node *n)
{
	struct str s;

	if (!node_str(in->tree, n, in->rep, &s))
		return NULL;
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x20) {
			node_error(in->tree, n, in->rep, "bad_text", NULL,
			    "\"%.*s\" must be one line", STR_ARG(n->key));
			return NULL;
		}
	if (s.n == 0 || s.n > TEXT_MAX) {
		node_error(in->tree, n, in->rep, "bad_text", NULL,
		    "\"%.*s\" must have 1 to %d bytes", STR_ARG(n->key), TEXT_MAX);
		return NULL;
	}
	return keep(in, s).p;
}

/* One word of a closed set; its index, or -1 after reporting, with `more` as a hint. */
static int
read_word_or(const struct rule_source *in, const struct node *n, const char *const *word,
    size_t nword, const char *more)
{
	struct str s;
	struct buf hint;

	if (!node_str(in->tree, n, in->rep, &s))
		return -1;
	for (size_t i = 0; i < nword; i++)
		if (str_eq(s, str_of(word[i])))
			return (int)i;
	buf_init(&hint, 1024);
	for (size_t i = 0; i < nword; i++)
		buf_fmt(&hint, "%s%s",
		    i == 0           ? "write "
		    : i + 1 == nword ? " or "
				     : ", ",
		    word[i]);
	buf_text(&hint, more);
	node_error(in->tree, n, in->rep, "bad_value", buf_cstr(&hint),
	    "\"%.*s\" is none of the words this key takes", STR_ARG(s));
	buf_fini(&hint);
	return -1;
}

static int
read_word(const struct rule_source *in, const struct node *n, const char *const *word,
    size_t nword)
{
	return read_word_or(in, n, word, nword, "");
}

/* ---- hosts */

static void
report_pattern(const struct rule_source *in, const struct node *n, struct str text,
    enum pattern_error err, enum host_error host_error)
{
	static const char *const code[] = {
		[PATTERN_STAR] = "bad_star",
		[PATTERN_DOT] = "leading_dot",
		[PATTERN_UNICODE] = "unicode_host",
		[PATTERN_CIDR] = "bad_range",
		[PATTERN_URL] = "host_invalid",
		[PATTERN_LITERAL] = "bad_star",
		[PATTERN_HOST] = "host_invalid",
	};
	struct buf ascii;
	char hint[320];

	if (err != PATTERN_UNICODE) {
		node_error(in->tree, n, in->rep, code[err], pattern_error_hint(err),
		    "\"%.*s\" is no host, pattern or address%s%s", STR_ARG(text),
		    err == PATTERN_HOST ? ": " : "",
		    err == PATTERN_HOST ? host_error_text(host_error) : "");
		return;
	}
	buf_init(&ascii, sizeof(hint) - 16);
	if (punycode_name(&ascii, text))
		snprintf(hint, sizeof(hint), "write %s", buf_cstr(&ascii));
	else
		snprintf(hint, sizeof(hint), "write its ASCII form (xn--...)");
	node_error(in->tree, n, in->rep, code[err], hint,
	    "\"%.*s\" is not ASCII, and two readers may take it for two names",
	    STR_ARG(text));
	buf_fini(&ascii);
}

static void
read_one_host(const struct rule_source *in, const struct node *n, struct rule *r)
{
	struct rule_host *h = &r->host[r->nhost];
	struct str text;
	enum pattern_error err;
	enum host_error host_error;

	if (!node_str(in->tree, n, in->rep, &text))
		return;
	err = pattern_parse(&h->pattern, text, in->arena, &host_error);
	if (err != PATTERN_OK) {
		report_pattern(in, n, text, err, host_error);
		return;
	}
	h->node = n;
	if (r->nhost > 0 && (h->pattern.kind == PATTERN_RANGE) !=
				(r->host[0].pattern.kind == PATTERN_RANGE)) {
		node_error(in->tree, n, in->rep, "mixed_hosts", "write two rules",
		    "names and addresses may not be mixed in one rule");
		return;
	}
	r->nhost++;
}

static void
read_host(const struct rule_source *in, const struct node *n, struct rule *r)
{
	size_t count = n->type == NODE_SCALAR && !node_is_null(n) ? 1 : rule_list(in, n);

	r->host = room(in, count, sizeof(*r->host));
	if (n->type == NODE_SCALAR && count == 1)
		read_one_host(in, n, r);
	else if (count > 0)
		for (const struct node *at = n->child; at != NULL; at = at->next)
			read_one_host(in, at, r);
}

/* ---- the other keys */

static const char *const protocol_words[] = { "http", "https", "tcp" };
static const enum protocol protocol_of[] = { PROTOCOL_HTTP, PROTOCOL_HTTPS,
	PROTOCOL_TCP };

bool
rule_protocol_parse(enum protocol *out, struct str text)
{
	if (str_ends(text, STR(":")))
		text = str_sub(text, 0, text.n - 1);
	for (size_t i = 0; i < 3; i++)
		if (str_eq(text, str_of(protocol_words[i]))) {
			*out = protocol_of[i];
			return true;
		}
	return false;
}

static bool
is_websocket_scheme(const struct node *n)
{
	static const char *const words[] = { "ws", "wss", "websocket" };

	for (size_t i = 0; i < 3; i++)
		if (n->type == NODE_SCALAR && str_eq(n->text, str_of(words[i])))
			return true;
	return false;
}

static void
read_one_protocol(const struct rule_source *in, const struct node *n, struct rule *r)
{
	int i = read_word_or(in, n, protocol_words, 3,
	    is_websocket_scheme(n) ? "; a websocket is upgrade: [websocket]" : "");

	if (i >= 0)
		r->protocols |= protocol_of[i];
}

static void
read_protocol(const struct rule_source *in, const struct node *n, struct rule *r)
{
	r->protocols = 0;
	if (n->type == NODE_SCALAR && !node_is_null(n))
		read_one_protocol(in, n, r);
	else if (rule_list(in, n) > 0)
		for (const struct node *at = n->child; at != NULL; at = at->next)
			read_one_protocol(in, at, r);
}

static void
read_ports(const struct rule_source *in, const struct node *n, struct rule *r)
{
	size_t count = rule_list(in, n);
	struct ports *port = room(in, count, sizeof(*port));
	struct str text;

	r->has_ports = true;
	r->port = port;
	for (const struct node *at = count == 0 ? NULL : n->child; at != NULL;
	     at = at->next) {
		if (!node_str(in->tree, at, in->rep, &text))
			continue;
		if (ports_parse(&port[r->nport], text))
			r->nport++;
		else
			node_error(in->tree, at, in->rep, "bad_port",
			    "write 443, or \"9000-9020\" for a range",
			    "\"%.*s\" is no port from 1 to 65535", STR_ARG(text));
	}
}

static bool
is_lower_word(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < 'a' || s.p[i] > 'z')
			return false;
	return true;
}

static bool
is_method_word(struct str method)
{
	return method.n <= METHOD_MAX && http_is_token(method) &&
	       !str_eq(method, STR("*"));
}

bool
rule_can_name_method(struct str method)
{
	return is_method_word(method) && !is_lower_word(method);
}

static bool
is_method_ok(
    const struct rule_source *in, const struct node *n, struct str method, bool is_deny)
{
	static const char *const never[] = { "CONNECT", "TRACE", "TRACK" };

	if (!is_method_word(method)) {
		node_error(in->tree, n, in->rep, "bad_method",
		    str_eq(method, STR("*")) ? "leave the key out to mean every method"
					     : NULL,
		    "\"%.*s\" is no method", STR_ARG(method));
		return false;
	}
	if (is_lower_word(method)) {
		node_error(in->tree, n, in->rep, "bad_method",
		    "methods are written in capitals",
		    "\"%.*s\" is no method: case counts", STR_ARG(method));
		return false;
	}
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]) && !is_deny; i++)
		if (str_eq(method, str_of(never[i]))) {
			node_error(in->tree, n, in->rep, "bad_method", NULL,
			    "%s never passes as a request", never[i]);
			return false;
		}
	return true;
}

static void
read_methods(const struct rule_source *in, const struct node *n, struct rule *r)
{
	size_t count = rule_list(in, n);
	struct str *method = room(in, count + 1, sizeof(*method));
	bool has_get = false, has_head = false;
	struct str text;

	r->has_methods = true;
	r->method = method;
	for (const struct node *at = count == 0 ? NULL : n->child; at != NULL;
	     at = at->next) {
		if (!node_str(in->tree, at, in->rep, &text) ||
		    !is_method_ok(in, at, text, r->is_deny))
			continue;
		method[r->nmethod++] = keep(in, text);
		has_get |= str_eq(text, STR("GET"));
		has_head |= str_eq(text, STR("HEAD"));
	}
	if (has_get && !has_head)
		method[r->nmethod++] = STR("HEAD");
}

static void
read_paths(const struct rule_source *in, const struct node *n, struct rule *r)
{
	size_t count = rule_list(in, n);
	struct str *path = room(in, count, sizeof(*path));
	struct str text;

	r->has_paths = true;
	r->path = path;
	for (const struct node *at = count == 0 ? NULL : n->child; at != NULL;
	     at = at->next) {
		if (!node_str(in->tree, at, in->rep, &text))
			continue;
		if (path_pattern_is_valid(text))
			path[r->npath++] = keep(in, text);
		else
			node_error(in->tree, at, in->rep, "bad_path",
			    "a path begins with /, has no query, no . or .. segment, no "
			    "//, ; or \\, "
			    "and encodes nothing that needs no encoding",
			    "\"%.*s\" is no path that a request may have", STR_ARG(text));
	}
}

static void
check_private(const struct rule_source *in, const struct node *n, const struct prefix *p)
{
	static const struct prefix all_v4 = V4_PREFIX(0, 0, 0, 0, 0);

	if (prefix_covers(p, &all_v4) || p->len == 0)
		node_error(in->tree, n, in->rep, "private_everything",
		    "list the ranges that are meant",
		    "a range of all addresses would switch the guard off");
	else if (guard_touches_metadata(p))
		node_error(in->tree, n, in->rep, "private_metadata",
		    "leave it out of the range, or write metadata: true on a rule for "
		    "that host",
		    "the range holds a cloud metadata address");
	else if (in->terms->is_production && guard_touches_loopback(p))
		node_error(in->tree, n, in->rep, "private_loopback", NULL,
		    "the range touches loopback or link-local addresses, which "
		    "production: true "
		    "keeps closed");
}

static void
read_private(const struct rule_source *in, const struct node *n, struct rule *r)
{
	size_t count = rule_list(in, n);
	struct prefix *private = room(in, count, sizeof(*private));
	struct addr one;
	struct str text;

	r->private = private;
	for (const struct node *at = count == 0 ? NULL : n->child; at != NULL;
	     at = at->next) {
		if (!node_str(in->tree, at, in->rep, &text))
			continue;
		if (addr_parse(&one, text)) {
			private[r->nprivate] = (struct prefix){ one, 128 };
		} else if (!prefix_parse(&private[r->nprivate], text)) {
			node_error(in->tree, at, in->rep, "bad_range",
			    pattern_error_hint(PATTERN_CIDR),
			    "\"%.*s\" is no range of addresses", STR_ARG(text));
			continue;
		}
		check_private(in, at, &private[r->nprivate++]);
	}
}

static void
read_upgrade(const struct rule_source *in, const struct node *n, struct rule *r)
{
	static const char *const words[] = { "websocket" };

	if (rule_list(in, n) > 0)
		for (const struct node *at = n->child; at != NULL; at = at->next)
			r->has_websocket |= read_word(in, at, words, 1) == 0;
}

static void
read_ech(const struct rule_source *in, const struct node *n, struct rule *r)
{
	static const char *const words[] = { "refuse", "allow" };

	r->has_ech = read_word(in, n, words, 2) == 1;
}

static void
read_assurance(const struct rule_source *in, const struct node *n, struct rule *r)
{
	static const char *const words[] = { "name", "address", "sni", "origin", "host" };
	int i = read_word(in, n, words, 5);

	if (i >= 0)
		r->assurance = (enum assurance)i;
}

static struct inject_source
injecting(const struct rule_source *in)
{
	return (struct inject_source){
		.tree = in->tree,
		.arena = in->arena,
		.settings = in->terms->settings,
		.rep = in->rep,
	};
}

static void
read_inject(const struct rule_source *in, const struct node *n, struct rule *r)
{
	const struct inject_source source = injecting(in);

	r->inject = inject_read(&source, n);
}

static void
read_max_body(const struct rule_source *in, const struct node *n, struct rule *r)
{
	(void)node_size(in->tree, n, in->rep, &r->max_body);
}

static void
read_dlp(const struct rule_source *in, const struct node *n, struct rule *r)
{
	static const char *const words[] = { "mark", "block" };
	int i = read_word(in, n, words, 2);

	if (i >= 0)
		r->dlp = i == 0 ? DLP_MARK : DLP_BLOCK;
}

static void
read_upload(const struct rule_source *in, const struct node *n, struct rule *r)
{
	if (node_size(in->tree, n, in->rep, &r->upload) && r->upload == 0)
		node_error(in->tree, n, in->rep, "bad_value",
		    "leave the key out for no limit, or the rule for nothing",
		    "an upload of nothing would let no request through");
}

static void
read_metadata(const struct rule_source *in, const struct node *n, struct rule *r)
{
	(void)node_bool(in->tree, n, in->rep, &r->metadata);
}

static void
read_broad(const struct rule_source *in, const struct node *n, struct rule *r)
{
	(void)node_bool(in->tree, n, in->rep, &r->is_broad);
}

static void
read_why(const struct rule_source *in, const struct node *n, struct rule *r)
{
	r->why = read_text(in, n);
}

static void
read_name(const struct rule_source *in, const struct node *n, struct rule *r)
{
	const char *name = read_text(in, n);

	if (name != NULL) {
		r->name = name;
		r->has_name = true;
	}
}

struct rule_key {
	const char *name;
	void (*read)(const struct rule_source *in, const struct node *n, struct rule *r);
};

static const struct rule_key allow_keys[] = {
	{ "name", read_name },
	{ "host", read_host },
	{ "protocol", read_protocol },
	{ "ports", read_ports },
	{ "methods", read_methods },
	{ "paths", read_paths },
	{ "private", read_private },
	{ "max_body", read_max_body },
	{ "upload", read_upload },
	{ "dlp", read_dlp },
	{ "upgrade", read_upgrade },
	{ "ech", read_ech },
	{ "assurance", read_assurance },
	{ "inject", read_inject },
	{ "metadata", read_metadata },
	{ "broad", read_broad },
};

static const struct rule_key deny_keys[] = {
	{ "name", read_name },
	{ "host", read_host },
	{ "ports", read_ports },
	{ "methods", read_methods },
	{ "paths", read_paths },
	{ "why", read_why },
};

#define KEYS_MAX (sizeof(allow_keys) / sizeof(allow_keys[0]))

static void
read_keys(const struct rule_source *in, const struct node *block, struct rule *r,
    const struct rule_key *key, size_t nkey)
{
	const char *known[KEYS_MAX];

	for (size_t i = 0; i < nkey; i++) {
		const struct node *n = node_get(block, key[i].name);
		known[i] = key[i].name;
		if (n != NULL)
			key[i].read(in, n, r);
	}
	node_check_keys(in->tree, block, in->rep, known, nkey);
}

/* ---- what one rule's keys may not say together */

static void
check_sight(const struct rule_source *in, const struct rule *r)
{
	static const char *const keys[] = { "methods", "paths", "max_body", "inject",
		"assurance", "dlp" };

	if (!(r->protocols & PROTOCOL_HTTPS) || in->terms->opens_tls)
		return;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct node *n = node_get(r->node, keys[i]);
		if (n == NULL || (i == 4 && r->assurance != ASSURE_HOST))
			continue;
		node_key_error(in->tree, n, in->rep, "needs_sight",
		    "write tls.intercept in weir.yaml (`weir ca init` makes the CA), "
		    "leave the key out, or write it in a rule with protocol: http",
		    "over https \"%s\" needs sight of the request, and nothing here "
		    "opens TLS",
		    keys[i]);
	}
}

static void
check_inject(const struct rule_source *in, const struct rule *r)
{
	const struct inject_source source = injecting(in);

	if (r->inject == NULL)
		return;
	if (r->protocols != PROTOCOL_HTTPS)
		node_error(in->tree, r->node, in->rep, "inject_needs_tls",
		    "write protocol: https",
		    "a credential goes to an origin over TLS only");
	if (r->has_websocket)
		node_error(in->tree, r->node, in->rep, "bad_inject",
		    "leave upgrade out, or inject by another rule",
		    "what comes back over a websocket cannot be looked through for the "
		    "credential");
	for (size_t i = 0; i < r->nhost; i++)
		inject_check_host(&source, r->inject, &r->host[i].pattern);
}

static void
check_tcp(const struct rule_source *in, const struct rule *r)
{
	static const char *const keys[] = { "methods", "paths", "max_body", "inject",
		"upgrade", "ech", "dlp" };

	if (!(r->protocols & PROTOCOL_TCP))
		return;
	if (!r->has_ports)
		node_error(in->tree, r->node, in->rep, "tcp_needs_ports",
		    "add ports: [...] to the rule", "a tcp rule must name its ports");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct node *n = node_get(r->node, keys[i]);
		if (n != NULL)
			node_key_error(in->tree, n, in->rep, "tcp_is_opaque", NULL,
			    "\"%s\" cannot hold for tcp, which is relayed unread",
			    keys[i]);
	}
	if (r->assurance > ASSURE_ADDRESS)
		node_warn(in->tree, r->node, in->rep, "never_wins",
		    "write assurance: address",
		    "tcp is bound by address only, so this rule lets nothing through");
}

static void
check_ports(const struct rule_source *in, const struct rule *r)
{
	if (r->has_ports && (r->protocols & (r->protocols - 1)) != 0)
		node_key_error(in->tree, node_get(r->node, "ports"), in->rep,
		    "ports_of_one_protocol", "write two rules, one for each protocol",
		    "with ports a rule may have one protocol only");
}

static void
check_broad(const struct rule_source *in, const struct rule *r)
{
	for (size_t i = 0; i < r->nhost; i++) {
		const struct rule_host *h = &r->host[i];
		const char *why = pattern_broad_why(&h->pattern);

		if (why == NULL && pattern_is_wildcard(&h->pattern) &&
		    (r->nprivate > 0 || r->metadata))
			why = "it opens closed addresses for every name that fits";
		if (why == NULL && pattern_is_wildcard(&h->pattern) && r->inject != NULL)
			why = "a credential goes to every name that fits";
		if (why == NULL)
			continue;
		if (r->is_broad)
			node_warn(in->tree, h->node, in->rep, "broad", NULL,
			    "this pattern is broad: %s", why);
		else
			node_error(in->tree, h->node, in->rep, "broad",
			    r->is_short
				? "write an allow rule with broad: true, or name the "
				  "hosts"
				: "add broad: true if that is meant, or name the hosts",
			    "this pattern is broad: %s", why);
	}
}

/* An empty list lets nothing fit: what is refused by it is fine, what is denied by it is
 * not. */
static void
check_empty(const struct rule_source *in, const struct rule *r)
{
	const struct {
		const char *key;
		bool is_empty;
	} list[] = {
		{ "host", r->nhost == 0 },
		{ "ports", r->has_ports && r->nport == 0 },
		{ "methods", r->has_methods && r->nmethod == 0 },
		{ "paths", r->has_paths && r->npath == 0 },
		{ "protocol", r->protocols == 0 },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		const struct node *n = node_get(r->node, list[i].key);
		if (!list[i].is_empty || n == NULL || n->n > 0 || n->type == NODE_BLOCK ||
		    (n->type == NODE_SCALAR && !node_is_null(n)))
			continue;
		if (r->is_deny)
			node_key_error(in->tree, n, in->rep, "empty_list",
			    "leave the key out to deny all",
			    "an empty list denies nothing");
		else
			node_warn(in->tree, n, in->rep, "empty_list", NULL,
			    "an empty list: this rule lets nothing through");
	}
}

static void
check_metadata(const struct rule_source *in, const struct rule *r)
{
	for (size_t i = 0; i < r->nhost && !r->metadata && !r->is_deny; i++)
		if (r->host[i].pattern.is_one_address &&
		    guard_is_metadata(&r->host[i].pattern.prefix.addr))
			node_warn(in->tree, r->host[i].node, in->rep, "never_wins",
			    "add metadata: true if that is meant",
			    "a cloud metadata address stays closed without metadata: "
			    "true");
}

/* ---- whole rules */

static void
set_opens(const struct rule_source *in, struct rule *r)
{
	for (size_t i = 0; i < r->nhost; i++) {
		struct rule_host *h = &r->host[i];
		struct prefix *opens;

		h->opens = r->private;
		h->nopens = r->nprivate;
		if (!h->pattern.is_one_address)
			continue;
		opens = room(in, r->nprivate + 1, sizeof(*opens));
		opens[0] = h->pattern.prefix;
		for (size_t j = 0; j < r->nprivate; j++)
			opens[j + 1] = r->private[j];
		h->opens = opens;
		h->nopens = r->nprivate + 1;
	}
}

static const char *
label_of(const struct rule_source *in, const struct rule *r, size_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%s[%zu]", r->is_deny ? "deny" : "allow", number);
	return keep(in, str_of(text)).p;
}

static void
set_place(const struct rule_source *in, struct rule *r, const char *label)
{
	struct buf text;

	buf_init(&text, 1 << 16);
	if (!in->is_inline)
		buf_fmt(&text, "%s:%zu %s", in->tree->file, r->node->mark.line, r->name);
	else if (r->has_name)
		buf_fmt(&text, "%s:%s %s", in->name, label, r->name);
	else
		buf_fmt(&text, "%s:%s", in->name, label);
	r->place = keep(in, buf_view(&text)).p;
	buf_fini(&text);
}

void
rule_read(struct rule *r, const struct rule_source *in, const struct node *block,
    bool is_deny, size_t number)
{
	const char *label;

	*r = (struct rule){
		.is_deny = is_deny,
		.protocols = is_deny ? PROTOCOL_ANY : PROTOCOL_HTTPS,
		.max_body = -1,
		.node = block,
	};
	r->name = label = label_of(in, r, number);
	if (!node_is(in->tree, block, in->rep, NODE_BLOCK)) {
		r->place = label;
		return;
	}
	if (is_deny)
		read_keys(
		    in, block, r, deny_keys, sizeof(deny_keys) / sizeof(deny_keys[0]));
	else
		read_keys(
		    in, block, r, allow_keys, sizeof(allow_keys) / sizeof(allow_keys[0]));
	if (node_get(block, "host") == NULL)
		node_error(in->tree, block, in->rep, "missing_key",
		    "add host: to the rule", "a rule must say which hosts it is about");
	check_empty(in, r);
	if (!is_deny) {
		check_sight(in, r);
		check_tcp(in, r);
		check_inject(in, r);
		check_ports(in, r);
		check_broad(in, r);
		check_metadata(in, r);
	}
	set_opens(in, r);
	set_place(in, r, label);
}

void
rule_read_short(struct rule *r, const struct rule_source *in, const struct node *network,
    const struct node *hosts, enum protocol protocol)
{
	char label[32];

	*r = (struct rule){
		.is_short = true,
		.protocols = protocol,
		.max_body = -1,
		.node = network,
	};
	snprintf(label, sizeof(label), "network:%s", protocol_name(protocol));
	r->name = keep(in, str_of(label)).p;
	if (hosts != NULL)
		read_host(in, hosts, r);
	check_broad(in, r);
	set_place(in, r, r->name);
}

/* ---- asked */

unsigned
rule_protocols_at(const struct rule *r, uint16_t port)
{
	unsigned usual = 0;

	if (port == 0) /* on any; what denies a few ports denies no name */
		return r->has_ports && (r->is_deny || r->nport == 0) ? 0 : r->protocols;
	if (r->has_ports)
		return ports_have(r->port, r->nport, port) ? r->protocols : 0;
	if (r->is_deny)
		return r->protocols;
	if (port == 80)
		usual = PROTOCOL_HTTP;
	else if (port == 443)
		usual = PROTOCOL_HTTPS;
	return r->protocols & usual;
}

bool
rule_has_method(const struct rule *r, struct str method)
{
	for (size_t i = 0; i < r->nmethod; i++)
		if (str_eq(r->method[i], method))
			return true;
	return !r->has_methods;
}

bool
rule_has_path(const struct rule *r, struct str path)
{
	if (!r->has_paths)
		return true;
	if (path.n == 0 || path.p[0] != '/' || !path_is_canonical(path))
		return false;
	for (size_t i = 0; i < r->npath; i++)
		if (path_pattern_fits(r->path[i], path))
			return true;
	return false;
}

bool
rule_sees_requests(const struct rule *r)
{
	return r->has_methods || r->has_paths;
}

bool
rule_needs_sight(const struct rule *r)
{
	return rule_sees_requests(r) || r->max_body >= 0 || r->inject != NULL ||
	       r->assurance == ASSURE_HOST || r->dlp != DLP_NONE;
}
