/*
 * laptop.c - the policy of a weir without a configuration file
 */
#include "daemon/laptop.h"

#include "policy/quickstart.h"
#include "wire/json.h"

static void
put_rule(struct buf *to, size_t i, const char *host, const char *protocol)
{
	struct json_out j;

	buf_fmt(to, "  - name: allow-%zu-%s\n    host: ", i + 1, protocol);
	json_out_init(&j, to); /* JSON's quotes are YAML's */
	json_text(&j, host);
	buf_fmt(to, "\n    protocol: %s\n", protocol);
}

/* quickstart.yaml ends with its `allow` list. */
void
laptop_policy(struct buf *to, const char *const *allow, size_t n)
{
	buf_add(to, quickstart_yaml, quickstart_yaml_n);
	for (size_t i = 0; i < n; i++) {
		put_rule(to, i, allow[i], "https");
		put_rule(to, i, allow[i], "http");
	}
}
