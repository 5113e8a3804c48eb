#include "meter/body.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_MAX 65536 /* of all objects that are open at once */
#define SCRATCH_KEPT ((size_t)1 << 20)

/* --- tokens --- */

/* Where the next token begins; json_next() says only where it ends. */
static size_t
token_begin(const struct json_in *in)
{
	size_t at = in->at;

	while (at < in->in.n && memchr(" \t\r\n,", in->in.p[at], 5) != NULL)
		at++;
	return at;
}

static bool
is_bad(struct body *b)
{
	if (b->token != JSON_BAD)
		return false;
	call_fail(b->call, CALL_MALFORMED, b->in.error, b->in.at);
	return true;
}

static bool
next(struct body *b)
{
	if (b->scratch.used > SCRATCH_KEPT) /* of text that nobody kept */
		arena_reset(&b->scratch);
	b->begin = token_begin(&b->in);
	b->token = json_next(&b->in);
	b->text = b->in.text;
	if (b->token == JSON_STRING && b->watched_text != NULL)
		b->has_watched_text |= str_eq(b->text, str_of(b->watched_text));
	if (b->token == JSON_KEY && b->watched_key != NULL)
		b->has_watched_key |= str_eq(b->text, str_of(b->watched_key));
	return !is_bad(b);
}

/* Text out of the body stays; what was unescaped is copied. */
static bool
keep(struct body *b, struct str *s)
{
	uintptr_t p = (uintptr_t)s->p, body = (uintptr_t)b->in.in.p;

	if (s->n == 0 || (p >= body && p < body + b->in.in.n))
		return true;
	*s = arena_str(b->call->arena, *s);
	if (s->p == NULL)
		call_fail(b->call, CALL_TOO_LARGE, "text is too large", b->begin);
	return s->p != NULL;
}

/* --- keys --- */

static bool
push_key(struct body *b, struct str key)
{
	if (b->nkey == KEYS_MAX)
		return call_fail(b->call, CALL_TOO_LARGE, "too many keys", b->begin);
	if (b->nkey == b->key_cap) {
		b->key_cap = b->key_cap == 0 ? 64 : b->key_cap * 2;
		b->key = mem_resize(b->key, b->key_cap * sizeof(*b->key));
	}
	b->key[b->nkey++] = key;
	return true;
}

static int
compare_keys(const void *a, const void *b)
{
	const struct str *x = a, *y = b;
	int order = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);

	return order != 0 ? order : (x->n > y->n) - (x->n < y->n);
}

/* By sorting: an object full of keys must not cost the square of its length. */
static bool
close_keys(struct body *b, size_t from)
{
	size_t n = b->nkey - from;

	b->nkey = from;
	if (n < 2)
		return true;
	struct str *key = b->key + from;

	qsort(key, n, sizeof(*key), compare_keys);
	for (size_t i = 1; i < n; i++)
		if (compare_keys(&key[i - 1], &key[i]) == 0)
			return call_fail(
			    b->call, CALL_AMBIGUOUS, "a key stands twice", b->in.at);
	return true;
}

/* The next key of the object that is open.  False at its end and on errors. */
static bool
next_key(struct body *b, size_t from, struct str *key)
{
	if (!next(b))
		return false;
	if (b->token == JSON_OBJECT_END) {
		close_keys(b, from);
		return false;
	}
	*key = b->text;
	return keep(b, key) && push_key(b, *key);
}

/* --- values --- */

bool
body_is(const struct body *b, enum json_token type)
{
	return b->token == type;
}

bool
body_wrong(struct body *b, const char *why)
{
	return call_fail(b->call, CALL_MALFORMED, why, b->begin);
}

static bool
is_model_key(struct str key)
{
	return str_eq(key, STR("model")) || str_eq(key, STR("models")) ||
	       str_eq(key, STR("model_id")) || str_eq(key, STR("modelId"));
}

static bool walk(struct body *b, bool names_model);

