/*
 * tls_stream.c - TLS on a stream, whichever end of it weir is
 */
#include "net/tls_stream.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/count.h"
#include "base/err.h"

#define RECORD ((size_t)16 * 1024) /* RFC 8446 5.1: the most one record carries */
/*
 * A key update (RFC 8446 4.6.3) is a record and a message: two.  32 of them, or of
 * tickets, may come together, and one more for each piece of data; a handshake is
 * seldom 30 altogether, 400 with 100 KB of certificates in records of 256 bytes.
 */
#define CHATTER_MOST 64
#define CHATTER_SHAKING 512
#define CHATTER_PAID 2 /* by each piece of data */

struct tls_start {
	struct tls *tls;
	struct stream *stream; /* NULL: cancelled while a step was being worked at */
	struct stream_left left;
	struct timer deadline;
	bool is_late;      /* it came while a step was being worked at */
	struct chore step; /* what a handshake computes takes long */
	tls_done *done;
	void *arg;

	/* What the last step came to: */
	bool is_over;
	int err;
	const char *why;
};

static struct tls *
tls_of(const struct stream *s)
{
	return (struct tls *)(uintptr_t)s->ops; /* ops is its first member */
}

/* ---- bytes ---- */

/*
 * OpenSSL reads on within one call until data comes, or nothing: whoever sends records
 * without any keeps it there.  So each is counted as it comes, and after too many of
 * them the end is taken for read, which OpenSSL asks about before each next one.
 */
static void
on_message(int is_written, int version, int type, const void *bytes, size_t n, SSL *ssl,
    void *arg)
{
	const unsigned char *first = bytes;
	struct tls *t = arg;
	bool is_own = type == SSL3_RT_HANDSHAKE;

	(void)version;
	if (is_written)
		return;
	if (n > 0 && (type == SSL3_RT_HEADER || type == SSL3_RT_INNER_CONTENT_TYPE))
		is_own = first[0] != SSL3_RT_APPLICATION_DATA;
	if (!is_own || ++t->chatter <= t->chatter_most)
		return;
	count_add(COUNT_TLS_CHATTER, t->chatter == t->chatter_most + 1);
	SSL_set_shutdown(ssl, SSL_get_shutdown(ssl) | SSL_RECEIVED_SHUTDOWN);
}

static bool
is_chattering(const struct tls *t)
{
	return t->chatter > t->chatter_most;
}

/* Data came, and through all that is below. */
static void
pay(struct tls *t)
{
	for (; t != NULL; t = t->below)
		if (!is_chattering(t))
			t->chatter -=
			    t->chatter < CHATTER_PAID ? t->chatter : CHATTER_PAID;
}

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
broken(void)
{
	ERR_clear_error();
	return -ECONNRESET;
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
	if ((result = SSL_read_ex(t->ssl, p, n, &got)) == 1) {
		pay(t);
		return (ssize_t)got;
	}
	if (is_chattering(t))
		return broken();
	if (SSL_get_error(t->ssl, result) == SSL_ERROR_ZERO_RETURN)
		return 0;
	s->ready &= (uint8_t)~STREAM_READ;
	return failure(t, result, &wants_read, &t->read_wants_write);
}

/* What is read in passing is TLS's own: a record stays whole until it is asked for. */
static ssize_t
tls_peek(const struct stream *s)
{
	struct tls *t = tls_of(s);
	bool wants_read, wants_write;
	char byte;
	size_t got;
	int result;

	ERR_clear_error();
	if ((result = SSL_peek_ex(t->ssl, &byte, 1, &got)) == 1)
		return 1;
	if (is_chattering(t))
		return broken();
	if (SSL_get_error(t->ssl, result) == SSL_ERROR_ZERO_RETURN)
		return 0;
	return failure(t, result, &wants_read, &wants_write);
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
	for (struct tls *t = tls_of(s); t != NULL; t = t->below)
		SSL_shutdown(t->ssl); /* a full socket buffer: the FIN must say it */
	ERR_clear_error();
	shutdown(s->fd, SHUT_WR);
}

static void
free_tls(struct tls *t)
{
	if (t->role->gone != NULL)
		t->role->gone(t);
	SSL_free(t->ssl);
	free(t);
}

