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

#include "policy/claims.h"
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
	struct ruleset *profile; /* the rules of a profile, once one was asked for */
};

/* path NULL: the laptop's.  False after reporting. */
bool scene_load(struct scene *s, const char *path, struct report *rep) MUST_CHECK;
/* Takes the settings.  False after reporting. */
bool scene_build(struct scene *s, struct settings *settings,
    const struct ruleset_source *source, size_t n, struct report *rep) MUST_CHECK;
void scene_fini(struct scene *s);

/*
 * As explain(), with answers from dns.hosts where none were given, under the caps of
 * the settings and the grant, and inside the network of the grant (NULL: there is none).
 * Returns the rules to print it by.
 */
const struct ruleset *scene_explain(struct explained *out, const struct scene *s,
    struct grant *grant, struct explain_ask *ask, struct arena *a);
/* The policies of the grant's profile take the place of the scene's.  False after
 * reporting. */
bool scene_take_profile(
    struct scene *s, const struct grant *grant, struct report *rep) MUST_CHECK;
/* A verdict on the session alone. */
void scene_refuse(
    struct explained *out, enum reason reason, const char *why, struct arena *a);

#endif
