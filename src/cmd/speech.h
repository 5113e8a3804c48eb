/*
 * speech.h - what weir verify says on a wire, and whether an answer is weir's
 *
 * Pure; any thread.
 */
#ifndef WEIR_CMD_SPEECH_H
#define WEIR_CMD_SPEECH_H

#include "base/str.h"

/* A whole ClientHello that asks for `name`; false: it could not be made. */
bool speech_hello(struct buf *to, const char *name) MUST_CHECK;
/*
 * Weir's own end of a TLS connection it refuses: access_denied or unrecognized_name.  A
 * server may send the latter, too, and then it has been reached; but few do where any
 * certificate would be an answer.
 */
bool speech_refuses_tls(struct str in);
bool speech_is_hello(struct str in); /* a server's: its handshake's first record */

/* A question for the A record of `name`, with EDNS; framed as over TCP or not. */
void speech_dns(struct buf *to, const char *name, bool is_framed);

enum speech_dns {
	SPEECH_DNS_NONE,    /* no answer to that question */
	SPEECH_DNS_ADDRESS, /* with an answer in it */
	SPEECH_DNS_EMPTY,   /* without */
	SPEECH_DNS_REFUSED, /* as weir refuses: an extended error says why */
};
enum speech_dns speech_dns_read(struct str in, struct str question);

/* An HTTP answer's status; 0: it is none. */
unsigned speech_status(struct str in);
/* The value of X-Weir-Reason; empty: the answer is not of weir, or no refusal. */
struct str speech_reason(struct str in);
/* The digest of the policy that an answer about a session names; empty: none. */
struct str speech_policy(struct str in);

#endif
