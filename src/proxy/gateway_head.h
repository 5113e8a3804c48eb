/*
 * gateway_head.h - heads between a sandbox and a provider, made anew
 *
 * Towards the provider the client's credentials, cookies and what rewrites requests
 * are left out, and the provider's own credential is put in.  Towards the client what
 * tells of the operator's account is left out, and what weir did is said.
 */
#ifndef WEIR_PROXY_GATEWAY_HEAD_H
#define WEIR_PROXY_GATEWAY_HEAD_H

#include "proxy/scrub.h"
#include "proxy/spend.h"

/* The client's fields that go to the provider.  False: no room. */
bool gateway_fields(struct buf *to, const struct spend *s) MUST_CHECK;
/* The whole head.  False: no room. */
bool gateway_request(struct buf *to, const struct spend *s, size_t length) MUST_CHECK;
/* weir's own question in the call's place: a POST of JSON, as its family is spoken. */
bool gateway_question(
    struct buf *to, const struct spend *s, struct str path, size_t length) MUST_CHECK;
/* `has_body`: it goes out in chunks, or (to HTTP/1.0) until the connection's end. */
bool gateway_response(struct buf *to, const struct spend *s, const struct http_head *head,
    const struct scrub *scrub, bool has_body, bool is_kept) MUST_CHECK;
/* X-Weir-*: what is left, and what was changed. */
void gateway_notes(struct buf *to, const struct spend *s);

#endif
