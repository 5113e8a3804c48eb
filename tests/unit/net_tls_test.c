/*
 * An origin is who its certificate says, or nobody; then bytes go both ways.
 */
#include "net/tls.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/count.h"
#include "base/err.h"
#include "net/roots.h"
#include "net/tls_stream.h"
#include "net_wait.h"

/* ---- certificates, made here ---- */

struct identity {
	EVP_PKEY *key;
	X509 *cert;
};

static void
add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *extension;

	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	assert_non_null(extension);
	X509_add_ext(cert, extension, -1);
	X509_EXTENSION_free(extension);
}

/* issuer NULL: its own, and a CA. */
static struct identity
identity_of(const char *names, const struct identity *issuer, long valid_s)
{
	struct identity it = { EVP_EC_gen("P-256"), X509_new() };
	const struct identity *by = issuer != NULL ? issuer : &it;

	X509_set_version(it.cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(it.cert), issuer != NULL ? 2 : 1);
	X509_gmtime_adj(X509_getm_notBefore(it.cert), -7200);
	X509_gmtime_adj(X509_getm_notAfter(it.cert), valid_s);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(it.cert), "CN", MBSTRING_ASC,
	    (const unsigned char *)(issuer != NULL ? "origin" : "test root"), -1, -1, 0);
	X509_set_issuer_name(it.cert, X509_get_subject_name(by->cert));
	X509_set_pubkey(it.cert, it.key);
	if (issuer == NULL)
		add_extension(
		    it.cert, by->cert, NID_basic_constraints, "critical,CA:TRUE");
	else
		add_extension(it.cert, by->cert, NID_subject_alt_name, names);
	assert_true(X509_sign(it.cert, by->key, EVP_sha256()) > 0);
	return it;
}

static void
identity_fini(struct identity *it)
{
	EVP_PKEY_free(it->key);
	X509_free(it->cert);
}

/* ---- an origin on a thread of its own ---- */

enum manners { ECHO, ECHO_AND_VANISH, SAY_H2, SILENT, NOISE, CRUMBS };

struct server {
	int fd;
	SSL_CTX *ctx;
	enum manners manners;
	unsigned updates; /* of its keys, before each echo */
	bool was_resumed;
	char sni[64];
	pthread_t thread;
};

static int
choose_h2(SSL *ssl, const unsigned char **out, unsigned char *n, const unsigned char *in,
    unsigned size, void *arg)
{
	static const unsigned char h2[] = "h2";

	(void)ssl, (void)in, (void)size, (void)arg;
	*out = h2;
	*n = 2;
	return SSL_TLSEXT_ERR_OK;
}

static void
echo(SSL *ssl, unsigned updates)
{
	char buffer[4096];
	bool goes_on = true;
	int n;

	while (goes_on && (n = SSL_read(ssl, buffer, sizeof(buffer))) > 0) {
		for (unsigned i = 0; i < updates && goes_on; i++)
			goes_on =
			    SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1 &&
			    SSL_do_handshake(ssl) == 1;
		goes_on = goes_on && SSL_write(ssl, buffer, n) > 0;
	}
}

/* RFC 8446 4: a ServerHello of 16 KiB, in records of one byte. */
static void
say_in_crumbs(int fd)
{
	static const char hello[] = { 2, 0, 0x40, 0, 3, 3 };
	char record[] = { 22, 3, 3, 0, 1, 0 };

	for (size_t i = 0; i < 1000; i++) {
		record[5] = i < sizeof(hello) ? hello[i] : 0;
		send(fd, record, sizeof(record), MSG_NOSIGNAL);
	}
}