static bool
walk_object(struct body *b)
{
	size_t from = b->nkey;
	struct str key;

	while (next_key(b, from, &key))
		if (!next(b) || !walk(b, is_model_key(key)))
			return false;
	return b->call->error == CALL_OK;
}

static bool
walk_array(struct body *b, bool names_model)
{
	while (next(b) && b->token != JSON_ARRAY_END)
		if (!walk(b, names_model))
			return false;
	return b->call->error == CALL_OK;
}

/* As deep as JSON_DEPTH. */
static bool
walk(struct body *b, bool names_model)
{
	struct str text = b->text;

	if (b->token == JSON_OBJECT)
		return walk_object(b);
	if (b->token == JSON_ARRAY)
		return walk_array(b, names_model);
	if (!names_model || b->is_inert || b->token != JSON_STRING || text.n == 0)
		return true;
	return keep(b, &text) && call_names(b->call, text, NAMED_MENTION, b->begin);
}

bool
body_any(struct body *b, void *to)
{
	(void)to;
	return walk(b, false);
}

bool
body_inert(struct body *b, void *to)
{
	bool was_inert = b->is_inert;

	b->is_inert = true;
	bool is_read = body_any(b, to);

	b->is_inert = was_inert;
	return is_read;
}

bool
body_str(struct body *b, void *to)
{
	struct str *out = to;

	if (b->token == JSON_NULL)
		return true;
	if (b->token != JSON_STRING)
		return body_wrong(b, "a string must stand here");
	*out = b->text;
	return keep(b, out);
}

bool
body_count(struct body *b, void *to)
{
	bool has_more;
	wide n;

	if (b->token == JSON_NULL)
		return true;
	if (b->token != JSON_NUMBER || !decimal_read(b->text, 0, &n, &has_more) ||
	    has_more || n > (wide)USAGE_TOKENS_MAX)
		return body_wrong(
		    b, "a whole number that is not negative must stand here");
	*(uint64_t *)to = (uint64_t)n;
	return true;
}

bool
body_bool(struct body *b, void *to)
{
	if (b->token == JSON_NULL)
		return true;
	if (b->token != JSON_TRUE && b->token != JSON_FALSE)
		return body_wrong(b, "true or false must stand here");
	*(bool *)to = b->token == JSON_TRUE;
	return true;
}

bool
body_payload(struct body *b, void *to)
{
	if (b->token != JSON_STRING)
		return body_wrong(b, "a string must stand here");
	*(uint64_t *)to = b->in.at - b->begin;
	return true;
}

bool
body_limit(struct body *b, const char *name)
{
	uint64_t limit = 0;

	if (b->token == JSON_NULL)
		return body_wrong(b, "an output limit is a number, or is not written");
	return body_count(b, &limit) &&
	       call_limits(b->call, limit, name, b->begin, b->in.at - b->begin);
}

/* --- containers --- */

static const struct member *
find_row(const struct object *o, struct str key, size_t *row)
{
	for (*row = 0; *row < o->n; ++*row) {
		const struct member *m = &o->member[*row];

		if (str_eq(key, str_of(m->key)) ||
		    (m->twin != NULL && str_eq(key, str_of(m->twin))))
			return m;
	}
	return NULL;
}

/* The first character of s, folded; two that are no ASCII fold to letters (Unicode's
 * K of kelvin and long s), and some readers of JSON fold them too. */
static char
take_folded(struct str *s)
{
	bool is_kelvin = str_starts(*s, STR("\xe2\x84\xaa"));
	bool is_long_s = str_starts(*s, STR("\xc5\xbf"));
	char c = is_kelvin ? 'k' : is_long_s ? 's' : ascii_lower(s->p[0]);

	*s = str_sub(*s, is_kelvin ? 3 : is_long_s ? 2 : 1, s->n);
	return c;
}

static bool
folds_to(struct str key, const char *name)
{
	struct str rest = str_of(name);

	while (key.n > 0 && rest.n > 0)
		if (take_folded(&key) != take_folded(&rest))
			return false;
	return name != NULL && key.n == 0 && rest.n == 0;
}

