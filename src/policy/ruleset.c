/*
 * ruleset.c - the layers of compiled rules that requests are matched against
 */
#include "policy/ruleset.h"

void
ruleset_free(struct ruleset *rs)
{
	(void)rs;
}

const char *
ruleset_digest(const struct ruleset *rs)
{
	(void)rs;
	return "";
}

size_t
ruleset_layers(const struct ruleset *rs)
{
	(void)rs;
	return 0;
}

const char *
ruleset_layer_name(const struct ruleset *rs, size_t layer)
{
	(void)rs;
	(void)layer;
	return "";
}

bool
ruleset_is_report(const struct ruleset *rs)
{
	(void)rs;
	return false;
}

const char *
rule_name(const struct rule *r)
{
	(void)r;
	return "";
}

const char *
rule_place(const struct rule *r)
{
	(void)r;
	return "";
}
