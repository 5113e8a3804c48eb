/*
 * batch.c - weir explain --batch: JSON lines in, one JSON line out for each
 */
#include "cmd/batch.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/main.h"
#include "wire/json.h"

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
	struct arena arena;
	struct report rep;
	struct common *common;
	const struct scene *scene; /* the line's own, or the common one */
	struct scene own;
	struct explain_ask ask;
	struct str id;     /* JSON text */
	struct str claims; /* JSON text; p NULL: none */
	struct grant *grant;
};

static void fault(struct line *l, const char *code, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

static void
fault(struct line *l, const char *code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report_vadd(&l->rep, SEVERITY_ERROR, (struct mark){ .file = "batch" }, STR_NONE,
	    code, NULL, fmt, ap);
	va_end(ap);
}

static struct str
text_of(struct line *l, const struct json_value *v)
{
	struct json_out j;
	struct buf b;
	struct str out;

	buf_init(&b, OUTPUT_MAX);
	json_out_init(&j, &b);
	json_value(&j, v);
	out = arena_str(&l->arena, buf_view(&b));
	buf_fini(&b);
	return out.p == NULL ? STR("") : out;
}

/* ---- the keys of a line */

static void
read_id(struct line *l, const struct json_value *v)
{
	l->id = text_of(l, v);
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
	fault(l, "bad_via", "via is connect, http, socks5, transparent or dns");
}

static void
read_method(struct line *l, const struct json_value *v)
{
	if (v->type == JSON_STRING)
		l->ask.method = v->text;
	else
		fault(l, "wrong_type", "method is a string");
}

static void
read_target(struct line *l, const struct json_value *v)
{
	if (v->type == JSON_STRING)
		l->ask.target = v->text;
	else
		fault(l, "wrong_type", "target is a string");
}

static bool
decode(struct line *l, const struct json_value *v, struct str *out)
{
	size_t pad = 0, n = v->text.n;
	unsigned char *bytes = arena_alloc(&l->arena, n + 1);
	int len = -1;

	if (v->type == JSON_STRING && bytes != NULL && n % 4 == 0 && n <= INT32_MAX) {
		while (pad < 2 && pad < n && v->text.p[n - 1 - pad] == '=')
			pad++;
		len = EVP_DecodeBlock(bytes, (const unsigned char *)v->text.p, (int)n);
	}
	if (len < 0) {
		fault(l, "bad_base64", "%.*s is no base64", STR_ARG(v->key));
		return false;
	}
	*out = (struct str){ (const char *)bytes, (size_t)len - pad };
	return true;
}

static void
read_target_b64(struct line *l, const struct json_value *v)
{
	(void)decode(l, v, &l->ask.target);
}

/* A host and a port apart, as SOCKS has them; a literal needs its brackets again. */
static void
read_host_b64(struct line *l, const struct json_value *v)
{
	struct host bare;
	struct str host;
	struct buf b;
	bool is_v6;

	if (!decode(l, v, &host))
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
	l->ask.target = arena_str(&l->arena, buf_view(&b));
	buf_fini(&b);
}

/* Behind host_b64 in the table, so the host is there. */
static void
read_port(struct line *l, const struct json_value *v)
{
	struct str port = v->text;
	struct buf b;

	if (v->type != JSON_NUMBER && v->type != JSON_STRING) {
		fault(l, "wrong_type", "port is a number");
		return;
	}
	if (l->ask.via == VIA_DNS)
		return;
	buf_init(&b, l->ask.target.n + port.n + 1);
	buf_str(&b, l->ask.target);
	buf_str(&b, port);
	l->ask.target = arena_str(&l->arena, buf_view(&b));
	buf_fini(&b);
}

static void
read_dns_error(struct line *l, const struct json_value *v)
{
	const struct json_value *error = json_get(v, "error");

	if (error == NULL || error->type != JSON_STRING) {
		fault(l, "bad_answers",
		    "answers is a list of addresses, or {\"error\": ...}");
		return;
	}
	l->ask.dns_error =
	    str_eq(error->text, STR("timeout")) ? REASON_DNS_TIMEOUT : REASON_DNS_FAILED;
}

static void
read_answers(struct line *l, const struct json_value *v)
{
	struct addr *found = arena_alloc(&l->arena, (v->n + 1) * sizeof(*found));

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
			fault(l, "bad_answers", "\"%.*s\" is no address",
			    STR_ARG(at->text));
}

static struct settings *
settings_of(struct line *l, const struct json_value *v)
{
	static const char *const known[] = { "production", "name", "dns", "tls",
		"addresses" };

	if (v != NULL && v->type != JSON_OBJECT) {
		fault(l, "wrong_type", "settings is an object");
		return NULL;
	}
	for (const struct json_value *at = v == NULL ? NULL : v->child; at != NULL;
	     at = at->next) {
		bool is_known = false;
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			is_known |= str_eq(at->key, str_of(known[i]));
		if (!is_known)
			fault(l, "unknown_key", "settings here has no \"%.*s\"",
			    STR_ARG(at->key));
	}
	return settings_load_text(
	    "settings", v == NULL || v->n == 0 ? STR("{}") : text_of(l, v), "/", &l->rep);
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
			fault(l, "wrong_type", "a policy is an object");
		source[n++] = (struct ruleset_source){ "batch", text_of(l, at), true };
	}
	if (at != NULL)
		fault(l, "too_many", "more than %d policies", LAYERS_OF_LINE);
	if ((s = settings_of(l, settings)) != NULL &&
	    scene_build(&l->own, s, source, n, &l->rep))
		l->scene = &l->own;
}