static void *
serve(void *arg)
{
	struct server *server = arg;
	SSL *ssl = SSL_new(server->ctx);
	char byte;

	SSL_set_fd(ssl, server->fd);
	if (server->manners == NOISE)
		send(server->fd, "HTTP/1.1 400 no TLS here\r\n\r\n", 28, MSG_NOSIGNAL);
	if (server->manners == CRUMBS)
		say_in_crumbs(server->fd);
	if (server->manners >= SILENT) {
		while (recv(server->fd, &byte, 1, 0) > 0)
			;
	} else if (SSL_accept(ssl) == 1) {
		const char *sni = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);

		snprintf(server->sni, sizeof(server->sni), "%s", sni != NULL ? sni : "-");
		server->was_resumed = SSL_session_reused(ssl) == 1;
		echo(ssl, server->updates);
		if (server->manners != ECHO_AND_VANISH)
			SSL_shutdown(ssl);
	}
	SSL_free(ssl);
	close(server->fd);
	return NULL;
}

/* ---- one connection ---- */

struct world {
	struct loop *loop;
	struct chores *chores;
	struct identity root, leaf;
	SSL_CTX *served;
	char path[64];
	struct roots *roots;
	struct tls_client *client;
	struct stream stream;
	struct server server;
	unsigned updates;
	struct tls_start *start;
	int err;
	char why[128];
	unsigned seen;
};

static void
world_init(struct world *w, const char *names, long valid_s)
{
	FILE *f;
	int fd;

	*w = (struct world){ .loop = loop_new(), .path = "/tmp/net_tls_test.XXXXXX" };
	w->chores = chores_new(w->loop);
	assert_int_equal(chores_start(w->chores), 0);
	w->root = identity_of(NULL, NULL, 86400);
	w->leaf = identity_of(names, &w->root, valid_s);
	assert_true((fd = mkstemp(w->path)) >= 0);
	f = fdopen(fd, "w");
	PEM_write_X509(f, w->root.cert);
	fclose(f);
	assert_non_null(w->roots = roots_load(w->path));
	w->client = tls_client_new(w->roots, w->chores);
	w->served = SSL_CTX_new(TLS_server_method());
	SSL_CTX_use_certificate(w->served, w->leaf.cert);
	SSL_CTX_use_PrivateKey(w->served, w->leaf.key);
}

static void
world_fini(struct world *w)
{
	chores_stop(w->chores);
	loop_settle(w->loop);
	tls_client_free(w->client);
	chores_free(w->chores);
	roots_unref(w->roots);
	SSL_CTX_free(w->served);
	identity_fini(&w->leaf);
	identity_fini(&w->root);
	unlink(w->path);
	loop_free(w->loop);
}

static void
on_stream(void *arg, unsigned what)
{
	struct world *w = arg;

	w->seen |= what;
	loop_stop(w->loop);
}

static void
on_done(void *arg, int err, const char *why)
{
	struct world *w = arg;

	w->err = err;
	snprintf(w->why, sizeof(w->why), "%s", why != NULL ? why : "");
	if (err == 0)
		stream_attach(&w->stream, on_stream, w);
	loop_stop(w->loop);
}

static void
begin(struct world *w, const char *name, enum manners manners, msec timeout)
{
	struct host host;
	int fd[2];

	tcp_pair(fd);
	make_nonblocking(fd[0]);
	assert_int_equal(host_parse(&host, str_of(name)), HOST_OK);
	w->server = (struct server){
		.fd = fd[1], .ctx = w->served, .manners = manners, .updates = w->updates
	};
	SSL_CTX_set_alpn_select_cb(w->served, manners == SAY_H2 ? choose_h2 : NULL, NULL);
	assert_int_equal(pthread_create(&w->server.thread, NULL, serve, &w->server), 0);
	stream_open(&w->stream, w->loop, fd[0], NULL, NULL);
	w->err = 1;
	w->start = tls_start(w->client, &w->stream, &host, 443, timeout, on_done, w);
	assert_int_equal(w->err, 1); /* never inside start */
}

static void
end(struct world *w)
{
	stream_close(&w->stream);
	pthread_join(w->server.thread, NULL);
}

static int
shake(struct world *w, const char *name, enum manners manners)
{
	begin(w, name, manners, 10000);
	wait_for_stop(w->loop);
	return w->err;
}

static ssize_t
read_some(struct world *w, char *to, size_t n)
{
	ssize_t got;

	while ((got = stream_read(&w->stream, to, n)) == -EAGAIN)
		wait_for_stop(w->loop);
	return got;
}

