/*
 * explain.c - what would happen to a request, and why, offline
 */
#include "policy/explain.h"

#include <inttypes.h>
#include <string.h>

#include "policy/ask.h"

void
explain_ask_init(struct explain_ask *ask, struct str method, struct str target)
{
	bool is_https = str_eq_nocase(str_sub(target, 0, 8), STR("https://"));
	bool is_connect = str_eq(method, STR("CONNECT"));

	*ask = (struct explain_ask){
		.method = method, .target = target, .upload_claim = CAP_UNSAID
	};
	if (is_https && !is_connect) {
		ask->is_https_inside = true;
		return;
	}
	for (size_t i = 0; i + 3 <= target.n && !is_connect; i++)
		if (str_eq(str_sub(target, i, 3), STR("://")))
			ask->via = VIA_HTTP;
	if (method.n > 0 &&
	    !is_connect) /* `GET host:80` is a request, and not a good one */
		ask->via = VIA_HTTP;
}

struct explaining {
	struct explained *out;
	const struct ruleset *rs;
	const struct place *place;
	const struct explain_ask *ask;
	struct arena *arena;
	struct ask asked;
	struct facts f;
	struct admitted admitted;
};

static void
warn(struct explained *e, const char *text)
{
	if (e->nwarning < WARNING_MAX)
		e->warning[e->nwarning++] = text;
}

static bool
refuse(struct explaining *x, const char *stage, enum reason reason, const char *why)
{
	x->out->verdict =
	    (struct verdict){ .reason = reason, .why = why, .max_body = -1 };
	trace_add(&x->out->trace, stage, NULL, NULL, "deny", why);
	return false;
}

/* ---- shape */

/* https://host/path: a CONNECT by a client that does its TLS properly. */
static enum reason
ask_https(struct ask *out, struct str target, const char **why)
{
	char authority[AUTHORITY_TEXT];
	struct url url;
	enum host_error err = url_parse(&url, target);

	if (err == HOST_OK)
		return ask_connect(
		    out, str_of(authority_text(authority, &url.host, url.port, 0)), why);
	*why = host_error_text(err);
	return REASON_REQUEST_MALFORMED;
}

/* What a client would ask in there: the same facts, and the request. */
static void
look_inside(struct facts *f, const struct explain_ask *ask)
{
	struct url url;

	if (url_parse(&url, ask->target) != HOST_OK)
		return; /* it was read before */
	f->has_request = true;
	f->method = ask->method.n > 0 ? ask->method : STR("GET");
	f->path = url.path.n > 0 ? url.path : STR("/");
	f->query = url.query;
	f->head = ask->head;
	f->length = -1;
}

static void
assume_tls(struct facts *f)
{
	f->protocols = PROTOCOL_HTTPS;
	f->has_hello = true;
	f->has_sni = f->is_sni_equal = !f->host->is_literal;
}

static enum reason
read_target(struct ask *out, const struct explain_ask *ask, const char **why)
{
	struct str method = ask->method.n > 0 ? ask->method : STR("GET");

	if (ask->is_https_inside)
		return ask_https(out, ask->target, why);
	if (ask->via == VIA_DNS)
		return ask_name(out, ask->target, why);
	if (ask->via == VIA_CONNECT)
		return ask_connect(out, ask->target, why);
	if (http_is_token(method))
		return ask_absolute(out, method, ask->target, why);
	*why = "the method is no token";
	return REASON_REQUEST_MALFORMED;
}

bool
explain_host(const struct explain_ask *ask, struct host *out)
{
	const char *why;
	struct ask asked;

	if (read_target(&asked, ask, &why) != REASON_NONE)
		return false;
	*out = asked.host;
	return true;
}

/* ---- what a person may have meant */

static bool
is_ws(const struct explain_ask *ask)
{
	return str_eq_nocase(str_sub(ask->target, 0, 5), STR("ws://"));
}

static bool
is_wss(const struct explain_ask *ask)
{
	return str_eq_nocase(str_sub(ask->target, 0, 6), STR("wss://"));
}

static bool
is_bare(const struct explain_ask *ask)
{
	size_t at = 0, colon;

	(void)str_rfind(ask->target, ']', &at);
	return ask->target.n > 0 && !ask->is_https_inside &&
	       !str_find(str_sub(ask->target, at, ask->target.n), ':', &colon);
}

static bool
is_lone_method(const struct explain_ask *ask)
{
	for (size_t i = 0; i < ask->target.n; i++)
		if (ask->target.p[i] < 'A' || ask->target.p[i] > 'Z')
			return false;
	return is_bare(ask) && ask->via == VIA_CONNECT && ask->method.n == 0;
}

