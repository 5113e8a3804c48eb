/*
 * ruleset.c - the layers of compiled rules that requests are matched against
 */
#include "policy/ruleset.h"

#include <assert.h>
#include <stdlib.h>

void
ruleset_free(struct ruleset *rs)
{
	if (rs == NULL)
		return;
	for (size_t i = 0; i < rs->nlayer; i++) {
		index_fini(&rs->layer[i].allow);
		index_fini(&rs->layer[i].deny);
		model_free(rs->layer[i].model);
	}
	free(rs->layer);
	free(rs);
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
		n += rs->layer[i].model->nallow + rs->layer[i].model->ndeny;
	return n;
}

size_t
ruleset_expectations(const struct ruleset *rs)
{
	size_t n = 0;

	for (size_t i = 0; i < rs->nlayer; i++)
		n += rs->layer[i].model->nexpect;
	return n;
}

const char *
ruleset_layer_name(const struct ruleset *rs, size_t layer)
{
	assert(layer < rs->nlayer);
	return rs->layer[layer].model->name;
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