static void
write_all(struct world *w, struct str head, struct str body)
{
	while (head.n + body.n > 0) {
		struct iovec v[2] = { { (void *)(uintptr_t)head.p, head.n },
			{ (void *)(uintptr_t)body.p, body.n } };
		ssize_t sent = head.n > 0 ? stream_write(&w->stream, v, 2)
					  : stream_write(&w->stream, v + 1, 1);
		size_t of_head;

		if (sent == -EAGAIN) {
			wait_for_stop(w->loop);
			continue;
		}
		assert_true(sent > 0);
		of_head = (size_t)sent < head.n ? (size_t)sent : head.n;
		head = str_sub(head, of_head, head.n);
		body = str_sub(body, (size_t)sent - of_head, body.n);
	}
}

/* ---- promises ---- */

static void
test_bytes_go_both_ways_once_the_name_is_verified(void **state)
{
	static char big[300000], back[300000];
	struct world w;
	size_t got = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)(i * 7 % 251);
	world_init(&w, "DNS:a.test", 3600);
	assert_int_equal(shake(&w, "a.test", ECHO), 0);
	assert_true(stream_is_tls(&w.stream));
	/* less than the sockets hold: the origin echoes as it reads */
	write_all(&w, str_sub((struct str){ big, 40000 }, 0, 100),
	    str_sub((struct str){ big, 40000 }, 100, 39900));
	while (got < 40000)
		got += (size_t)read_some(&w, back + got, sizeof(back) - got);
	assert_memory_equal(big, back, 40000);
	stream_shut(&w.stream);
	assert_int_equal(read_some(&w, back, sizeof(back)), 0);
	end(&w);
	assert_string_equal(w.server.sni, "a.test");
	world_fini(&w);
}

static void
test_an_origin_that_is_not_who_it_should_be_is_not_trusted(void **state)
{
	static const struct {
		const char *says, *asked;
		long valid_s;
		int err;
	} cases[] = {
		{ "DNS:a.test", "a.test", 3600, 0 },
		{ "DNS:a.test", "b.test", 3600, ERR_UNVERIFIED },
		{ "DNS:*.a.test", "x.a.test", 3600, 0 },
		{ "DNS:*.a.test", "x.y.a.test", 3600, ERR_UNVERIFIED },
		{ "DNS:x*.a.test", "xy.a.test", 3600, ERR_UNVERIFIED },
		{ "DNS:b.test", "origin", 3600, ERR_UNVERIFIED }, /* the CN is no name */
		{ "DNS:a.test", "a.test", -3600, ERR_UNVERIFIED },
		{ "IP:127.0.0.9", "127.0.0.9", 3600, 0 },
		{ "DNS:127.0.0.9", "127.0.0.9", 3600, ERR_UNVERIFIED },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct world w;

		world_init(&w, cases[i].says, cases[i].valid_s);
		assert_row(
		    cases[i].says, shake(&w, cases[i].asked, ECHO) == cases[i].err);
		assert_row(cases[i].says, (cases[i].err == 0) == (w.why[0] == '\0'));
		end(&w);
		world_fini(&w);
	}
}

static void
test_somebody_elses_root_is_not_trusted(void **state)
{
	struct world w, other;

	(void)state;
	world_init(&w, "DNS:a.test", 3600);
	world_init(&other, "DNS:a.test", 3600);
	tls_client_free(w.client);
	w.client = tls_client_new(other.roots, w.chores);
	assert_int_equal(shake(&w, "a.test", ECHO), ERR_UNVERIFIED);
	end(&w);
	world_fini(&w);
	world_fini(&other);
}

static void
test_what_is_no_handshake_is_told(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, "DNS:a.test", 3600);
	assert_int_equal(shake(&w, "a.test", NOISE), ERR_IO);
	assert_true(w.why[0] != '\0');
	end(&w);
	assert_int_equal(shake(&w, "a.test", SAY_H2), ERR_IO);
	end(&w);
	begin(&w, "a.test", SILENT, 50);
	wait_for_stop(w.loop);
	assert_int_equal(w.err, ERR_TIMEOUT);
	end(&w);
	world_fini(&w);
}

