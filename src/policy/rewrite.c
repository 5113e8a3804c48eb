/*
 * rewrite.c - fields and query keys that make an origin see another request
 */
#include "policy/rewrite.h"

static const struct {
	struct str name;
	enum rewrite what;
} fields[] = {
#define FIELD(name, what) { { name, sizeof(name) - 1 }, REWRITES_##what },
#define QUERY(key, what)
#include "policy/fields.def"
#undef FIELD
#undef QUERY
}, keys[] = {
#define FIELD(name, what)
#define QUERY(key, what) { { key, sizeof(key) - 1 }, REWRITES_##what },
#include "policy/fields.def"
#undef FIELD
#undef QUERY
};

/* A field becomes HTTP_X_Y in CGI, and whatever is neither letter nor digit its '_'. */
static char
fold(char c)
{
	return ascii_is_alnum(c) ? ascii_lower(c) : '-';
}

bool
rewrite_is_same_name(struct str a, struct str b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (fold(a.p[i]) != fold(b.p[i]))
			return false;
	return true;
}

enum rewrite
rewrite_field(struct str name)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (rewrite_is_same_name(name, fields[i].name))
			return fields[i].what;
	return REWRITES_NOTHING;
}

/* Takes the next byte of a key, percent- and form-decoded. */
static char
take_byte(struct str *key)
{
	char c = key->p[0];
	size_t used = 1;

	if (c == '%' && key->n > 2 && ascii_is_hex(key->p[1]) &&
	    ascii_is_hex(key->p[2])) {
		c = (char)(ascii_hex_value(key->p[1]) * 16 + ascii_hex_value(key->p[2]));
		used = 3;
	} else if (c == '+') {
		c = ' ';
	}
	*key = str_sub(*key, used, key->n);
	return c;
}

/*
 * What an origin makes of a key; false when it is longer than any we look for.
 * PHP skips spaces before it, ends it at a NUL, and reads ' ', '.' and '[' as '_'.
 */
static bool
decode(struct str key, char out[REWRITE_KEY_MAX], size_t *n)
{
	*n = 0;
	while (key.n > 0) {
		char c = take_byte(&key);
		if (c == '\0')
			break;
		if (c == ' ' && *n == 0)
			continue;
		if (*n == REWRITE_KEY_MAX)
			return false;
		out[(*n)++] = c == ' ' || c == '.' || c == '[' ? '_' : c;
	}
	return true;
}

/* Of a query, as it stands on the wire. */
static enum rewrite
rewrite_key(struct str key)
{
	char text[REWRITE_KEY_MAX];
	size_t n;

	if (!decode(key, text, &n))
		return REWRITES_NOTHING;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (rewrite_is_same_name((struct str){ text, n }, keys[i].name))
			return keys[i].what;
	return REWRITES_NOTHING;
}

/* The next "key=value", with the separator before it; some origins split at ';' too. */
static bool
next_pair(struct str *rest, struct str *pair, struct str *key)
{
	size_t n = 1, at;

	if (rest->n == 0)
		return false;
	while (n < rest->n && rest->p[n] != '&' && rest->p[n] != ';')
		n++;
	*pair = str_sub(*rest, 0, n);
	*rest = str_sub(*rest, n, rest->n);
	*key = *pair;
	if (key->p[0] == '&' || key->p[0] == ';')
		*key = str_sub(*key, 1, key->n);
	if (str_find(*key, '=', &at))
		*key = str_sub(*key, 0, at);
	return true;
}

bool
rewrite_next_key(struct str *query, char text[static REWRITE_KEY_MAX], struct str *key)
{
	struct str pair, raw;
	size_t n;

	if (!next_pair(query, &pair, &raw))
		return false;
	*key = decode(raw, text, &n) ? (struct str){ text, n } : STR("");
	return true;
}

enum rewrite
rewrite_find(const struct http_head *head, struct str query)
{
	enum rewrite what;
	struct str pair, key;

	for (size_t i = 0; head != NULL && i < head->nfield; i++)
		if ((what = rewrite_field(head->field[i].name)) != REWRITES_NOTHING)
			return what;
	while (next_pair(&query, &pair, &key))
		if ((what = rewrite_key(key)) != REWRITES_NOTHING)
			return what;
	return REWRITES_NOTHING;
}

void
rewrite_strip_query(struct buf *out, struct str query)
{
	bool is_beginning_gone = false;
	struct str pair, key;

	while (next_pair(&query, &pair, &key)) {
		if (rewrite_key(key) != REWRITES_NOTHING) {
			is_beginning_gone |= out->n == 0;
			continue;
		}
		if (is_beginning_gone &&
		    out->n == 0) /* its separator has nothing to separate */
			pair = str_sub(pair, 1, pair.n);
		buf_str(out, pair);
	}
}

const char *
rewrite_why(enum rewrite what)
{
	switch (what) {
	case REWRITES_NOTHING:
		break;
	case REWRITES_METHOD:
		return "a field or query key would change the method at the origin";
	case REWRITES_PATH:
		return "a field would change the path at the origin";
	}
	return NULL;
}
