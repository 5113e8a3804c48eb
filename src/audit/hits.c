/*
 * hits.c - what is found in a text, and in what its escapes say
 */
#include "audit/hits.h"

#include <stdlib.h>
#include <string.h>

#include "audit/span.h"

#define DEPTH 2 /* escaped, and escaped again */

static const struct {
	enum span_code code;
	char begin;
} escapes[] = {
	{ SPAN_PERCENT, '%' },
	{ SPAN_JSON, '\\' },
	{ SPAN_HTML, '&' },
};

void
hits_add(struct hits *h, struct hit hit)
{
	if (h->n == h->cap) {
		h->cap = h->cap == 0 ? 8 : 2 * h->cap;
		h->p = mem_resize(h->p, h->cap * sizeof(*h->p));
	}
	h->p[h->n++] = hit;
}

void
hits_fini(struct hits *h)
{
	free(h->p);
	*h = (struct hits){ 0 };
}

/* Appends what the text says; origin[i], when wanted, is where byte i of it comes from.
 * False: it has no escape. */
static bool
decode(struct str text, size_t how, struct buf *out, size_t *origin)
{
	bool has_escape = false;
	size_t at = 0;

	while (at < text.n) {
		size_t before = out->n;
		size_t taken = 0;

		if (text.p[at] == escapes[how].begin)
			taken = span_take(text, at, escapes[how].code, out);
		has_escape |= taken > 0;
		if (taken == 0)
			buf_char(out, text.p[at]);
		for (size_t i = before; origin != NULL && i < out->n; i++)
			origin[i] = at;
		at += taken > 0 ? taken : 1;
	}
	if (origin != NULL)
		origin[out->n] = text.n;
	return has_escape;
}

/* Hits in what the text says become hits in the text. */
static void
bring_back(struct str text, size_t how, const struct hits *inner, struct hits *hits)
{
	size_t *origin = mem_alloc((text.n + 1) * sizeof(*origin));
	struct buf out;

	buf_init(&out, text.n);
	out.is_secret = true;
	(void)decode(text, how, &out, origin);
	for (size_t i = 0; i < inner->n; i++) {
		struct hit hit = inner->p[i];
		size_t last = origin[hit.to - 1], to = hit.to;

		while (origin[to] == last) /* one escape may be bytes more */
			to++;
		hit.from = origin[hit.from];
		hit.to = origin[to];
		hits_add(hits, hit);
	}
	buf_fini(&out);
	free(origin);
}

static void
find(struct hits *h, struct str text, int depth, hits_look *look, const void *arg)
{
	look(arg, text, h);
	for (size_t i = 0; depth > 0 && i < sizeof(escapes) / sizeof(*escapes); i++) {
		struct hits inner = { 0 };
		struct buf plain;

		if (text.n == 0 || memchr(text.p, escapes[i].begin, text.n) == NULL)
			continue;
		buf_init(&plain, text.n); /* no escape says more than it has bytes */
		plain.is_secret = true;
		if (decode(text, i, &plain, NULL))
			find(&inner, buf_view(&plain), depth - 1, look, arg);
		if (inner.n > 0)
			bring_back(text, i, &inner, h);
		buf_fini(&plain);
		hits_fini(&inner);
	}
}

void
hits_find(struct hits *h, struct str text, hits_look *look, const void *arg)
{
	find(h, text, DEPTH, look, arg);
}
