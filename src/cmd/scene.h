/*
 * scene.h - rules, place and names that requests are explained against
 *
 * From a configuration (or a laptop's, without one), as `weir run` would have it
 * here and now: this machine's addresses and listeners are closed to it too.  Or
 * from the policies and settings of one batch line, where nothing of this machine
 * enters.
 */
#ifndef WEIR_CMD_SCENE_H
#define WEIR_CMD_SCENE_H

#include "policy/compile.h"
#include "policy/explain.h"
#include "policy/hosts.h"
#include "proxy/snapshot.h"

struct scene {
	struct snapshot *live; /* of a configuration; it owns the rest then */
	struct settings *settings;
	struct ruleset *rules;
	struct static_host *host; /* dns.hosts: known without a question */
	size_t nhost;
	struct place place;
};

/* path NULL: the laptop's.  False after reporting. */
bool scene_load(struct scene *s, const char *path, struct report *rep) MUST_CHECK;
/* Takes the settings.  False after reporting. */
bool scene_build(struct scene *s, struct settings *settings,
    const struct ruleset_source *source, size_t n, struct report *rep) MUST_CHECK;
void scene_fini(struct scene *s);

/* As explain(), with answers from dns.hosts where none were given. */
void scene_explain(struct explained *out, const struct scene *s, struct explain_ask *ask,
    struct arena *a);

#endif
