#include "wire/hello.h"

#include <string.h>

#define RECORD_HEADER 5
#define RECORD_MAX 16384
#define RECORDS_MAX 64
#define RECORD_HANDSHAKE 22
#define MESSAGE_HEADER 4
#define CLIENT_HELLO 1
#define SERVER_HELLO 2
#define RANDOM_LEN 32
#define RANDOM_AT (MESSAGE_HEADER + 2)

/* RFC 8446 4.1.3: SHA-256 of "HelloRetryRequest" in the place of the random */
static const unsigned char retry_random[RANDOM_LEN] = {
	0xcf,
	0x21,
	0xad,
	0x74,
	0xe5,
	0x9a,
	0x61,
	0x11,
	0xbe,
	0x1d,
	0x8c,
	0x02,
	0x1e,
	0x65,
	0xb8,
	0x91,
	0xc2,
	0xa2,
	0x11,
	0x16,
	0x7a,
	0xbb,
	0x8c,
	0x5e,
	0x07,
	0x9e,
	0x09,
	0xe2,
	0xc8,
	0xa8,
	0x33,
	0x9c,
};

enum extension {
	EXT_SERVER_NAME = 0,
	EXT_ALPN = 16,
	EXT_ECH_FIRST = 0xfe08, /* of the drafts */
	EXT_ECH = 0xfe0d,       /* RFC 9849 */
	EXT_ESNI = 0xffce,      /* what came before ECH */
};

/* A part of the message that is taken from the front; it never grows past its vector. */
struct span {
	const unsigned char *p;
	size_t n;
};

static bool
take_bytes(struct span *from, size_t n, struct span *out)
{
	if (from->n < n)
		return false;
	*out = (struct span){ from->p, n };
	from->p += n;
	from->n -= n;
	return true;
}

static bool
take_number(struct span *from, size_t bytes, size_t *out)
{
	struct span number;

	if (!take_bytes(from, bytes, &number))
		return false;
	*out = 0;
	for (size_t i = 0; i < bytes; i++)
		*out = *out << 8 | number.p[i];
	return true;
}

/* A vector whose length is written in `bytes` bytes before it. */
static bool
take_vector(struct span *from, size_t bytes, struct span *out)
{
	size_t n;

	return take_number(from, bytes, &n) && take_bytes(from, n, out);
}

/* Of several names (RFC 6066 3) a server may take another one than we do. */
static const char *
read_server_name(struct hello *out, struct span body)
{
	struct span list, name;
	size_t type;

	if (!take_vector(&body, 2, &list) || body.n > 0)
		return "server_name does not fill its extension";
	if (!take_number(&list, 1, &type) || !take_vector(&list, 2, &name))
		return "server_name is cut short";
	if (type != 0 || list.n > 0)
		return "server_name must hold one host name and nothing else";
	if (host_parse_sni(&out->sni, (struct str){ (const char *)name.p, name.n }) !=
	    HOST_OK)
		return "server_name is no plain host name";
	out->has_sni = true;
	return NULL;
}

static const char *
read_alpn(struct hello *out, struct span body)
{
	struct span list, name;

	if (!take_vector(&body, 2, &list) || body.n > 0 || list.n == 0)
		return "ALPN list does not fill its extension";
	while (list.n > 0)
		if (!take_vector(&list, 1, &name) || name.n == 0)
			return "ALPN name is empty or cut short";
	out->offers_alpn = true;
	return NULL;
}

static const char *
read_extension(struct hello *out, size_t type, struct span body)
{
	switch (type) {
	case EXT_SERVER_NAME:
		return read_server_name(out, body);
	case EXT_ALPN:
		return read_alpn(out, body);
	}
	out->has_ech |= (type >= EXT_ECH_FIRST && type <= EXT_ECH) || type == EXT_ESNI;
	return NULL;
}

static const char *
read_extensions(struct hello *out, struct span list)
{
	uint8_t seen[65536 / 8] = { 0 }; /* 8 KiB: a hello may hold thousands of them */
	const char *error = NULL;

	while (list.n > 0 && error == NULL) {
		struct span body;
		size_t type;

		if (!take_number(&list, 2, &type) || !take_vector(&list, 2, &body))
			return "extension is cut short";
		if ((seen[type / 8] & 1 << type % 8) != 0)
			return "extension stands twice";
		seen[type / 8] |= (uint8_t)(1 << type % 8);
		error = read_extension(out, type, body);
	}
	return error;
}

/* The fixed part of RFC 8446 4.1.2; what is left are the extensions. */
static const char *
read_fixed(struct span *m)
{
	struct span random, session, suites, compressions;
	size_t version;

	if (!take_number(m, 2, &version) || version >> 8 != 3)
		return "version of the hello is unknown";
	if (!take_bytes(m, RANDOM_LEN, &random))
		return "random is cut short";
	if (!take_vector(m, 1, &session) || session.n > 32)
		return "session id is cut short or longer than 32 bytes";
	if (!take_vector(m, 2, &suites) || suites.n == 0 || suites.n % 2 != 0)
		return "cipher suites are missing, odd or cut short";
	if (!take_vector(m, 1, &compressions) || compressions.n == 0 ||
	    memchr(compressions.p, 0, compressions.n) == NULL)
		return "compression methods are missing or lack null";
	return NULL;
}

