/*
 * A CA is made, read and refused; its certificates are for one host, a week, and no more.
 */
#include "net/ca.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "net/mint.h"
#include "net_wait.h"

#define DAY INT64_C(86400)

struct pair {
	struct buf cert, key;
};

static void
make(struct pair *p, int64_t from_s, int64_t days, const char *permit)
{
	struct ca_order o = { .name = "test CA",
		.permit = &permit,
		.npermit = permit != NULL,
		.from_s = from_s,
		.days = days };

	buf_init(&p->cert, 1 << 16);
	buf_init(&p->key, 1 << 16);
	assert_true(ca_make(&o, &p->cert, &p->key));
}

static void
pair_fini(struct pair *p)
{
	buf_fini(&p->cert);
	buf_fini(&p->key);
}

static struct ca *
load(const struct pair *p)
{
	const char *why;
	struct ca *ca = ca_load(buf_view(&p->cert), buf_view(&p->key), &why);

	if (ca == NULL)
		fail_msg("%s", why);
	return ca;
}

static struct host
host_of(const char *text)
{
	struct host h;

	assert_int_equal(host_parse_bare(&h, str_of(text)), HOST_OK);
	return h;
}

static X509 *
shown(struct leaf *leaf, SSL_CTX *ctx, SSL **ssl)
{
	*ssl = SSL_new(ctx);
	assert_true(leaf_use(leaf, *ssl));
	return SSL_get_certificate(*ssl);
}

static void
test_a_certificate_is_for_its_host_and_verifies_under_its_ca(void **state)
{
	static const struct {
		const char *host, *other;
	} cases[] = {
		{ "api.example.com", "b.example.com" },
		{ "a_b.example.com", "a-b.example.com" },
		{ "127.0.0.1", "127.0.0.2" },
		{ "2001:db8::1", "2001:db8::2" },
	};
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	struct pair p;
	struct ca *ca;

	(void)state;
	make(&p, clock_wall_s(), 30, NULL);
	ca = load(&p);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct host h = host_of(cases[i].host);
		struct leaf *leaf = leaf_make(ca, &h, clock_wall_s());
		SSL *ssl;
		X509 *x = shown(leaf, ctx, &ssl);
		bool is_match =
		    h.is_literal
			? X509_check_ip_asc(x, cases[i].host, 0) == 1 &&
			      X509_check_ip_asc(x, cases[i].other, 0) == 0
			: X509_check_host(x, cases[i].host, 0, 0, NULL) == 1 &&
			      X509_check_host(x, cases[i].other, 0, 0, NULL) == 0;

		assert_row(cases[i].host, is_match);
		assert_row(cases[i].host, X509_check_ca(x) == 0);
		SSL_free(ssl);
		leaf_unref(leaf);
	}
	ca_unref(ca);
	pair_fini(&p);
	SSL_CTX_free(ctx);
}

static void
test_a_certificate_lasts_a_week_and_never_longer_than_its_ca(void **state)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	struct host h = host_of("api.example.com");
	int64_t now = clock_wall_s();
	struct pair p;
	struct ca *ca;
	struct leaf *leaf;
	int days, seconds;
	SSL *ssl;
	X509 *x;

	(void)state;
	make(&p, now, 3, NULL);
	ca = load(&p);
	assert_true(ca_expires_s(ca) == now + 3 * DAY);
	leaf = leaf_make(ca, &h, now);
	x = shown(leaf, ctx, &ssl);
	assert_int_equal(ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(x),
			     X509_get0_notAfter(x)),
	    1);
	assert_int_equal(days * DAY + seconds, 3 * DAY + 3600);
	SSL_free(ssl);
	leaf_unref(leaf);
	assert_null(leaf_make(ca, &h, now + 3 * DAY));
	ca_unref(ca);
	pair_fini(&p);
	SSL_CTX_free(ctx);
}

static void
test_what_is_no_ca_is_refused_with_the_reason(void **state)
{
	struct pair one, two, old, later;
	const char *why;

	(void)state;
	make(&one, clock_wall_s(), 30, NULL);
	make(&two, clock_wall_s(), 30, NULL);
	make(&old, clock_wall_s() - 40 * DAY, 30, NULL);
	make(&later, clock_wall_s() + 40 * DAY, 30, NULL);
	assert_null(ca_load(buf_view(&one.cert), buf_view(&two.key), &why));
	assert_string_equal(why, "the key is not the certificate's");
	assert_null(ca_load(STR("x"), buf_view(&one.key), &why));
	assert_string_equal(why, "the certificate is none in PEM");
	assert_null(ca_load(buf_view(&one.cert), STR("x"), &why));
	assert_string_equal(why, "the key is no private key in PEM without a passphrase");
	assert_null(ca_load(buf_view(&old.cert), buf_view(&old.key), &why));
	assert_string_equal(why, "the certificate has expired");
	assert_null(ca_load(buf_view(&later.cert), buf_view(&later.key), &why));
	assert_string_equal(why, "the certificate is not valid yet");
	pair_fini(&one);
	pair_fini(&two);
	pair_fini(&old);
	pair_fini(&later);
}

static bool
verifies(const struct pair *p, struct leaf *leaf, SSL_CTX *ctx)
{
	BIO *b = BIO_new_mem_buf(p->cert.p, (int)p->cert.n);
	X509 *root = PEM_read_bio_X509(b, NULL, NULL, NULL);
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *check = X509_STORE_CTX_new();
	SSL *ssl;
	bool is_fine;

	X509_STORE_add_cert(store, root);
	X509_STORE_CTX_init(check, store, shown(leaf, ctx, &ssl), NULL);
	is_fine = X509_verify_cert(check) == 1;
	X509_STORE_CTX_free(check);
	X509_STORE_free(store);
	X509_free(root);
	BIO_free(b);
	SSL_free(ssl);
	return is_fine;
}

