/*
 * token.c - weir token: making session tokens, looking at them, making their keys
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/loop.h"
#include "cmd/config.h"
#include "cmd/input.h"
#include "cmd/main.h"
#include "cmd/newfile.h"
#include "cmd/usage.h"
#include "conf/text.h"
#include "policy/sign.h"
#include "policy/token.h"
#include "wire/json.h"

#define TEXT_MAX ((size_t)1 << 20)
#define LIST_MAX 64

static const char help[] =
    "usage: weir token mint [-c FILE] [--key REF --alg ALG] [--kid ID] [--issuer ISS]\n"
    "           [--audience AUD] [--claims FILE] [--sid SID] [--tenant TENANT]\n"
    "           [--sub SUB] [--turn TURN] [--par SID] [--profile NAME]\n"
    "           [--ttl DURATION] [--session-usd USD] [--turn-usd USD]\n"
    "           [--vm-seconds N] [--network deny-all|HOST]... [--model PATTERN]...\n"
    "           [--hosted-tool NAME]... [--public] [--extra-claims]\n"
    "       weir token show [-c FILE] [TOKEN]\n"
    "       weir token keygen [--alg ALG] [--out FILE] [--public-out FILE]\n"
    "\n"
    "mint prints a token signed with a secret of sessions.keys, or with --key.  It is\n"
    "held against the configuration like any other before it is printed.\n"
    "\n"
    "  -c, --config FILE     the configuration (weir.yaml(5))\n"
    "      --key REF         a secret or a private key in PEM: env:NAME, file:PATH or\n"
    "                        cred:NAME\n"
    "      --alg ALG         HS256 ..., RS256 ..., ES256 ...; keygen: ES256\n"
    "      --kid ID          the key's id, in the header; of several secrets: which\n"
    "      --issuer ISS      iss; the key's, when it is configured\n"
    "      --audience AUD    aud (default: the key's, or weir)\n"
    "      --claims FILE     a JSON object of more claims; - is standard input\n"
    "      --sid SID         the session\n"
    "      --tenant TENANT   whose it is\n"
    "      --sub SUB         who may use it\n"
    "      --turn TURN       the turn\n"
    "      --par SID         the session it is a part of\n"
    "      --profile NAME    a profile of the configuration\n"
    "      --ttl DURATION    how long it is good for: 10m (default: 1h)\n"
    "      --session-usd USD the session's budget\n"
    "      --turn-usd USD    the turn's budget\n"
    "      --vm-seconds N    how long the session may live\n"
    "      --network HOST    may be reached, if policy allows it; deny-all: nothing\n"
    "      --model PATTERN   may be used, if policy allows it\n"
    "      --hosted-tool NAME a tool that the provider runs\n"
    "      --public          for strangers: wants --session-usd and --vm-seconds\n"
    "      --extra-claims    claims that weir does not read are meant so, also those\n"
    "                        that look like one it reads\n"
    "\n"
    "show takes a token (standard input without TOKEN) apart, and says, with -c, "
    "whether\n"
    "it counts here and now, and which of its claims do not.\n"
    "\n"
    "keygen makes a key that is not weak and prints it.\n"
    "\n"
    "      --out FILE        write it there instead, for its owner alone\n"
    "      --public-out FILE the public half\n"
    "      --help            this text\n"
    "\n"
    "Exits 0, 1 when the token, or a claim that mint was given, counts for nothing,\n"
    "66 when a file cannot be read, 69 when one cannot be written, 78 when the\n"
    "configuration or the key is wrong.\n";

/* Options that become claims of their own, in the order they are written. */
enum text_claim { SID, TENANT, SUB, TURN, PAR, PROFILE, TEXT_CLAIMS };
static const char *const claim_name[TEXT_CLAIMS] = { "sid", "tenant", "sub", "turn",
	"par", "profile" };

struct words {
	const char *p[LIST_MAX];
	size_t n;
};

struct options {
	const char *config, *key, *alg, *kid, *issuer, *audience, *claims, *ttl;
	const char *text[TEXT_CLAIMS];
	const char *session_usd, *turn_usd, *vm_seconds;
	struct words network, models, tools;
	bool is_public, is_extra;
	const char *out, *public_out;
};

/* ---- small things */