static bool
has_no_port(const struct explain_ask *ask)
{
	return is_bare(ask) && ask->via == VIA_CONNECT;
}

static bool
has_no_scheme(const struct explain_ask *ask)
{
	size_t at;

	return ask->via == VIA_HTTP && !str_find(ask->target, ':', &at);
}

/* The first that fits is told. */
static const struct {
	bool (*is_it)(const struct explain_ask *ask);
	const char *text;
} mistakes[] = {
	{ is_ws, "a websocket begins as a request: write http:// for ws://; its rule "
		 "needs upgrade: [websocket]" },
	{ is_wss, "a websocket begins as a request: write https:// for wss://; a rule "
		  "that looks inside its TLS needs upgrade: [websocket]" },
	{ is_lone_method, "a target is missing: after a method write http://HOST/PATH or "
			  "https://HOST/PATH, and of a name alone HOST:PORT" },
	{ has_no_port,
	    "a port is missing: write HOST:PORT, or a URL: http://HOST/PATH or "
	    "https://HOST/PATH" },
	{ has_no_scheme, "after a method comes a URL: write http://HOST/PATH or "
			 "https://HOST/PATH" },
};

static void
warn_of_mistake(struct explaining *x)
{
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++)
		if (mistakes[i].is_it(x->ask)) {
			warn(x->out, mistakes[i].text);
			return;
		}
}

static bool
read_ask(struct explaining *x)
{
	const char *why = NULL;
	enum reason reason = read_target(&x->asked, x->ask, &why);

	if (reason != REASON_NONE) {
		warn_of_mistake(x);
		return refuse(x, "shape", reason, why);
	}
	ask_facts(&x->f, &x->asked);
	x->f.head = x->ask->head;
	if (x->ask->is_https_inside)
		assume_tls(&x->f);
	x->out->has_target = true;
	x->out->host = x->asked.host;
	x->out->port = x->asked.port;
	trace_add(&x->out->trace, "shape", NULL, NULL, "pass", NULL);
	return true;
}

/* ---- addresses */

/* As the resolver orders them (RFC 8305 4): in turns, IPv6 first. */
static const struct addr *
dial_order(struct arena *a, const struct addr *found, size_t n)
{
	struct addr *out = arena_alloc(a, (n + 1) * sizeof(*out));
	size_t next[2] = { 0, 0 };
	bool wants_v4 = false;

	if (out == NULL)
		return found;
	for (size_t i = 0; i < n; wants_v4 = !wants_v4) {
		size_t *at = &next[wants_v4];
		while (*at < n && addr_is_v4(&found[*at]) != wants_v4)
			++*at;
		if (*at < n)
			out[i++] = found[(*at)++];
	}
	return out;
}

static bool
evaluate(struct explaining *x, const struct addr *found, size_t n)
{
	struct explained *e = x->out;

	e->is_address_evaluated = true;
	if (!match_address(x->rs, &x->f, &x->admitted, dial_order(x->arena, found, n), n,
		x->place, &e->dial, &e->verdict, &e->trace))
		return false;
	if (!x->admitted.would.is_set)
		x->admitted.would = e->verdict.would;
	return true;
}

static bool
resolve(struct explaining *x)
{
	const struct explain_ask *ask = x->ask;

	if (x->f.host->is_literal)
		return evaluate(x, &x->f.host->addr, 1);
	if (ask->dns_error != REASON_NONE)
		return refuse(x, "dns", ask->dns_error, "the name could not be resolved");
	if (ask->has_answers && ask->nanswer == 0)
		return refuse(x, "dns", REASON_DNS_FAILED, "the name has no address");
	if (ask->has_answers)
		return evaluate(x, ask->answer, ask->nanswer);
	trace_add(&x->out->trace, "address", NULL, NULL, "skip",
	    "not evaluated: nothing was looked up");
	warn(x->out, "address rules were not evaluated: nothing was looked up");
	return true;
}

/* ---- the last word */

static enum assurance
least_assurance(const struct explaining *x)
{
	unsigned p = x->f.protocols;

	if (p & PROTOCOL_TCP)
		return ASSURE_ADDRESS;
	if (p & PROTOCOL_HTTPS)
		return x->f.host->is_literal ? ASSURE_ADDRESS : ASSURE_SNI;
	return ASSURE_HOST;
}

