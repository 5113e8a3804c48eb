/*
 * claims.c - a session token's claims -> a grant
 *
 * A table of claims, one reader each.  A reader takes what its claim may be and says
 * in a static sentence what is wrong otherwise; nothing is guessed and nothing that
 * the configuration gives can grow here.
 */
#include "policy/claims.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "conf/report.h"
#include "policy/network.h"
#include "wire/json.h"

#define GRANT_MEMORY ((size_t)8 << 20) /* of at most 8 KB of claims */
#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))
#define YEAR_9999 INT64_C(253402300799)
#define GEN_MAX ((INT64_C(1) << 53) - 1) /* what every store can keep */

struct reading {
	struct grant *g;
	const struct claims_source *source;
	const struct claim_names *names; /* of the issuer; NULL: ours */
	const struct json_value *root;
	int64_t now;
	const struct session_profile *profile; /* NULL: the top level */
	bool is_recalled;                      /* time has been judged before */
	const char *why;
};

static bool
wrong(struct reading *r, const char *why)
{
	r->why = why;
	return false;
}

/* ---- values */

static bool
is_word_character(char c)
{
	return ascii_is_alnum(c) || (c != '\0' && strchr("._~:@-", c) != NULL);
}

/* What names something in store keys, paths and records. */
static bool
is_word(struct str s)
{
	if (s.n == 0 || s.n > CLAIM_WORD_MAX || str_eq(s, STR(".")) ||
	    str_eq(s, STR("..")))
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!is_word_character(s.p[i]))
			return false;
	return true;
}

static bool
read_word(struct reading *r, const struct json_value *v, struct str *out, const char *why)
{
	if (v->type != JSON_STRING || !is_word(v->text))
		return wrong(r, why);
	*out = v->text;
	return true;
}

/* Digits alone: no sign, no fraction, no exponent. */
static bool
read_count(struct reading *r, const struct json_value *v, int64_t most, int64_t *out,
    const char *why)
{
	uint64_t n;

	if (v->type != JSON_NUMBER || !str_decimal(v->text, &n) || n > (uint64_t)most)
		return wrong(r, why);
	*out = (int64_t)n;
	return true;
}

static bool
read_money(struct reading *r, const struct json_value *v, int64_t *out)
{
	if ((v->type != JSON_NUMBER && v->type != JSON_STRING) || !usd_read(v->text, out))
		return wrong(r, "an amount is no decimal of US dollars with up to nine "
				"decimals");
	return true;
}

/* A list of texts; `what` is what is wrong otherwise. */
static bool
read_names(
    struct reading *r, const struct json_value *v, struct names *out, const char *what)
{
	if (v->type != JSON_ARRAY || v->n > CLAIM_NAMES_MAX)
		return wrong(r, what);
	out->p = arena_alloc(&r->g->arena, (v->n + 1) * sizeof(*out->p));
	assert(out->p != NULL);
	for (const struct json_value *at = v->child; at != NULL; at = at->next) {
		if (at->type != JSON_STRING || at->text.n == 0 || at->text.n > 256)
			return wrong(r, what);
		for (size_t i = 0; i < at->text.n; i++)
			if ((unsigned char)at->text.p[i] <= ' ' ||
			    (unsigned char)at->text.p[i] >= 0x7f)
				return wrong(r, what);
		out->p[out->n++] = at->text;
	}
	return true;
}

/* ---- an object of which every key is known */

struct member {
	const char *name;
	bool (*read)(struct reading *r, const struct json_value *v);
};

static bool
read_members(struct reading *r, const struct json_value *object, const struct member *m,
    size_t n, const char *why)
{
	if (object->type != JSON_OBJECT)
		return wrong(r, why);
	for (const struct json_value *at = object->child; at != NULL; at = at->next) {
		size_t i = 0;
		while (i < n && !str_eq(at->key, str_of(m[i].name)))
			i++;
		if (i == n)
			return wrong(r, why);
		if (!m[i].read(r, at))
			return false;
	}
	return true;
}

static bool
read_turn_usd(struct reading *r, const struct json_value *v)
{
	return read_money(r, v, &r->g->turn_usd.claim);
}

