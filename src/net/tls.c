/*
 * tls.c - TLS to an origin: its name verified, then a stream like any other
 */
#include "net/tls.h"

#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/map.h"
#include "net/roots.h"

#define SESSIONS_MAX 1024
#define RECORD ((size_t)16 * 1024) /* RFC 8446 5.1: the most one record carries */
#define PEER_MAX (HOST_MAX + 8)

struct tls_client {
	SSL_CTX *ctx;
	struct roots *roots;
	struct map sessions; /* SSL_SESSION by "host port" */
	size_t nsession;
};

/* What hangs on a stream: its ops are this one's, so that a plain stream pays nothing. */
struct tls {
	struct stream_ops ops;
	SSL *ssl;
	struct tls_client *client;
	char peer[PEER_MAX];
	bool read_wants_write, write_wants_read; /* a key update in the other direction */
};

struct tls_start {
	struct tls *tls;
	struct loop *loop;
	struct stream *stream;
	struct timer deadline;
	tls_done *done;
	void *arg;
};

static struct tls *
tls_of(const struct stream *s)
{
	return (struct tls *)(uintptr_t)s->ops; /* ops is its first member */
}

/* ---- bytes ---- */

/* -errno of what SSL_get_error() says; the queue is the thread's and must not be left. */
static ssize_t
failure(struct tls *t, int result, bool *wants_read, bool *wants_write)
{
	int why = SSL_get_error(t->ssl, result);

	ERR_clear_error();
	*wants_read = why == SSL_ERROR_WANT_READ;
	*wants_write = why == SSL_ERROR_WANT_WRITE;
	return *wants_read || *wants_write ? -EAGAIN : -ECONNRESET;
}

static ssize_t
tls_read(struct stream *s, void *p, size_t n)
{
	struct tls *t = tls_of(s);
	bool wants_read;
	size_t got;
	int result;

	ERR_clear_error();
	s->is_short = false; /* a record may wait behind this one */
	if ((result = SSL_read_ex(t->ssl, p, n, &got)) == 1)
		return (ssize_t)got;
	if (SSL_get_error(t->ssl, result) == SSL_ERROR_ZERO_RETURN)
		return 0;
	s->ready &= (uint8_t)~STREAM_READ;
	return failure(t, result, &wants_read, &t->read_wants_write);
}

/* Tickets and key updates are TLS's own; a record's beginning is somebody's words. */
static bool
tls_is_quiet(struct stream *s)
{
	SSL *ssl = tls_of(s)->ssl;
	char byte;

	return tls_read(s, &byte, 1) == -EAGAIN && !SSL_has_pending(ssl) &&
	       strcmp(SSL_rstate_string(ssl), "RH") == 0; /* awaits a record's head */
}

/* A head and the beginning of its body share a record. */
static struct str
gathered(char *room, const struct iovec *v, int n)
{
	size_t used = 0;

	if (n == 1 || v[0].iov_len >= RECORD)
		return (struct str){ v[0].iov_base, v[0].iov_len };
	for (int i = 0; i < n && used < RECORD; i++) {
		size_t piece =
		    v[i].iov_len < RECORD - used ? v[i].iov_len : RECORD - used;

		if (piece > 0)
			memcpy(room + used, v[i].iov_base, piece);
		used += piece;
	}
	return (struct str){ room, used };
}

static ssize_t
tls_write(struct stream *s, const struct iovec *v, int n)
{
	struct tls *t = tls_of(s);
	char room[RECORD];
	struct str bytes = gathered(room, v, n);
	bool wants_write;
	size_t sent;
	int result;

	if (bytes.n == 0)
		return 0;
	ERR_clear_error();
	if ((result = SSL_write_ex(t->ssl, bytes.p, bytes.n, &sent)) == 1)
		return (ssize_t)sent;
	s->ready &= (uint8_t)~STREAM_WRITE;
	return failure(t, result, &t->write_wants_read, &wants_write);
}

