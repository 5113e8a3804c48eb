/*
 * fix.c - the smallest rule that would admit what was refused, and what else it would
 */
#include "policy/fix.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "policy/rewrite.h"

static bool
can_be_mended(enum reason r)
{
	return r == REASON_HOST_NOT_ALLOWED || r == REASON_PORT_NOT_ALLOWED ||
	       r == REASON_PROTOCOL_NOT_ALLOWED || r == REASON_METHOD_NOT_ALLOWED ||
	       r == REASON_PATH_NOT_ALLOWED || r == REASON_IP_LITERAL_NOT_ALLOWED ||
	       r == REASON_TLS_REQUIRED || r == REASON_ADDRESS_DENIED;
}

static bool
is_never_method(struct str method)
{
	return str_eq(method, STR("TRACE")) || str_eq(method, STR("TRACK")) ||
	       str_eq(method, STR("CONNECT"));
}

/* A tunnel does not say what will be spoken; TLS is the narrowest but on port 80. */
static enum protocol
protocol_of(const struct facts *f)
{
	if ((f->protocols & (f->protocols - 1)) == 0)
		return (enum protocol)f->protocols;
	return f->port == 80 ? PROTOCOL_HTTP : PROTOCOL_HTTPS;
}

static uint16_t
usual_port(enum protocol p)
{
	switch (p) {
	case PROTOCOL_HTTP:
		return 80;
	case PROTOCOL_HTTPS:
		return 443;
	case PROTOCOL_TCP:
		break;
	}
	return 0;
}

/* May a rule look at this request, and say which one it means? */
static bool
is_in_sight(const struct fix *fix, const struct facts *f, const struct ruleset *rs)
{
	if (fix->protocol == PROTOCOL_TCP ||
	    (fix->protocol == PROTOCOL_HTTPS && !rs->terms.opens_tls))
		return false;
	/* under methods or paths it would be refused for what rewrites it */
	return f->has_request && rewrite_find(f->head, f->query) == REWRITES_NOTHING;
}

static void
set_request(struct fix *fix, const struct facts *f, const struct ruleset *rs)
{
	size_t at;

	if (!is_in_sight(fix, f, rs))
		return;
	if (rule_can_name_method(f->method))
		fix->method = f->method;
	if (path_pattern_is_valid(f->path) && !str_find(f->path, '*', &at))
		fix->path = f->path;
}

/*
 * What must be opened for the answers to pass, as single addresses.  False: no
 * rule opens them.
 */
static bool
set_private(struct fix *fix, const struct ruleset *rs, const struct place *place,
    const struct facts *f, const struct addr *found, size_t n, struct arena *a)
{
	struct prefix *private = arena_alloc(a, (n + 1) * sizeof(*private));
	struct opened none = { 0 }, opened = { .private = private };
	struct vetted vetted;
	const char *why;

	if (private == NULL)
		return false;
	for (size_t i = 0; i < n; i++) {
		struct addr inner = guard_unwrap(&found[i], place);
		if (guard_vet(&vetted, &found[i], 1, f->port, place, &none, &why))
			continue;
		if (guard_is_metadata(&inner)) {
			opened.metadata = true;
			continue;
		}
		private[opened.nprivate] = (struct prefix){ found[i], 128 };
		if (rs->terms.is_production &&
		    guard_touches_loopback(&private[opened.nprivate]))
			return false;
		opened.nprivate++;
	}
	if (!guard_vet(&vetted, found, n, f->port, place, &opened, &why))
		return false;
	fix->metadata = opened.metadata;
	if (f->host->is_literal) /* naming it opens it */
		return true;
	fix->private = private;
	fix->nprivate = opened.nprivate;
	return true;
}

/* ---- what else */

#define RANGES_APART 3

static void
also(struct fix *fix, struct arena *a, const char *fmt, ...)
{
	struct buf b;
	va_list ap;

	assert(fix->nalso < ALSO_MAX);
	buf_init(&b, 8192);
	va_start(ap, fmt);
	buf_vfmt(&b, fmt, ap);
	va_end(ap);
	fix->also[fix->nalso] = arena_str(a, buf_view(&b));
	fix->nalso += fix->also[fix->nalso].p != NULL;
	buf_fini(&b);
}

/* Where each request is seen. */
static void
say_read(struct fix *fix, const char *at, struct arena *a)
{
	if (fix->method.n == 0)
		also(fix, a, "every method on %s", at);
	else if (str_eq(fix->method, STR("GET")))
		also(fix, a, "HEAD where GET is");
	if (fix->path.n == 0)
		also(fix, a, "every path on %s", at);
	also(fix, a, "any query, fields and body with it");
}

static void
say_requests(struct fix *fix, const char *at, struct arena *a)
{
	if (fix->protocol == PROTOCOL_TCP)
		also(fix, a, "anything that is spoken on %s, unread", at);
	if (fix->protocol == PROTOCOL_HTTPS && fix->method.n == 0 && fix->path.n == 0)
		also(fix, a, "every method, path and body inside TLS to %s, unread", at);
	else if (fix->protocol != PROTOCOL_TCP)
		say_read(fix, at, a);
}