static bool
read_session_usd(struct reading *r, const struct json_value *v)
{
	return read_money(r, v, &r->g->session_usd.claim);
}

static bool
read_vm_seconds(struct reading *r, const struct json_value *v)
{
	return read_count(
	    r, v, INT32_MAX, &r->g->vm_seconds.claim, "vmSeconds is no whole number");
}

static const struct member budget_members[] = {
	{ "turnUsd", read_turn_usd },
	{ "sessionUsd", read_session_usd },
	{ "vmSeconds", read_vm_seconds },
};

static bool
read_budget(struct reading *r, const struct json_value *v)
{
	return read_members(r, v, budget_members, COUNT_OF(budget_members),
	    "budget is no object of turnUsd, sessionUsd and vmSeconds");
}

#define LIMIT_MAX (INT64_MAX / 1000000)

#define LIMIT(field, name) \
	static bool read_##field(struct reading *r, const struct json_value *v) \
	{ \
		return read_count( \
		    r, v, LIMIT_MAX, &r->g->field, name " is no whole number"); \
	}

LIMIT(requests_per_minute, "requestsPerMinute")
LIMIT(concurrency, "concurrency")
LIMIT(turn_tokens, "turnTokens")
LIMIT(session_tokens, "sessionTokens")
LIMIT(turn_calls, "turnCalls")
LIMIT(upload_bytes, "uploadBytes")

static const struct member limits_members[] = {
	{ "requestsPerMinute", read_requests_per_minute },
	{ "concurrency", read_concurrency },
	{ "turnTokens", read_turn_tokens },
	{ "sessionTokens", read_session_tokens },
	{ "turnCalls", read_turn_calls },
	{ "uploadBytes", read_upload_bytes },
};

static bool
read_limits(struct reading *r, const struct json_value *v)
{
	return read_members(r, v, limits_members, COUNT_OF(limits_members),
	    "limits is no object of requestsPerMinute, concurrency, turnTokens, "
	    "sessionTokens, turnCalls and uploadBytes");
}

/* ---- the claims */

static bool
read_sid(struct reading *r, const struct json_value *v)
{
	return read_word(r, v, &r->g->sid, "sid is not 1-128 of A-Za-z0-9._~:@-");
}

static bool
read_tenant(struct reading *r, const struct json_value *v)
{
	return read_word(r, v, &r->g->tenant, "tenant is not 1-128 of A-Za-z0-9._~:@-");
}

static bool
read_sub(struct reading *r, const struct json_value *v)
{
	return read_word(r, v, &r->g->sub, "sub is not 1-128 of A-Za-z0-9._~:@-");
}

static bool
read_turn(struct reading *r, const struct json_value *v)
{
	return read_word(r, v, &r->g->turn, "turn is not 1-128 of A-Za-z0-9._~:@-");
}

static bool
read_jti(struct reading *r, const struct json_value *v)
{
	return read_word(r, v, &r->g->jti, "jti is not 1-128 of A-Za-z0-9._~:@-");
}

static bool
read_par(struct reading *r, const struct json_value *v)
{
	return read_word(r, v, &r->g->par, "par is not 1-128 of A-Za-z0-9._~:@-");
}

static bool
read_gen(struct reading *r, const struct json_value *v)
{
	return read_count(r, v, GEN_MAX, &r->g->gen, "gen is no whole number below 2^53");
}

static bool
read_expires(struct reading *r, const struct json_value *v)
{
	return read_count(r, v, YEAR_9999, &r->g->expires,
	    "exp is no whole number of seconds since 1970");
}

static bool
read_issued(struct reading *r, const struct json_value *v)
{
	return read_count(r, v, YEAR_9999, &r->g->issued,
	    "iat is no whole number of seconds since 1970");
}

static bool
read_not_before(struct reading *r, const struct json_value *v)
{
	int64_t from;

	if (!read_count(
		r, v, YEAR_9999, &from, "nbf is no whole number of seconds since 1970"))
		return false;
	return r->is_recalled || from <= r->now + CLAIM_LEEWAY_S ||
	       wrong(r, "nbf is in the future");
}

