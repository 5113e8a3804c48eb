/*
 * advice.c - a refused exchange explained: for developers and for the laptop
 */
#include "proxy/advice.h"

#include "policy/explain.h"
#include "proxy/conn.h"

#define ADVICE_MAX ((size_t)1 << 20)

static struct str
target_of(const struct exchange *x, struct arena *a)
{
	char host[AUTHORITY_TEXT];
	struct buf b;
	struct str s;

	buf_init(&b, ADVICE_MAX);
	if (x->ask.has_request)
		buf_text(&b, exchange_is_inside_tls(x) ? "https://" : "http://");
	buf_text(&b, authority_text(host, &x->ask.host, x->ask.port, 0));
	if (x->ask.has_request && !str_eq(x->ask.path, STR("*"))) {
		buf_str(&b, x->ask.path);
		if (x->ask.query.p != NULL) {
			buf_char(&b, '?');
			buf_str(&b, x->ask.query);
		}
	}
	s = arena_str(a, buf_view(&b));
	buf_fini(&b);
	return s;
}

static const struct ruleset *
rules_of(const struct exchange *x)
{
	return x->rules != NULL ? x->rules : x->snapshot->rules;
}

/* Whose answers it would use: a request in a tunnel has those of its tunnel. */
static const struct exchange *
looker_of(const struct exchange *x)
{
	const struct exchange *outer = x->conn != NULL ? x->conn->outer : NULL;

	return x->nanswer == 0 && outer != NULL ? outer : x;
}

/* False: there is no destination to explain. */
static bool
ask_again(struct explained *out, const struct exchange *x, struct arena *a)
{
	const struct exchange *looked_up = looker_of(x);
	bool is_inside = exchange_is_inside_tls(x);
	struct explain_ask ask = {
		.via = is_inside            ? VIA_CONNECT
		       : x->ask.has_request ? VIA_HTTP
					    : x->ask.via,
		.is_https_inside = is_inside,
		.method = x->head->method,
		.head = x->head,
		.answer = looked_up->answer,
		.nanswer = looked_up->nanswer,
		.has_answers = looked_up->nanswer > 0,
		.upload_limit = x->snapshot->settings->limits_upload,
		.upload_claim =
		    x->who != NULL ? session_upload(x->who->session) : CAP_UNSAID,
	};

	if (x->reason == REASON_DNS_FAILED || x->reason == REASON_DNS_TIMEOUT)
		ask.dns_error = x->reason;

	if (x->ask.host.len == 0)
		return false;
	ask.target = target_of(x, a);
	if (ask.target.p == NULL)
		return false;
	explain(out, rules_of(x), &x->snapshot->place, &ask, a);
	return true;
}

static void
put_trace(struct json_out *j, const struct trace *t)
{
	json_key(j, "trace");
	json_open(j, '[');
	for (size_t i = 0; i < t->n; i++) {
		const struct trace_line *l = &t->line[i];
		json_open(j, '{');
		json_key(j, "stage");
		json_text(j, l->stage);
		json_key(j, "layer");
		json_text(j, l->layer);
		json_key(j, "rule");
		json_text(j, l->rule != NULL ? rule_place(l->rule) : NULL);
		json_key(j, "verdict");
		json_text(j, l->verdict);
		json_key(j, "why");
		json_text(j, l->why);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void
advice_json(struct json_out *j, const struct exchange *x)
{
	struct explained e;
	struct arena a;

	arena_init(&a, ADVICE_MAX);
	if (ask_again(&e, x, &a)) {
		json_key(j, "layer");
		json_text(j, ruleset_layer_name(rules_of(x), x->verdict.layer));
		put_trace(j, &e.trace);
		json_key(j, "fix");
		fix_json(&e.fix, j);
	}
	arena_fini(&a);
}

void
advice_rule(struct buf *out, const struct exchange *x)
{
	struct explained e;
	struct arena a;

	arena_init(&a, ADVICE_MAX);
	if (ask_again(&e, x, &a))
		fix_line(&e.fix, out);
	arena_fini(&a);
}
