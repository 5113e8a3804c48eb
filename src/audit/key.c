/*
 * key.c - the key before a = or :
 */
#include "audit/key.h"

#include <string.h>

size_t
key_skip_colour(struct str text, size_t at)
{
	size_t end = at + 2;

	if (at + 2 >= text.n || text.p[at] != '\033' || text.p[at + 1] != '[')
		return at;
	while (end < text.n && end - at < 16 &&
	       (ascii_is_digit(text.p[end]) || text.p[end] == ';'))
		end++;
	return end < text.n && text.p[end] == 'm' ? end + 1 : at;
}

static size_t
skip_colour_back(struct str text, size_t at)
{
	if (at == 0 || text.p[at - 1] != 'm')
		return at;
	for (size_t back = 3; back <= at && back <= 16; back++)
		if (text.p[at - back] == '\033')
			return key_skip_colour(text, at - back) == at ? at - back : at;
	return at;
}

/* Back over the quote that closes a name, with the backslashes before it. */
static size_t
skip_quote_back(struct str text, size_t at)
{
	if (at == 0 || !has_byte("\"'`", text.p[at - 1]))
		return at;
	at--;
	for (size_t n = 0; n < 8 && at > 0 && text.p[at - 1] == '\\'; n++)
		at--;
	return at;
}

/* Back over [] and [0], as forms number their fields, and the ] of config["password"]. */
static size_t
skip_index_back(struct str text, size_t at)
{
	for (int n = 0; n < 4 && at > 0 && text.p[at - 1] == ']'; n++) {
		size_t from = at - 1;

		while (at - from <= NAME_NUMBER_MAX && from > 0 &&
		       ascii_is_digit(text.p[from - 1]))
			from--;
		if (from == 0 || text.p[from - 1] != '[')
			return at - 1;
		at = from - 1;
	}
	return at;
}

bool
key_before(struct str text, size_t at, struct key *key)
{
	size_t to = at;

	if (to > 0 && has_byte("*+?", text.p[to - 1])) /* +=, ?=, *= */
		to--;
	for (size_t n = 0; n < KEY_BLANKS_MAX && to > 0 && is_blank(text.p[to - 1]); n++)
		to--;
	to = skip_colour_back(text, to);
	to = skip_index_back(text, to);
	size_t unquoted = skip_quote_back(text, to);
	key->is_quoted = unquoted != to;

	size_t from = unquoted;
	while (
	    from > 0 && unquoted - from < KEY_NAME_MAX && is_name_byte(text.p[from - 1]))
		from--;
	/* "...\napi_key=": the n is no part of the name */
	if (from > 0 && from < unquoted && text.p[from - 1] == '\\' &&
	    has_byte("bfnrt", text.p[from]))
		from++;
	key->before = from > 0 ? text.p[from - 1] : '\0';
	key->name = str_sub(text, from, unquoted - from);
	return key->name.n > 0;
}

/* The kind that a name says which is written without a code. */
static const char *
plain_kind(struct str name, enum name_place place, struct key *key, size_t *work)
{
	const char *kind = name_kind(name, place);

	if (kind != NULL || place != NAME_IN_TEXT)
		return kind;
	*work += WORDS_COST;
	kind = name_kind_in_doubt(name, &key->proof);
	key->is_doubtful = kind != NULL;
	return kind;
}

const char *
key_kind(struct piece *p, struct key *key)
{
	enum name_place place = NAME_IN_TEXT;
	char room[KEY_NAME_MAX + 1];
	struct buf plain;

	key->is_doubtful = false;
	if (has_byte(p->as == SCAN_URL ? "?&#;" : "?&#", key->before))
		place = NAME_IN_QUERY;
	else if (key->is_quoted)
		place = NAME_IN_JSON;
	p->scan->work += GLANCE_COST;
	if (memchr(key->name.p, '%', key->name.n) == NULL) {
		if (!name_may_be_kind(p->scan->filter->name_ends, key->name) ||
		    !name_ends_like_kind(key->name))
			return NULL;
		p->scan->work += WORDS_COST;
		return plain_kind(key->name, place, key, &p->scan->work);
	}

	p->scan->work += WORDS_COST;
	buf_init(&plain, sizeof(room));
	span_decode(key->name, SPAN_PERCENT, &plain);
	const char *kind = plain_kind(buf_view(&plain), place, key, &p->scan->work);
	buf_fini(&plain);
	return kind;
}
