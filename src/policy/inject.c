/*
 * inject.c - what a rule puts into requests: which credential, and where
 */
#include "policy/inject.h"

#include <assert.h>
#include <string.h>

#include "wire/http.h"

#define WORD_MAX 64
#define HOST_MEMORY ((size_t)4096)

static struct str
keep(const struct inject_source *in, struct str s)
{
	struct str copy = arena_str(in->arena, s);

	assert(copy.p != NULL); /* the arena is sized for the largest policy file */
	return copy;
}

static struct str
read_token(const struct inject_source *in, const struct node *block, const char *key)
{
	const struct node *n = node_get(block, key);
	struct str s;

	if (n == NULL || !node_str(in->tree, n, in->rep, &s))
		return STR("");
	if (s.n > 0 && s.n <= WORD_MAX && http_is_token(s))
		return keep(in, s);
	node_error(in->tree, n, in->rep, "bad_value", NULL,
	    "\"%s\" is one word, as a header has it", key);
	return STR("");
}

/* RFC 7617 2: it has no colon. */
static struct str
read_user(const struct inject_source *in, const struct node *block)
{
	const struct node *n = node_get(block, "user");
	struct str s;

	if (n == NULL || !node_str(in->tree, n, in->rep, &s))
		return STR("");
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] > '~' || s.p[i] == ':') {
			node_error(in->tree, n, in->rep, "bad_value", NULL,
			    "a user is plain ASCII without blanks and colons");
			return STR("");
		}
	return keep(in, s);
}

/* What weir makes anew itself, or never lets pass, carries nothing. */
static bool
is_carrier(struct str header)
{
	static const char *const never[] = { "Host", "Connection", "Content-Length",
		"Transfer-Encoding", "Trailer", "Upgrade", "Expect", "TE", "Via",
		"Keep-Alive" };

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (str_eq_nocase(header, str_of(never[i])))
			return false;
	return !str_eq_nocase(str_sub(header, 0, 6), STR("Proxy-")) &&
	       !str_eq_nocase(str_sub(header, 0, 7), STR("X-Weir-"));
}

static void
check_words(const struct inject_source *in, const struct inject *i)
{
	if (i->header.n == 0 && (i->scheme.n > 0 || i->user.n > 0))
		node_error(in->tree, i->node, in->rep, "bad_inject",
		    "write header: authorization, too",
		    "scheme and user are about a header, and none is named");
	if (i->header.n > 0 && !is_carrier(i->header))
		node_error(in->tree, i->node, in->rep, "bad_inject", NULL,
		    "%.*s carries no credential to an origin", STR_ARG(i->header));
	if (str_eq_nocase(i->scheme, STR("Basic")) != (i->user.n > 0))
		node_error(in->tree, i->node, in->rep, "bad_inject", NULL,
		    "scheme: Basic and user belong together");
}

/* A line end in it would be another field, and a short one is in other words, too. */
static const char *
unfit(const struct credential *c, const struct inject *i)
{
	for (size_t k = 0; k < c->value.n; k++)
		if (c->value.bytes[k] <= ' ' || c->value.bytes[k] > '~')
			return "its value is more than a field can carry: plain ASCII "
			       "without blanks";
	if (c->value.n < SECRET_LEAST)
		return "its value is too short to be found again in an answer";
	if (i->header.n == 0 && c->placeholder == NULL)
		return "it has no placeholder, and no header is named";
	return NULL;
}

static void
check_credential(const struct inject_source *in, const struct inject *i)
{
	const struct credential *c;
	const char *why;

	if (in->settings == NULL)
		return;
	if ((c = credential_find(in->settings, i->credential)) == NULL)
		node_error(in->tree, i->node, in->rep, "unknown_credential",
		    "name one of weir.yaml's `credentials`",
		    "there is no credential \"%s\"", i->credential);
	else if ((why = unfit(c, i)) != NULL)
		node_error(in->tree, i->node, in->rep, "bad_inject", NULL,
		    "\"%s\" cannot be injected: %s", i->credential, why);
}

const struct inject *
inject_read(const struct inject_source *in, const struct node *n)
{
	static const char *const known[] = { "header", "scheme", "user", "credential" };
	struct inject *i = arena_zalloc(in->arena, sizeof(*i));
	const struct node *name;
	struct str credential;

	assert(i != NULL);
	if (!node_is(in->tree, n, in->rep, NODE_BLOCK))
		return NULL;
	node_check_keys(in->tree, n, in->rep, known, sizeof(known) / sizeof(known[0]));
	if ((name = node_get(n, "credential")) == NULL) {
		node_error(in->tree, n, in->rep, "missing_key",
		    "name one of weir.yaml's `credentials`",
		    "inject must say which credential");
		return NULL;
	}
	if (!node_str(in->tree, name, in->rep, &credential))
		return NULL;
	i->credential = keep(in, credential).p;
	i->header = read_token(in, n, "header");
	i->scheme = read_token(in, n, "scheme");
	i->user = read_user(in, n);
	i->node = n;
	check_words(in, i);
	check_credential(in, i);
	return i;
}

void
inject_check_host(
    const struct inject_source *in, const struct inject *i, const struct pattern *to)
{
	const struct credential *c =
	    in->settings == NULL ? NULL : credential_find(in->settings, i->credential);

	if (c != NULL && !credential_covers(c, to))
		node_error(in->tree, i->node, in->rep, "credential_hosts",
		    "add the host to the credential's hosts, if it may go there",
		    "\"%s\" may not go to every host of this rule", i->credential);
}

const struct credential *
credential_find(const struct settings *s, const char *name)
{
	for (size_t i = 0; i < s->credentials.n; i++)
		if (strcmp(s->credentials.p[i].name, name) == 0)
			return &s->credentials.p[i];
	return NULL;
}

bool
credential_covers(const struct credential *c, const struct pattern *to)
{
	bool covers = false;

	for (size_t i = 0; i < c->hosts.n && !covers; i++) {
		struct pattern may;
		enum host_error err;
		struct arena a;
		arena_init(&a, HOST_MEMORY);
		covers =
		    pattern_parse(&may, str_of(c->hosts.p[i]), &a, &err) == PATTERN_OK &&
		    pattern_covers(&may, to);
		arena_fini(&a);
	}
	return covers;
}
