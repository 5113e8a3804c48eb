/*
 * sieve.h - what must not leave, looked for in a request that is about to
 *
 * The secrets that weir itself holds are looked for in every request that it can read,
 * and stop it.  Where a rule says `dlp`, so is what the redactor would mask, by its shape
 * or its name.  A head is looked at whole.  Of a body only what was looked at is given
 * out: what could be the beginning of a held secret waits for more, and under `dlp` the
 * body goes on in pieces, each looked at together with the end of the one before.
 *
 * An exchange's; its worker's alone.
 */
#ifndef WEIR_PROXY_SIEVE_H
#define WEIR_PROXY_SIEVE_H

#include "audit/redact.h"
#include "policy/verdict.h"

/* Kinds of what is found, beside the redactor's. */
#define SIEVE_HELD "held"
#define SIEVE_CODED "coded"
#define SIEVE_DOUBT "doubt"

struct sieve {
	const struct redactor *redactor;
	const struct known *known; /* that it holds; may be NULL */
	enum dlp dlp;
	struct buf body;  /* came in, and was not given out */
	size_t clear;     /* bytes of it that may go */
	const char *kind; /* what was found first (static); NULL: nothing */
	bool is_caught;   /* and it stops the request */
};

/* Borrows both; they outlive it. */
void sieve_init(struct sieve *s, const struct redactor *redactor,
    const struct known *known, enum dlp dlp);
void sieve_fini(struct sieve *s);
/* What comes now is looked at with these, as is what was not given out. */
void sieve_change(struct sieve *s, const struct redactor *redactor,
    const struct known *known, enum dlp dlp);

/* Is one of the secrets that weir holds in a text that is whole?  known may be NULL. */
bool sieve_holds(const struct known *known, struct str text);

/* Is there anything that it looks for? */
bool sieve_looks(const struct sieve *s);
/* The request's head, as it will be sent.  False: it is caught. */
bool sieve_head(struct sieve *s, struct str head) MUST_CHECK;
/* A body in a coding cannot be looked into.  False: it is caught. */
bool sieve_coded(struct sieve *s) MUST_CHECK;
/* More of the body. */
void sieve_add(struct sieve *s, struct str in);
/* is_end: it is whole.  False: it is caught. */
bool sieve_look(struct sieve *s, bool is_end) MUST_CHECK;
/* Instead: nothing is looked for any more. */
void sieve_pass(struct sieve *s);
/* What of it may go; sieve_gone(): it is taken. */
struct str sieve_ready(const struct sieve *s);
void sieve_gone(struct sieve *s);

#endif