static void
tls_close(struct stream *s)
{
	struct tls *below;

	/* else OpenSSL takes the session for a broken one, and never resumes it; and what
	 * is within says a goodbye to what is below that was not meant */
	for (struct tls *t = tls_of(s); t != NULL; t = t->below)
		SSL_set_shutdown(t->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	for (struct tls *t = tls_of(s); t != NULL; t = below) {
		below = t->below;
		free_tls(t);
	}
	close(s->fd);
}

bool
stream_is_tls(const struct stream *s)
{
	return s->ops->close == tls_close;
}

void
tls_stream_options(SSL_CTX *ctx)
{
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
				  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				  SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_read_ahead(ctx, 1); /* else a record is two reads, head and body */
}

BIO *
tls_stream_bio(const struct stream *s)
{
	BIO *b =
	    s->ops->is_plain ? BIO_new_socket(s->fd, BIO_NOCLOSE) : BIO_new(BIO_f_ssl());

	if (b == NULL ||
	    (!s->ops->is_plain && BIO_set_ssl(b, tls_of(s)->ssl, BIO_NOCLOSE) != 1))
		abort(); /* out of memory */
	return b;
}

void
tls_stream_init(struct tls *t, SSL *ssl, const struct tls_role *role)
{
	t->ops = (struct stream_ops){
		.read = tls_read,
		.peek = tls_peek,
		.is_quiet = tls_is_quiet,
		.write = tls_write,
		.seen = tls_seen,
		.shut = tls_shut,
		.close = tls_close,
	};
	t->role = role;
	t->ssl = ssl;
	t->chatter_most = CHATTER_SHAKING;
	SSL_set_msg_callback(ssl, on_message);
	SSL_set_msg_callback_arg(ssl, t);
}

/* ---- one step, beside the loop ---- */

static void
come_to(struct tls_start *h, int err, const char *why)
{
	h->is_over = true;
	h->err = err;
	h->why = why;
}

static void
refuse(struct tls_start *h)
{
	const struct tls_role *role = h->tls->role;
	const char *why = NULL;
	int err = role->why(h->tls, &why);

	ERR_clear_error();
	if (is_chattering(h->tls))
		come_to(h, ERR_INVALID, "the handshake comes in too many records");
	else
		come_to(h, err, why != NULL ? why : role->left);
}

/* Of the stream it has the socket alone, and what TLS there is below. */
static void
shake(void *arg)
{
	struct tls_start *h = arg;
	SSL *ssl = h->tls->ssl;
	const char *fault;
	int result, why;

	ERR_clear_error();
	if ((result = SSL_do_handshake(ssl)) == 1) {
		fault = h->tls->role->fault(ssl);
		come_to(h, fault == NULL ? 0 : ERR_IO, fault);
		return;
	}
	why = SSL_get_error(ssl, result);
	if (is_chattering(h->tls) ||
	    (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE))
		refuse(h);
	ERR_clear_error(); /* the queue is the thread's */
}

/* ---- shaking hands ---- */

static void
finish(struct tls_start *h, int err, const char *why)
{
	struct stream *s = h->stream;
	tls_done *done = h->done;
	void *arg = h->arg;

	timer_clear(&h->deadline);
	(void)chore_clear(&h->step); /* none is being worked at */
	s->notify = NULL;
	if (err == 0) {
		s->ops = &h->tls->ops;
		h->tls->chatter = 0;
		h->tls->chatter_most = CHATTER_MOST;
		s->ready |= STREAM_READ | STREAM_WRITE; /* records may have come behind */
	} else {
		if (h->tls->role->failed != NULL)
			h->tls->role->failed(h->tls);
		free_tls(h->tls);
	}
	free(h);
	done(arg, err, why);
}

static void
drop(struct tls_start *h)
{
	free_tls(h->tls);
	free(h);
}

static void
on_step(void *arg)
{
	struct tls_start *h = arg;

	if (h->stream == NULL) {
		struct stream_left left = h->left;

		drop(h); /* it is above what was left */
		stream_left_close(&left);
	} else if (h->is_over) {
		finish(h, h->err, h->why);
	} else if (h->is_late) {
		finish(h, ERR_TIMEOUT, h->tls->role->late);
	}
}

static void
on_deadline(void *arg)
{
	struct tls_start *h = arg;

	if (chore_clear(&h->step))
		finish(h, ERR_TIMEOUT, h->tls->role->late);
	else
		h->is_late = true;
}

static void
on_handshake(void *arg, unsigned what)
{
	struct tls_start *h = arg;

	(void)what;
	chore_ask(&h->step);
}

struct tls_start *
tls_shake(struct tls *t, struct chores *cs, struct stream *s, msec timeout_ms,
    tls_done *done, void *arg)
{
	struct tls_start *h = mem_zalloc(sizeof(*h));

	t->below = s->ops->is_plain ? NULL : tls_of(s);
	*h = (struct tls_start){ .tls = t, .stream = s, .done = done, .arg = arg };
	timer_init(&h->deadline, on_deadline, h);
	chore_init(&h->step, cs, shake, on_step, h);
	timer_set(chores_loop(cs), &h->deadline, timeout_ms);
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
	if (chore_clear(&h->step)) {
		drop(h);
		return;
	}
	h->left = stream_leave(h->stream);
	h->stream = NULL;
}
