/*
 * ws.h - the websocket handshake (RFC 6455 4)
 *
 * Pure; any thread.
 */
#ifndef WEIR_WIRE_WS_H
#define WEIR_WIRE_WS_H

#include "wire/head.h"

/* The Sec-WebSocket-Accept for this key; false when that is not 16 bytes in base64. */
bool ws_accept(char out[static 29], struct str key);
/* A request that may be upgraded: GET, 1.1, no body, one valid key, version 13. */
bool ws_is_request(const struct http_head *h);

#endif