/* A sentence for each, or one for all of many. */
static void
say_ranges(struct fix *fix, uint16_t port, struct arena *a)
{
	bool is_many = fix->nprivate > RANGES_APART;
	char text[PREFIX_TEXT];
	struct buf all;

	buf_init(&all, 8192);
	for (size_t i = 0; i < fix->nprivate; i++) {
		if (!is_many)
			buf_reset(&all);
		buf_fmt(&all, "%s%s", all.n > 0 ? ", " : "",
		    prefix_text(text, &fix->private[i]));
		if (!is_many || i + 1 == fix->nprivate)
			also(fix, a, "whatever else answers at %s on port %u",
			    buf_cstr(&all), (unsigned)port);
	}
	buf_fini(&all);
}

/* ---- what other rules of its host hold back */

static bool
has_upload(const struct rule *r)
{
	return r->upload > 0;
}

static bool
has_max_body(const struct rule *r)
{
	return r->max_body >= 0;
}

static bool
has_dlp(const struct rule *r)
{
	return r->dlp != DLP_NONE;
}

static bool
has_inject(const struct rule *r)
{
	return r->inject != NULL;
}

static bool
has_assurance(const struct rule *r)
{
	return r->assurance != ASSURE_NAME;
}

static const struct {
	const char *key;
	bool (*is_set)(const struct rule *r);
} holds[] = {
	{ "upload", has_upload },
	{ "max_body", has_max_body },
	{ "dlp", has_dlp },
	{ "inject", has_inject },
	{ "assurance", has_assurance },
};

#define HOLDS (sizeof(holds) / sizeof(holds[0]))

/* Bit i: holds[i]. */
static unsigned
held_by(const struct rule *r)
{
	unsigned set = 0;

	for (size_t i = 0; i < HOLDS; i++)
		set |= holds[i].is_set(r) ? 1U << i : 0;
	return set;
}

/* The first of them stands for all. */
struct held {
	unsigned set;
	const struct rule *by;
};

static void
add_held(struct held *sum, const struct layer *l, const struct host *host)
{
	struct walk w;

	if (host->is_literal)
		walk_addr(&w, &l->allow, &host->addr);
	else
		walk_host(&w, &l->allow, host);
	for (const struct entry *e; (e = walk_next(&w)) != NULL;) {
		unsigned set = held_by(e->rule);
		if (set != 0 && sum->by == NULL)
			sum->by = e->rule;
		sum->set |= set;
	}
}

/* A log's line has it as a comment: it may not end there. */
static void
put_place(struct buf *to, const struct rule *r)
{
	for (const char *c = rule_place(r); *c != '\0'; c++)
		buf_char(to, (unsigned char)*c < ' ' || *c == '"' ? '?' : *c);
}

static void
say_unlimited(
    struct fix *fix, const struct facts *f, const struct ruleset *rs, struct arena *a)
{
	struct held held = { 0 };
	const char *between = "";
	size_t before = fix->nalso;
	struct buf b;

	for (size_t i = 0; i < rs->nlayer; i++)
		add_held(&held, rs->layer[i], f->host);
	if (held.set == 0)
		return;
	buf_init(&b, 4096);
	buf_text(&b, "whatever ");
	for (size_t i = 0; i < HOLDS; i++)
		if (held.set & 1U << i) {
			buf_fmt(&b, "%s%s", between, holds[i].key);
			between = ", ";
		}
	buf_text(&b, " would stop: this rule has none, unlike ");
	put_place(&b, held.by);
	also(fix, a, "%s", buf_cstr(&b));
	if (fix->nalso > before)
		fix->unlimited = fix->also[before];
	buf_fini(&b);
}

static void
say_also(struct fix *fix, const struct facts *f, bool is_looked_up, struct arena *a)
{
	char at[AUTHORITY_TEXT];

	authority_text(at, f->host, f->port, 0);
	say_requests(fix, at, a);
	if (!f->host->is_literal && !is_looked_up)
		also(fix, a, "any public address that %s resolves to", f->host->name);
	else if (!f->host->is_literal)
		also(fix, a, "any other public address that %s resolves to later",
		    f->host->name);
	say_ranges(fix, f->port, a);
	if (fix->metadata)
		also(fix, a,
		    "the credentials that the cloud's metadata service hands out");
}

void
fix_find(struct fix *out, enum reason refused, const struct facts *f,
    const struct fix_answers *answers, const struct ruleset *rs,
    const struct place *place, struct arena *a)
{
	*out = (struct fix){ 0 };
	if (!can_be_mended(refused) || (f->has_request && is_never_method(f->method)))
		return;
	if ((out->host = arena_str(a, host_str(f->host))).p == NULL)
		return;
	out->protocol = protocol_of(f);
	out->port = f->port == usual_port(out->protocol) ? 0 : f->port;
	set_request(out, f, rs);
	if (answers->n > 0 &&
	    !set_private(out, rs, place, f, answers->found, answers->n, a))
		return;
	out->is_there = true;
	say_also(out, f, answers->n > 0, a);
	say_unlimited(out, f, rs, a);
}