/* A tunnel whose first bytes are still to come: some rule lets something be spoken. */
static void
leave_open(struct explaining *x)
{
	struct explained *e = x->out;
	unsigned p = x->f.protocols;

	e->verdict = (struct verdict){
		.allow = true,
		.rule = x->admitted.rule,
		.layer = x->admitted.layer,
		.max_body = -1,
		.assurance = least_assurance(x),
		.protocol = (p & (p - 1)) == 0 ? (enum protocol)p : 0,
	};
	trace_add(&e->trace, "judge", NULL, NULL, "pass",
	    "decided by what is spoken in the tunnel");
	warn(e, p == PROTOCOL_HTTP ? "each request in the tunnel is judged by itself"
				   : "the tunnel's first bytes decide which rule holds");
}

/* A name is answered; what is done with it is judged when it is done. */
static void
leave_name(struct explaining *x)
{
	struct explained *e = x->out;

	e->verdict = (struct verdict){
		.allow = true,
		.rule = x->admitted.rule,
		.layer = x->admitted.layer,
		.max_body = -1,
		.assurance = ASSURE_NAME,
	};
	trace_add(&e->trace, "judge", NULL, NULL, "pass", "the name may be known");
}

/* Its TLS is opened: the last word is about the request. */
static void
judge_inside(struct explaining *x, const struct addr *dialled)
{
	struct explained *e = x->out;

	if (!x->ask->is_https_inside) {
		warn(e, "each request in the tunnel is judged by itself");
		return;
	}
	look_inside(&x->f, x->ask);
	if (match_admit(x->rs, &x->f, x->arena, &x->admitted, &e->verdict, &e->trace))
		match_judge(
		    x->rs, &x->f, x->arena, dialled, x->place, &e->verdict, &e->trace);
}

static void
judge(struct explaining *x)
{
	struct explained *e = x->out;
	const struct addr *dialled = e->dial.count > 0 ? &e->dial.addr[0] : NULL;

	if (x->f.via == VIA_DNS) {
		leave_name(x);
		return;
	}
	x->f.protocols = x->admitted.protocols;
	if ((x->f.protocols & (x->f.protocols - 1)) != 0 ||
	    (x->f.protocols == PROTOCOL_HTTP && !x->f.has_request)) {
		leave_open(x);
	} else {
		if (x->f.protocols == PROTOCOL_HTTPS)
			assume_tls(&x->f);
		match_judge(
		    x->rs, &x->f, x->arena, dialled, x->place, &e->verdict, &e->trace);
		if (e->verdict.allow && x->admitted.is_metered)
			warn(e,
			    "a model provider's: each call inside is metered in place");
		else if (e->verdict.allow && e->verdict.needs_sight)
			judge_inside(x, dialled);
	}
	if (!e->verdict.would.is_set)
		e->verdict.would = x->admitted.would;
	if (e->verdict.would.is_set)
		warn(e, "a layer that only reports would refuse this");
}

/* As the live path does with what is allowed; what the meter counts has no cap. */
static void
look_at_caps(struct explaining *x)
{
	struct explained *e = x->out;
	const struct caps caps = { e->verdict.upload, x->ask->upload_limit,
		x->ask->upload_claim };

	if (!e->verdict.allow || x->f.via == VIA_DNS || x->admitted.is_metered)
		return;
	if (!cap_judge(&e->upload, &e->verdict, &caps))
		trace_add(&e->trace, "upload", NULL, NULL, "deny", e->verdict.why);
}

/* Asked again as the handshake that it may be: every layer must let it. */
static void
look_at_upgrade(struct explaining *x)
{
	struct explained *e = x->out;
	struct facts f = x->f;
	struct verdict v;

	if (!e->verdict.allow || !f.has_request || !str_eq(f.method, STR("GET")))
		return;
	f.wants_websocket = true;
	match_judge(x->rs, &f, x->arena, e->dial.count > 0 ? &e->dial.addr[0] : NULL,
	    x->place, &v, NULL);
	e->may_upgrade = v.allow;
}

static struct fix_answers
answers_of(const struct explaining *x)
{
	if (x->f.host->is_literal)
		return (struct fix_answers){ &x->f.host->addr, 1 };
	return (struct fix_answers){ x->ask->answer,
		x->ask->has_answers ? x->ask->nanswer : 0 };
}

