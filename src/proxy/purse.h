/*
 * purse.h - GET /weir/v1/session: what a session has left
 */
#ifndef WEIR_PROXY_PURSE_H
#define WEIR_PROXY_PURSE_H

#include "proxy/spend.h"

bool purse_is_asked(const struct exchange *x);
/* The whole answer; after hold_look(). */
void purse_answer(struct buf *to, const struct exchange *x);

#endif
