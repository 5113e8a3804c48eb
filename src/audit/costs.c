/*
 * costs.c - what looking at a text cost, line by line
 */
#include "audit/costs.h"

#include <stdlib.h>

#include "base/str.h"

#define COSTS_FIRST 64

void
costs_add(struct costs *c, enum cost_lane lane, struct cost cost)
{
	struct cost_row *row = &c->lane[lane];

	if (row->n == row->cap) {
		row->cap = row->cap == 0 ? COSTS_FIRST : 2 * row->cap;
		row->p = mem_resize(row->p, row->cap * sizeof(*row->p));
	}
	row->p[row->n++] = cost;
}

bool
costs_take(struct costs *c, size_t end, struct cost *cost)
{
	struct cost_row *first = NULL;

	for (int i = 0; i < COST_LANES; i++) {
		struct cost_row *row = &c->lane[i];

		if (row->at < row->n &&
		    (first == NULL || row->p[row->at].to < first->p[first->at].to))
			first = row;
	}
	if (first == NULL || first->p[first->at].to > end)
		return false;
	*cost = first->p[first->at++];
	return true;
}

size_t
costs_of(struct costs *c, enum cost_lane lane, size_t from)
{
	struct cost_row *row = &c->lane[lane];
	size_t work = 0;

	while (row->asked < row->n && row->p[row->asked].from < from)
		row->asked++;
	for (size_t i = row->asked; i < row->n && row->p[i].from == from; i++)
		work += row->p[i].work;
	return work;
}

void
costs_reset(struct costs *c)
{
	for (int i = 0; i < COST_LANES; i++)
		c->lane[i].n = c->lane[i].at = c->lane[i].asked = 0;
}

void
costs_fini(struct costs *c)
{
	for (int i = 0; i < COST_LANES; i++)
		free(c->lane[i].p);
	*c = (struct costs){ 0 };
}