/* What a terminal may see of it. */
static void
print_safely(FILE *to, struct str text)
{
	struct buf b;
	uint32_t c;

	buf_init(&b, TEXT_MAX);
	while (text.n > 0) {
		struct str rest = text;
		bool is_valid = text_next(&rest, &c);
		text_show(&b, str_sub(text, 0, text.n - rest.n), c, is_valid);
		text = rest;
	}
	fwrite(b.p, 1, b.n, to);
	buf_fini(&b);
}

/* ---- mint */

struct mint {
	const struct options *o;
	struct settings *settings; /* NULL without -c */
	struct keys *keys;
	const struct alg *alg;
	const char *kid, *issuer, *audience;
	struct secret secret; /* of --key */
	struct str key;       /* what signs */
	struct arena arena;
	const struct json_value *file; /* of --claims */
	int64_t ttl_s;
};

static int
load_config(struct mint *m)
{
	static const char *const wanted[] = { "sessions", NULL };
	struct report rep;
	int status;

	if (m->o->config == NULL)
		return EXIT_YES;
	if ((status = config_load(&m->settings, m->o->config, wanted)) != EXIT_YES)
		return status;
	report_init(&rep);
	m->keys = keys_load(m->settings, &rep);
	if (m->keys == NULL)
		report_say(&rep);
	report_fini(&rep);
	return m->keys == NULL ? EXIT_CONFIG : EXIT_YES;
}

/* --key: a reference, as in the configuration. */
static int
read_key(struct mint *m)
{
	struct tree t = { .file = "--key" };
	struct node n = { .type = NODE_SCALAR, .text = str_of(m->o->key) };
	struct report rep;

	if ((m->alg = alg_find(str_of(m->o->alg))) == NULL)
		return usage_refuse(
		    "token", "--key needs its --alg: HS256, RS256, ES256 ...");
	report_init(&rep);
	bool is_read = secret_read(&m->secret, &t, &n, ".", NULL, &rep);
	int status = is_read ? EXIT_YES : config_status_of_reference(&rep);
	if (!is_read)
		report_say(&rep);
	report_fini(&rep);
	m->key = (struct str){ m->secret.bytes, m->secret.n };
	m->kid = m->o->kid;
	m->issuer = m->o->issuer;
	m->audience = m->o->audience == NULL ? "weir" : m->o->audience;
	const char *why = !is_read || m->alg->family != ALG_HMAC
			      ? NULL
			      : secret_weakness(m->alg, m->key);
	if (why != NULL)
		fprintf(stderr, "weir token: the secret is too weak: %s\n", why);
	return why == NULL ? status : EXIT_CONFIG;
}

static bool
is_wanted(const char *asked, const char *have)
{
	return asked == NULL || (have != NULL && strcmp(asked, have) == 0);
}

/* A secret of the configuration; a public key signs nothing. */
static int
find_key(struct mint *m)
{
	const struct options *o = m->o;

	for (size_t i = 0; m->keys != NULL && i < m->keys->n; i++) {
		const struct key *k = &m->keys->key[i];
		if (k->alg->family != ALG_HMAC || !is_wanted(o->kid, k->kid) ||
		    !is_wanted(o->issuer, k->row->issuer) ||
		    !is_wanted(o->alg, k->alg->name))
			continue;
		m->alg = k->alg;
		m->kid = k->kid;
		m->issuer = k->row->issuer;
		m->audience = o->audience == NULL ? k->row->audience : o->audience;
		m->key = (struct str){ k->key.bytes, k->key.n };
		return EXIT_YES;
	}
	fputs(
	    "weir token: there is no secret to sign with: name a configuration that has "
	    "one in sessions.keys, or --key and --alg\n",
	    stderr);
	return EXIT_CONFIG;
}

static bool
is_in_file(const struct mint *m, const char *claim)
{
	return json_get(m->file, claim) != NULL;
}

static void
put_words(struct json_out *j, const char *key, const struct words *w)
{
	if (w->n == 0)
		return;
	json_key(j, key);
	json_open(j, '[');
	for (size_t i = 0; i < w->n; i++)
		json_text(j, w->p[i]);
	json_close(j, ']');
}

static void
put_network(struct json_out *j, const struct words *w)
{
	if (w->n == 1 && strcmp(w->p[0], "deny-all") == 0) {
		json_key(j, "network");
		json_text(j, "deny-all");
	} else if (w->n > 0) {
		json_key(j, "network");
		json_open(j, '{');
		put_words(j, "allow", w);
		json_close(j, '}');
	}
}

