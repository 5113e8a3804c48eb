/*
 * tls.c - TLS to an origin: its name verified, then a stream like any other
 */
#include "net/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "net/roots.h"

#define SESSIONS_MAX 1024
#define PEER_MAX (HOST_MAX + 8)

struct tls_client {
	unsigned refs; /* the owner's, and each stream's */
	SSL_CTX *ctx;
	struct roots *roots;
	struct chores *chores;

	pthread_mutex_t lock; /* a step of a handshake may bring one: */
	struct map sessions;  /* SSL_SESSION by "host port" */
	size_t nsession;
};

/* Towards an origin. */
struct client_tls {
	struct tls tls; /* first: it is freed as that */
	struct tls_client *client;
	char peer[PEER_MAX];
};

/* ---- sessions ---- */

static void
free_session(void *session)
{
	SSL_SESSION_free(session);
}

/* False: there are too many.  One for each peer: the newest. */
static bool
keep_session(struct tls_client *c, const char *peer, SSL_SESSION *session)
{
	SSL_SESSION *old = map_del(&c->sessions, str_of(peer));

	if (old != NULL)
		free_session(old);
	else if (c->nsession == SESSIONS_MAX)
		return false;
	else
		c->nsession++;
	map_put(&c->sessions, str_of(peer), session);
	return true;
}

/* OpenSSL's callback: 1 keeps the reference. */
static int
on_session(SSL *ssl, SSL_SESSION *session)
{
	struct client_tls *t = SSL_get_app_data(ssl);
	bool is_kept;

	pthread_mutex_lock(&t->client->lock);
	is_kept = keep_session(t->client, t->peer, session);
	pthread_mutex_unlock(&t->client->lock);
	return is_kept;
}

static void
offer_session(struct client_tls *t)
{
	SSL_SESSION *session;

	pthread_mutex_lock(&t->client->lock);
	session = map_get(&t->client->sessions, str_of(t->peer));
	if (session != NULL && SSL_SESSION_is_resumable(session))
		SSL_set_session(t->tls.ssl, session);
	pthread_mutex_unlock(&t->client->lock);
}

static void
forget_session(struct tls *of)
{
	struct client_tls *t = (struct client_tls *)of;
	SSL_SESSION *session;

	pthread_mutex_lock(&t->client->lock);
	if ((session = map_del(&t->client->sessions, str_of(t->peer))) != NULL)
		t->client->nsession--;
	pthread_mutex_unlock(&t->client->lock);
	free_session(session);
}

/* ---- shaking hands ---- */

static const unsigned char alpn[] = "\x08http/1.1";

struct tls_client *
tls_client_new(struct roots *r, struct chores *cs)
{
	struct tls_client *c = mem_zalloc(sizeof(*c));

	if ((c->ctx = SSL_CTX_new(TLS_client_method())) == NULL)
		abort(); /* out of memory, or no OpenSSL to speak of */
	c->refs = 1;
	c->roots = roots_ref(r);
	c->chores = cs;
	pthread_mutex_init(&c->lock, NULL);
	map_init(&c->sessions);
	SSL_CTX_set1_cert_store(c->ctx, roots_store(r));
	SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER, NULL);
	tls_stream_options(c->ctx);
	SSL_CTX_set_alpn_protos(c->ctx, alpn, sizeof(alpn) - 1);
	SSL_CTX_set_session_cache_mode(
	    c->ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(c->ctx, on_session);
	return c;
}

void
tls_client_free(struct tls_client *c)
{
	if (c == NULL || --c->refs > 0)
		return;
	map_fini(&c->sessions, free_session);
	pthread_mutex_destroy(&c->lock);
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

/* http/1.1 or nothing was chosen: anything else is not spoken here. */
static const char *
fault_of(SSL *ssl)
{
	const unsigned char *p;
	unsigned n;

	SSL_get0_alpn_selected(ssl, &p, &n);
	if (n == 0 || (n == sizeof(alpn) - 2 && memcmp(p, alpn + 1, n) == 0))
		return NULL;
	return "the origin chose a protocol nobody offered";
}

static int
why_failed(struct tls *t, const char **text)
{
	long verified = SSL_get_verify_result(t->ssl);
	unsigned long queued = ERR_peek_last_error();

	if (verified != X509_V_OK) {
		*text = X509_verify_cert_error_string(verified);
		return ERR_UNVERIFIED;
	}
	*text = queued != 0 ? ERR_reason_error_string(queued) : NULL;
	return ERR_IO;
}

static void
let_go(struct tls *of)
{
	tls_client_free(((struct client_tls *)of)->client);
}

static const struct tls_role to_origin = {
	.late = "the origin's TLS handshake took too long",
	.left = "the origin left the handshake",
	.fault = fault_of,
	.why = why_failed,
	.failed = forget_session,
	.gone = let_go,
};

static struct client_tls *
new_tls(
    struct tls_client *c, const struct stream *s, const struct host *name, uint16_t port)
{
	struct client_tls *t = mem_zalloc(sizeof(*t));
	SSL *ssl = SSL_new(c->ctx);

	BIO *bio = tls_stream_bio(s);

	if (ssl == NULL || !expect_name(ssl, name))
		abort(); /* out of memory */
	SSL_set_bio(ssl, bio, bio);
	tls_stream_init(&t->tls, ssl, &to_origin);
	t->client = c;
	c->refs++;
	snprintf(t->peer, sizeof(t->peer), "%s %u", name->name, port);
	SSL_set_app_data(ssl, t);
	SSL_set_connect_state(ssl);
	offer_session(t);
	return t;
}

struct tls_start *
tls_start(struct tls_client *c, struct stream *s, const struct host *name, uint16_t port,
    msec timeout_ms, tls_done *done, void *arg)
{
	struct client_tls *t = new_tls(c, s, name, port);

	return tls_shake(&t->tls, c->chores, s, timeout_ms, done, arg);
}
