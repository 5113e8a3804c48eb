/*
 * configuration.c - the configuration of a running weir: read, and read again
 */
#include "daemon/configuration.h"

#include <stdlib.h>

#include "base/log.h"
#include "daemon/laptop.h"
#include "daemon/services.h"
#include "policy/compile.h"

struct settings *
configuration_read(const struct configuration *c, struct report *rep)
{
	struct settings *set =
	    c->path != NULL ? settings_load_file(c->path, rep) : settings_laptop(rep);

	if (set != NULL)
		settings_check_listener(set, rep);
	return set;
}

struct snapshot *
configuration_snapshot(struct configuration *c, struct settings *set,
    const struct snapshot *old, const struct sockets *open, struct report *rep)
{
	struct endpoint *service;
	struct buf policy;
	struct ruleset_source laptop = { .name = "quickstart" };
	struct snapshot_inputs in = {
		.generation = c->generation + 1,
		.ca = old != NULL ? old->ca : NULL,
		.own = old != NULL ? old->own : NULL,
	};
	struct snapshot *s;

	buf_init(&policy, (size_t)1 << 20);
	in.nservice = services_gather(set, open, &service);
	in.service = service;
	if (c->path == NULL) {
		laptop_policy(&policy, c->allow, c->nallow);
		laptop.text = buf_view(&policy);
		in.builtin = &laptop;
		in.nbuiltin = 1;
	}
	s = snapshot_new(set, &in, rep);
	buf_fini(&policy);
	free(service);
	if (s != NULL && rep->errors > 0) { /* of the settings as a whole */
		snapshot_unref(s);
		return NULL;
	}
	if (s != NULL)
		c->generation++;
	return s;
}

/* Of its own, for it outlives the keys of the first snapshot. */
bool
configuration_remember(struct configuration *c)
{
	struct report again; /* it was said */

	report_init(&again);
	c->begun = configuration_read(c, &again);
	report_fini(&again);
	if (c->begun == NULL)
		return false;
	settings_prune(c->begun);
	return true;
}

void
configuration_say_late(const struct configuration *c, const struct settings *now)
{
	const char *key[64];
	size_t n =
	    settings_not_reloadable(c->begun, now, key, sizeof(key) / sizeof(key[0]));

	for (size_t i = 0; i < n && i < sizeof(key) / sizeof(key[0]); i++)
		log_warn("this setting takes effect at the next start", "key", key[i]);
}

void
configuration_fini(struct configuration *c)
{
	settings_free(c->begun);
}
