/*
 * talk.c - one socket of a probe, and all it does before one deadline
 */
#include "cmd/talk.h"

#include <errno.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire/url.h"

#define IN_MAX ((size_t)65536)

static int
wait_for(const struct talk *t, short what)
{
	struct pollfd p = { .fd = t->fd, .events = what };
	usec left = t->deadline - clock_mono_us();
	int n = left <= 0 ? 0 : poll(&p, 1, (int)(left / 1000) + 1);

	return n > 0 ? 0 : n == 0 ? ETIMEDOUT : errno;
}

/* ---- TLS ---- */

/* 0: the same may be tried again; else what keeps it from that. */
static int
wait_for_tls(const struct talk *t, int result)
{
	int why = SSL_get_error(t->ssl, result);

	ERR_clear_error();
	return why == SSL_ERROR_WANT_READ    ? wait_for(t, POLLIN)
	       : why == SSL_ERROR_WANT_WRITE ? wait_for(t, POLLOUT)
					     : EPROTO;
}

/* Its own for each talk: a probe has a thread of its own. */
static SSL *
new_ssl(void)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *ssl;

	if (ctx == NULL || SSL_CTX_set_default_verify_paths(ctx) != 1)
		abort(); /* out of memory */
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	ssl = SSL_new(ctx);
	SSL_CTX_free(ctx);
	if (ssl == NULL)
		abort(); /* out of memory */
	return ssl;
}

/* An address is never sent as SNI (RFC 6066 3). */
static bool
expect(SSL *ssl, const struct host *host)
{
	char text[ADDR_TEXT];

	if (host->is_literal)
		return X509_VERIFY_PARAM_set1_ip_asc(
			   SSL_get0_param(ssl), addr_text(text, &host->addr)) == 1;
	return SSL_set1_host(ssl, host->name) == 1 &&
	       SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
		   (void *)(uintptr_t)host->name) == 1;
}

static int
shake_hands(struct talk *t, const struct host *host)
{
	int result, err;

	signal(SIGPIPE, SIG_IGN); /* OpenSSL writes as if it were a file */
	t->ssl = new_ssl();
	if (!expect(t->ssl, host) || SSL_set_fd(t->ssl, t->fd) != 1)
		abort(); /* out of memory */
	while ((result = SSL_connect(t->ssl)) != 1)
		if ((err = wait_for_tls(t, result)) != 0)
			return err;
	return 0;
}

static int
send_tls(struct talk *t, struct str s)
{
	size_t n;
	int result, err;

	while ((result = SSL_write_ex(t->ssl, s.p, s.n, &n)) != 1)
		if ((err = wait_for_tls(t, result)) != 0)
			return err;
	return 0;
}

static ssize_t
more_of_tls(struct talk *t, char *bytes, size_t most)
{
	size_t n;
	int result, err;

	while ((result = SSL_read_ex(t->ssl, bytes, most, &n)) != 1) {
		if (SSL_get_error(t->ssl, result) == SSL_ERROR_ZERO_RETURN)
			return 0;
		if ((err = wait_for_tls(t, result)) != 0)
			return -err;
	}
	return (ssize_t)n;
}

/* ---- opening ---- */

static int
connect_to(struct talk *t, int kind, const struct sockaddr *sa, socklen_t len)
{
	int err = 0;
	socklen_t size = sizeof(err);

	t->fd = socket(sa->sa_family, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (t->fd < 0)
		return errno;
	if (connect(t->fd, sa, len) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	if ((err = wait_for(t, POLLOUT)) != 0)
		return err;
	return getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &err, &size) == 0 ? err : errno;
}

static int
open_unix(struct talk *t, int kind, struct str path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	if (path.n >= sizeof(sa.sun_path))
		return ENAMETOOLONG;
	memcpy(sa.sun_path, path.p, path.n);
	return connect_to(t, kind, (const struct sockaddr *)&sa, sizeof(sa));
}

/* The first address is the one that is tried: a door has one. */
static int
open_name(struct talk *t, int kind, const struct host *host, uint16_t port)
{
	struct addrinfo hints = { .ai_socktype = kind, .ai_flags = AI_NUMERICSERV };
	struct addrinfo *found = NULL;
	char service[8];
	int err;

	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(host->name, service, &hints, &found) != 0)
		return ENOENT;
	err = connect_to(t, kind, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return err;
}

static int
open_endpoint(struct talk *t, int kind, const struct addr *addr, uint16_t port)
{
	struct endpoint e = { *addr, port };
	struct sockaddr_storage sa;
	socklen_t len = endpoint_sockaddr(&e, &sa);

	return connect_to(t, kind, (const struct sockaddr *)&sa, len);
}

int
talk_open(struct talk *t, const char *where, int kind, msec timeout_ms)
{
	struct str text = str_of(where), scheme = STR("unix:"), secure = STR("tls:");
	bool is_tls = str_starts(text, secure);
	struct host host;
	uint16_t port;
	int err;

	*t = (struct talk){ .fd = -1,
		.deadline = clock_mono_us() + (usec)timeout_ms * 1000 };
	buf_init(&t->in, IN_MAX);
	if (str_starts(text, scheme))
		return open_unix(t, kind, str_sub(text, scheme.n, text.n));
	if (authority_parse(&host, &port, is_tls ? str_sub(text, secure.n, text.n) : text,
		0) != HOST_OK)
		return EINVAL;
	err = host.is_literal ? open_endpoint(t, kind, &host.addr, port)
			      : open_name(t, kind, &host, port);
	return err == 0 && is_tls ? shake_hands(t, &host) : err;
}

void
talk_close(struct talk *t)
{
	SSL_free(t->ssl);
	t->ssl = NULL;
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	buf_fini(&t->in);
}

/* ---- talking ---- */

int
talk_send(struct talk *t, struct str s)
{
	if (t->ssl != NULL && s.n > 0)
		return send_tls(t, s);
	while (s.n > 0) {
		ssize_t n = send(t->fd, s.p, s.n, MSG_NOSIGNAL);
		int err = n >= 0 ? 0 : errno == EAGAIN ? wait_for(t, POLLOUT) : errno;

		if (err != 0)
			return err;
		if (n > 0)
			s = str_sub(s, (size_t)n, s.n);
	}
	return 0;
}

static ssize_t
more_of_socket(struct talk *t, char *bytes, size_t most)
{
	ssize_t n;
	int err;

	while ((n = recv(t->fd, bytes, most, 0)) < 0) {
		if (errno != EAGAIN)
			return -errno;
		if ((err = wait_for(t, POLLIN)) != 0)
			return -err;
	}
	return n;
}

ssize_t
talk_more(struct talk *t)
{
	char bytes[8192];
	ssize_t n = t->ssl != NULL ? more_of_tls(t, bytes, sizeof(bytes))
				   : more_of_socket(t, bytes, sizeof(bytes));

	if (n < 0)
		return n;
	buf_add(&t->in, bytes, (size_t)n);
	return t->in.is_over ? -EMSGSIZE : n;
}

bool
talk_need(struct talk *t, size_t n)
{
	while (t->in.n < n)
		if (talk_more(t) <= 0)
			return false;
	return true;
}

static bool
has_head(const struct buf *in)
{
	return in->n > 0 && memmem(in->p, in->n, "\r\n\r\n", 4) != NULL;
}

bool
talk_need_head(struct talk *t)
{
	while (!has_head(&t->in))
		if (talk_more(t) <= 0)
			return false;
	return true;
}
