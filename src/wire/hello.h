/*
 * hello.h - the TLS ClientHello: whom does the client say it wants
 *
 * Push: give it bytes as they come, in any pieces, over any number of records;
 * it never scans for a name, it walks every vector and every length must fit
 * exactly (RFC 8446 4.1.2, RFC 6066 3).  What OpenSSL would overlook is refused
 * here.  Caps: 16 KiB of message, 64 records.  Pure; any thread.
 */
#ifndef WEIR_WIRE_HELLO_H
#define WEIR_WIRE_HELLO_H

#include "wire/url.h"

#define HELLO_MAX 16384 /* bytes of handshake message */
#define HELLO_WIRE_MAX (HELLO_MAX + 64 * 5 + 4)

enum hello_result { HELLO_MORE, HELLO_DONE, HELLO_BAD };

struct hello {
	bool has_sni;
	struct host sni;
	bool has_ech; /* 0xfe0d and the drafts' code points fe08-fe0d, ffce */
	bool offers_alpn;
	const char *error; /* when BAD: static text */
	bool is_not_tls;   /* BAD and the first byte is no handshake record */
};

/* Reassembles records into one message; memory is the caller's. */
struct hello_reader {
	unsigned char *message; /* HELLO_MAX bytes lent by the caller until done */
	size_t have;
	size_t total; /* of the message with its header; 0 until that is there */
	size_t record_left;
	unsigned records;
	uint8_t header[5], nheader;
};

void hello_reader_init(struct hello_reader *r, unsigned char *message);
/*
 * `in` is what came since the last call; *used is how much of it belonged to the
 * hello (all of it when MORE).  DONE: *out is filled, and what follows starts a
 * new record; bytes after the hello in its own record are BAD (a second
 * handshake message).  BAD: *out says why.
 */
enum hello_result hello_read(
    struct hello_reader *r, struct str in, size_t *used, struct hello *out) MUST_CHECK;

/*
 * The server's first bytes: are they a HelloRetryRequest (RFC 8446 4.1.3)?
 * MORE while they may still become one (43 bytes in one record, more when it is
 * cut into several); anything that is no ServerHello is NO.
 */
enum retry_result { RETRY_MORE, RETRY_NO, RETRY_YES };
enum retry_result hello_is_retry(struct str in) MUST_CHECK;

#endif
