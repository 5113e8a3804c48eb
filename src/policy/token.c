/*
 * token.c - a session token's text -> what it grants, or why it counts for nothing
 */
#include "policy/token.h"

#include <assert.h>
#include <jwt.h>
#include <openssl/evp.h>
#include <string.h>

#include "policy/jwk.h"
#include "wire/json.h"

#define TOKEN_MEMORY ((size_t)4 << 20)
#define CANDIDATES 4 /* keys without kid that are tried, as when one follows another */

void
token_digest(uint8_t out[static TOKEN_DIGEST], struct str token)
{
	unsigned n = 0;
	bool is_ok = EVP_Digest(token.p, token.n, out, &n, EVP_sha256(), NULL) == 1;

	assert(is_ok && n == TOKEN_DIGEST);
	(void)is_ok;
}

/* ---- taken apart */

/* The header is the token's own word: what it says is only held against a key. */
static const char *
read_header(struct token_parts *out, struct arena *a)
{
	const char *why;
	const struct json_value *root = json_parse(out->header, a, &why);
	const struct json_value *alg = json_get(root, "alg"),
				*typ = json_get(root, "typ"),
				*kid = json_get(root, "kid");

	if (root == NULL || root->type != JSON_OBJECT)
		return "its header is no JSON object, or has a key twice";
	if (json_get(root, "crit") != NULL)
		return "its header has crit, and weir knows no extension";
	if (alg == NULL || alg->type != JSON_STRING)
		return "its header has no alg";
	if (typ != NULL &&
	    (typ->type != JSON_STRING || !str_eq_nocase(typ->text, STR("JWT"))))
		return "its typ is not JWT";
	if (kid != NULL &&
	    (kid->type != JSON_STRING || kid->text.n == 0 || kid->text.n > 128))
		return "its kid is no text of 1 to 128 bytes";
	out->alg = alg->text;
	if (kid != NULL)
		out->kid = kid->text;
	return NULL;
}

const char *
token_split(struct token_parts *out, struct str token, struct arena *a)
{
	struct str rest = token, part[3];
	size_t n = 0;

	*out = (struct token_parts){ .kid = STR("") };
	if (token.n > TOKEN_MAX)
		return "it is longer than 8 KB";
	while (n < 3 && str_split(&rest, '.', &part[n]))
		n++;
	if (n != 3 || rest.p != NULL)
		return "it is not three parts with dots between";
	for (size_t i = 0; i < 3; i++)
		if (part[i].n == 0)
			return "one of its parts is empty";
	out->header = base64url_read(part[0], a);
	out->claims = base64url_read(part[1], a);
	out->signature = base64url_read(part[2], a);
	if (out->header.p == NULL || out->claims.p == NULL || out->signature.p == NULL)
		return "one of its parts is no plain base64url";
	out->signed_text = str_sub(token, 0, part[0].n + 1 + part[1].n);
	return read_header(out, a);
}

/* ---- whose it is */

/* RFC 7519 4.1.3 */
static bool
is_for(const struct json_value *aud, const char *audience)
{
	struct str wanted = str_of(audience);
	bool is_there = false;

	if (aud == NULL)
		return false;
	if (aud->type == JSON_STRING)
		return str_eq(aud->text, wanted);
	if (aud->type != JSON_ARRAY)
		return false;
	for (const struct json_value *at = aud->child; at != NULL; at = at->next) {
		if (at->type != JSON_STRING)
			return false;
		is_there |= str_eq(at->text, wanted);
	}
	return is_there;
}

struct checking {
	const struct token_parts *parts;
	const struct json_value *iss, *aud;
	const char *text; /* the token, with a NUL */
	const char *why;
};

/*
 * Could this key have signed it?  `why` keeps what came nearest: the checks are in
 * the order of what a person would mend first.
 */
static bool
is_candidate(struct checking *c, const struct key *k)
{
	if (!str_eq(c->iss->text, str_of(k->row->issuer)))
		return false;
	c->why = "its kid is none of its issuer's";
	if (c->parts->kid.n > 0 && k->kid != NULL &&
	    !str_eq(c->parts->kid, str_of(k->kid)))
		return false;
	c->why = "its alg is not its key's";
	if (!str_eq(c->parts->alg, str_of(k->alg->name)))
		return false;
	c->why = "its aud is not this weir";
	if (!is_for(c->aud, k->row->audience))
		return false;
	c->why = "its signature is not good";
	return c->parts->signature.n == k->signature;
}

/* The one place where libjwt is asked. */
static bool
is_signed(const struct checking *c, const struct key *k)
{
	jwt_t *jwt = NULL;
	bool is_good;

	assert(k->key.bytes != NULL && k->key.n > 0 && k->alg->libjwt > 0);
	is_good = jwt_decode(&jwt, c->text, (const unsigned char *)k->key.bytes,
		      (int)k->key.n) == 0 &&
		  jwt != NULL && (int)jwt_get_alg(jwt) == k->alg->libjwt;
	jwt_free(jwt);
	return is_good;
}

static const struct key *
signer(struct checking *c, const struct keys *keys)
{
	size_t tried = 0;

	for (size_t i = 0; i < keys->n && tried < CANDIDATES; i++) {
		if (!is_candidate(c, &keys->key[i]))
			continue;
		if (is_signed(c, &keys->key[i]))
			return &keys->key[i];
		tried++;
	}
	return NULL;
}

static const struct key *
find_signer(const struct keys *keys, struct str token, struct token_parts *parts,
    struct arena *a, const char **why)
{
	struct checking c = { .parts = parts };
	const struct json_value *claims = json_parse(parts->claims, a, why);

	if (claims == NULL || claims->type != JSON_OBJECT) {
		*why = "its claims are no JSON object, or have a key twice";
		return NULL;
	}
	c.iss = json_get(claims, "iss");
	c.aud = json_get(claims, "aud");
	c.text = arena_str(a, token).p;
	assert(c.text != NULL);
	*why = "its iss is no configured issuer";
	if (c.iss == NULL || c.iss->type != JSON_STRING)
		return NULL;
	const struct key *k = signer(&c, keys);
	if (c.why != NULL)
		*why = c.why;
	return k;
}

enum reason
token_verify(struct grant **out, const struct keys *keys, struct str token, int64_t now,
    const char **why)
{
	enum reason reason = REASON_SESSION_INVALID;
	struct token_parts parts;
	const struct key *k = NULL;
	struct arena a;

	arena_init(&a, TOKEN_MEMORY);
	if ((*why = token_split(&parts, token, &a)) == NULL)
		k = find_signer(keys, token, &parts, &a, why);
	if (k != NULL) {
		const struct claims_source source = { .settings = keys->settings,
			.issuer = str_of(k->row->issuer),
			.tenants = &k->row->tenants,
			.profiles = &k->row->profiles,
			.is_token = true };
		reason = claims_read(out, &source, parts.claims, now, why);
	}
	arena_fini(&a);
	return reason;
}