static void
put_budget(struct json_out *j, const struct options *o)
{
	if (o->session_usd == NULL && o->turn_usd == NULL && o->vm_seconds == NULL)
		return;
	json_key(j, "budget");
	json_open(j, '{');
	if (o->turn_usd != NULL) {
		json_key(j, "turnUsd");
		json_text(j, o->turn_usd);
	}
	if (o->session_usd != NULL) {
		json_key(j, "sessionUsd");
		json_text(j, o->session_usd);
	}
	if (o->vm_seconds != NULL) {
		json_key(j, "vmSeconds");
		json_raw(j, str_of(o->vm_seconds));
	}
	json_close(j, '}');
}

static void
put_jti(struct json_out *j)
{
	unsigned char random[16];
	char text[33];

	if (RAND_bytes(random, sizeof(random)) != 1)
		abort();
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(text + 2 * i, 3, "%02x", random[i]);
	json_key(j, "jti");
	json_text(j, text);
}

/* A claim that stands in the file and is given by an option stands there twice: an
 * error like any other. */
static void
put_claims(const struct mint *m, struct str file, struct buf *to)
{
	struct json_out j;
	int64_t now = clock_wall_s();

	json_out_init(&j, to);
	json_open(&j, '{');
	json_key(&j, "iss");
	json_text(&j, m->issuer);
	json_key(&j, "aud");
	json_text(&j, m->audience);
	if (!is_in_file(m, "iat")) {
		json_key(&j, "iat");
		json_int(&j, now);
	}
	if (!is_in_file(m, "exp")) {
		json_key(&j, "exp");
		json_int(&j, now + m->ttl_s);
	}
	if (!is_in_file(m, "jti"))
		put_jti(&j);
	for (size_t i = 0; i < TEXT_CLAIMS; i++)
		if (m->o->text[i] != NULL) {
			json_key(&j, claim_name[i]);
			json_text(&j, m->o->text[i]);
		}
	put_budget(&j, m->o);
	put_network(&j, &m->o->network);
	put_words(&j, "models", &m->o->models);
	put_words(&j, "hostedTools", &m->o->tools);
	if (m->o->is_public) {
		json_key(&j, "public");
		json_bool(&j, true);
	}
	if (m->file != NULL && m->file->n > 0) {
		size_t open, close;
		buf_char(to, ',');
		if (str_find(file, '{', &open) && str_rfind(file, '}', &close))
			buf_str(to, str_sub(file, open + 1, close - open - 1));
	}
	json_close(&j, '}');
}

/* Who says so: of a configuration, or of none. */
static struct claims_source
source_of(const struct mint *m, struct str issuer)
{
	static const struct settings nobody = { .sessions_max_ttl = INT32_MAX,
		.sessions_public = PUBLIC_ALLOW,
		.budget_default = { -1, -1, -1 },
		.budget_max = { -1, -1, -1 } };

	return (struct claims_source){
		.settings = m->settings == NULL ? &nobody : m->settings,
		.issuer = issuer,
		.is_token = true,
	};
}

static void
print_hint(FILE *to, const struct claim_hint *h)
{
	if (h->name != NULL)
		fprintf(to, "; did you mean \"%s%s%s\"?",
		    h->inside == NULL ? "" : h->inside, h->inside == NULL ? "" : ".",
		    h->name);
}

/* A claim that nothing reads is said, and is an error where it is near one that counts.
 */
static bool
are_claims_meant(const struct mint *m)
{
	const struct claims_source source = source_of(m, str_of(m->issuer));
	struct claim_hint hint;
	bool are_meant = true;

	if (m->file == NULL || m->o->is_extra)
		return true;
	for (const struct json_value *at = m->file->child; at != NULL; at = at->next) {
		if (claim_is_read(&source, at->key, &hint))
			continue;
		fputs("weir token: weir does not read the claim \"", stderr);
		print_safely(stderr, at->key);
		fputc('"', stderr);
		print_hint(stderr, &hint);
		fputc('\n', stderr);
		are_meant = are_meant && hint.name == NULL;
	}
	if (!are_meant)
		fputs(
		    "weir token: no token was made; if it is meant so: --extra-claims\n",
		    stderr);
	return are_meant;
}

