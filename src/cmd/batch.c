/*
 * batch.c - weir explain --batch: JSON lines in, one JSON line out for each
 */
#include "cmd/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/jsonl.h"

#define LINE_MEMORY ((size_t)256 << 20)
#define OUTPUT_MAX ((size_t)64 << 20)
#define LAYERS_OF_LINE 32

/* What lines without a policy of their own stand on: loaded for the first of them. */
struct common {
	const struct scene *given;
	struct scene laptop;
	bool is_tried, is_loaded;
};

struct line {
	struct jsonl *in;
	struct common *common;
	const struct scene *scene; /* the line's own, or the common one */
	struct scene own;
	struct explain_ask ask;
	struct str claims; /* JSON text; p NULL: none */
	struct grant *grant;
};

/* ---- the keys of a line */

static void
read_id(struct line *l, const struct json_value *v)
{
	l->in->id = jsonl_text(l->in, v);
}

static void
read_via(struct line *l, const struct json_value *v)
{
	static const struct {
		struct str name;
		enum via via;
	} known[] = {
		{ { "connect", 7 }, VIA_CONNECT }, { { "http", 4 }, VIA_HTTP },
		{ { "transparent", 11 }, VIA_CONNECT }, { { "dns", 3 }, VIA_DNS },
		{ { "socks5", 6 },
		    VIA_CONNECT }, /* the same question, asked in other bytes */
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (v->type == JSON_STRING && str_eq(v->text, known[i].name)) {
			l->ask.via = known[i].via;
			return;
		}
	jsonl_fault(l->in, "bad_via", "via is connect, http, socks5, transparent or dns");
}

static void
read_method(struct line *l, const struct json_value *v)
{
	if (v->type == JSON_STRING)
		l->ask.method = v->text;
	else
		jsonl_fault(l->in, "wrong_type", "method is a string");
}

static void
read_target(struct line *l, const struct json_value *v)
{
	if (v->type == JSON_STRING)
		l->ask.target = v->text;
	else
		jsonl_fault(l->in, "wrong_type", "target is a string");
}

static void
read_target_b64(struct line *l, const struct json_value *v)
{
	l->ask.target = jsonl_base64(l->in, v);
}

/* A host and a port apart, as SOCKS has them; a literal needs its brackets again. */
static void
read_host_b64(struct line *l, const struct json_value *v)
{
	struct str host = jsonl_base64(l->in, v);
	struct host bare;
	struct buf b;
	bool is_v6;

	if (host.p == NULL)
		return;
	if (l->ask.via == VIA_DNS) { /* a name is asked for, and no port */
		l->ask.target = host;
		return;
	}
	is_v6 = host_parse_bare(&bare, host) == HOST_OK && bare.is_literal &&
		memchr(host.p, ':', host.n) != NULL;
	buf_init(&b, host.n + 64);
	if (is_v6)
		buf_char(&b, '[');
	buf_str(&b, host);
	if (is_v6)
		buf_char(&b, ']');
	buf_char(&b, ':');
	l->ask.target = arena_str(&l->in->arena, buf_view(&b));
	buf_fini(&b);
}

/* Behind host_b64 in the table, so the host is there. */
static void
read_port(struct line *l, const struct json_value *v)
{
	struct str port = v->text;
	struct buf b;

	if (v->type != JSON_NUMBER && v->type != JSON_STRING) {
		jsonl_fault(l->in, "wrong_type", "port is a number");
		return;
	}
	if (l->ask.via == VIA_DNS)
		return;
	buf_init(&b, l->ask.target.n + port.n + 1);
	buf_str(&b, l->ask.target);
	buf_str(&b, port);
	l->ask.target = arena_str(&l->in->arena, buf_view(&b));
	buf_fini(&b);
}

static void
read_dns_error(struct line *l, const struct json_value *v)
{
	const struct json_value *error = json_get(v, "error");

	if (error == NULL || error->type != JSON_STRING) {
		jsonl_fault(l->in, "bad_answers",
		    "answers is a list of addresses, or {\"error\": ...}");
		return;
	}
	l->ask.dns_error =
	    str_eq(error->text, STR("timeout")) ? REASON_DNS_TIMEOUT : REASON_DNS_FAILED;
}

static void
read_answers(struct line *l, const struct json_value *v)
{
	struct addr *found = arena_alloc(&l->in->arena, (v->n + 1) * sizeof(*found));

	if (v->type != JSON_ARRAY || found == NULL) {
		read_dns_error(l, v);
		return;
	}
	l->ask.has_answers = true;
	l->ask.answer = found;
	for (const struct json_value *at = v->child; at != NULL; at = at->next)
		if (at->type == JSON_STRING &&
		    addr_parse(&found[l->ask.nanswer], at->text))
			l->ask.nanswer++;
		else
			jsonl_fault(l->in, "bad_answers", "\"%.*s\" is no address",
			    STR_ARG(at->text));
}

static struct settings *
settings_of(struct line *l, const struct json_value *v)
{
	static const char *const known[] = { "production", "name", "dns", "tls",
		"addresses" };

	if (v != NULL && v->type != JSON_OBJECT) {
		jsonl_fault(l->in, "wrong_type", "settings is an object");
		return NULL;
	}
	for (const struct json_value *at = v == NULL ? NULL : v->child; at != NULL;
	     at = at->next) {
		bool is_known = false;
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			is_known |= str_eq(at->key, str_of(known[i]));
		if (!is_known)
			jsonl_fault(l->in, "unknown_key", "settings here has no \"%.*s\"",
			    STR_ARG(at->key));
	}
	return settings_load_text("settings",
	    v == NULL || v->n == 0 ? STR("{}") : jsonl_text(l->in, v), "/", &l->in->rep);
}

static void
build_scene(
    struct line *l, const struct json_value *policy, const struct json_value *settings)
{
	bool is_list = policy->type == JSON_ARRAY;
	const struct json_value *at = is_list ? policy->child : policy;
	struct ruleset_source source[LAYERS_OF_LINE];
	struct settings *s;
	size_t n = 0;

	for (; at != NULL && n < LAYERS_OF_LINE; at = is_list ? at->next : NULL) {
		if (at->type != JSON_OBJECT)
			jsonl_fault(l->in, "wrong_type", "a policy is an object");
		source[n++] =
		    (struct ruleset_source){ "batch", jsonl_text(l->in, at), true };
	}
	if (at != NULL)
		jsonl_fault(l->in, "too_many", "more than %d policies", LAYERS_OF_LINE);
	if ((s = settings_of(l, settings)) != NULL &&
	    scene_build(&l->own, s, source, n, &l->in->rep))
		l->scene = &l->own;
}

static void
take_common_scene(struct line *l)
{
	struct common *c = l->common;

	if (c->given == NULL && !c->is_tried) {
		c->is_tried = true;
		c->is_loaded = scene_load(&c->laptop, NULL, &l->in->rep);
	}
	l->scene = c->given != NULL ? c->given : c->is_loaded ? &c->laptop : NULL;
	if (l->scene == NULL && l->in->rep.errors == 0)
		jsonl_fault(
		    l->in, "no_policy", "there is neither a configuration nor a policy");
}

static void
read_claims(struct line *l, const struct json_value *v)
{
	l->claims = jsonl_text(l->in, v);
}

static void
read_nothing(struct line *l, const struct json_value *v)
{
	(void)l;
	(void)v;
}

/* In the order they are read; policy and settings are read together, last. */
static const struct {
	const char *name;
	void (*read)(struct line *l, const struct json_value *v);
} keys[] = {
	{ "id", read_id },
	{ "via", read_via },
	{ "method", read_method },
	{ "target", read_target },
	{ "target_b64", read_target_b64 },
	{ "host_b64", read_host_b64 },
	{ "port", read_port },
	{ "answers", read_answers },
	{ "claims", read_claims },
	{ "policy", read_nothing },
	{ "settings", read_nothing },
};

static void
check_keys(struct line *l, const struct json_value *object)
{
	for (const struct json_value *at = object->child; at != NULL; at = at->next) {
		bool is_known = false;
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			is_known |= str_eq(at->key, str_of(keys[i].name));
		if (!is_known)
			jsonl_fault(l->in, "unknown_key",
			    "a line has no \"%.*s\" in this build", STR_ARG(at->key));
	}
}

/* Without `via` the target says it, as on the command line: https:// is a request inside
 * a tunnel. */
static void
read_line(struct line *l, const struct json_value *object)
{
	const struct json_value *policy = json_get(object, "policy");
	const struct json_value *settings = json_get(object, "settings");
	const struct json_value *v;

	check_keys(l, object);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if ((v = json_get(object, keys[i].name)) != NULL)
			keys[i].read(l, v);
	if (json_get(object, "via") == NULL) {
		struct explain_ask ask;
		explain_ask_init(&ask, l->ask.method, l->ask.target);
		l->ask.via = ask.via;
		l->ask.is_https_inside = ask.is_https_inside;
	}
	if (policy != NULL)
		build_scene(l, policy, settings);
	else
		take_common_scene(l);
	if (policy == NULL && settings != NULL)
		jsonl_fault(l->in, "settings_alone",
		    "settings here belong to a policy of the line's own");
}

/* ---- what comes out */

static void
put_malformed(const struct line *l, const char *why, struct buf *to)
{
	struct explained e = { .trace = { NULL, NULL, 0, 0 } };

	e.verdict = (struct verdict){ .reason = REASON_REQUEST_MALFORMED, .why = why };
	explain_print_json(&e, NULL, l->in->id, to);
}

/* What a token with these claims would grant; when it is is nobody's business here. */
static enum reason
take_claims(struct line *l, const char **why)
{
	const struct claims_source source = { .settings = l->scene->settings };

	return l->claims.p == NULL ? REASON_NONE
				   : claims_recall(&l->grant, &source, l->claims, why);
}

static void
answer_object(struct line *l, const struct json_value *object, struct buf *to)
{
	const struct ruleset *rules = NULL;
	struct explained e;
	enum reason reason;
	const char *why;

	read_line(l, object);
	if (l->in->rep.errors > 0)
		return;
	if ((reason = take_claims(l, &why)) != REASON_NONE)
		scene_refuse(&e, reason, why, &l->in->arena);
	else
		rules = scene_explain(&e, l->scene, l->grant, &l->ask, &l->in->arena);
	explain_print_json(&e, rules, l->in->id, to);
}

static void
answer(void *arg, struct jsonl *in, struct str text, struct buf *to)
{
	struct line l = { .in = in, .common = arg };
	const char *why;
	const struct json_value *object = jsonl_object(in, text, &why);

	if (object == NULL)
		put_malformed(&l, why, to);
	else
		answer_object(&l, object, to);
	grant_unref(l.grant);
	scene_fini(&l.own);
}

int
batch_run(const struct scene *scene)
{
	struct common common = { .given = scene };
	int status = jsonl_run(LINE_MEMORY, answer, &common);

	scene_fini(&common.laptop);
	return status;
}
