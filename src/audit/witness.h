/*
 * witness.h - who vouches for a log, and for how much of it
 *
 * Its macs, its checkpoints with their names and signatures, and the anchors that were
 * kept elsewhere: is each true, and what stands there for which nobody vouches?  Shown
 * each record in its order.  One thread.
 */
#ifndef WEIR_AUDIT_WITNESS_H
#define WEIR_AUDIT_WITNESS_H

#include "audit/anchors.h"
#include "audit/chain.h"
#include "audit/entry.h"
#include "audit/findings.h"
#include "audit/seal.h"

struct witness_options {
	struct str key;                 /* of the macs; empty: they are not looked at */
	const struct vouch_key *signer; /* NULL: signatures are not looked at */
	const char *head;               /* kept when a key was new; or NULL */
	const char *name;               /* of the weir whose log it is; or NULL */
	struct anchors *anchors;        /* or NULL */
	const char *anchor_file;        /* where those are from */
};

/* How far the chain is, before the record that is looked at; its user's. */
struct so_far {
	struct chain chain;
	uint64_t chained;   /* records */
	bool has_head;      /* there was one */
	bool is_from_start; /* the first one was the chain's */
};

struct witness {
	struct witness_options o;
	const struct so_far *at;
	struct findings *to;
	uint64_t checkpoints, is_signed;
	uint64_t older; /* records before the first one, as the first checkpoint says */

	struct hmac mac;            /* from here on its own */
	uint64_t maced, unmaced;    /* right ones; wrong ones before the first of those */
	uint64_t not_signed;        /* checkpoints before the first that is signed */
	uint64_t signed_at;         /* `chained` at the last good signature */
	char before_run[CHAIN_HEX]; /* the head before this run's first record */
	bool is_first_checkpoint;   /* of its run */
	char name[ANCHOR_NAME + 1]; /* of the last checkpoint; empty: there was none */
	uint64_t counted_at, counted; /* the last checkpoint: `chained` then, its lines */
	bool has_counted;
	size_t first_anchor; /* that was seen; SIZE_MAX: none */
	uint64_t unanchored; /* checkpoints behind that one which have no anchor */
};

/* `at` and `to` outlive it. */
void witness_init(struct witness *w, const struct witness_options *o,
    const struct so_far *at, struct findings *to);
void witness_fini(struct witness *w);

void witness_mac(struct witness *w, const struct seal *s); /* of each record */
void witness_run(struct witness *w);                       /* begins with this record */
void witness_checkpoint(struct witness *w, const struct entry *e, struct str prev);
/* No more comes.  `first`: the least ts there was. */
void witness_end(struct witness *w, const char *first);

#endif