static const char *
read_message(struct hello *out, struct span m)
{
	struct span extensions;
	const char *error = read_fixed(&m);

	if (error != NULL || m.n == 0) /* TLS 1.2 may have none */
		return error;
	if (!take_vector(&m, 2, &extensions) || m.n > 0)
		return "extensions do not fill the hello";
	return read_extensions(out, extensions);
}

void
hello_reader_init(struct hello_reader *r, unsigned char *message)
{
	*r = (struct hello_reader){ .message = message };
}

/* Judges a record's header as far as it is there: a wrong first byte waits for none. */
static const char *
record_error(const struct hello_reader *r)
{
	const uint8_t *h = r->header;
	size_t length = (size_t)h[3] << 8 | h[4];

	if (r->nheader >= 1 && h[0] != RECORD_HANDSHAKE)
		return r->records == 0 ? "the first bytes are no TLS handshake"
				       : "another record stands inside the hello";
	if ((r->nheader >= 2 && h[1] != 3) || (r->nheader >= 3 && (h[2] < 1 || h[2] > 3)))
		return "record version is unknown";
	if (r->nheader >= 5 && (length == 0 || length > RECORD_MAX))
		return "record is empty or longer than 16 KiB";
	return r->records == RECORDS_MAX ? "hello is cut into too many records" : NULL;
}

static const char *
on_header_byte(struct hello_reader *r, unsigned char byte)
{
	const char *error;

	r->header[r->nheader++] = byte;
	if ((error = record_error(r)) != NULL || r->nheader < RECORD_HEADER)
		return error;
	r->record_left = (size_t)r->header[3] << 8 | r->header[4];
	r->records++;
	r->nheader = 0;
	return NULL;
}

static const char *
on_message_header(struct hello_reader *r)
{
	const unsigned char *m = r->message;

	if (m[0] != CLIENT_HELLO)
		return "the first handshake message is no ClientHello";
	r->total = MESSAGE_HEADER + ((size_t)m[1] << 16 | (size_t)m[2] << 8 | m[3]);
	return r->total > HELLO_MAX ? "hello is larger than 16 KiB" : NULL;
}

/* Copies what this record and the message still want; returns how much that was. */
static size_t
on_payload(struct hello_reader *r, struct str in, const char **error)
{
	size_t n = (r->total > 0 ? r->total : MESSAGE_HEADER) - r->have;

	n = n < r->record_left ? n : r->record_left;
	n = n < in.n ? n : in.n;
	memcpy(r->message + r->have, in.p, n);
	r->have += n;
	r->record_left -= n;
	if (r->have == MESSAGE_HEADER && r->total == 0)
		*error = on_message_header(r);
	return n;
}

static enum hello_result
finish(struct hello_reader *r, struct hello *out, const char *error)
{
	if (error == NULL && r->record_left > 0)
		error = "a second handshake message stands beside the hello";
	if (error == NULL)
		error = read_message(out, (struct span){ r->message + MESSAGE_HEADER,
					      r->total - MESSAGE_HEADER });
	out->error = error;
	out->is_not_tls = error != NULL && r->records == 0 && r->nheader == 1;
	return error == NULL ? HELLO_DONE : HELLO_BAD;
}

enum hello_result
hello_read(struct hello_reader *r, struct str in, size_t *used, struct hello *out)
{
	const char *error = NULL;

	*out = (struct hello){ .has_sni = false };
	for (*used = 0; *used < in.n && error == NULL;) {
		if (r->record_left == 0)
			error = on_header_byte(r, (unsigned char)in.p[(*used)++]);
		else
			*used += on_payload(r, str_sub(in, *used, in.n), &error);
		if (r->total > 0 && r->have == r->total)
			return finish(r, out, error);
	}
	return error == NULL ? HELLO_MORE : finish(r, out, error);
}

/* The next handshake bytes of records laid end to end, up to `want` of them. */
static enum retry_result
gather(unsigned char *out, size_t want, struct span in)
{
	size_t have = 0;

	while (have < want) {
		size_t type, version, length;
		struct span body;

		if (in.n > 0 && in.p[0] != RECORD_HANDSHAKE)
			return RETRY_NO;
		if (!take_number(&in, 1, &type) || !take_number(&in, 2, &version) ||
		    !take_number(&in, 2, &length))
			return RETRY_MORE;
		if (version >> 8 != 3 || length == 0 || length > RECORD_MAX)
			return RETRY_NO;
		length = length < want - have ? length : want - have;
		if (!take_bytes(&in, length, &body))
			return RETRY_MORE;
		memcpy(out + have, body.p, length);
		have += length;
		if (out[0] != SERVER_HELLO)
			return RETRY_NO;
	}
	return RETRY_YES;
}

enum retry_result
hello_is_retry(struct str in)
{
	unsigned char hello[RANDOM_AT + RANDOM_LEN];
	enum retry_result r = gather(
	    hello, sizeof(hello), (struct span){ (const unsigned char *)in.p, in.n });

	if (r == RETRY_YES && memcmp(hello + RANDOM_AT, retry_random, RANDOM_LEN) != 0)
		return RETRY_NO;
	return r;
}