static void
print_amount(FILE *to, int64_t amount, bool is_usd)
{
	char text[USD_TEXT];

	if (is_usd)
		fputs(usd_print(amount, text), to);
	else
		fprintf(to, "%" PRId64, amount);
}

/* Budgets that the configuration lowers, a line each. */
static void
print_lowered(FILE *to, const char *before, const struct grant *g)
{
	const struct {
		const char *name;
		const struct ceiling *ceiling;
		bool is_usd;
	} budgets[] = {
		{ "turnUsd", &g->turn_usd, true },
		{ "sessionUsd", &g->session_usd, true },
		{ "vmSeconds", &g->vm_seconds, false },
	};

	for (size_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
		const struct ceiling *c = budgets[i].ceiling;
		if (c->cap < 0 || c->claim <= c->cap)
			continue;
		fprintf(to, "%sbudget.%s ", before, budgets[i].name);
		print_amount(to, c->claim, budgets[i].is_usd);
		fprintf(to, " is above budget.max.%s: only ", budgets[i].name);
		print_amount(to, c->cap, budgets[i].is_usd);
		fputs(" counts\n", to);
	}
}

/* Does what was made count? */
static bool
is_good(const struct mint *m, struct str token, struct str claims)
{
	const struct claims_source source = source_of(m, str_of(m->issuer));
	struct grant *g = NULL;
	const char *why;
	enum reason reason = m->keys == NULL
				 ? claims_read(&g, &source, claims, clock_wall_s(), &why)
				 : token_verify(&g, m->keys, token, clock_wall_s(), &why);

	if (g != NULL)
		print_lowered(stderr, "weir token: ", g);
	grant_unref(g);
	if (reason == REASON_PROFILE_UNKNOWN && m->keys == NULL)
		return true; /* whoever has the configuration knows */
	if (reason != REASON_NONE)
		fprintf(stderr,
		    "weir token: this token would count for nothing: %s: %s\n",
		    reason_row(reason)->name, why);
	return reason == REASON_NONE;
}

static int
sign_and_print(const struct mint *m, struct str file)
{
	struct buf claims, token;
	int status = EXIT_NO;

	buf_init(&claims, TEXT_MAX);
	buf_init(&token, TEXT_MAX);
	token.is_secret = true;
	put_claims(m, file, &claims);
	const char *why =
	    token_sign(&token, m->alg, str_of(m->kid), m->key, buf_view(&claims));
	if (why != NULL) {
		fprintf(stderr, "weir token: the key does not fit %s: %s\n", m->alg->name,
		    why);
		status = EXIT_CONFIG;
	} else if (is_good(m, buf_view(&token), buf_view(&claims))) {
		printf("%.*s\n", STR_ARG(buf_view(&token)));
		status = EXIT_YES;
	}
	buf_fini(&claims);
	buf_fini(&token);
	return status;
}

static int
read_ttl(struct mint *m)
{
	struct tree t = { .file = "--ttl" };
	struct node n = { .type = NODE_SCALAR,
		.text = str_of(m->o->ttl == NULL ? "1h" : m->o->ttl) };
	struct report rep;
	int64_t ms = 0;

	report_init(&rep);
	bool is_read = node_duration(&t, &n, &rep, &ms);
	report_fini(&rep);
	m->ttl_s = ms / 1000;
	if (is_read && m->ttl_s > 0)
		return EXIT_YES;
	return usage_refuse("token", "--ttl takes a duration: 10m or 1h");
}

static int
mint_with(struct mint *m)
{
	const struct options *o = m->o;
	struct buf file;
	const char *why = NULL;
	int status;

	if ((status = read_ttl(m)) != EXIT_YES || (status = load_config(m)) != EXIT_YES ||
	    (status = o->key != NULL ? read_key(m) : find_key(m)) != EXIT_YES)
		return status;
	if (m->issuer == NULL)
		return usage_refuse("token", "--key needs its --issuer");
	buf_init(&file, TEXT_MAX);
	if (o->claims != NULL && !input_read("token", o->claims, &file))
		status = EXIT_NOINPUT;
	else if (o->claims != NULL)
		m->file = json_parse(buf_view(&file), &m->arena, &why);
	if (status == EXIT_YES && o->claims != NULL &&
	    (m->file == NULL || m->file->type != JSON_OBJECT)) {
		fprintf(stderr, "weir token: %s is no JSON object: %s\n", o->claims,
		    why == NULL ? "it is another value" : why);
		status = EXIT_CONFIG;
	}
	if (status == EXIT_YES && !are_claims_meant(m))
		status = EXIT_NO;
	if (status == EXIT_YES)
		status = sign_and_print(m, buf_view(&file));
	buf_fini(&file);
	return status;
}

