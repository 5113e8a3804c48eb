/*
 * anchors.h - what an anchor file vouches for
 *
 * One JSON line for each checkpoint of a log, kept in a second place: who cuts the log
 * cannot cut this.  One thread.
 */
#ifndef WEIR_AUDIT_ANCHORS_H
#define WEIR_AUDIT_ANCHORS_H

#include "audit/vouch.h"
#include "base/map.h"

#define ANCHORS_MAX ((size_t)1 << 20) /* a checkpoint each hour for a century */
#define ANCHOR_HEAD 64
#define ANCHOR_NAME 64 /* what the settings allow */

struct anchored {
	char head[ANCHOR_HEAD + 1], ts[32], lines[STR_DIGITS + 1];
	char name[ANCHOR_NAME + 1]; /* of the weir that wrote it */
	uint64_t line;              /* of the anchor file */
	bool is_seen;               /* in the log; its user's */
};

struct anchors {
	struct anchored **all; /* in the order of the file */
	size_t n;
	struct map by_head;
};

void anchors_init(struct anchors *a);
void anchors_fini(struct anchors *a);
/* NULL, or why this line vouches for nothing (static); is it signed, nobody asks here. */
const char *anchors_add(
    struct anchors *a, const struct vouch *v, uint64_t line) MUST_CHECK;
struct anchored *anchors_find(const struct anchors *a, struct str head); /* NULL: none */

#endif
