#include "meter/hosted.h"

#include <string.h>

#define HEADER_NAMES 16 /* a header lists no more */
#define HEADER_NAME 64

static bool
drop_digits(struct str *s)
{
	size_t n = s->n;

	while (n > 0 && ascii_is_digit(s->p[n - 1]))
		n--;
	if (n == s->n || n < 2 || (s->p[n - 1] != '_' && s->p[n - 1] != '-'))
		return false;
	*s = str_sub(*s, 0, n - 1);
	return true;
}

struct str
hosted_name(struct str type)
{
	struct str s = type;

	while (drop_digits(&s))
		;
	if (s.n > strlen("_preview") &&
	    (str_ends(s, STR("_preview")) || str_ends(s, STR("-preview"))))
		s = str_sub(s, 0, s.n - strlen("_preview"));
	return s;
}

bool
hosted_is_client(struct str type, const char *const *client)
{
	struct str name = hosted_name(type);

	for (; *client != NULL; client++)
		if (str_eq(name, str_of(*client)) || str_eq(type, str_of(*client)))
			return true;
	return false;
}

static bool
is_allowed(const struct hosted_allowed *a, const struct hosted *h)
{
	for (size_t i = 0; i < a->n; i++)
		if (str_eq(a->name[i], h->name) || str_eq(a->name[i], h->type))
			return true;
	return a->all;
}

static bool
is_chosen(const struct call *c, const struct hosted *h)
{
	struct str name = c->choice.name;

	return c->choice.kind == CHOICE_NAMED && name.n > 0 && !h->is_media &&
	       (str_eq(name, h->type) || str_eq(name, h->alias) ||
		   str_eq(hosted_name(name), h->name));
}

static struct piece *
member(const struct call *c, const char *key)
{
	for (struct piece *p = c->root->child; p != NULL; p = p->next)
		if (str_eq(p->key, str_of(key)))
			return p;
	return NULL;
}

/* What may not be said when there are no tools. */
static void
drop_companions(struct call *c)
{
	static const char *const companions[] = { "tool_choice", "parallel_tool_calls",
		"max_tool_calls", "toolConfig", "tool_config", "toolChoice" };

	for (size_t i = 0; i < sizeof(companions) / sizeof(companions[0]); i++) {
		struct piece *p = member(c, companions[i]);

		if (p != NULL)
			p->is_gone = true;
	}
}

static bool
has_no_tools(const struct call *c)
{
	const struct piece *tools = member(c, "tools");

	return tools == NULL || piece_is_out(tools);
}

static void
strip(struct call *c, struct hosted *h)
{
	h->is_stripped = true;
	h->piece->is_gone = true;
	if (h->piece->parent == NULL) /* stands alone: see piece.h */
		splices_add(&c->edits, h->piece->begin, h->piece->end - h->piece->begin,
		    h->piece->put);
}

bool
hosted_judge(struct call *c, const struct hosted_allowed *allowed, bool strips,
    const struct hosted **which)
{
	const struct hosted *first = NULL; /* of the tools that were taken out */
	bool has_stripped = false;

	for (struct hosted *h = c->hosted; h != NULL; h = h->next) {
		if (is_allowed(allowed, h))
			continue;
		*which = h;
		if (!strips || h->piece == NULL || is_chosen(c, h))
			return false;
		strip(c, h);
		has_stripped = true;
		if (first == NULL && !h->is_media)
			first = h;
	}
	if (first != NULL && has_no_tools(c)) {
		*which = first;
		if (c->choice.kind == CHOICE_ANY)
			return false; /* some tool must be called, and none is left */
		drop_companions(c);
	}
	if (has_stripped || c->has_cuts)
		pieces_splice(c->root, &c->edits);
	return true;
}

/* --- the header --- */

static bool
is_before(const struct call *c, const struct hosted *h)
{
	for (const struct hosted *other = c->hosted; other != h; other = other->next)
		if (other->is_stripped && str_eq(other->name, h->name))
			return true;
	return false;
}

/* The client's own text goes into a header: plain characters only. */
static void
add_name(struct buf *to, struct str name)
{
	for (size_t i = 0; i < name.n && i < HEADER_NAME; i++) {
		char c = name.p[i];
		bool is_plain = ascii_is_alnum(c) || (c != '\0' && strchr("_-.:", c));

		buf_char(to, is_plain ? c : '?');
	}
}

void
hosted_stripped(const struct call *c, struct buf *to)
{
	size_t n = 0;

	for (const struct hosted *h = c->hosted; h != NULL && n < HEADER_NAMES;
	     h = h->next)
		if (h->is_stripped && !is_before(c, h)) {
			buf_text(to, n++ == 0 ? "" : ", ");
			add_name(to, h->name);
		}
}
