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

bool
lookup_wait(struct found *out, const struct host *name, const struct settings *s,
    const struct static_host *host, size_t nhost, const char **why)
{
	struct waiting w = { loop_new(), out };
	const struct resolver_options options = snapshot_dns(s, host, nhost);
	struct resolver *r = resolver_new(w.loop, &options, why);

	if (r != NULL) {
		(void)resolver_start(r, STR("explain"), name, on_found, &w);
		loop_run(w.loop);
		resolver_free(r);
	}
	loop_free(w.loop);
	return r != NULL;
}
