/*
 * resume.h - where the chain of an earlier weir goes on
 *
 * Behind the last whole line of the file, or of the file before it, where weir died
 * between two.  What is torn is named, and what the earlier weir left open is ended, as
 * lost: those records are the first of the batch.  Before there is a second thread.
 */
#ifndef WEIR_AUDIT_RESUME_H
#define WEIR_AUDIT_RESUME_H

#include "audit/batch.h"

/* 0, with `head` of the last line there is; or an errno (EINVAL: it is no log of ours).
 */
int resume(struct batch *b, char head[static CHAIN_HEX]) MUST_CHECK;

#endif