/* Of all that is known, also what a refused tunnel would have brought. */
static void
find_fix(struct explaining *x)
{
	struct fix_answers answers = answers_of(x);

	if (x->f.via == VIA_DNS)
		x->f.port = 443; /* TLS is the narrowest */
	if (x->ask->is_https_inside)
		look_inside(&x->f, x->ask);
	fix_find(&x->out->fix, x->out->verdict.reason, &x->f, &answers, x->rs, x->place,
	    x->arena);
	if (x->out->fix.is_there && x->out->fix.protocol == PROTOCOL_HTTPS &&
	    x->rs->terms.opens_tls && !x->f.has_request)
		warn(x->out, "asked with its method, as https://HOST/PATH, a request has "
			     "a smaller rule");
}

void
explain(struct explained *out, const struct ruleset *rs, const struct place *place,
    const struct explain_ask *ask, struct arena *a)
{
	struct explaining x = {
		.out = out, .rs = rs, .place = place, .ask = ask, .arena = a
	};

	*out =
	    (struct explained){ .trace = { .arena = a }, .verdict = { .max_body = -1 } };
	if (!read_ask(&x))
		return;
	if (match_admit(rs, &x.f, a, &x.admitted, &out->verdict, &out->trace) &&
	    resolve(&x)) {
		judge(&x);
		look_at_caps(&x);
		look_at_upgrade(&x);
	}
	if (out->verdict.allow)
		return;
	out->dial = (struct vetted){ 0 };
	if (out->verdict.layer < rs->nlayer && rs->layer[out->verdict.layer]->is_claim)
		return; /* no rule of a policy would help */
	find_fix(&x);
}

/* ---- printed */

static const char *
layer_of(const struct verdict *v, const struct ruleset *rs)
{
	bool is_policy = v->allow || reason_row(v->reason)->type == TYPE_POLICY;

	return rs != NULL && is_policy && v->layer < ruleset_layers(rs)
		   ? ruleset_layer_name(rs, v->layer)
		   : NULL;
}

static void
json_rule_place(struct json_out *j, const char *key, const struct rule *r)
{
	json_key(j, key);
	json_text(j, r == NULL ? NULL : rule_place(r));
}

static const char *const dlp_words[] = { [DLP_MARK] = "mark", [DLP_BLOCK] = "block" };

static void
json_pair(struct json_out *j, const char *key, const char *text)
{
	json_key(j, key);
	json_text(j, text);
}

static void
json_target(struct json_out *j, const struct explained *e)
{
	const struct verdict *v = &e->verdict;

	json_pair(j, "host", e->has_target ? e->host.name : NULL);
	json_key(j, "port");
	if (e->has_target)
		json_int(j, e->port);
	else
		json_null(j);
	json_pair(j, "protocol", v->protocol != 0 ? protocol_name(v->protocol) : NULL);
}

static void
json_dial(struct json_out *j, const struct explained *e)
{
	char text[ENDPOINT_TEXT];

	json_key(j, "dial");
	json_open(j, '[');
	for (size_t i = 0; i < e->dial.count; i++) {
		struct endpoint to = { e->dial.addr[i], e->port };
		json_text(j, endpoint_text(text, &to));
	}
	json_close(j, ']');
}

