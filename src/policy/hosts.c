/*
 * hosts.c - dns.hosts of the settings -> answers by canonical name
 */
#include "policy/hosts.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* True: the name may be answered for; false after reporting. */
static bool
read_name(const struct settings *s, const struct host_answers *in, struct host *out,
    struct report *rep)
{
	struct str source = s->tree == NULL ? STR_NONE : s->tree->source;
	enum host_error fault = host_parse_bare(out, str_of(in->name));

	if (fault != HOST_OK) {
		bool is_pattern = strchr(in->name, '*') != NULL;
		report_add(rep, SEVERITY_ERROR, in->mark, source, "bad_host",
		    is_pattern ? "no patterns here: write each name" : NULL, "\"%s\": %s",
		    in->name, host_error_text(fault));
		return false;
	}
	if (out->is_literal)
		report_add(rep, SEVERITY_ERROR, in->mark, source, "bad_host",
		    "write the name that has this address",
		    "\"%s\" is an address, and is never looked up", in->name);
	return !out->is_literal;
}

struct static_host *
static_hosts_build(const struct settings *s, struct report *rep, size_t *n)
{
	struct static_host *hosts = mem_zalloc(s->dns_hosts.n * sizeof(*hosts) + 1);
	struct map seen;

	map_init(&seen);
	*n = 0;
	for (size_t i = 0; i < s->dns_hosts.n; i++) {
		const struct host_answers *in = &s->dns_hosts.p[i];
		struct static_host *at = &hosts[*n];
		if (!read_name(s, in, &at->host, rep))
			continue;
		if (map_put(&seen, host_str(&at->host), at) != NULL) {
			report_add(rep, SEVERITY_ERROR, in->mark,
			    s->tree == NULL ? STR_NONE : s->tree->source, "duplicate_key",
			    "keep one of the two", "the name \"%s\" was there before",
			    at->host.name);
			continue;
		}
		at->addr = in->addr;
		at->naddr = in->naddr;
		*n += 1;
	}
	map_fini(&seen, NULL);
	return hosts;
}

void
static_hosts_free(struct static_host *hosts, size_t n)
{
	(void)n;
	free(hosts);
}
