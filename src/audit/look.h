/*
 * look.h - is a secret here, by what stands around it
 *
 * By the key before it (password=..., "apiKey": "...", --token ...), in the
 * userinfo of a URL, in a line of a password file, in a private key's block.
 * Each look is at one place of a line and costs no more than what it takes or a
 * bounded window; what it cost is added to the scan's work.
 *
 * The scan's thread.
 */
#ifndef WEIR_AUDIT_LOOK_H
#define WEIR_AUDIT_LOOK_H

#include "audit/piece.h"

/* Where to go on, or 0: there is nothing at `at`. */
size_t look_pem(struct piece *p, size_t at);         /* -----BEGIN */
size_t look_option(struct piece *p, size_t at);      /* --password VALUE */
size_t look_long_option(struct piece *p, size_t at); /* " -Password VALUE" */
size_t look_pair(struct piece *p, size_t at);        /* the quote in "name", "value" */
size_t look_told(struct piece *p, size_t at);        /* password is VALUE */
size_t look_userinfo(struct piece *p, size_t at);    /* ://user:password@ */
size_t look_escaped_userinfo(struct piece *p, size_t at); /* :\/\/user:password@ */
size_t look_pgpass(struct piece *p, size_t at); /* host:5432:base:user:password */
size_t look_netrc(struct piece *p, size_t at);  /* a line that is "password VALUE" */
size_t look_key(struct piece *p, size_t at);    /* the = or : behind a key */

/*
 * The value of a key whose name says `kind`: all of it but an Authorization scheme is
 * masked.  False: it looks harmless.
 */
bool look_value(struct scan *s, const char *kind, const char *why, struct str value,
    size_t base, enum span_code code);

#endif