static void
json_trace(struct json_out *j, const struct trace *t)
{
	json_key(j, "trace");
	json_open(j, '[');
	for (size_t i = 0; i < t->n; i++) {
		const struct trace_line *l = &t->line[i];

		json_open(j, '{');
		json_pair(j, "stage", l->stage);
		json_pair(j, "layer", l->layer);
		json_rule_place(j, "rule", l->rule);
		json_pair(j, "verdict", l->verdict);
		json_pair(j, "why", l->why);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void
json_would(struct json_out *j, const struct would *w)
{
	if (!w->is_set)
		return;
	json_key(j, "would");
	json_open(j, '{');
	json_pair(j, "decision", "deny");
	json_pair(j, "reason", reason_row(w->reason)->name);
	json_rule_place(j, "rule", w->rule);
	json_close(j, '}');
}

static void
json_upload(struct json_out *j, const struct cap *c)
{
	if (c->from == CAP_NONE)
		return;
	json_key(j, "upload");
	json_int(j, (int64_t)c->bytes);
	json_pair(j, "upload_from", cap_source_name(c->from));
}

static void
json_upgrade(struct json_out *j)
{
	json_key(j, "upgrade");
	json_open(j, '[');
	json_text(j, "websocket");
	json_close(j, ']');
}

void
explain_print_json(
    const struct explained *e, const struct ruleset *rs, struct str id, struct buf *to)
{
	const struct verdict *v = &e->verdict;
	struct json_out j;

	json_out_init(&j, to);
	json_open(&j, '{');
	if (id.p != NULL) {
		json_key(&j, "id");
		json_raw(&j, id);
	}
	json_pair(&j, "decision", v->allow ? "allow" : "deny");
	json_pair(&j, "reason", reason_row(v->reason)->name);
	json_key(&j, "status");
	json_int(&j, reason_row(v->reason)->status);
	json_rule_place(&j, "rule", v->rule);
	json_pair(&j, "layer", layer_of(v, rs));
	json_target(&j, e);
	json_dial(&j, e);
	json_pair(&j, "assurance", v->allow ? assurance_name(v->assurance) : NULL);
	json_upload(&j, &e->upload);
	if (v->allow && v->dlp != DLP_NONE)
		json_pair(&j, "dlp", dlp_words[v->dlp]);
	if (e->may_upgrade)
		json_upgrade(&j);
	json_would(&j, &v->would);
	json_key(&j, "warnings");
	json_open(&j, '[');
	for (size_t i = 0; i < e->nwarning; i++)
		json_text(&j, e->warning[i]);
	json_close(&j, ']');
	json_trace(&j, &e->trace);
	json_key(&j, "fix");
	fix_json(&e->fix, &j);
	json_close(&j, '}');
}

static void
print_message(const struct explained *e, struct buf *to)
{
	const char *text = reason_row(e->verdict.reason)->text, *at = strstr(text, "%s");
	char target[AUTHORITY_TEXT] = "the destination";

	if (e->has_target)
		authority_text(target, &e->host, e->port, 0);
	if (at == NULL)
		buf_text(to, text);
	else
		buf_fmt(to, "%.*s%s%s", (int)(at - text), text, target, at + 2);
	buf_char(to, '\n');
}

static void
print_trace(const struct trace *t, struct buf *to)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct trace_line *l = &t->line[i];

		const char *who = l->rule != NULL ? rule_place(l->rule) : l->layer;

		buf_fmt(to, "  %-9s %s", l->stage, l->verdict);
		if (who != NULL || l->why != NULL)
			buf_fmt(to, "%*s", 6 - (int)strlen(l->verdict), "");
		if (who != NULL)
			buf_text(to, who);
		if (who != NULL && l->why != NULL)
			buf_text(to, ": ");
		if (l->why != NULL)
			buf_text(to, l->why);
		buf_char(to, '\n');
	}
}

static void
print_fix(const struct fix *fix, struct buf *to)
{
	if (!fix->is_there)
		return;
	buf_text(to, "\nThe smallest rule that would admit it, under allow:\n\n");
	fix_yaml(fix, to);
	buf_text(to, "\nIt would also admit:\n");
	for (size_t i = 0; i < fix->nalso; i++)
		buf_fmt(to, "  %.*s\n", STR_ARG(fix->also[i]));
}

void
explain_print_text(const struct explained *e, const struct ruleset *rs, struct buf *to)
{
	const struct verdict *v = &e->verdict;
	const char *layer = layer_of(v, rs);
	char text[ENDPOINT_TEXT];

	buf_fmt(to, "%s: %s (%d)\n", v->allow ? "allow" : "deny",
	    reason_row(v->reason)->name, reason_row(v->reason)->status);
	print_message(e, to);
	if (v->rule != NULL)
		buf_fmt(to, "rule: %s\n", rule_place(v->rule));
	if (layer != NULL)
		buf_fmt(to, "layer: %s\n", layer);
	if (v->allow && v->protocol != 0)
		buf_fmt(to, "protocol: %s\n", protocol_name(v->protocol));
	if (v->allow)
		buf_fmt(to, "bound by: %s\n", assurance_name(v->assurance));
	if (e->upload.from != CAP_NONE)
		buf_fmt(to,
		    "upload: %" PRIu64
		    " bytes of a session to this host (the smallest cap: %s)\n",
		    e->upload.bytes, cap_source_name(e->upload.from));
	if (v->allow && v->dlp != DLP_NONE)
		buf_fmt(to, "dlp: %s what looks like a secret\n", dlp_words[v->dlp]);
	if (e->may_upgrade)
		buf_fmt(to,
		    "upgrade: the request may become a websocket, whose messages are "
		    "%slooked at\n",
		    v->dlp == DLP_NONE ? "not " : "");
	for (size_t i = 0; i < e->dial.count; i++) {
		struct endpoint at = { e->dial.addr[i], e->port };
		buf_fmt(to, "dial: %s\n", endpoint_text(text, &at));
	}
	for (size_t i = 0; i < e->nwarning; i++)
		buf_fmt(to, "note: %s\n", e->warning[i]);
	print_trace(&e->trace, to);
	print_fix(&e->fix, to);
}
