/*
 * state_dir.c - where weir keeps what is its own
 */
#include "daemon/state_dir.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/log.h"

/* What is wrong, mkdir() of the last one will say. */
static void
make_parents(const char *path)
{
	char *parent = mem_strdup(path);

	for (char *at = parent + 1; (at = strchr(at, '/')) != NULL; *at++ = '/') {
		*at = '\0';
		(void)mkdir(parent, 0700); /* XDG Base Directory Specification */
	}
	free(parent);
}

static const char *
remedy(bool is_laptop, int error)
{
	if (is_laptop)
		return "set XDG_STATE_HOME to a directory that this user may write";
	if (error == ENOENT || error == ENOTDIR)
		return "make the directory state_dir is in";
	return "name a state_dir in a directory that may be written";
}

int
state_dir_make(const struct settings *set, bool is_laptop, uid_t uid, gid_t gid)
{
	if (set->state_dir == NULL)
		return 0;
	if (is_laptop)
		make_parents(set->state_dir);
	if (mkdir(set->state_dir, 0700) != 0) {
		if (errno == EEXIST)
			return 0;
		log_error("the state directory cannot be made", "path", set->state_dir,
		    "err", strerror(errno), "remedy", remedy(is_laptop, errno));
		return EXIT_UNAVAILABLE;
	}
	if (uid != (uid_t)-1 && chown(set->state_dir, uid, gid) != 0)
		log_warn("the state directory keeps its owner", "path", set->state_dir);
	return 0;
}
