/*
 * plan.h - what weir verify is told to prove: doors, hosts and ways, of options and
 * defaults
 */
#ifndef WEIR_CMD_PLAN_H
#define WEIR_CMD_PLAN_H

#include "base/arena.h"
#include "cmd/probe.h"

struct plan {
	struct probe_plan is;
	struct arena arena; /* its texts live here */
	struct buf login;   /* user and token */
};

void plan_init(struct plan *p);
void plan_fini(struct plan *p); /* wipes the token */

/* Each EXIT_YES, or how to end, after saying why. */
int plan_door(struct plan *p, enum probe_door door, const char *option, const char *text);
/* default_port 0: it has to be said. */
int plan_target(struct plan *p, enum probe_over over, const char *option,
    const char *text, uint16_t default_port);
int plan_own(struct plan *p, const char *port);
int plan_token(struct plan *p, const char *path);
/* What was not said is as usual; without a door it is that of https_proxy. */
int plan_complete(struct plan *p) MUST_CHECK;

#endif