static int
mint(const struct options *o, int nword, char *const *word)
{
	struct mint m = { .o = o };

	(void)word;
	if (nword > 0)
		return usage_refuse("token", "mint takes options only");
	arena_init(&m.arena, (size_t)64 << 20);
	int status = mint_with(&m);
	arena_fini(&m.arena);
	keys_free(m.keys);
	settings_free(m.settings);
	secret_wipe(&m.secret);
	return status;
}

/* ---- show */

static void
print_expiry(const struct json_value *claims)
{
	const struct json_value *exp = json_get(claims, "exp");
	struct tm tm;
	char text[40];
	uint64_t n;
	time_t when;

	if (exp == NULL || exp->type != JSON_NUMBER || !str_decimal(exp->text, &n) ||
	    n > INT32_MAX * UINT64_C(100))
		return;
	when = (time_t)n;
	if (gmtime_r(&when, &tm) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		return;
	printf("expires  %s (%+" PRId64 " s)\n", text, (int64_t)n - clock_wall_s());
}

static void
print_ignored(const struct mint *m, const struct json_value *claims)
{
	const struct json_value *iss = json_get(claims, "iss");
	const struct claims_source source =
	    source_of(m, iss == NULL || iss->type != JSON_STRING ? STR_NONE : iss->text);
	struct claim_hint hint;

	if (claims == NULL || claims->type != JSON_OBJECT)
		return;
	for (const struct json_value *at = claims->child; at != NULL; at = at->next) {
		if (claim_is_read(&source, at->key, &hint))
			continue;
		fputs("ignored  ", stdout);
		print_safely(stdout, at->key);
		print_hint(stdout, &hint);
		putchar('\n');
	}
}

static int
print_verdict(const struct mint *m, struct str token)
{
	struct grant *g = NULL;
	const char *why;

	if (m->keys == NULL) {
		puts("verdict  not verified: no configuration was named");
		return EXIT_YES;
	}
	enum reason reason = token_verify(&g, m->keys, token, clock_wall_s(), &why);
	if (g != NULL)
		print_lowered(stdout, "lowered  ", g);
	grant_unref(g);
	printf("verdict  %s%s%s\n", reason_row(reason)->name, why == NULL ? "" : ": ",
	    why == NULL ? "" : why);
	return reason == REASON_NONE ? EXIT_YES : EXIT_NO;
}

static int
show_parts(struct mint *m, struct str token)
{
	struct token_parts parts;
	const struct json_value *claims;
	const char *why = token_split(&parts, token, &m->arena), *ignored;

	if (why != NULL) {
		fprintf(stderr, "weir token: this is no token: %s\n", why);
		return EXIT_NO;
	}
	fputs("header   ", stdout);
	print_safely(stdout, parts.header);
	fputs("\nclaims   ", stdout);
	print_safely(stdout, parts.claims);
	putchar('\n');
	claims = json_parse(parts.claims, &m->arena, &ignored);
	print_expiry(claims);
	print_ignored(m, claims);
	return print_verdict(m, token);
}

static int
show(const struct options *o, int nword, char *const *word)
{
	struct mint m = { .o = o };
	struct buf text;
	int status = EXIT_YES;

	if (nword > 1)
		return usage_refuse("token", "show takes one token");
	arena_init(&m.arena, (size_t)64 << 20);
	buf_init(&text, TEXT_MAX);
	text.is_secret = true;
	if (nword == 1)
		buf_text(&text, word[0]);
	else if (!input_read("token", "-", &text))
		status = EXIT_NOINPUT;
	struct str token = input_line(buf_view(&text));
	if (status == EXIT_YES && (status = load_config(&m)) == EXIT_YES)
		status = show_parts(&m, token);
	buf_fini(&text);
	arena_fini(&m.arena);
	keys_free(m.keys);
	settings_free(m.settings);
	return status;
}

/* ---- keygen */

static int
no_key(const struct alg *alg)
{
	fprintf(stderr, "weir token: OpenSSL makes no key for %s\n", alg->name);
	return EXIT_SOFTWARE;
}

static int
write_key(const struct options *o, const struct alg *alg, struct buf *key)
{
	struct buf public;
	int status = EXIT_YES;

	buf_init(&public, TEXT_MAX);
	if (alg->family == ALG_HMAC)
		buf_char(key, '\n');
	else if (!key_public(&public, buf_view(key)))
		status = no_key(alg);
	if (status == EXIT_YES && o->out != NULL &&
	    !newfile_write("token", o->out, 0600, buf_view(key)))
		status = EXIT_UNAVAILABLE;
	else if (status == EXIT_YES && o->out == NULL)
		fwrite(key->p, 1, key->n, stdout);
	if (status == EXIT_YES && o->public_out != NULL &&
	    !newfile_write("token", o->public_out, 0644, buf_view(&public)))
		status = EXIT_UNAVAILABLE;
	buf_fini(&public);
	return status;
}

static int
keygen(const struct options *o, int nword, char *const *word)
{
	const struct alg *alg = alg_find(str_of(o->alg == NULL ? "ES256" : o->alg));
	struct buf key;

	(void)word;
	if (nword > 0)
		return usage_refuse("token", "keygen takes options only");
	if (alg == NULL || alg->libjwt < 0)
		return usage_refuse("token", "--alg takes HS256, RS256, ES256 ...");
	if (o->public_out != NULL && alg->family == ALG_HMAC)
		return usage_refuse(
		    "token", "a secret of %s has no public half", alg->name);
	buf_init(&key, TEXT_MAX);
	key.is_secret = true;
	int status = key_make(&key, alg) ? write_key(o, alg, &key) : no_key(alg);
	buf_fini(&key);
	return status;
}

/* ---- options */

enum option_id {
	OPTION_KEY = 256,
	OPTION_ALG,
	OPTION_KID,
	OPTION_ISSUER,
	OPTION_AUDIENCE,
	OPTION_CLAIMS,
	OPTION_TTL,
	OPTION_SESSION_USD,
	OPTION_TURN_USD,
	OPTION_VM_SECONDS,
	OPTION_OUT,
	OPTION_PUBLIC_OUT,
	OPTION_NETWORK,
	OPTION_MODEL,
	OPTION_TOOL,
	OPTION_PUBLIC,
	OPTION_EXTRA,
	OPTION_TEXT /* and behind it one for each text_claim */
};

static const struct option longs[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "help", no_argument, NULL, 'h' },
	{ "key", required_argument, NULL, OPTION_KEY },
	{ "alg", required_argument, NULL, OPTION_ALG },
	{ "kid", required_argument, NULL, OPTION_KID },
	{ "issuer", required_argument, NULL, OPTION_ISSUER },
	{ "audience", required_argument, NULL, OPTION_AUDIENCE },
	{ "claims", required_argument, NULL, OPTION_CLAIMS },
	{ "ttl", required_argument, NULL, OPTION_TTL },
	{ "session-usd", required_argument, NULL, OPTION_SESSION_USD },
	{ "turn-usd", required_argument, NULL, OPTION_TURN_USD },
	{ "vm-seconds", required_argument, NULL, OPTION_VM_SECONDS },
	{ "out", required_argument, NULL, OPTION_OUT },
	{ "public-out", required_argument, NULL, OPTION_PUBLIC_OUT },
	{ "network", required_argument, NULL, OPTION_NETWORK },
	{ "model", required_argument, NULL, OPTION_MODEL },
	{ "hosted-tool", required_argument, NULL, OPTION_TOOL },
	{ "public", no_argument, NULL, OPTION_PUBLIC },
	{ "extra-claims", no_argument, NULL, OPTION_EXTRA },
	{ "sid", required_argument, NULL, OPTION_TEXT + SID },
	{ "tenant", required_argument, NULL, OPTION_TEXT + TENANT },
	{ "sub", required_argument, NULL, OPTION_TEXT + SUB },
	{ "turn", required_argument, NULL, OPTION_TEXT + TURN },
	{ "par", required_argument, NULL, OPTION_TEXT + PAR },
	{ "profile", required_argument, NULL, OPTION_TEXT + PROFILE },
	{ NULL, 0, NULL, 0 },
};

