/*
 * rights.h - what this process may do, made less: descriptors, user, capabilities, cores
 *
 * Main only, before the first worker starts.
 */
#ifndef WEIR_DAEMON_RIGHTS_H
#define WEIR_DAEMON_RIGHTS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

/* LeakSanitizer looks at its own process as a debugger does. */
#if defined(__SANITIZE_ADDRESS__)
#define RIGHTS_KEEPS_DUMPABLE true
#else
#define RIGHTS_KEEPS_DUMPABLE false
#endif

/* Raises the soft limit of descriptors to the hard one; returns it. */
uint64_t rights_descriptors(void);

/* Looks the user up while that can still fail in words.  False: there is none. */
bool rights_find(const char *user, uid_t *uid, gid_t *gid) MUST_CHECK;
/* Another user, no capability, no supplementary group.  False: it could not be done. */
bool rights_drop(uid_t uid, gid_t gid) MUST_CHECK;
/* For good: no new privileges through exec, no core file with keys in it. */
void rights_seal(void);

#endif