/* The other direction's edge is what a read or a write was waiting for. */
static unsigned
tls_seen(struct stream *s, unsigned seen)
{
	struct tls *t = tls_of(s);

	if (t->read_wants_write && (seen & STREAM_WRITE))
		seen |= STREAM_READ;
	if (t->write_wants_read && (seen & STREAM_READ))
		seen |= STREAM_WRITE;
	return seen;
}

static void
tls_shut(struct stream *s)
{
	ERR_clear_error();
	SSL_shutdown(tls_of(s)->ssl); /* a full socket buffer: the FIN must say it */
	ERR_clear_error();
	shutdown(s->fd, SHUT_WR);
}

static void
free_tls(struct tls *t)
{
	SSL_free(t->ssl);
	free(t);
}

static void
tls_close(struct stream *s)
{
	struct tls *t = tls_of(s);

	/* else OpenSSL takes the session for a broken one, and never resumes it */
	SSL_set_shutdown(t->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	free_tls(t);
	close(s->fd);
}

bool
stream_is_tls(const struct stream *s)
{
	return s->ops->close == tls_close;
}

/* ---- sessions ---- */

static void
free_session(void *session)
{
	SSL_SESSION_free(session);
}

/* OpenSSL's callback: 1 keeps the reference.  One for each peer: the newest. */
static int
on_session(SSL *ssl, SSL_SESSION *session)
{
	struct tls *t = SSL_get_app_data(ssl);
	struct tls_client *c = t->client;
	SSL_SESSION *old = map_del(&c->sessions, str_of(t->peer));

	if (old != NULL)
		free_session(old);
	else if (c->nsession == SESSIONS_MAX)
		return 0;
	else
		c->nsession++;
	map_put(&c->sessions, str_of(t->peer), session);
	return 1;
}

static void
offer_session(struct tls *t)
{
	SSL_SESSION *session = map_get(&t->client->sessions, str_of(t->peer));

	if (session != NULL && SSL_SESSION_is_resumable(session))
		SSL_set_session(t->ssl, session);
}

static void
forget_session(struct tls *t)
{
	SSL_SESSION *session = map_del(&t->client->sessions, str_of(t->peer));

	if (session == NULL)
		return;
	t->client->nsession--;
	free_session(session);
}

/* ---- shaking hands ---- */

static const unsigned char alpn[] = "\x08http/1.1";

struct tls_client *
tls_client_new(struct roots *r)
{
	struct tls_client *c = mem_zalloc(sizeof(*c));

	if ((c->ctx = SSL_CTX_new(TLS_client_method())) == NULL)
		abort(); /* out of memory, or no OpenSSL to speak of */
	c->roots = roots_ref(r);
	map_init(&c->sessions);
	SSL_CTX_set1_cert_store(c->ctx, roots_store(r));
	SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_min_proto_version(c->ctx, TLS1_2_VERSION);
	SSL_CTX_set_options(c->ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(c->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
				     SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				     SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_read_ahead(c->ctx, 1); /* else a record is two reads, head and body */
	SSL_CTX_set_alpn_protos(c->ctx, alpn, sizeof(alpn) - 1);
	SSL_CTX_set_session_cache_mode(
	    c->ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(c->ctx, on_session);
	return c;
}

void
tls_client_free(struct tls_client *c)
{
	if (c == NULL)
		return;
	map_fini(&c->sessions, free_session);
	SSL_CTX_free(c->ctx);
	roots_unref(c->roots);
	free(c);
}

/* Whom the certificate must name; an address is never sent as SNI (RFC 6066 3). */
static bool
expect_name(SSL *ssl, const struct host *name)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
	char text[ADDR_TEXT];

	X509_VERIFY_PARAM_set_hostflags(param,
	    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	if (name->is_literal)
		return X509_VERIFY_PARAM_set1_ip_asc(
			   param, addr_text(text, &name->addr)) == 1;
	return SSL_set1_host(ssl, name->name) == 1 &&
	       SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
		   (void *)(uintptr_t)name->name) == 1;
}

static struct tls *
new_tls(struct tls_client *c, int fd, const struct host *name, uint16_t port)
{
	struct tls *t = mem_zalloc(sizeof(*t));

	t->ops = (struct stream_ops){
		.read = tls_read,
		.is_quiet = tls_is_quiet,
		.write = tls_write,
		.seen = tls_seen,
		.shut = tls_shut,
		.close = tls_close,
	};
	t->client = c;
	snprintf(t->peer, sizeof(t->peer), "%s %u", name->name, port);
	t->ssl = SSL_new(c->ctx);
	if (t->ssl == NULL || SSL_set_fd(t->ssl, fd) != 1 || !expect_name(t->ssl, name))
		abort(); /* out of memory */
	SSL_set_app_data(t->ssl, t);
	SSL_set_connect_state(t->ssl);
	offer_session(t);
	return t;
}

static void
finish(struct tls_start *h, int err, const char *why)
{
	struct stream *s = h->stream;
	tls_done *done = h->done;
	void *arg = h->arg;

	timer_clear(&h->deadline);
	s->notify = NULL;
	if (err == 0) {
		s->ops = &h->tls->ops;
		s->ready |= STREAM_READ | STREAM_WRITE; /* records may have come behind */
	} else {
		forget_session(h->tls);
		free_tls(h->tls);
	}
	free(h);
	done(arg, err, why);
}

static void
on_deadline(void *arg)
{
	finish(arg, ERR_TIMEOUT, "the origin's TLS handshake took too long");
}

/* http/1.1 or nothing was chosen: anything else is not spoken here. */
static bool
is_spoken(SSL *ssl)
{
	const unsigned char *p;
	unsigned n;

	SSL_get0_alpn_selected(ssl, &p, &n);
	return n == 0 || (n == sizeof(alpn) - 2 && memcmp(p, alpn + 1, n) == 0);
}

static void
refuse(struct tls_start *h)
{
	long verified = SSL_get_verify_result(h->tls->ssl);
	unsigned long queued = ERR_peek_last_error();
	const char *reason = queued != 0 ? ERR_reason_error_string(queued) : NULL;

	ERR_clear_error();
	if (verified != X509_V_OK)
		finish(h, ERR_UNVERIFIED, X509_verify_cert_error_string(verified));
	else
		finish(
		    h, ERR_IO, reason != NULL ? reason : "the origin left the handshake");
}

static void
on_handshake(void *arg, unsigned what)
{
	struct tls_start *h = arg;
	SSL *ssl = h->tls->ssl;
	int result;

	(void)what;
	ERR_clear_error();
	result = SSL_do_handshake(ssl);
	if (result != 1) {
		int why = SSL_get_error(ssl, result);

		if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
			refuse(h);
		return;
	}
	if (is_spoken(ssl))
		finish(h, 0, NULL);
	else
		finish(h, ERR_IO, "the origin chose a protocol nobody offered");
}

struct tls_start *
tls_start(struct tls_client *c, struct loop *l, struct stream *s, const struct host *name,
    uint16_t port, msec timeout_ms, tls_done *done, void *arg)
{
	struct tls_start *h = mem_zalloc(sizeof(*h));

	assert(s->ops->is_plain);
	*h = (struct tls_start){ .tls = new_tls(c, s->fd, name, port),
		.loop = l,
		.stream = s,
		.done = done,
		.arg = arg };
	timer_init(&h->deadline, on_deadline, h);
	timer_set(l, &h->deadline, timeout_ms);
	stream_attach(s, on_handshake, h);
	stream_kick(s);
	return h;
}

void
tls_cancel(struct tls_start *h)
{
	if (h == NULL)
		return;
	timer_clear(&h->deadline);
	h->stream->notify = NULL;
	free_tls(h->tls);
	free(h);
}