/* ---- written down */

static void
json_word_list(struct json_out *j, const char *key, struct str word)
{
	if (word.n == 0)
		return;
	json_key(j, key);
	json_open(j, '[');
	json_str(j, word);
	json_close(j, ']');
}

static void
json_rule(const struct fix *fix, struct json_out *j)
{
	char range[PREFIX_TEXT];

	json_open(j, '{');
	json_key(j, "host");
	json_str(j, fix->host);
	json_key(j, "protocol");
	json_text(j, protocol_name(fix->protocol));
	if (fix->port != 0) {
		json_key(j, "ports");
		json_open(j, '[');
		json_int(j, fix->port);
		json_close(j, ']');
	}
	json_word_list(j, "methods", fix->method);
	json_word_list(j, "paths", fix->path);
	if (fix->nprivate > 0) {
		json_key(j, "private");
		json_open(j, '[');
		for (size_t i = 0; i < fix->nprivate; i++)
			json_text(j, prefix_text(range, &fix->private[i]));
		json_close(j, ']');
	}
	if (fix->metadata) {
		json_key(j, "metadata");
		json_bool(j, true);
	}
	json_close(j, '}');
}

void
fix_json(const struct fix *fix, struct json_out *j)
{
	if (!fix->is_there) {
		json_null(j);
		return;
	}
	json_open(j, '{');
	json_key(j, "rule");
	json_rule(fix, j);
	json_key(j, "also_admits");
	json_open(j, '[');
	for (size_t i = 0; i < fix->nalso; i++)
		json_str(j, fix->also[i]);
	json_close(j, ']');
	json_close(j, '}');
}

/* A JSON string is a YAML one too, and never read as a number or a boolean. */
static void
yaml_text(struct buf *to, struct str s)
{
	struct json_out j;
	bool is_plain =
	    s.n > 0 && s.p[0] >= 'a' && s.p[0] <= 'z' && memchr(s.p, '.', s.n) != NULL;

	for (size_t i = 0; i < s.n; i++)
		is_plain &= ascii_is_alnum(s.p[i]) || s.p[i] == '.' || s.p[i] == '-';
	if (is_plain) {
		buf_str(to, s);
		return;
	}
	json_out_init(&j, to);
	json_str(&j, s);
}

static void
yaml_list(struct buf *to, const char *key, struct str word)
{
	if (word.n == 0)
		return;
	buf_fmt(to, "  %s: [", key);
	yaml_text(to, word);
	buf_text(to, "]\n");
}

void
fix_yaml(const struct fix *fix, struct buf *to)
{
	char range[PREFIX_TEXT];

	if (!fix->is_there)
		return;
	buf_text(to, "- host: ");
	yaml_text(to, fix->host);
	buf_fmt(to, "\n  protocol: %s\n", protocol_name(fix->protocol));
	if (fix->port != 0)
		buf_fmt(to, "  ports: [%u]\n", (unsigned)fix->port);
	yaml_list(to, "methods", fix->method);
	yaml_list(to, "paths", fix->path);
	for (size_t i = 0; i < fix->nprivate; i++)
		buf_fmt(to, "%s\"%s\"%s", i == 0 ? "  private: [" : ", ",
		    prefix_text(range, &fix->private[i]),
		    i + 1 == fix->nprivate ? "]\n" : "");
	if (fix->metadata)
		buf_text(to, "  metadata: true\n");
}

static void
line_text(struct buf *to, struct str s)
{
	buf_char(to, '\'');
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\'')
			buf_char(to, '\'');
		buf_char(to, s.p[i]);
	}
	buf_char(to, '\'');
}

static void
line_list(struct buf *to, const char *key, struct str word)
{
	if (word.n == 0)
		return;
	buf_fmt(to, ", %s: [", key);
	line_text(to, word);
	buf_char(to, ']');
}

void
fix_line(const struct fix *fix, struct buf *to)
{
	char range[PREFIX_TEXT];

	if (!fix->is_there)
		return;
	buf_text(to, "- { host: ");
	line_text(to, fix->host);
	buf_fmt(to, ", protocol: %s", protocol_name(fix->protocol));
	if (fix->port != 0)
		buf_fmt(to, ", ports: [%u]", (unsigned)fix->port);
	line_list(to, "methods", fix->method);
	line_list(to, "paths", fix->path);
	for (size_t i = 0; i < fix->nprivate; i++)
		buf_fmt(to, "%s'%s'%s", i == 0 ? ", private: [" : ", ",
		    prefix_text(range, &fix->private[i]),
		    i + 1 == fix->nprivate ? "]" : "");
	if (fix->metadata)
		buf_text(to, ", metadata: true");
	buf_text(to, " }");
	if (fix->unlimited.n > 0)
		buf_fmt(to, " # it also admits %.*s", STR_ARG(fix->unlimited));
}
