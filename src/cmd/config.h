/*
 * config.h - the configuration that a command was given, and how to end without it
 */
#ifndef WEIR_CMD_CONFIG_H
#define WEIR_CMD_CONFIG_H

#include "base/exit.h"
#include "conf/settings.h"

/* What a command wants of secrets: rows or sections, see settings_load_part(). */
extern const char *const config_no_secrets[];

/*
 * Of the file, or what a laptop runs where path is NULL.  What production refuses, and
 * what it warns of, is check's to say, and run's.  `wanted` NULL: all secrets.
 * EXIT_YES with *out, which is the caller's; or how to end, after saying why.
 */
int config_load(
    struct settings **out, const char *path, const char *const *wanted) MUST_CHECK;

/* How to end when the file, given on the command line, could not be loaded. */
int config_status(const struct report *rep, const char *path);
/* The same for a reference that was given there. */
int config_status_of_reference(const struct report *rep);

#endif
