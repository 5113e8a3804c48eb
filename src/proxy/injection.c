/*
 * injection.c - a credential goes into a request that policy lets through
 */
#include "proxy/injection.h"

#include <openssl/evp.h>
#include <string.h>

#include "audit/name.h"
#include "policy/rewrite.h"
#include "wire/auth.h"

#define BASIC_MAX ((size_t)(AUTH_MAX + SECRET_MAX) * 2)

/* ---- what the client may be told */

static const char in_url[] =
    "a placeholder stands in the URL, where nothing is put in its place";
static const char in_name[] = "a placeholder stands in the name of a field";
static const char not_here[] = "a placeholder stands for what may not go to this host";
static const char unnamed[] =
    "a placeholder stands in a field that its rule does not name";
static const char another[] = "the client brought a credential of its own, beside the "
			      "one that belongs here";
static const char nobody[] = "nobody answers for a request without a session";

bool
injection_tells(const char *why)
{
	const char *const told[] = { in_url, in_name, not_here, unnamed, another,
		nobody };

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		if (why == told[i])
			return true;
	return false;
}

/* ---- what a value holds */

static bool
holds(struct str text, struct str what)
{
	return what.n > 0 && text.n >= what.n &&
	       memmem(text.p, text.n, what.p, what.n) != NULL;
}

/* RFC 7617: what stands in a password is seen when its base64 is taken off. */
static bool
is_basic_with(struct str value, struct str what, struct arena *a, struct auth *out)
{
	return str_eq_nocase(str_sub(value, 0, 6), STR("Basic ")) &&
	       auth_read(out, value, a) && holds(out->secret, what);
}

static bool
value_holds(struct str value, struct str what, struct arena *a)
{
	struct auth auth;

	return holds(value, what) || (what.n > 0 && is_basic_with(value, what, a, &auth));
}

/* Is the field's value weir's to change? */
static bool
is_rewritten(const struct injection *i, struct str name)
{
	return i->how != NULL &&
	       (i->how->header.n == 0 || str_eq_nocase(i->how->header, name));
}

/* ---- placeholders */

static const char *
stray(const struct injection *i, const struct injection_ask *ask,
    const struct vault_item *item)
{
	bool is_ours = i->how != NULL && i->what == item;
	struct str what = item->placeholder;

	if (holds(ask->path, what) || holds(ask->query, what))
		return in_url;
	for (size_t k = 0; k < ask->head->nfield; k++) {
		const struct http_field *f = &ask->head->field[k];
		if (holds(f->name, what))
			return in_name;
		if (!value_holds(f->value, what, ask->arena))
			continue;
		if (!is_ours)
			return not_here;
		if (!is_rewritten(i, f->name))
			return unnamed;
	}
	return NULL;
}

/* ---- the client's own */

/* RFC 6750 2.3, and what APIs made of it.  A page_token is none, and a key is many
 * things. */
static const char *const own_keys[] = { "access_token", "api_key", "api_token", "apikey",
	"auth_token", "client_secret", "job_token", "oauth_token", "private_token" };

static bool
has_own_key(struct str query)
{
	char text[REWRITE_KEY_MAX];
	struct str key;

	while (rewrite_next_key(&query, text, &key))
		for (size_t i = 0; i < sizeof(own_keys) / sizeof(own_keys[0]); i++)
			if (rewrite_is_same_name(key, str_of(own_keys[i])))
				return true;
	return false;
}

/* One with the placeholder in it is weir's; what is no secret by its name is nobody's. */
static const char *
foreign(const struct injection *i, const struct injection_ask *ask)
{
	for (size_t k = 0; k < ask->head->nfield; k++) {
		const struct http_field *f = &ask->head->field[k];
		if (injection_drops(i, f->name) ||
		    str_eq_nocase(str_sub(f->name, 0, 6), STR("Proxy-")) ||
		    name_kind(f->name, NAME_IN_TEXT) == NULL ||
		    value_holds(f->value, i->what->placeholder, ask->arena))
			continue;
		return another;
	}
	return has_own_key(ask->query) ? another : NULL;
}

static bool
is_tenants(const struct credential *c, struct str tenant)
{
	bool is_listed = c->tenants.n == 0;

	for (size_t i = 0; i < c->tenants.n && !is_listed; i++)
		is_listed = str_eq(tenant, str_of(c->tenants.p[i]));
	return is_listed;
}

/* Checked at load, and again here: nothing else stands between a secret and a stranger.
 */
static const char *
unfit(const struct injection *i, const struct injection_ask *ask)
{
	struct pattern to = pattern_of_host(ask->host);

	if (i->what == NULL)
		return "there is no such credential any more";
	if (!credential_covers(i->what->row, &to))
		return "the credential may not go to this host";
	if (!ask->is_tls)
		return "a credential goes to an origin over TLS only";
	if (!ask->has_session)
		return nobody;
	if (!is_tenants(i->what->row, ask->tenant))
		return "the credential is not this tenant's";
	return foreign(i, ask);
}

