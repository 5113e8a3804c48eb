/*
 * index.h - the rules that name a host, found without looking at the others
 *
 * A walk gives every rule whose pattern fits, in the order in which rules decide:
 * exact host, then longest base, `*.` before `**.`, then file order; for an
 * address the longest range first.  Its cost is one look-up for each label of the
 * host (only for lengths that some base has) or for each length of range there
 * is, and the rules it gives: however many there are for other hosts.
 *
 * Add everything first; then it never changes, and any thread may walk it.
 */
#ifndef WEIR_POLICY_INDEX_H
#define WEIR_POLICY_INDEX_H

#include "base/map.h"
#include "policy/rule.h"

/* One pattern of one rule. */
struct entry {
	const struct rule *rule;
	const struct rule_host *host;
	struct entry *next; /* same pattern, later in the file */
};

/* In file order. */
struct entries {
	struct entry *first, *last;
};

/* What is said of one base. */
struct base {
	struct entries name, below, deep;
};

struct index {
	struct map names;   /* base -> struct base */
	uint64_t labels[2]; /* bit n: some base has n labels */
	struct entries any;
	struct map ranges;   /* length byte and address -> struct entries */
	uint8_t length[129]; /* of ranges that are there, longest first */
	size_t nlength;
	struct arena *arena; /* of the entries */
};

void index_init(struct index *x, struct arena *a);
void index_fini(struct index *x);
void index_add(struct index *x, const struct rule *r);

const struct base *index_base(const struct index *x, struct str name); /* or NULL */
const struct entries *index_range(
    const struct index *x, const struct prefix *p); /* or NULL */

struct walk {
	const struct index *x;
	const struct entry *next;
	struct str name; /* the suffix looked at */
	struct addr addr;
	size_t labels; /* of `name` */
	size_t length; /* the next of x->length */
	const struct base *base;
	uint8_t stage;
	const struct host *host; /* NULL for an address */
};

void walk_host(struct walk *w, const struct index *x, const struct host *h);
void walk_addr(struct walk *w, const struct index *x, const struct addr *a);
const struct entry *walk_next(struct walk *w); /* NULL at the end */

#endif
