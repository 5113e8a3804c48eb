/*
 * ruleset.c - the layers of compiled rules that requests are matched against
 */
#include "policy/ruleset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct layer *
layer_new(struct model *m)
{
	struct layer *l = mem_zalloc(sizeof(*l));

	l->model = m;
	index_init(&l->allow, &m->arena);
	index_init(&l->deny, &m->arena);
	for (size_t i = 0; i < m->nallow; i++) {
		index_add(&l->allow, &m->allow[i]);
		l->has_upload |= m->allow[i].upload > 0;
	}
	for (size_t i = 0; i < m->ndeny; i++) {
		index_add(&l->deny, &m->deny[i]);
		l->has_address_deny |= m->deny[i].nhost > 0 &&
				       m->deny[i].host[0].pattern.kind == PATTERN_RANGE;
	}
	return l;
}

void
layer_free(struct layer *l)
{
	if (l == NULL)
		return;
	index_fini(&l->allow);
	index_fini(&l->deny);
	model_free(l->model);
	free(l);
}

void
ruleset_free(struct ruleset *rs)
{
	if (rs == NULL)
		return;
	for (size_t i = 0; i < rs->nlayer; i++)
		layer_free(rs->layer[i]);
	free(rs->layer);
	metered_free(rs->metered);
	free(rs);
}

const struct ruleset *
ruleset_narrow(
    const struct ruleset *outer, struct layer *const *inner, size_t n, struct arena *a)
{
	size_t all = outer->nlayer + n;
	struct ruleset *rs = arena_zalloc(a, sizeof(*rs));
	struct layer **layer = arena_alloc(a, (all + 1) * sizeof(struct layer *));

	if (rs == NULL || layer == NULL)
		return NULL;
	*rs = *outer;
	rs->layer = layer;
	rs->nlayer = all;
	memcpy(layer, outer->layer, outer->nlayer * sizeof(struct layer *));
	if (n > 0)
		memcpy(layer + outer->nlayer, inner, n * sizeof(struct layer *));
	return rs;
}

const char *
ruleset_digest(const struct ruleset *rs)
{
	return rs->digest;
}

size_t
ruleset_layers(const struct ruleset *rs)
{
	return rs->nlayer;
}

size_t
ruleset_rules(const struct ruleset *rs)
{
	size_t n = 0;

	for (size_t i = 0; i < rs->nlayer; i++)
		n += rs->layer[i]->model->nallow + rs->layer[i]->model->ndeny;
	return n;
}

size_t
ruleset_expectations(const struct ruleset *rs)
{
	size_t n = 0;

	for (size_t i = 0; i < rs->nlayer; i++)
		n += rs->layer[i]->model->nexpect;
	return n;
}

const char *
ruleset_layer_name(const struct ruleset *rs, size_t layer)
{
	assert(layer < rs->nlayer);
	return rs->layer[layer]->model->name;
}

const char *
rule_name(const struct rule *r)
{
	return r->name;
}

const char *
rule_place(const struct rule *r)
{
	return r->place;
}
