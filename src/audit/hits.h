/*
 * hits.h - what is found in a text, and in what its escapes say
 *
 * Whoever looks for something sees the text, and what it says when its percent escapes,
 * those of JSON or those of HTML are undone, twice over; what he finds there is brought
 * back to the bytes that say it.
 *
 * Pure; any thread.
 */
#ifndef WEIR_AUDIT_HITS_H
#define WEIR_AUDIT_HITS_H

#include "base/str.h"

struct hit {
	size_t from, to;
	const char *kind;
	struct str plain; /* the secret itself; borrowed, p is NULL: nobody said */
};

struct hits {
	struct hit *p;
	size_t n, cap;
};

typedef void hits_look(const void *arg, struct str text, struct hits *hits);

void hits_add(struct hits *h, struct hit hit);
void hits_find(struct hits *h, struct str text, hits_look *look, const void *arg);
void hits_fini(struct hits *h);

#endif