static bool
read_public(struct reading *r, const struct json_value *v)
{
	if (v->type != JSON_TRUE && v->type != JSON_FALSE)
		return wrong(r, "public is neither true nor false");
	r->g->is_public = v->type == JSON_TRUE;
	return true;
}

static bool
read_models(struct reading *r, const struct json_value *v)
{
	r->g->has_models = true;
	return read_names(r, v, &r->g->models, "models is no list of names");
}

static bool
read_hosted(struct reading *r, const struct json_value *v)
{
	if (v->type == JSON_TRUE || v->type == JSON_FALSE) {
		r->g->hosted = v->type == JSON_TRUE ? HOSTED_ALL : HOSTED_NONE;
		return true;
	}
	r->g->hosted = HOSTED_NAMED;
	return read_names(
	    r, v, &r->g->tools, "hostedTools is neither true, false nor a list of names");
}

static bool
read_network(struct reading *r, const struct json_value *v)
{
	return (r->g->network = network_layer(v, &r->why)) != NULL;
}

const struct session_profile *
profile_find(const struct settings *s, struct str name)
{
	for (size_t i = 0; i < s->profiles.n; i++)
		if (str_eq(name, str_of(s->profiles.p[i].name)))
			return &s->profiles.p[i];
	return NULL;
}

static bool
may_speak_for(const struct texts *list, struct str name)
{
	if (list == NULL || list->n == 0)
		return true;
	for (size_t i = 0; i < list->n; i++)
		if (str_eq(name, str_of(list->p[i])))
			return true;
	return false;
}

/* In the order of their errors; `claim` is CLAIM_N where a name cannot be mapped. */
static const struct {
	const char *name;
	enum claim claim;
	bool (*read)(struct reading *r, const struct json_value *v);
} claims[] = {
	{ "sid", CLAIM_SID, read_sid },
	{ "tenant", CLAIM_TENANT, read_tenant },
	{ "sub", CLAIM_SUB, read_sub },
	{ "turn", CLAIM_TURN, read_turn },
	{ "jti", CLAIM_N, read_jti },
	{ "par", CLAIM_PAR, read_par },
	{ "exp", CLAIM_N, read_expires },
	{ "iat", CLAIM_N, read_issued },
	{ "nbf", CLAIM_N, read_not_before },
	{ "gen", CLAIM_GEN, read_gen },
	{ "budget", CLAIM_BUDGET, read_budget },
	{ "limits", CLAIM_LIMITS, read_limits },
	{ "public", CLAIM_PUBLIC, read_public },
	{ "models", CLAIM_MODELS, read_models },
	{ "hostedTools", CLAIM_HOSTED_TOOLS, read_hosted },
	{ "network", CLAIM_NETWORK, read_network },
};

/* As the issuer calls it. */
static const char *
name_of(const struct claim_names *names, const char *name, enum claim claim)
{
	const char *as = names == NULL || claim == CLAIM_N ? NULL : names->as[claim];

	return as == NULL ? name : as;
}

static const struct json_value *
claim_of(const struct reading *r, const char *name, enum claim claim)
{
	return json_get(r->root, name_of(r->names, name, claim));
}

/* ---- what claims must say together */

static bool
check_time(struct reading *r)
{
	const struct grant *g = r->g;

	if (r->is_recalled || !r->source->is_token)
		return true;
	if (g->issued > r->now + CLAIM_LEEWAY_S)
		return wrong(r, "iat is in the future");
	if (g->expires - r->now > r->source->settings->sessions_max_ttl)
		return wrong(r, "exp is further away than sessions.max_ttl");
	return true;
}

static bool
check_who(struct reading *r)
{
	struct grant *g = r->g;

	if (g->sid.n == 0)
		return wrong(r, "sid is missing");
	if (g->tenant.n == 0 && r->source->is_token && r->source->settings->production)
		return wrong(r, "tenant is missing");
	if (g->tenant.n > 0 || (r->source->tenants != NULL && r->source->tenants->n > 0))
		if (!may_speak_for(r->source->tenants, g->tenant))
			return wrong(r, "the key may not speak for this tenant");
	if (g->tenant.n == 0)
		g->tenant = STR("local");
	if (str_eq(g->par, g->sid))
		return wrong(r, "par is the session itself");
	return true;
}