static void
test_a_cancelled_handshake_says_nothing(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, "DNS:a.test", 3600);
	begin(&w, "a.test", SILENT, 50);
	turn(w.loop);
	tls_cancel(w.start);
	run_for(w.loop, 120); /* what was cancelled in a step is closed after it */
	end(&w);
	assert_int_equal(w.err, 1);
	tls_cancel(NULL);
	world_fini(&w);
}

/* Others' work, which the handshake's step stands behind. */
struct busy {
	struct chore chore;
	atomic_bool may_end;
};

static void
on_busy(void *arg)
{
	struct busy *b = arg;

	while (!atomic_load(&b->may_end))
		usleep(100);
}

static void
on_idle(void *arg)
{
	(void)arg;
}

/* Cancelled when its step is handed over, and not back. */
static void
cancel_in_a_step(struct world *w, struct busy *b)
{
	*b = (struct busy){ .may_end = false };
	chore_init(&b->chore, w->chores, on_busy, on_idle, b);
	chore_ask(&b->chore);
	begin(w, "a.test", SILENT, 50);
	turn(w->loop);
	tls_cancel(w->start);
	assert_int_equal(w->stream.fd, -1);
	atomic_store(&b->may_end, true);
}

static void
test_what_is_cancelled_in_a_step_is_closed_after_it(void **state)
{
	struct world w;
	struct busy b;

	(void)state;
	world_init(&w, "DNS:a.test", 3600);
	cancel_in_a_step(&w, &b);
	tls_client_free(w.client); /* a reload: the step has it yet */
	w.client = tls_client_new(w.roots, w.chores);
	run_for(w.loop, 120);
	end(&w); /* the server has seen the end */
	assert_int_equal(w.err, 1);
	world_fini(&w);
}

static void
test_what_is_cancelled_in_a_step_is_closed_when_all_ends(void **state)
{
	struct world w;
	struct busy b;

	(void)state;
	world_init(&w, "DNS:a.test", 3600);
	cancel_in_a_step(&w, &b);
	chores_stop(w.chores);
	loop_settle(w.loop);
	end(&w);
	assert_int_equal(w.err, 1);
	world_fini(&w);
}

static void
test_a_time_out_comes_though_its_step_is_handed_over(void **state)
{
	struct world w;
	struct busy b = { .may_end = false };

	(void)state;
	world_init(&w, "DNS:a.test", 3600);
	chore_init(&b.chore, w.chores, on_busy, on_idle, &b);
	chore_ask(&b.chore);
	begin(&w, "a.test", SILENT, 50);
	run_for(w.loop, 120);
	assert_int_equal(w.err, 1); /* it waits for the step */
	atomic_store(&b.may_end, true);
	wait_for_stop(w.loop);
	assert_int_equal(w.err, ERR_TIMEOUT);
	end(&w);
	world_fini(&w);
}

static void
test_an_end_without_goodbye_is_broken(void **state)
{
	struct world w;
	char byte;

	(void)state;
	world_init(&w, "DNS:a.test", 3600);
	assert_int_equal(shake(&w, "a.test", ECHO_AND_VANISH), 0);
	stream_shut(&w.stream);
	assert_true(read_some(&w, &byte, 1) < 0);
	end(&w);
	world_fini(&w);
}

static void
test_the_next_connection_resumes_the_session(void **state)
{
	struct world w;
	char back[8];

	(void)state;
	world_init(&w, "DNS:a.test, DNS:b.test", 3600);
	for (int i = 0; i < 3; i++) {
		/* the third is to another name: its session is its own */
		assert_int_equal(shake(&w, i < 2 ? "a.test" : "b.test", ECHO), 0);
		write_all(&w, STR("hi"), STR("gh"));
		assert_true(read_some(&w, back, sizeof(back)) > 0); /* and the tickets */
		end(&w);
		assert_int_equal(w.server.was_resumed, i == 1);
	}
	world_fini(&w);
}