static bool
is_near(const struct object *o, struct str key)
{
	for (size_t i = 0; i < o->n; i++)
		if (folds_to(key, o->member[i].key) || folds_to(key, o->member[i].twin))
			return true;
	return false;
}

/* The piece of the member or item that begins here, when its container keeps them. */
static bool
begin_piece(struct body *b, bool keeps, struct piece *container, struct str key)
{
	if (!keeps)
		return true;
	if ((b->piece = piece_add(b->call->arena, container, b->begin)) == NULL)
		return call_fail(b->call, CALL_TOO_LARGE, "too many parts", b->begin);
	b->piece->key = key;
	return true;
}

static bool
read_member(
    struct body *b, const struct object *o, struct str key, uint64_t *seen, void *to)
{
	size_t row;
	const struct member *m = find_row(o, key, &row);

	if (m == NULL && is_near(o, key)) /* some providers' readers fold case */
		return call_fail(b->call, CALL_AMBIGUOUS,
		    "a key differs from a known one only in case", b->begin);
	if (m == NULL)
		return next(b) &&
		       (o->other != NULL ? o->other(b, to) : body_any(b, NULL));
	if ((*seen >> row & 1) != 0) /* the twin; the same key is found at the end */
		return call_fail(b->call, CALL_AMBIGUOUS,
		    "two spellings of one key stand in one object", b->begin);
	*seen |= (uint64_t)1 << row;
	return next(b) && m->read(b, to == NULL ? NULL : (char *)to + m->offset);
}

bool
body_object(struct body *b, const struct object *o, void *to)
{
	struct piece *container = b->piece;
	size_t from = b->nkey;
	uint64_t seen = 0;
	struct str key;

	assert(o->n <= 64);
	if (b->token == JSON_NULL)
		return true;
	if (b->token != JSON_OBJECT)
		return body_wrong(b, "an object must stand here");
	while (next_key(b, from, &key)) {
		if (!begin_piece(b, o->keeps_pieces, container, key) ||
		    !read_member(b, o, key, &seen, to))
			return false;
		if (o->keeps_pieces)
			b->piece->end = b->in.at;
		b->piece = container;
	}
	return b->call->error == CALL_OK;
}

bool
body_array(struct body *b, bool keeps_pieces, body_fn *item, void *to)
{
	struct piece *container = b->piece;

	if (b->token == JSON_NULL)
		return true;
	if (b->token != JSON_ARRAY)
		return body_wrong(b, "a list must stand here");
	while (next(b) && b->token != JSON_ARRAY_END) {
		if (!begin_piece(b, keeps_pieces, container, STR_NONE) || !item(b, to))
			return false;
		if (keeps_pieces)
			b->piece->end = b->in.at;
		b->piece = container;
	}
	return b->call->error == CALL_OK;
}

static bool
is_object(struct body *b)
{
	return b->token == JSON_OBJECT || body_wrong(b, "the body must be an object");
}

bool
body_parse_watching(struct body *b, struct call *c, body_fn *root, void *to,
    const char *key, const char *text)
{
	*b = (struct body){ .call = c, .watched_key = key, .watched_text = text };
	arena_init(&b->scratch, CALL_BODY_MAX * 2);
	json_in_init(&b->in, c->body, &b->scratch);
	if ((c->root = piece_add(c->arena, NULL, 0)) == NULL)
		call_fail(c, CALL_TOO_LARGE, "no room", 0);
	b->piece = c->root;
	bool is_read =
	    c->error == CALL_OK && next(b) && is_object(b) && root(b, to) && next(b);

	assert(!is_read || b->token == JSON_END);
	free(b->key);
	b->key = NULL;
	arena_fini(&b->scratch);
	return is_read;
}

bool
body_parse(struct body *b, struct call *c, body_fn *root, void *to)
{
	return body_parse_watching(b, c, root, to, NULL, NULL);
}
