/*
 * held_leaf.c - certificates that are not signed before the tests say so
 *
 * Preloaded into weir: a thread that signs one waits while the file that
 * WEIR_TEST_LEAF names is there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <unistd.h>

int
X509_sign(X509 *x, EVP_PKEY *key, const EVP_MD *digest)
{
	int (*sign)(X509 *, EVP_PKEY *, const EVP_MD *) =
	    (int (*)(X509 *, EVP_PKEY *, const EVP_MD *))dlsym(RTLD_NEXT, "X509_sign");
	const char *held = getenv("WEIR_TEST_LEAF");

	while (held != NULL && access(held, F_OK) == 0)
		usleep(2000);
	return sign(x, key, digest);
}
