/*
 * lookup.c - one name asked of the configured servers, waiting for the answer
 */
#include "cmd/lookup.h"

#include "proxy/snapshot.h"

struct waiting {
	struct loop *loop;
	struct found *out;
};

static void
on_found(void *arg, const struct found *found)
{
	struct waiting *w = arg;

	*w->out = *found;
	loop_stop(w->loop);
}

static struct resolver *
new_resolver(struct loop *loop, const struct settings *s, const struct static_host *host,
    size_t nhost, const char **why)
{
	const struct resolver_options options = snapshot_dns(s, host, nhost);

	return resolver_new(loop, &options, why);
}

bool
lookup_wait(struct found *out, const struct host *name, const struct settings *s,
    const struct static_host *host, size_t nhost, const char **why)
{
	struct waiting w = { loop_new(), out };
	struct resolver *r = new_resolver(w.loop, s, host, nhost, why);

	if (r != NULL) {
		(void)resolver_start(r, STR("explain"), name, on_found, &w);
		loop_run(w.loop);
		resolver_free(r);
	}
	loop_free(w.loop);
	return r != NULL;
}

size_t
lookup_servers(const struct settings *s, struct endpoint *out, size_t max)
{
	struct loop *loop = loop_new();
	const char *why;
	struct resolver *r = new_resolver(loop, s, NULL, 0, &why);
	size_t n = r == NULL ? 0 : resolver_servers(r, out, max);

	resolver_free(r);
	loop_free(loop);
	return n;
}
