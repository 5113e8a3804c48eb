/*
 * tls_server.c - TLS with a client, in place of the origin it wanted
 */
#include "net/tls_server.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

struct tls_server {
	SSL_CTX *ctx;
	struct chores *chores;
};

static const unsigned char alpn[] = "\x08http/1.1";

/* What a client offers must have it among the rest; who offers nothing takes it, too. */
static int
choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *n,
    const unsigned char *offered, unsigned noffered, void *arg)
{
	unsigned char *chosen;

	(void)ssl;
	(void)arg;
	if (SSL_select_next_proto(&chosen, n, alpn, sizeof(alpn) - 1, offered,
		noffered) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/* RFC 6066 3: a name that was used is acknowledged; which one, was judged before. */
static int
acknowledge_name(SSL *ssl, int *alert, void *arg)
{
	(void)ssl;
	(void)alert;
	(void)arg;
	return SSL_TLSEXT_ERR_OK;
}

struct tls_server *
tls_server_new(struct chores *cs)
{
	struct tls_server *s = mem_zalloc(sizeof(*s));

	if ((s->ctx = SSL_CTX_new(TLS_server_method())) == NULL)
		abort(); /* out of memory, or no OpenSSL to speak of */
	s->chores = cs;
	tls_stream_options(s->ctx);
	SSL_CTX_set_options(s->ctx, SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_num_tickets(s->ctx, 0);
	SSL_CTX_set_session_cache_mode(s->ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_alpn_select_cb(s->ctx, choose_protocol, NULL);
	SSL_CTX_set_tlsext_servername_callback(s->ctx, acknowledge_name);
	return s;
}

void
tls_server_free(struct tls_server *s)
{
	if (s == NULL)
		return;
	SSL_CTX_free(s->ctx);
	free(s);
}

/* ---- one client ---- */

static const char *
no_fault(SSL *ssl)
{
	(void)ssl;
	return NULL;
}

/* RFC 8446 6.2: what says that the certificate is the trouble. */
static bool
is_distrust(unsigned long error)
{
	static const int alerts[] = { SSL_R_TLSV1_ALERT_UNKNOWN_CA,
		SSL_R_SSLV3_ALERT_BAD_CERTIFICATE,
		SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
		SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED,
		SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
		SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, SSL_R_TLSV1_ALERT_ACCESS_DENIED };

	if (ERR_GET_LIB(error) != ERR_LIB_SSL)
		return false;
	for (size_t i = 0; i < sizeof(alerts) / sizeof(alerts[0]); i++)
		if (ERR_GET_REASON(error) == alerts[i])
			return true;
	return false;
}

/* Is it what the client said, and not what is wrong with what it sent? */
static bool
is_alert(unsigned long error)
{
	return ERR_GET_LIB(error) == ERR_LIB_SSL &&
	       ERR_GET_REASON(error) >= SSL_AD_REASON_OFFSET;
}

/* Many say nothing, and hang up on what they were shown. */
static int
why_failed(struct tls *t, const char **text)
{
	unsigned long queued = ERR_peek_last_error();
	bool is_shown = BIO_number_written(SSL_get_wbio(t->ssl)) > 0;
	bool is_silent =
	    queued == 0 || ERR_GET_REASON(queued) == SSL_R_UNEXPECTED_EOF_WHILE_READING;

	*text = queued != 0 ? ERR_reason_error_string(queued) : NULL;
	if (is_distrust(queued) || (is_shown && is_silent))
		return ERR_DISTRUSTED;
	return is_silent || is_alert(queued) ? ERR_IO : ERR_INVALID;
}

static const struct tls_role to_client = {
	.late = "the client's TLS handshake took too long",
	.left = "the client left the handshake",
	.fault = no_fault,
	.why = why_failed,
};

/* The socket, and before it what was read from it: a BIO that buffers takes both. */
static BIO *
behind(struct str first, BIO *socket)
{
	BIO *b = BIO_new(BIO_f_buffer());

	if (b == NULL ||
	    BIO_set_buffer_read_data(b, (void *)(uintptr_t)first.p, (long)first.n) != 1)
		abort(); /* out of memory */
	return BIO_push(b, socket);
}

static struct tls *
new_tls(struct tls_server *server, const struct stream *s, struct str first,
    struct leaf *leaf)
{
	struct tls *t = mem_zalloc(sizeof(*t));
	BIO *out = tls_stream_bio(s), *in = out;
	SSL *ssl = SSL_new(server->ctx);

	if (ssl == NULL || !leaf_use(leaf, ssl))
		abort(); /* out of memory */
	if (first.n > 0) {
		BIO_up_ref(
		    out); /* for each of the two; of one and the same there is one */
		in = behind(first, out);
	}
	SSL_set_bio(ssl, in, out);
	SSL_set_accept_state(ssl);
	tls_stream_init(t, ssl, &to_client);
	return t;
}

struct tls_start *
tls_accept(struct tls_server *server, struct stream *s, struct str first,
    struct leaf *leaf, msec timeout_ms, tls_done *done, void *arg)
{
	return tls_shake(
	    new_tls(server, s, first, leaf), server->chores, s, timeout_ms, done, arg);
}