enum { MINT = 1, SHOW = 2, KEYGEN = 4 };

/* Which of them an option is for. */
static const struct usage_users users[] = {
	{ 'c', MINT | SHOW },
	{ OPTION_KEY, MINT },
	{ OPTION_ALG, MINT | KEYGEN },
	{ OPTION_KID, MINT },
	{ OPTION_ISSUER, MINT },
	{ OPTION_AUDIENCE, MINT },
	{ OPTION_CLAIMS, MINT },
	{ OPTION_TTL, MINT },
	{ OPTION_SESSION_USD, MINT },
	{ OPTION_TURN_USD, MINT },
	{ OPTION_VM_SECONDS, MINT },
	{ OPTION_OUT, KEYGEN },
	{ OPTION_PUBLIC_OUT, KEYGEN },
	{ OPTION_NETWORK, MINT },
	{ OPTION_MODEL, MINT },
	{ OPTION_TOOL, MINT },
	{ OPTION_PUBLIC, MINT },
	{ OPTION_EXTRA, MINT },
	{ OPTION_TEXT + SID, MINT },
	{ OPTION_TEXT + TENANT, MINT },
	{ OPTION_TEXT + SUB, MINT },
	{ OPTION_TEXT + TURN, MINT },
	{ OPTION_TEXT + PAR, MINT },
	{ OPTION_TEXT + PROFILE, MINT },
	{ 0, 0 },
};

