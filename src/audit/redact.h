/*
 * redact.h - secrets out of text, by the key's name, by the value's shape, and those that
 * weir holds by what they are
 *
 * A match becomes ~redacted.KIND.ID.xxxxxxxxxxxx~: the key's id and 48 bits of
 * HMAC-SHA-256 over the decoded secret, so one secret can be followed without
 * being known.  Idempotent: a mark is left alone.  In doubt (an engine error, a
 * spent work budget, text that does not parse) the span is masked.  A line, or a JSON
 * document, of n bytes gets 256 + n / 64 marks; what follows them in it is one of kind
 * "doubt" (SCAN_MARKS), and so is all of a line that costs too much to be judged
 * (piece.h).  Whoever has a text without end has a purse, too (purse.h, stream.h).
 * A `struct redactor` is immutable and shared; any thread may use it (scratch
 * memory is per thread inside).
 */
#ifndef WEIR_AUDIT_REDACT_H
#define WEIR_AUDIT_REDACT_H

#include "audit/known.h"
#include "audit/purse.h"
#include "audit/rules.h"
#include "base/str.h"

enum redact_as {
	REDACT_TEXT,
	REDACT_JSON,
	REDACT_HEADER,
	REDACT_URL,
	REDACT_HOST, /* a name whose capitals were made small: secrets are known without
		      */
};

struct redactor;

/*
 * key: HMAC key; empty: a random one of this run, with id "k0".  Never NULL: a pattern
 * that does not compile is our bug, and a rule that does not find its own vector ends
 * the process with a line on stderr.
 */
struct redactor *redactor_new(struct str key, const char *id);
/* Before it is shared: takes what weir holds, to be masked by this and all others. */
void redactor_hold(struct redactor *r, struct known *known);
/* The same with the operator's rules, for this one. */
void redactor_obey(struct redactor *r, struct rules *rules);
void redactor_free(struct redactor *r); /* wipes the key */

/* Appends `in` without its secrets to `out`; returns how many were masked. */
size_t redact(
    const struct redactor *r, enum redact_as as, struct str in, struct buf *out);
/*
 * The same for who shows `most` bytes of it: what lies far behind them is not given
 * out, so that a text full of secrets costs no more marks than are seen.
 */
size_t redact_part(const struct redactor *r, enum redact_as as, struct str in,
    size_t most, struct buf *out);
/* What was found, by its place in `in`, its kind and what gave it away (static); never
 * the value. */
typedef void redact_told(
    void *arg, size_t from, size_t to, const char *kind, const char *why);
void redact_explain(const struct redactor *r, enum redact_as as, struct str in,
    redact_told *told, void *arg);
/*
 * A piece of a text that may never end, cut where stream.h cuts: what it costs is paid
 * from the purse.  Returns how much of `in` was given out, which is where lines, fields
 * or a document begin: what is behind it, and purse->stretch bytes at least, is to be
 * masked.  `told`, unless it is NULL, is what was found in what was given out.
 * is_none, unless it is NULL: set when `in` was to be JSON and is none; nothing is given
 * out then, and the purse owes what it cost.
 */
size_t redact_paid(const struct redactor *r, enum redact_as as, struct str in,
    struct purse *purse, redact_told *told, void *arg, bool *is_none, struct buf *out);
/* How many bytes finding the secrets looks at beside the walk itself; tests ask. */
size_t redact_work(const struct redactor *r, enum redact_as as, struct str in);
/* The mark of one secret, as `weir redact --fingerprint` prints it. */
void redact_mark(
    const struct redactor *r, const char *kind, struct str secret, struct buf *out);

/* What kind of secret this is by its own shape; "secret" when it has none. */
const char *redact_kind(const struct redactor *r, struct str secret);

#endif
