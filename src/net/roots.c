/*
 * roots.c - the certificates that origins are verified against
 */
#include "net/roots.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdatomic.h>
#include <stdlib.h>

struct roots {
	atomic_uint refs;
	X509_STORE *store;
};

static bool
fill(X509_STORE *store, const char *path)
{
	return (path == NULL ? X509_STORE_set_default_paths(store)
			     : X509_STORE_load_file(store, path)) == 1;
}

/* What a certificate says is read when it is first asked; here, not by many threads at
 * once. */
static void
read_extensions(X509_STORE *store)
{
	const STACK_OF(X509_OBJECT) *all = X509_STORE_get0_objects(store);

	for (int i = 0; i < sk_X509_OBJECT_num(all); i++) {
		X509 *x = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(all, i));
		if (x != NULL)
			(void)X509_check_purpose(x, -1, 0);
	}
}

struct roots *
roots_load(const char *path)
{
	X509_STORE *store = X509_STORE_new();
	struct roots *r = NULL;

	if (store != NULL && fill(store, path)) {
		read_extensions(store);
		r = mem_zalloc(sizeof(*r));
		atomic_init(&r->refs, 1);
		r->store = store;
	} else {
		X509_STORE_free(store);
	}
	ERR_clear_error();
	return r;
}

struct roots *
roots_ref(struct roots *r)
{
	atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
	return r;
}

void
roots_unref(struct roots *r)
{
	if (r == NULL || atomic_fetch_sub(&r->refs, 1) > 1)
		return;
	X509_STORE_free(r->store);
	free(r);
}

X509_STORE *
roots_store(const struct roots *r)
{
	return r->store;
}

bool
roots_are_usable(const char *path)
{
	struct roots *r = roots_load(path);

	roots_unref(r);
	return r != NULL;
}
