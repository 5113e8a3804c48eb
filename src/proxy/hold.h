/*
 * hold.h - what a call can cost, held in every scope before a byte goes upstream
 *
 * In one step inside the store: as much as is wanted, or less with the output limit
 * lowered to what was granted (budget.mode: clamp), or nothing.  Renewed while the call
 * runs; settle.h ends it.  Belongs to one worker.
 */
#ifndef WEIR_PROXY_HOLD_H
#define WEIR_PROXY_HOLD_H

#include "proxy/spend.h"

/*
 * done(true): so much is held.  done(false): x->reason.  False: x->reason at once, and
 * done() does not run.
 */
bool hold_reserve(
    struct spend *s, void (*done)(void *arg, bool is_fine), void *arg) MUST_CHECK;
/* s->room: what is left in each scope. */
bool hold_look(
    struct spend *s, void (*done)(void *arg, bool is_fine), void *arg) MUST_CHECK;

#endif