/* False: there is none of that name, or not for this key. */
static bool
find_profile(struct reading *r)
{
	const struct json_value *v = claim_of(r, "profile", CLAIM_PROFILE);
	struct str name = STR("default");

	if (v != NULL && (v->type != JSON_STRING || !is_word(v->text)))
		return wrong(r, "profile is not 1-128 of A-Za-z0-9._~:@-");
	if (v != NULL)
		name = v->text;
	if (!may_speak_for(r->source->profiles, name))
		return wrong(r, "the key may not speak for this profile");
	if (str_eq(name, STR("default")))
		return true;
	r->g->profile = name;
	r->profile = profile_find(r->source->settings, name);
	return r->profile != NULL || wrong(r, "there is no such profile");
}

static int64_t
smaller(int64_t a, int64_t b)
{
	return a < 0 ? b : b < 0 || a < b ? a : b;
}

int64_t
ceiling_least(const struct ceiling *c)
{
	return smaller(c->cap, c->claim);
}

static int64_t
first_written(int64_t a, int64_t b)
{
	return a >= 0 ? a : b;
}

/* budget.default where nothing is claimed; budget.max, the profile's too, over both. */
static void
set_cap(struct ceiling *c, int64_t fallback, int64_t profile_fallback, int64_t max,
    int64_t profile_max)
{
	c->cap = smaller(max, profile_max);
	if (c->claim < 0)
		c->cap = smaller(c->cap, first_written(profile_fallback, fallback));
}

static void
set_caps(struct reading *r)
{
	static const struct session_budget none = { UNWRITTEN, UNWRITTEN, UNWRITTEN };
	const struct settings *s = r->source->settings;
	const struct session_profile *p = r->profile;
	const struct session_budget *pf = p == NULL ? &none : &p->fallback;
	const struct session_budget *pm = p == NULL ? &none : &p->max;

	set_cap(&r->g->turn_usd, s->budget_default.turn_usd, pf->turn_usd,
	    s->budget_max.turn_usd, pm->turn_usd);
	set_cap(&r->g->session_usd, s->budget_default.session_usd, pf->session_usd,
	    s->budget_max.session_usd, pm->session_usd);
	set_cap(&r->g->vm_seconds, s->budget_default.vm_seconds, pf->vm_seconds,
	    s->budget_max.vm_seconds, pm->vm_seconds);
}

static bool
check_public(struct reading *r)
{
	const struct settings *s = r->source->settings;

	if (!r->g->is_public)
		return true;
	if (r->g->session_usd.claim < 0 || r->g->vm_seconds.claim < 0)
		return wrong(r, "public needs sessionUsd and vmSeconds in the token");
	if (s->sessions_public != PUBLIC_ALLOW || s->budget_public.usd < 0)
		return wrong(
		    r, "public sessions need sessions.public: allow and budget.public");
	return true;
}

static bool
check_network(struct reading *r)
{
	return r->g->network != NULL ||
	       r->source->settings->sessions_network == NETWORK_INHERIT ||
	       (r->g->network = network_deny_all()) != NULL;
}

/* A name that no `turn` claim can have, and no longer than one. */
static struct str
turn_of_jti(struct arena *a, struct str jti)
{
	static const char hex[] = "0123456789abcdef";
	unsigned char sum[EVP_MAX_MD_SIZE];
	char text[2 + 64] = "=";
	unsigned n = 0;

	if (jti.n < CLAIM_WORD_MAX) {
		char *p = arena_alloc(a, jti.n + 1);
		assert(p != NULL);
		p[0] = '=';
		if (jti.n > 0) /* a session without tokens has none */
			memcpy(p + 1, jti.p, jti.n);
		return (struct str){ p, jti.n + 1 };
	}
	bool is_ok = EVP_Digest(jti.p, jti.n, sum, &n, EVP_sha256(), NULL) == 1;
	assert(is_ok && n == 32);
	for (unsigned i = 0; i < n; i++) {
		text[1 + 2 * i] = hex[sum[i] >> 4];
		text[2 + 2 * i] = hex[sum[i] & 15];
	}
	return arena_str(a, (struct str){ text, 65 });
}

