/*
 * refusal.h - what to do about a refusal that should not have been
 *
 * Pure; any thread.
 */
#ifndef WEIR_CMD_REFUSAL_H
#define WEIR_CMD_REFUSAL_H

/* By a reason of policy/reasons.def, or "reply N" of SOCKS; NULL: nothing of its own. */
const char *refusal_mend(const char *why);

#endif