static const struct {
	const char *name;
	unsigned bit;
	int (*run)(const struct options *o, int nword, char *const *word);
} deeds[] = {
	{ "mint", MINT, mint },
	{ "show", SHOW, show },
	{ "keygen", KEYGEN, keygen },
};

/* Where the value of an option goes; NULL: it is none of one value. */
static const char **
place_of(struct options *o, int c)
{
	const struct {
		int id;
		const char **at;
	} places[] = {
		{ 'c', &o->config },
		{ OPTION_KEY, &o->key },
		{ OPTION_ALG, &o->alg },
		{ OPTION_KID, &o->kid },
		{ OPTION_ISSUER, &o->issuer },
		{ OPTION_AUDIENCE, &o->audience },
		{ OPTION_CLAIMS, &o->claims },
		{ OPTION_TTL, &o->ttl },
		{ OPTION_SESSION_USD, &o->session_usd },
		{ OPTION_TURN_USD, &o->turn_usd },
		{ OPTION_VM_SECONDS, &o->vm_seconds },
		{ OPTION_OUT, &o->out },
		{ OPTION_PUBLIC_OUT, &o->public_out },
	};

	if (c >= OPTION_TEXT && c < OPTION_TEXT + (int)TEXT_CLAIMS)
		return &o->text[c - OPTION_TEXT];
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (places[i].id == c)
			return places[i].at;
	return NULL;
}

static struct words *
list_of(struct options *o, int c)
{
	return c == OPTION_NETWORK ? &o->network
	       : c == OPTION_MODEL ? &o->models
	       : c == OPTION_TOOL  ? &o->tools
				   : NULL;
}

static int
take_option(struct options *o, int c, char *const *argv)
{
	const char **place = place_of(o, c);
	struct words *list = list_of(o, c);

	if (place != NULL)
		*place = optarg;
	else if (list != NULL && list->n < LIST_MAX)
		list->p[list->n++] = optarg;
	else if (list != NULL)
		return usage_refuse(
		    "token", "%s may stand %d times", argv[optind - 2], LIST_MAX);
	else if (c == OPTION_PUBLIC)
		o->is_public = true;
	else if (c == OPTION_EXTRA)
		o->is_extra = true;
	else
		return usage_refuse_option("token", longs, argv, c);
	return EXIT_YES;
}

static int
run_deed(const struct options *o, int n, char *const *word, uint64_t given)
{
	const char *what = n > 0 ? word[0] : "";
	int status;

	for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++) {
		if (strcmp(what, deeds[i].name) != 0)
			continue;
		status =
		    usage_check_users("token", what, deeds[i].bit, longs, users, given);
		return status == EXIT_YES ? deeds[i].run(o, n - 1, word + 1) : status;
	}
	return usage_refuse("token", "say mint, show or keygen");
}

int
cmd_token(int argc, char **argv)
{
	struct options o = { 0 };
	uint64_t given = 0;
	int c, status;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":c:h", longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return EXIT_YES;
		}
		if ((status = take_option(&o, c, argv)) != EXIT_YES)
			return status;
		given |= usage_given(longs, c);
	}
	return run_deed(&o, argc - optind, argv + optind, given);
}
