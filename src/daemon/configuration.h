/*
 * configuration.h - the configuration of a running weir: read, and read again
 *
 * From the file, or where there is none from a laptop's defaults.  What a setting was
 * when weir began is kept beside what it is, since some take effect at a start alone.
 * On main's thread.
 */
#ifndef WEIR_DAEMON_CONFIGURATION_H
#define WEIR_DAEMON_CONFIGURATION_H

#include "daemon/sockets.h"
#include "proxy/snapshot.h"

struct configuration {
	const char *path; /* NULL: a laptop's defaults; borrowed, as is the next */
	const char *const *allow; /* --allow HOST, on a laptop */
	size_t nallow;
	uint64_t generation;    /* of the last snapshot */
	struct settings *begun; /* what was read first; owned */
};

/*
 * Reads it.  The settings are the caller's; NULL: there are none, and rep says why.  What
 * is wrong with settings that could be read is in rep, too.
 */
struct settings *configuration_read(
    const struct configuration *c, struct report *rep) MUST_CHECK;
/*
 * Takes the settings.  `old` (NULL: none) is what is in force, and lends what it has that
 * is still the same; `open` are the sockets that are never dialled.  NULL: rep says why.
 */
struct snapshot *configuration_snapshot(struct configuration *c, struct settings *set,
    const struct snapshot *old, const struct sockets *open,
    struct report *rep) MUST_CHECK;
/* After the first snapshot: fills c->begun.  False: it cannot be read any more. */
bool configuration_remember(struct configuration *c) MUST_CHECK;
/* The log names each setting whose new value waits for a start. */
void configuration_say_late(const struct configuration *c, const struct settings *now);
void configuration_fini(struct configuration *c);

#endif
