/*
 * head.h - a complete HTTP/1.1 head, and what its fields say
 *
 * Framing (RFC 9112 6) and persistence (9.3) are worked out here once, by
 * head_settle(); nothing else in weir looks at Content-Length or
 * Transfer-Encoding again.  Slices point into the reader's buffer; the field
 * array lives in the exchange's arena.  Pure; any thread.
 */
#ifndef WEIR_WIRE_HEAD_H
#define WEIR_WIRE_HEAD_H

#include "base/str.h"

enum http_kind { HTTP_REQUEST, HTTP_RESPONSE };

/* Why a head is refused; http_error_text() says it in words with what to do. */
enum http_error {
	HTTP_OK,
	HTTP_START_LINE, /* request or status line is not what RFC 9112 says */
	HTTP_VERSION,    /* well-formed, not 1.0 or 1.1 (505); the h2 preface too */
	HTTP_LINE_END,   /* bare CR or LF, a second empty line before the start line */
	HTTP_CONTROL,    /* NUL or another control byte */
	HTTP_FIELD,      /* no colon, empty or bad name, space before the colon */
	HTTP_FOLD,       /* obs-fold, or a field that begins with white space */
	HTTP_HOST_MISSING,
	HTTP_HOST_TWICE,
	HTTP_LENGTH_BAD,         /* not 1-19 plain digits */
	HTTP_LENGTH_CONFLICT,    /* twice */
	HTTP_LENGTH_AND_CODING,  /* Content-Length and Transfer-Encoding (RFC 9112 6.1) */
	HTTP_CODING_BAD,         /* twice, empty, in HTTP/1.0, not ending in chunked */
	HTTP_CODING_UNSUPPORTED, /* another coding before chunked (501) */
	HTTP_EXPECTATION,        /* Expect that is not 100-continue (417) */
	HTTP_ALIAS,      /* Content_Length: CGI and its heirs read it as the real one */
	HTTP_NOMINATION, /* Connection names a framing field, Host or Via, or too many */
	HTTP_METHOD,     /* longer than 32 bytes or no token */
	HTTP_TARGET_TOO_LONG, /* 414 */
	HTTP_HEAD_TOO_LARGE,  /* 431: head, one field, or too many fields */
	HTTP_CONNECT_BODY,    /* CONNECT with a body */
	HTTP_ERROR_N
};

struct http_field {
	struct str name, value; /* value without surrounding white space */
};

enum http_framing {
	HTTP_NO_BODY,
	HTTP_LENGTH, /* `length` bytes, may be 0 */
	HTTP_CHUNKED,
	HTTP_UNTIL_CLOSE, /* responses only */
};

struct http_head {
	enum http_kind kind;
	int minor;                 /* HTTP/1.minor */
	struct str method, target; /* requests, raw */
	int status;                /* responses */
	struct str phrase;
	struct http_field *field;
	size_t nfield;

	enum http_framing framing;
	uint64_t length;
	bool is_kept; /* the connection may carry another message after this one */
	bool expects_continue;
	struct str host; /* the Host field's value; p is NULL when absent */
	/* Upgrade: websocket asked for or answered, and Connection names upgrade */
	bool is_upgrade;
};

/*
 * Fills framing, length, is_kept, expects_continue, host and is_upgrade from the
 * fields; anything but HTTP_OK refuses the whole head.  The reader calls it.
 */
enum http_error head_settle(struct http_head *h) MUST_CHECK;

/* What request and status leave of a response's body (RFC 9112 6.3); once, after DONE. */
void http_response_for(struct http_head *response, struct str request_method);

/* The first field of that name (case-insensitive) or NULL. */
const struct http_field *http_field(const struct http_head *h, struct str name);
size_t http_field_count(const struct http_head *h, struct str name);
/* How long a peer says that it keeps an idle connection; -1: it does not say. */
int64_t http_keep_alive_s(const struct http_head *h);

/*
 * Fields that must not pass: hop-by-hop ones (RFC 9110 7.6.1) and their aliases
 * with '_', those Connection names, X-Weir-*, and Alt-Svc in responses.
 * Content-Length is not among them: who sends the head on writes it anew from
 * `length`.  Fills `drop[i]` for each field; `drop` has nfield
 * places.  Names are collected first, then judged (CVE-2023-49606).
 */
void http_hop_fields(const struct http_head *h, bool *drop);

bool http_is_token(struct str s); /* RFC 9110 5.6.2 */

#endif
