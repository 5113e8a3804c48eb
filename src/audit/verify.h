/*
 * verify.h - is this log what weir wrote?
 *
 * Shown the lines of a log, oldest first, it says of each what is wrong with it, and
 * goes on: a line removed, added, changed or moved; one that is no record and that no
 * `torn_line` record names; a wrong mac; a checkpoint that is not true, or another
 * weir's; an exchange that was begun and never ended, or ended twice.  A cut tail shows
 * by a head or by anchors that were kept elsewhere.  What is older than a key nobody can
 * vouch for but who kept the head from then: all of it is one finding without that head.
 *
 * Memory is bounded: lines.h, exchanges.h, anchors.h.  Pure; one thread.
 */
#ifndef WEIR_AUDIT_VERIFY_H
#define WEIR_AUDIT_VERIFY_H

#include "audit/anchors.h"
#include "audit/findings.h"
#include "audit/lines.h"

struct audit_verify_options {
	struct str key;                 /* of the macs; empty: they are not looked at */
	const struct vouch_key *signer; /* NULL: signatures are not looked at */
	const char *head;               /* 64 hex digits that must be a line's; or NULL */
	const char *name;               /* of the weir whose log it is; or NULL */
	struct anchors *anchors;        /* or NULL */
	const char *anchor_file;        /* where those are from */
	bool from_start;                /* the first line must be the chain's */
	void (*say)(void *arg, const struct audit_finding *f);
	void *arg;
};

struct audit_sums {
	uint64_t files, lines;                  /* lines of all kinds */
	uint64_t open, progress, final, system; /* records */
	uint64_t runs, torn, checkpoints, is_signed;
	uint64_t still_open; /* exchanges that had not ended when the log did */
	uint64_t findings, notes;
	uint64_t behind_head; /* lines behind the one that `head` names */
	uint64_t older; /* records before the first line, as the first checkpoint says */
	bool is_from_start;       /* the first line is the chain's */
	char first[32], last[32]; /* the least and the greatest ts; empty: none */
	char head[65];
};

struct audit_verify;

struct audit_verify *audit_verify_new(const struct audit_verify_options *o);
void audit_verify_free(struct audit_verify *v);
/* Another file; its name must last as long as v. */
void audit_verify_file(struct audit_verify *v, const char *name);
void audit_verify_line(struct audit_verify *v, const struct audit_line *l);
/* No more comes: the last findings, and the sums. */
void audit_verify_end(struct audit_verify *v, struct audit_sums *out);

#endif
