/*
 * control.h - the house: what starts, reloads, drains and stops everything
 *
 * Runs on main's thread.  Order at start: settings, sockets, journal (what needs
 * rights), rights dropped, workers.
 */
#ifndef WEIR_DAEMON_CONTROL_H
#define WEIR_DAEMON_CONTROL_H

#include <stddef.h>

struct control_options {
	const char *config;       /* NULL: a laptop's defaults */
	const char *const *allow; /* --allow HOST; with the laptop's defaults only */
	size_t nallow;
};

/* Serves until it is told to stop; then the exit code (base/exit.h). */
int control_run(const struct control_options *o);

#endif
