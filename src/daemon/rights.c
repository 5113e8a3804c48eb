/*
 * rights.c - what this process may do, made less
 */
#include "daemon/rights.h"

#include <cap-ng.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>

uint64_t
rights_descriptors(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) != 0)
		return 1024;
	r.rlim_cur = r.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &r) != 0 && getrlimit(RLIMIT_NOFILE, &r) != 0)
		return 1024;
	return r.rlim_cur;
}

bool
rights_find(const char *user, uid_t *uid, gid_t *gid)
{
	const struct passwd *p = getpwnam(user);

	if (p == NULL)
		return false;
	*uid = p->pw_uid;
	*gid = p->pw_gid;
	return true;
}

bool
rights_drop(uid_t uid, gid_t gid)
{
	capng_clear(CAPNG_SELECT_BOTH);
	return capng_change_id(
		   (int)uid, (int)gid, CAPNG_DROP_SUPP_GRP | CAPNG_CLEAR_BOUNDING) == 0;
}

void
rights_seal(void)
{
	struct rlimit none = { 0, 0 };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	setrlimit(RLIMIT_CORE, &none);
	if (!RIGHTS_KEEPS_DUMPABLE)
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* a piped core ignores RLIMIT_CORE */
}