/*
 * Who has no token has no jti either: what is said of a turn is then of one that never
 * ends.  budget.default is for turns that end, so it alone makes none.
 */
static bool
imply_turn(struct reading *r)
{
	struct grant *g = r->g;
	bool is_token = r->source->is_token;
	bool has_budget = g->turn_usd.claim >= 0 || g->turn_tokens >= 0 ||
			  g->turn_calls >= 0 || (is_token && g->turn_usd.cap >= 0);

	if (g->turn.n > 0 || !has_budget)
		return true;
	if (g->jti.n == 0 && is_token)
		return wrong(
		    r, "a turn's budget applies, and there is neither turn nor jti");
	g->turn = turn_of_jti(&g->arena, g->jti);
	g->is_turn_implied = true;
	return true;
}

static bool
check_together(struct reading *r)
{
	if (r->source->is_token && r->g->expires == GRANT_FOREVER)
		return wrong(r, "exp is missing");
	if (!check_time(r) || !check_who(r))
		return false;
	set_caps(r);
	if (r->g->gen == GRANT_UNSAID)
		r->g->gen = r->g->issued == GRANT_UNSAID ? 0 : r->g->issued;
	return check_public(r) && check_network(r) && imply_turn(r);
}

/* ---- reading them all */

static struct grant *
grant_new(const struct claims_source *source, struct str json)
{
	struct grant *g = mem_zalloc(sizeof(*g));
	struct ceiling unsaid = { GRANT_UNSAID, GRANT_UNSAID };

	atomic_init(&g->refs, 1);
	arena_init(&g->arena, GRANT_MEMORY);
	g->text = arena_str(&g->arena, json);
	g->issuer = arena_str(&g->arena, source->issuer);
	assert(g->text.p != NULL && g->issuer.p != NULL);
	g->gen = g->issued = GRANT_UNSAID;
	g->expires = GRANT_FOREVER;
	g->turn_usd = g->session_usd = g->vm_seconds = unsaid;
	g->requests_per_minute = g->concurrency = GRANT_UNSAID;
	g->turn_tokens = g->session_tokens = g->turn_calls = GRANT_UNSAID;
	g->upload_bytes = GRANT_UNSAID;
	return g;
}

static const struct claim_names *
names_of(const struct claims_source *source)
{
	const struct claim_maps *maps = &source->settings->sessions_claims;

	for (size_t i = 0; i < maps->n; i++)
		if (str_eq(source->issuer, str_of(maps->p[i].name)))
			return &maps->p[i];
	return NULL;
}

static enum reason
read_all(struct reading *r)
{
	const struct json_value *v;

	r->root = json_parse(r->g->text, &r->g->arena, &r->why);
	if (r->root == NULL)
		return REASON_SESSION_INVALID;
	if (r->root->type != JSON_OBJECT) {
		r->why = "the claims are no JSON object";
		return REASON_SESSION_INVALID;
	}
	for (size_t i = 0; i < COUNT_OF(claims); i++) {
		v = claim_of(r, claims[i].name, claims[i].claim);
		if (v != NULL && !claims[i].read(r, v))
			return REASON_SESSION_INVALID;
	}
	if (r->g->expires != GRANT_FOREVER && !r->is_recalled &&
	    r->g->expires + CLAIM_LEEWAY_S <= r->now) {
		r->why = "exp is over";
		return REASON_SESSION_EXPIRED;
	}
	if (!find_profile(r))
		return REASON_PROFILE_UNKNOWN;
	return check_together(r) ? REASON_NONE : REASON_SESSION_INVALID;
}

