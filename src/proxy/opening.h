/*
 * opening.h - OPEN: in the audit log, before anything of it leaves
 *
 * An exchange that carries a credential or money has a record before its first byte goes
 * upstream, so that one which is lost with the process is not unknown.
 */
#ifndef WEIR_PROXY_OPENING_H
#define WEIR_PROXY_OPENING_H

#include "proxy/conn.h"

/* That it goes, though nothing has let it through yet; false: the journal has no place.
 */
bool opening_say(struct conn *c) MUST_CHECK;
/* done() when that is in the file.  False: there is nothing to wait for. */
bool opening_wait(struct conn *c, void (*done)(void *arg, bool is_written)) MUST_CHECK;
void opening_waited(struct conn *c); /* for whoever waits no longer */

/* The stage that says so and waits, and its end when the disk stands still. */
enum next opening_stage(struct conn *c);
enum next opening_late(struct conn *c);

#endif
