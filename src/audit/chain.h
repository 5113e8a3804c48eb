/*
 * chain.h - each line names the one before it
 *
 * chain_seal() ends a record: `,"prev":"<hex SHA-256 of the line before>"`, with
 * a key `,"mac":"<hex HMAC-SHA-256 of the line so far>"`, `}` and LF.  The first
 * line's prev is 64 zeros.  One thread.
 */
#ifndef WEIR_AUDIT_CHAIN_H
#define WEIR_AUDIT_CHAIN_H

#include <openssl/evp.h>

#include "audit/hmac.h"

#define CHAIN_HEX 65
/* What the first line of all names. */
#define CHAIN_START "0000000000000000000000000000000000000000000000000000000000000000"

struct chain {
	char head[CHAIN_HEX]; /* of the last line sealed, or 64 zeros */
	EVP_MD *md;
	EVP_MD_CTX *ctx;
	struct hmac mac;
};

void chain_init(struct chain *c, struct str key); /* an empty key: no mac */
void chain_fini(struct chain *c);                 /* wipes the key */
/* Goes on behind this line, which is without its LF. */
void chain_continue(struct chain *c, struct str line);
/* `line` is a record without its closing brace; appends the whole line. */
void chain_seal(struct chain *c, struct str line, struct buf *out);
/* What the line behind this one must name; this one is without its LF. */
void chain_digest(struct str line, char out[static CHAIN_HEX]);

#endif