static enum reason
read_claims(struct grant **out, const struct claims_source *source, struct str json,
    int64_t now, bool is_recalled, const char **why)
{
	struct reading r = { .g = grant_new(source, json),
		.source = source,
		.names = names_of(source),
		.now = now,
		.is_recalled = is_recalled };
	enum reason reason = read_all(&r);

	*why = r.why;
	if (reason == REASON_NONE)
		*out = r.g;
	else
		grant_unref(r.g);
	return reason;
}

enum reason
claims_read(struct grant **out, const struct claims_source *source, struct str json,
    int64_t now, const char **why)
{
	return read_claims(out, source, json, now, false, why);
}

enum reason
claims_recall(struct grant **out, const struct claims_source *source, struct str json,
    const char **why)
{
	return read_claims(out, source, json, 0, true, why);
}

/* ---- claims that nothing reads */

/* Names that stand in a token, a block after the other. */
struct known {
	const char *name[64];
	size_t n;
};

static void
know(struct known *k, const char *name)
{
	assert(k->n < COUNT_OF(k->name));
	k->name[k->n++] = name;
}

static void
know_members(struct known *k, const struct member *m, size_t n)
{
	for (size_t i = 0; i < n; i++)
		know(k, m[i].name);
}

static bool
knows(const struct known *k, struct str key)
{
	for (size_t i = 0; i < k->n; i++)
		if (str_eq(key, str_of(k->name[i])))
			return true;
	return false;
}

/* Ours, where this issuer calls it something else; or NULL. */
static const char *
name_instead(const struct claim_names *names, struct str key)
{
	for (size_t i = 0; i < COUNT_OF(claims); i++)
		if (str_eq(key, str_of(claims[i].name)))
			return name_of(names, claims[i].name, claims[i].claim);
	return NULL;
}

bool
claim_is_read(const struct claims_source *source, struct str key, struct claim_hint *hint)
{
	const struct claim_names *names = names_of(source);
	struct known k = { .n = 0 };

	*hint = (struct claim_hint){ NULL, NULL };
	for (size_t i = 0; i < COUNT_OF(claims); i++)
		know(&k, name_of(names, claims[i].name, claims[i].claim));
	know(&k, name_of(names, "profile", CLAIM_PROFILE));
	know(&k, "iss");
	know(&k, "aud");
	if (knows(&k, key))
		return true;
	size_t budget = k.n;
	know_members(&k, budget_members, COUNT_OF(budget_members));
	size_t limits = k.n;
	know_members(&k, limits_members, COUNT_OF(limits_members));
	if ((hint->name = name_instead(names, key)) == NULL)
		hint->name = report_suggest(key, k.name, k.n);
	for (size_t i = budget; i < k.n; i++)
		if (hint->name == k.name[i])
			hint->inside = i < limits
					   ? name_of(names, "budget", CLAIM_BUDGET)
					   : name_of(names, "limits", CLAIM_LIMITS);
	return false;
}

/* ---- grants */

struct grant *
grant_ref(struct grant *g)
{
	atomic_fetch_add_explicit(&g->refs, 1, memory_order_relaxed);
	return g;
}

void
grant_unref(struct grant *g)
{
	if (g == NULL || atomic_fetch_sub(&g->refs, 1) != 1)
		return;
	layer_free(g->network);
	arena_fini(&g->arena);
	free(g);
}

static bool
names_have(const struct names *names, struct str text)
{
	for (size_t i = 0; i < names->n; i++)
		if (glob_fits(names->p[i], text))
			return true;
	return false;
}

bool
grant_has_tool(const struct grant *g, struct str tool)
{
	switch (g->hosted) {
	case HOSTED_NONE:
		return false;
	case HOSTED_NAMED:
		return names_have(&g->tools, tool);
	case HOSTED_ALL:
		return true;
	}
	return false;
}

const struct ruleset *
grants_narrow(
    const struct ruleset *outer, struct grant *const *grant, size_t n, struct arena *a)
{
	struct layer **inner = arena_alloc(a, (n + 1) * sizeof(struct layer *));
	size_t have = 0;

	if (inner == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (grant[i]->network != NULL)
			inner[have++] = grant[i]->network;
	return have == 0 ? outer : ruleset_narrow(outer, inner, have, a);
}
