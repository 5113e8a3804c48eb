/*
 * element.c - secrets in elements and attributes of XML
 */
#include "audit/element.h"

#include "audit/behind.h"

#define TAG_MAX 1024 /* each byte is in one tag, and looked at once */

static const char why_element[] = "the element it is in";
static const char why_attribute[] = "the attribute beside it";
static const char why_sibling[] = "the element before it";

/* Where the tag begins, in this line, that ends at `at`: behind its <. */
static bool
tag_begin(const struct piece *p, size_t at, size_t *from)
{
	size_t least = at - p->line > TAG_MAX ? at - TAG_MAX : p->line, n;

	if (!str_rfind(str_sub(p->text, least, at - least), '<', &n))
		return false;
	*from = least + n + 1;
	return !str_find(str_sub(p->text, *from, at - *from), '>', &n);
}

/* Up to the quote that closes it, which may be escaped as the one that opened it. */
static struct str
attribute_value(struct str tag, size_t *at)
{
	while (*at < tag.n && tag.p[*at] == '\\')
		++*at;
	if (*at == tag.n || !has_byte("\"'", tag.p[*at]))
		return STR_NONE;

	char quote = tag.p[(*at)++];
	size_t from = *at, n;
	*at = str_find(str_sub(tag, from, tag.n), quote, &n) ? from + n : tag.n;
	size_t to = *at;
	while (to > from && *at < tag.n && tag.p[to - 1] == '\\')
		to--;
	return str_sub(tag, from, to - from);
}

/* The next name="value" at or behind *at; false: there is no more. */
static bool
next_attribute(struct str tag, size_t *at, struct str *name, struct str *value)
{
	while (*at < tag.n) {
		size_t from = *at;

		while (*at < tag.n && is_name_byte(tag.p[*at]))
			++*at;
		*name = str_sub(tag, from, *at - from);
		if (name->n == 0) {
			++*at;
			continue;
		}
		while (*at < tag.n && is_space(tag.p[*at]))
			++*at;
		if (*at == tag.n || tag.p[*at] != '=')
			continue;
		++*at;
		while (*at < tag.n && is_space(tag.p[*at]))
			++*at;
		*value = attribute_value(tag, at);
		return true;
	}
	return false;
}

struct tag {
	const char *kind; /* of what is in the element, by its name or an attribute */
	struct str value; /* of its value="..." */
	bool is_button;   /* its value is what is written on it */
};

static const char *
kind_of_name(struct str tag, size_t *end)
{
	size_t n = 0, colon;

	while (n < tag.n && !is_space(tag.p[n]) && tag.p[n] != '/')
		n++;
	*end = n;
	struct str name = str_sub(tag, 0, n);
	if (str_rfind(name, ':', &colon))
		name = str_sub(name, colon + 1, name.n);
	return name_kind(name, NAME_IN_TEXT);
}

static void
read_tag(struct str text, struct tag *tag)
{
	static const char *const names[] = { "name", "key", "property", NULL };
	static const char *const values[] = { "value", "content", NULL };
	static const char *const buttons[] = { "submit", "button", "reset", "image",
		"checkbox", "radio", NULL };
	struct str name, value;
	size_t at;

	*tag = (struct tag){ .kind = kind_of_name(text, &at) };
	while (next_attribute(text, &at, &name, &value)) {
		if (tag->kind == NULL && str_is_any(name, names))
			tag->kind = name_kind(value, NAME_IN_TEXT);
		if (str_is_any(name, values))
			tag->value = value;
		if (str_eq_nocase(name, STR("type")) && str_is_any(value, buttons))
			tag->is_button = true;
	}
}

const char *
element_kind(struct str text)
{
	static const char *const empty[] = { "input", "meta", "button", "select", "form",
		"param", "label", NULL };
	struct tag tag;
	size_t n = 0;

	while (n < text.n && !is_space(text.p[n]))
		n++;
	if (text.n > TAG_MAX || str_is_any(str_sub(text, 0, n), empty))
		return NULL;
	read_tag(text, &tag);
	return tag.kind;
}

/* name="password" value="VALUE", either way round. */
static void
mask_attribute(struct piece *p, const struct tag *tag)
{
	size_t from = (size_t)(tag->value.p - p->text.p);
	struct value v = { from, from + tag->value.n, 0, SPAN_HTML };

	if (tag->kind != NULL && tag->value.n > 0 && !tag->is_button)
		behind_mask(p, tag->kind, why_attribute, &v);
}

/* <key>password</key><string>VALUE: by the element before the one whose < is at `at`. */
static const char *
sibling_kind(struct piece *p, struct str tag, size_t at)
{
	static const struct {
		struct str tag, open, close;
	} pairs[] = {
		{ { "string", 6 }, { "<key>", 5 }, { "</key>", 6 } },
		{ { "value", 5 }, { "<name>", 6 }, { "</name>", 7 } },
		{ { "value", 5 }, { "<key>", 5 }, { "</key>", 6 } },
	};

	struct str before = str_sub(p->text, p->line, at - p->line);

	for (size_t n = 0;
	     n < KEY_BLANKS_MAX && before.n > 0 && is_blank(before.p[before.n - 1]); n++)
		before.n--;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		size_t from;

		if (!str_eq_nocase(tag, pairs[i].tag) ||
		    !str_ends(before, pairs[i].close))
			continue;
		struct str name = str_sub(before, 0, before.n - pairs[i].close.n);
		for (from = name.n; from > 0 && name.n - from < KEY_NAME_MAX &&
				    is_name_byte(name.p[from - 1]);
		     from--)
			;
		p->scan->work += KEY_COST;
		if (str_ends(str_sub(name, 0, from), pairs[i].open))
			return name_kind(
			    str_sub(name, from, name.n - from), NAME_IN_TEXT);
	}
	return NULL;
}

/* What is between the > at `at` and the next <. */
static void
element_value(struct piece *p, size_t at, struct value *v)
{
	static const char cdata[] = "<![CDATA[";
	const char *close = "<";
	size_t n;

	*v = (struct value){ .from = at + 1, .code = SPAN_HTML };
	if (str_starts(str_sub(p->text, v->from, sizeof(cdata)), STR(cdata))) {
		v->from += sizeof(cdata) - 1;
		close = "]";
	}
	struct str rest = str_sub(p->text, v->from, p->text.n);
	v->to = v->next = str_find(rest, close[0], &n) ? v->from + n : p->text.n;
	p->scan->work += v->next - at;
}

/* Not the > of a->b, a=>b and a > b. */
static bool
may_end_tag(struct str text, size_t at)
{
	if (at < 2 || has_byte("-=", text.p[at - 1]))
		return false;
	return text.p[at - 1] != ' ' || has_byte("\"'", text.p[at - 2]);
}

size_t
look_element(struct piece *p, size_t at)
{
	const char *why = why_element;
	struct value v;
	struct tag tag;
	size_t from;

	if (!may_end_tag(p->text, at) || !tag_begin(p, at, &from) ||
	    has_byte("/!?", p->text.p[from]))
		return 0;
	struct str text = str_sub(p->text, from, at - from);
	p->scan->work += KEY_COST + text.n;
	read_tag(text, &tag);
	mask_attribute(p, &tag);
	if (p->text.p[at - 1] == '/')
		return 0; /* it is empty */
	if (tag.kind == NULL) {
		tag.kind = sibling_kind(p, text, from - 1);
		why = why_sibling;
	}
	if (tag.kind == NULL)
		return 0;
	element_value(p, at, &v);
	return behind_mask(p, tag.kind, why, &v) ? v.next : v.from;
}