enum reason
injection_judge(struct injection *out, const struct injection_ask *ask, const char **why)
{
	*out = (struct injection){ .how = ask->how };
	*why = NULL;
	if (ask->how != NULL) {
		out->what = vault_find(ask->vault, ask->how->credential);
		*why = unfit(out, ask);
	}
	for (size_t i = 0; i < ask->vault->n && *why == NULL; i++)
		*why = stray(out, ask, &ask->vault->p[i]);
	return *why == NULL ? REASON_NONE : REASON_CREDENTIAL_REFUSED;
}

/* ---- the request */

/* Cookies are the client's own.  An answer is looked through whole and as it is: a part
 * of it has a part of what it echoes, and who asks for all parts has all of that. */
static const char *const dropped[] = { "Cookie", "Accept-Encoding", "Range", "If-Range",
	"Request-Range", "X-Ms-Range" };

bool
injection_drops(const struct injection *i, struct str name)
{
	if (i->how == NULL)
		return false;
	for (size_t k = 0; k < sizeof(dropped) / sizeof(dropped[0]); k++)
		if (rewrite_is_same_name(name, str_of(dropped[k])))
			return true;
	return i->how->header.n > 0 && rewrite_is_same_name(name, i->how->header);
}

bool
injection_swaps(const struct injection *i, struct str value, struct arena *a)
{
	return i->how != NULL && value_holds(value, i->what->placeholder, a);
}

static struct str
secret_of(const struct injection *i)
{
	return (struct str){ i->what->row->value.bytes, i->what->row->value.n };
}

/* RFC 7617.  A pair of which the end does not fit is not sent: neither is its head. */
static void
put_pair(const struct buf *pair, struct buf *to)
{
	struct str s = buf_view(pair);
	char *room = buf_room(to, 4 * ((s.n + 2) / 3) + 1);

	if (room == NULL || pair->is_over)
		to->is_over = true;
	else
		buf_grew(to, (size_t)EVP_EncodeBlock((unsigned char *)room,
				 (const unsigned char *)s.p, (int)s.n));
}

/* Each one, and what stands between them. */
static void
put_swapped(const struct injection *i, struct str text, struct str with, struct buf *to)
{
	struct str what = i->what->placeholder;
	const char *at;

	while ((at = memmem(text.p, text.n, what.p, what.n)) != NULL) {
		size_t before = (size_t)(at - text.p);
		buf_add(to, text.p, before);
		buf_str(to, with);
		text = str_sub(text, before + what.n, text.n);
	}
	buf_str(to, text);
}

static void
put_basic(const struct injection *i, struct str user, struct str text, struct buf *to)
{
	struct buf pair;

	buf_init(&pair, BASIC_MAX);
	pair.is_secret = true;
	buf_str(&pair, user);
	buf_char(&pair, ':');
	put_swapped(i, text, secret_of(i), &pair);
	buf_text(to, "Basic ");
	put_pair(&pair, to);
	buf_fini(&pair);
}

void
injection_value(
    const struct injection *i, struct str value, struct arena *a, struct buf *to)
{
	struct auth auth;

	if (i->how == NULL || i->what->placeholder.n == 0)
		buf_str(to, value);
	else if (is_basic_with(value, i->what->placeholder, a, &auth))
		put_basic(i, auth.user, auth.secret, to);
	else
		put_swapped(i, value, secret_of(i), to);
}

void
injection_beside(
    const struct injection *i, struct str value, struct arena *a, struct buf *to)
{
	struct auth auth;

	if (is_basic_with(value, i->what->placeholder, a, &auth)) {
		buf_str(to, auth.user);
		buf_char(to, ' ');
		value = auth.secret;
	}
	put_swapped(i, value, STR(" "), to);
}

void
injection_fields(const struct injection *i, struct buf *to)
{
	struct buf pair;

	if (i->how == NULL)
		return;
	buf_text(to, "Accept-Encoding: identity\r\n"); /* its answer is looked through */
	if (i->how->header.n == 0)
		return;
	buf_fmt(to, "%.*s: ", STR_ARG(i->how->header));
	if (i->how->scheme.n > 0)
		buf_fmt(to, "%.*s ", STR_ARG(i->how->scheme));
	if (i->how->user.n == 0) {
		buf_str(to, secret_of(i));
	} else {
		buf_init(&pair, BASIC_MAX);
		pair.is_secret = true;
		buf_fmt(&pair, "%.*s:", STR_ARG(i->how->user));
		buf_str(&pair, secret_of(i));
		put_pair(&pair, to);
		buf_fini(&pair);
	}
	buf_text(to, "\r\n");
}
