/*
 * judge.h - may a model call run, and what can it cost?
 *
 * The meter says what the request asks for; what the session and each of its ancestors
 * allow (models, hosted tools) is held against it, and what it can cost is bounded by the
 * price table.  Nothing is asked of anybody.  Belongs to one worker.
 */
#ifndef WEIR_PROXY_JUDGE_H
#define WEIR_PROXY_JUDGE_H

#include "proxy/spend.h"

/* The body is whole: may it run, and what can it cost?  False: x->reason. */
bool judge_call(struct spend *s) MUST_CHECK;
/* What it can cost, once it is known what it refers to.  False: x->reason. */
bool judge_price(struct spend *s) MUST_CHECK;

#endif
