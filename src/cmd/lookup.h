/*
 * lookup.h - one name asked of the configured servers, waiting for the answer
 */
#ifndef WEIR_CMD_LOOKUP_H
#define WEIR_CMD_LOOKUP_H

#include "conf/settings.h"
#include "net/resolver.h"

/* False: *why is static; nothing could be asked.  Else out->err says how it went. */
bool lookup_wait(struct found *out, const struct host *name, const struct settings *s,
    const struct static_host *host, size_t nhost, const char **why) MUST_CHECK;

#endif
