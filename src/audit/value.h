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
/* Looks like a secret behind a name that wants it to. */
bool value_proves(struct str v, enum name_proof proof);
/*
 * Where the credential begins that an Authorization value holds; 0 when no scheme
 * stands before it.  *has_parameters: a list with blanks in it follows.
 */
size_t value_skip_scheme(struct str v, bool *has_parameters);

#endif
