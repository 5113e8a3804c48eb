/*
 * stages.h - stages that ways share: resolve, dial, record, linger
 */
#ifndef WEIR_PROXY_STAGES_H
#define WEIR_PROXY_STAGES_H

#include "proxy/conn.h"

enum next stage_resolve(struct conn *c);
/* The same, but what was found is then()'s. */
typedef enum next stage_found(struct conn *c, const struct found *found);
enum next stage_resolve_to(struct conn *c, stage_found *then);
/* After it, or with a connection already there: to JUDGE then. */
enum next stage_literal(struct conn *c);
/* False: none is kept there that goes to a vetted address; stage_dial_new() then. */
bool stage_reuse(struct conn *c, struct origins *from, struct str key);
enum next stage_dial_new(struct conn *c);
/* The kept one was dead before a byte went over it: another, and this time a new one. */
enum next stage_dial_anew(struct conn *c);
enum next stage_record(struct conn *c);
enum next stage_linger(struct conn *c);
/* The stage that waits looks for itself. */
enum next stage_told(struct conn *c, unsigned what);
/* The client may have gone away while it waits. */
enum next stage_told_meanwhile(struct conn *c, unsigned what);

#endif
