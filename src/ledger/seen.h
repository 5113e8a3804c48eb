/*
 * seen.h - the newest state of the store that this instance knows of
 *
 * A store that was restored or rolled back would give money back.  So beside state_dir's
 * other files one small one says which store it was (its random id) and its highest
 * revision.  It is written after each commit, so it is never ahead of the store, and
 * synced once a second: kill -9 loses nothing of it, a power cut a second.
 */
#ifndef WEIR_LEDGER_SEEN_H
#define WEIR_LEDGER_SEEN_H

#include "base/loop.h"

#define SEEN_ID 33 /* 128 bits in hex, with its NUL */

struct seen {
	int fd; /* -1: remembered in memory only */
	char *path;
	char url[17];     /* digest of the URL */
	char id[SEEN_ID]; /* empty: no store was seen */
	int64_t revision;
	bool is_behind; /* the file is to be synced */
	msec synced;
};

/* url: another one is another store, and what was seen does not matter.  False: logged.
 */
bool seen_open(
    struct seen *s, const char *directory, const char *url, int uid, int gid) MUST_CHECK;
void seen_close(struct seen *s);
/* False: this store is older than what was seen, or another one. */
bool seen_admits(const struct seen *s, struct str id, int64_t revision);
void seen_note(struct seen *s, struct str id, int64_t revision, msec now);
void seen_sync(struct seen *s, msec now); /* when it is time */

#endif
