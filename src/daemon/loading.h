/*
 * loading.h - the configuration of a running weir: read, and read again
 *
 * From the file, or where there is none from a laptop's defaults.  What a setting was
 * when weir began is kept beside what it is, since some take effect at a start alone.
 * On main's thread.
 */
#ifndef WEIR_DAEMON_LOADING_H
#define WEIR_DAEMON_LOADING_H

#include "daemon/sockets.h"
#include "proxy/snapshot.h"

struct loading {
	const char *config;       /* NULL: a laptop's defaults */
	const char *const *allow; /* --allow HOST; borrowed, as is config */
	size_t nallow;
	uint64_t generation; /* of the last snapshot */
	struct settings
	    *begun; /* what cannot be reloaded is in force as it says; owned */
};

/* Owned.  NULL: nothing could be read, as rep says; it may say so beside settings, too.
 */
struct settings *loading_settings(const struct loading *l, struct report *rep) MUST_CHECK;
/*
 * Takes the settings.  `old` (NULL: none) is what is in force, and lends what it has that
 * is still the same; `open` are the sockets that are never dialled.  NULL: rep says why.
 */
struct snapshot *loading_snapshot(struct loading *l, struct settings *set,
    const struct snapshot *old, const struct sockets *open,
    struct report *rep) MUST_CHECK;
/* After the first one was read: fills l->begun.  False: it cannot be read any more. */
bool loading_remember(struct loading *l) MUST_CHECK;
/* The log names each setting whose new value waits for a start. */
void loading_say_late(const struct loading *l, const struct settings *now);

#endif
