/*
 * speech.c - what weir verify says on a wire, and whether an answer is weir's
 */
#include "cmd/speech.h"

#include <openssl/ssl.h>

#define EDE 15 /* the option of an extended error (RFC 8914) */
#define EDE_BLOCKED 15
#define EDE_PROHIBITED 18
#define DIGEST 64 /* of SHA-256, in hex */

/* ---- TLS ---- */

/* Its first flight is all that is wanted, so it talks to memory and nobody answers. */
static bool
take_flight(SSL *ssl, const char *name, struct buf *to)
{
	BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
	const char *bytes = NULL;

	if (in == NULL || out == NULL) {
		BIO_free(in);
		BIO_free(out);
		return false;
	}
	SSL_set_bio(ssl, in, out); /* both are the connection's now */
	SSL_set_connect_state(ssl);
	/* SSL_set_tlsext_host_name() casts a const away */
	if (SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
		(void *)(uintptr_t)name) != 1)
		return false;
	(void)SSL_do_handshake(ssl);
	long n = BIO_get_mem_data(out, &bytes);
	if (n > 0)
		buf_add(to, bytes, (size_t)n);
	return n > 0;
}

bool
speech_hello(struct buf *to, const char *name)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *ssl = context == NULL ? NULL : SSL_new(context);
	bool is_made = ssl != NULL && take_flight(ssl, name, to);

	SSL_free(ssl);
	SSL_CTX_free(context);
	return is_made;
}

bool
speech_refuses_tls(struct str in)
{
	return in.n == 7 && memcmp(in.p, "\25\3\3\0\2\2", 6) == 0 &&
	       (in.p[6] == 49 || in.p[6] == 112);
}

bool
speech_is_hello(struct str in)
{
	return in.n >= 2 && in.p[0] == 0x16 && in.p[1] == 3;
}

/* ---- DNS ---- */

static void
put_question(struct buf *to, const char *name)
{
	struct str rest = str_of(name), label;

	while (str_split(&rest, '.', &label)) {
		buf_char(to, (char)label.n);
		buf_str(to, label);
	}
	buf_add(to, "\0\0\1\0\1", 5); /* the root, A, IN */
}

void
speech_dns(struct buf *to, const char *name, bool is_framed)
{
	static const char head[] = "WV\1\0\0\1\0\0\0\0\0\1";
	static const char opt[] = "\0\0\51\4\320\0\0\0\0\0\0";
	size_t length = 12 + strlen(name) + 6 + 11;

	if (is_framed)
		buf_add(to, (char[]){ (char)(length >> 8), (char)length }, 2);
	buf_add(to, head, 12);
	put_question(to, name);
	buf_add(to, opt, 11);
}

static unsigned
number_at(struct str s, size_t at)
{
	return (unsigned)(unsigned char)s.p[at] << 8 | (unsigned char)s.p[at + 1];
}

/* In the OPT record right behind the question: nothing else is in a refusal. */
static bool
has_refusal(struct str in, size_t at)
{
	if (in.n < at + 17 || number_at(in, at + 1) != 41)
		return false;
	unsigned code = number_at(in, at + 15);
	return number_at(in, at + 11) == EDE &&
	       (code == EDE_BLOCKED || code == EDE_PROHIBITED);
}

enum speech_dns
speech_dns_read(struct str in, struct str question)
{
	size_t asked = question.n - 12 - 11; /* between head and OPT */

	if (in.n < 12 + asked || memcmp(in.p, question.p, 2) != 0 ||
	    (in.p[2] & 0x80) == 0)
		return SPEECH_DNS_NONE;
	if (number_at(in, 6) > 0)
		return SPEECH_DNS_ADDRESS;
	return has_refusal(in, 12 + asked) ? SPEECH_DNS_REFUSED : SPEECH_DNS_EMPTY;
}

/* ---- HTTP ---- */

unsigned
speech_status(struct str in)
{
	uint64_t status = 0;

	if (in.n < 12 || !str_starts(in, STR("HTTP/1.")) ||
	    !str_decimal(str_sub(in, 9, 3), &status))
		return 0;
	return (unsigned)status;
}

struct str
speech_reason(struct str in)
{
	struct str line, name = STR("x-weir-reason:");

	while (str_split(&in, '\n', &line) && line.n > 1) {
		if (str_eq_nocase(str_sub(line, 0, name.n), name))
			return str_trim(
			    str_sub(line, name.n, line.n - name.n - 1)); /* CR */
	}
	return STR_NONE;
}

struct str
speech_policy(struct str in)
{
	static const char key[] = "\"policy\":\"";
	const char *at = in.n == 0 ? NULL : memmem(in.p, in.n, key, sizeof(key) - 1);
	size_t from = at == NULL ? in.n : (size_t)(at - in.p) + sizeof(key) - 1;
	struct str digest = str_sub(in, from, DIGEST);

	for (size_t i = 0; i < digest.n; i++)
		if (!ascii_is_hex(digest.p[i]))
			return STR_NONE;
	return digest.n == DIGEST ? digest : STR_NONE;
}
