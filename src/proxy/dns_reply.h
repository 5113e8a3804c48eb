/*
 * dns_reply.h - what the DNS door says: a reason as a response code, a message in its
 * frame
 *
 * Pure; any thread.  Cannot fail: an answer that does not fit is a truncated one.
 */
#ifndef WEIR_PROXY_DNS_REPLY_H
#define WEIR_PROXY_DNS_REPLY_H

#include "proxy/door.h"

/* Of a refused exchange. */
struct dns_reply dns_reply_to(const struct exchange *x, const struct dns_query *q);
/* The whole answer to what was heard; r->room is not looked at. */
void dns_reply_message(
    struct buf *out, const struct hearing *h, const struct dns_reply *r);

#endif
