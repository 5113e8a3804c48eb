/*
 * glimpse.h - what a client's first bytes look like, and how it can be told no
 *
 * Pure; any thread.
 */
#ifndef WEIR_PROXY_GLIMPSE_H
#define WEIR_PROXY_GLIMPSE_H

#include "policy/verdict.h"

#define TLS_HANDSHAKE 0x16 /* a record's type; RFC 8446 5.1 */

bool glimpse_is_tls(struct str first);
/* A request line, whole: other protocols that speak in lines (SMTP, FTP) begin like one,
 * and must not be answered in a language that is not theirs. */
bool glimpse_is_http(struct str first);
/* The bytes of a fatal alert: a TLS client was refused, not cut off (RFC 8446 6.2). */
struct str glimpse_alert(enum reason reason);

#endif
