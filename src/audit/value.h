/*
 * value.h - is it a secret, what stands behind a key that says so
 *
 * Pure; any thread.
 */
#ifndef WEIR_AUDIT_VALUE_H
#define WEIR_AUDIT_VALUE_H

#include "audit/name.h"

/* Says that there is a secret without giving it away: "", null, ***, ${NAME}, a mark. */
bool value_is_harmless(struct str v);
/* null, true and the like: harmless alone, and the begin of words. */
bool value_is_nothing(struct str v);
/* What a check says of a secret in its place: "expired", "required", "not set". */
bool value_is_verdict(struct str v);
/* A word that goes on in a sentence: "its", "must". */
bool value_is_prose(struct str v);
/* YAML's !tag and &anchor: how long they are, with the blanks behind them. */
size_t value_skip_tags(struct str v);
/* "# why", and nothing else. */
bool value_is_comment(struct str v);
/* | or >, how its lines are indented and its last newlines meant (YAML 1.2, 8.1). */
bool value_is_block_sign(struct str v);
/* Looks like a secret behind a name that wants it to. */
bool value_proves(struct str v, enum name_proof proof);
/*
 * Where the credential begins that an Authorization value holds; 0 when no scheme
 * stands before it.  *has_parameters: a list with blanks in it follows.
 */
size_t value_skip_scheme(struct str v, bool *has_parameters);

#endif