static void
take_common_scene(struct line *l)
{
	struct common *c = l->common;

	if (c->given == NULL && !c->is_tried) {
		c->is_tried = true;
		c->is_loaded = scene_load(&c->laptop, NULL, &l->rep);
	}
	l->scene = c->given != NULL ? c->given : c->is_loaded ? &c->laptop : NULL;
	if (l->scene == NULL && l->rep.errors == 0)
		fault(l, "no_policy", "there is neither a configuration nor a policy");
}

static void
read_claims(struct line *l, const struct json_value *v)
{
	l->claims = text_of(l, v);
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
			fault(l, "unknown_key", "a line has no \"%.*s\" in this build",
			    STR_ARG(at->key));
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
		fault(l, "settings_alone",
		    "settings here belong to a policy of the line's own");
}

/* ---- what comes out */

static void
put_error(const struct line *l, struct buf *to)
{
	struct json_out j;
	struct buf findings;

	buf_init(&findings, OUTPUT_MAX);
	report_print_json(&l->rep, &findings);
	json_out_init(&j, to);
	json_open(&j, '{');
	json_key(&j, "id");
	json_raw(&j, l->id);
	json_key(&j, "error");
	json_raw(&j, buf_view(&findings));
	json_close(&j, '}');
	buf_fini(&findings);
}

static void
put_malformed(const struct line *l, const char *why, struct buf *to)
{
	struct explained e = { .trace = { NULL, NULL, 0, 0 } };

	e.verdict = (struct verdict){ .reason = REASON_REQUEST_MALFORMED, .why = why };
	explain_print_json(&e, NULL, l->id, to);
}

/* What a token with these claims would grant; when it is is nobody's business here. */
static enum reason
take_claims(struct line *l, const char **why)
{
	const struct claims_source source = { .settings = l->scene->settings };

	return l->claims.p == NULL ? REASON_NONE
				   : claims_recall(&l->grant, &source, l->claims, why);
}

/* False: the line could not be asked. */
static bool
answer(struct line *l, struct str text, struct buf *to)
{
	const char *why = "no JSON object";
	struct json_value *object = json_parse(text, &l->arena, &why);
	const struct ruleset *rules = NULL;
	struct explained e;
	enum reason reason;

	if (object == NULL || object->type != JSON_OBJECT) {
		put_malformed(l, why, to);
		return true;
	}
	read_line(l, object);
	if (l->rep.errors > 0) {
		put_error(l, to);
		return false;
	}
	if ((reason = take_claims(l, &why)) != REASON_NONE)
		scene_refuse(&e, reason, why, &l->arena);
	else
		rules = scene_explain(&e, l->scene, l->grant, &l->ask, &l->arena);
	explain_print_json(&e, rules, l->id, to);
	return true;
}

static bool
run_line(struct common *common, struct str text)
{
	struct line l = { .common = common, .id = STR("null") };
	struct buf out;
	bool is_asked;

	arena_init(&l.arena, LINE_MEMORY);
	report_init(&l.rep);
	buf_init(&out, OUTPUT_MAX);
	is_asked = answer(&l, text, &out);
	buf_char(&out, '\n');
	fwrite(out.p, 1, out.n, stdout);
	fflush(stdout);
	buf_fini(&out);
	report_fini(&l.rep);
	grant_unref(l.grant);
	scene_fini(&l.own);
	arena_fini(&l.arena);
	return is_asked;
}

int
batch_run(const struct scene *scene)
{
	struct common common = { .given = scene };
	char *text = NULL;
	size_t cap = 0;
	ssize_t n;
	int status = EXIT_YES;

	while (!ferror(stdout) && (n = getline(&text, &cap, stdin)) >= 0) {
		struct str line = { text, (size_t)n };

		if (str_ends(line, STR("\n")))
			line.n--;
		if (!run_line(&common, line))
			status = EXIT_CONFIG;
	}
	free(text);
	scene_fini(&common.laptop);
	return status;
}
