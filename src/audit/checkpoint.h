/*
 * checkpoint.h - what the head of a chain was, and whose word that is
 *
 * A chain shows what was changed in it, not that its end was cut off, or all of it made
 * anew by who can write the file.  A checkpoint says how long the chain was and what its
 * head was; signed, only the holder of the key could have said so; and beside the log it
 * goes where the log's writer cannot take it back (audit/anchor.h).
 *
 * What is signed says audit/vouch.h.  One thread.
 */
#ifndef WEIR_AUDIT_CHECKPOINT_H
#define WEIR_AUDIT_CHECKPOINT_H

#include "base/loop.h"

struct signer;

/* NULL: this is no Ed25519 private key in PEM, or one with a passphrase. */
struct signer *signer_new(struct str pem) MUST_CHECK;
bool signer_takes(struct str pem) MUST_CHECK; /* would it be one? */
void signer_free(struct signer *s);

struct checkpoint {
	const char *name; /* of this weir */
	usec ts;
	uint64_t lines;   /* of the chain, before this one */
	const char *head; /* of the last of them */
};

/*
 * Appends the record, as chain_seal() wants it, and the line for the anchor, with its
 * LF.  signer may be NULL.
 */
void checkpoint_print(const struct checkpoint *c, const struct signer *signer,
    uint64_t seq, struct buf *record, struct buf *anchored);

#endif
