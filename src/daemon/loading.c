/*
 * loading.c - the configuration of a running weir: read, and read again
 */
#include "daemon/loading.h"

#include <stdlib.h>

#include "base/log.h"
#include "daemon/laptop.h"
#include "daemon/services.h"
#include "policy/compile.h"

struct settings *
loading_settings(const struct loading *l, struct report *rep)
{
	struct settings *set =
	    l->config != NULL ? settings_load_file(l->config, rep) : settings_laptop(rep);

	if (set != NULL)
		settings_check_listener(set, rep);
	return set;
}

struct snapshot *
loading_snapshot(struct loading *l, struct settings *set, const struct snapshot *old,
    const struct sockets *open, struct report *rep)
{
	struct endpoint *service;
	struct buf policy;
	struct ruleset_source laptop = { .name = "quickstart" };
	struct snapshot_inputs in = {
		.generation = l->generation + 1,
		.ca = old != NULL ? old->ca : NULL,
		.own = old != NULL ? old->own : NULL,
	};
	struct snapshot *s;

	buf_init(&policy, (size_t)1 << 20);
	in.nservice = services_gather(set, open, &service);
	in.service = service;
	if (l->config == NULL) {
		laptop_policy(&policy, l->allow, l->nallow);
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
		l->generation++;
	return s;
}

/* Of its own, for it outlives the keys of the first snapshot. */
bool
loading_remember(struct loading *l)
{
	struct report again; /* it was said */

	report_init(&again);
	l->begun = loading_settings(l, &again);
	report_fini(&again);
	if (l->begun == NULL)
		return false;
	settings_prune(l->begun);
	return true;
}

void
loading_say_late(const struct loading *l, const struct settings *now)
{
	const char *key[64];
	size_t n =
	    settings_not_reloadable(l->begun, now, key, sizeof(key) / sizeof(key[0]));

	for (size_t i = 0; i < n && i < sizeof(key) / sizeof(key[0]); i++)
		log_warn("this setting takes effect at the next start", "key", key[i]);
}