static void
echo_back(struct world *w, size_t times)
{
	char back;

	for (size_t i = 0; i < times; i++) {
		write_all(w, STR("h"), STR("i"));
		for (size_t got = 0; got < 2; got++) {
			assert_int_equal(read_some(w, &back, 1), 1);
			assert_int_equal(back, "hi"[got]);
		}
	}
}

static int64_t
cut_off(void)
{
	return count_get(COUNT_TLS_CHATTER, 0);
}

static void
test_what_tls_says_for_itself_is_passed_over(void **state)
{
	int64_t before = cut_off();
	struct world w;

	(void)state;
	world_init(&w, "DNS:a.test", 3600);
	SSL_CTX_set_num_tickets(w.served, 20);
	assert_int_equal(shake(&w, "a.test", ECHO), 0);
	echo_back(&w, 1);
	end(&w);
	SSL_CTX_set_num_tickets(w.served, 2);
	w.updates = 1; /* with each piece of data, for ever */
	assert_int_equal(shake(&w, "a.test", ECHO), 0);
	echo_back(&w, 100);
	end(&w);
	w.updates = 24; /* together */
	assert_int_equal(shake(&w, "a.test", ECHO), 0);
	echo_back(&w, 1);
	end(&w);
	world_fini(&w);
	assert_int_equal(cut_off(), before);
}

static void
test_who_says_nothing_else_is_broken_and_counted(void **state)
{
	int64_t before = cut_off();
	struct world w;
	char byte;

	(void)state;
	world_init(&w, "DNS:a.test", 3600);
	w.updates = 10000;
	assert_int_equal(shake(&w, "a.test", ECHO), 0);
	write_all(&w, STR("h"), STR("i"));
	assert_int_equal(read_some(&w, &byte, 1), -ECONNRESET);
	assert_in_range(((const struct tls *)w.stream.ops)->chatter, 65, 66);
	assert_int_equal(stream_read(&w.stream, &byte, 1), -ECONNRESET);
	assert_int_equal(stream_peek(&w.stream), -ECONNRESET);
	assert_false(stream_is_quiet(&w.stream));
	assert_int_equal(cut_off(), before + 1); /* once, however often it is read */
	end(&w);
	world_fini(&w);
}

static void
test_a_handshake_in_crumbs_is_refused_and_counted(void **state)
{
	int64_t before = cut_off();
	struct world w;

	(void)state;
	world_init(&w, "DNS:a.test", 3600);
	assert_int_equal(shake(&w, "a.test", CRUMBS), ERR_INVALID);
	assert_string_equal(w.why, "the handshake comes in too many records");
	assert_int_equal(cut_off(), before + 1);
	end(&w);
	world_fini(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_go_both_ways_once_the_name_is_verified),
		cmocka_unit_test(
		    test_an_origin_that_is_not_who_it_should_be_is_not_trusted),
		cmocka_unit_test(test_somebody_elses_root_is_not_trusted),
		cmocka_unit_test(test_what_is_no_handshake_is_told),
		cmocka_unit_test(test_a_cancelled_handshake_says_nothing),
		cmocka_unit_test(test_what_is_cancelled_in_a_step_is_closed_after_it),
		cmocka_unit_test(
		    test_what_is_cancelled_in_a_step_is_closed_when_all_ends),
		cmocka_unit_test(test_a_time_out_comes_though_its_step_is_handed_over),
		cmocka_unit_test(test_an_end_without_goodbye_is_broken),
		cmocka_unit_test(test_the_next_connection_resumes_the_session),
		cmocka_unit_test(test_what_tls_says_for_itself_is_passed_over),
		cmocka_unit_test(test_who_says_nothing_else_is_broken_and_counted),
		cmocka_unit_test(test_a_handshake_in_crumbs_is_refused_and_counted),
	};

	signal(SIGPIPE, SIG_IGN); /* as weir does; OpenSSL writes without MSG_NOSIGNAL */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