static void
test_a_constrained_ca_is_believed_for_its_names_alone(void **state)
{
	static const struct {
		const char *host;
		bool is_fine;
	} cases[] = {
		{ "example.com", true },
		{ "api.example.com", true },
		{ "example.org", false },
		{ "10.0.0.1", false },
		{ "2001:db8::1", false },
	};
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	struct pair p;
	struct ca *ca;

	(void)state;
	make(&p, clock_wall_s(), 30, "example.com");
	ca = load(&p);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct host h = host_of(cases[i].host);
		struct leaf *leaf = leaf_make(ca, &h, clock_wall_s());

		assert_row(cases[i].host, verifies(&p, leaf, ctx) == cases[i].is_fine);
		leaf_unref(leaf);
	}
	ca_unref(ca);
	pair_fini(&p);
	SSL_CTX_free(ctx);
}

static void
test_a_ca_is_known_again_by_both_its_files(void **state)
{
	struct pair one, two;
	struct ca *ca;

	(void)state;
	make(&one, clock_wall_s(), 30, NULL);
	make(&two, clock_wall_s(), 30, NULL);
	ca = load(&one);
	assert_true(ca_is_of(ca, buf_view(&one.cert), buf_view(&one.key)));
	assert_false(ca_is_of(ca, buf_view(&two.cert), buf_view(&two.key)));
	assert_false(ca_is_of(ca, buf_view(&one.cert), buf_view(&two.key)));
	ca_unref(ca);
	pair_fini(&one);
	pair_fini(&two);
}

/* ---- the mint ---- */

struct asked {
	struct loop *loop;
	struct leaf *leaf;
	size_t n, want;
};

static void
on_made(void *arg, struct leaf *leaf)
{
	struct asked *a = arg;

	assert_non_null(leaf);
	leaf_unref(a->leaf);
	a->leaf = leaf_ref(leaf);
	if (++a->n == a->want)
		loop_stop(a->loop);
}

static void
never(void *arg, struct leaf *leaf)
{
	(void)arg;
	(void)leaf;
	fail_msg("called back after it was cancelled");
}

static void
test_the_mint_makes_once_keeps_and_bounds_what_it_keeps(void **state)
{
	struct loop *loop = loop_new();
	struct asked a = { .loop = loop, .want = 3 };
	struct mint *m = mint_new(16, 100);
	struct leaf *kept;
	struct pair p, other;
	struct ca *ca, *other_ca;
	struct host h = host_of("a.example.com");

	(void)state;
	make(&p, clock_wall_s(), 30, NULL);
	make(&other, clock_wall_s(), 30, NULL);
	ca = load(&p);
	other_ca = load(&other);
	assert_int_equal(mint_start(m), 0);
	assert_null(mint_kept(m, ca, &h));
	for (size_t i = 0; i < a.want; i++)
		assert_non_null(mint_ask(m, ca, &h, loop, on_made, &a));
	loop_run(loop);
	kept = mint_kept(m, ca, &h);
	assert_ptr_equal(kept, a.leaf); /* one for all three */
	leaf_unref(kept);
	for (int i = 0; i < 16; i++) {
		char name[32];
		snprintf(name, sizeof(name), "n%d.example.com", i);
		struct host n = host_of(name);
		a.n = 0;
		a.want = 1;
		assert_non_null(mint_ask(m, ca, &n, loop, on_made, &a));
		loop_run(loop);
	}
	assert_null(mint_kept(m, ca, &h)); /* the least used went */
	h = host_of("n15.example.com");
	assert_null(mint_kept(m, other_ca, &h)); /* another CA's is none */
	assert_null(mint_kept(m, ca, &h));       /* and it is gone */
	mint_cancel(mint_ask(m, ca, &h, loop, never, NULL));
	mint_free(m);
	leaf_unref(a.leaf);
	loop_free(loop); /* what was cancelled came back */
	ca_unref(ca);
	ca_unref(other_ca);
	pair_fini(&p);
	pair_fini(&other);
}

static void
test_more_than_may_wait_are_refused(void **state)
{
	struct loop *loop = loop_new();
	struct mint *m = mint_new(16, 2);
	struct host h = host_of("a.example.com");
	struct mint_wait *wait[2];
	struct pair p;
	struct ca *ca;

	(void)state;
	make(&p, clock_wall_s(), 30, NULL);
	ca = load(&p);
	for (size_t i = 0; i < 2; i++) /* nobody has started it */
		assert_non_null(wait[i] = mint_ask(m, ca, &h, loop, never, NULL));
	assert_null(mint_ask(m, ca, &h, loop, never, NULL));
	mint_cancel(wait[0]);
	mint_cancel(wait[1]);
	mint_free(m);
	loop_free(loop);
	ca_unref(ca);
	pair_fini(&p);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_a_certificate_is_for_its_host_and_verifies_under_its_ca),
		cmocka_unit_test(
		    test_a_certificate_lasts_a_week_and_never_longer_than_its_ca),
		cmocka_unit_test(test_what_is_no_ca_is_refused_with_the_reason),
		cmocka_unit_test(test_a_constrained_ca_is_believed_for_its_names_alone),
		cmocka_unit_test(test_a_ca_is_known_again_by_both_its_files),
		cmocka_unit_test(test_the_mint_makes_once_keeps_and_bounds_what_it_keeps),
		cmocka_unit_test(test_more_than_may_wait_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
