/*
 * roots.c - the certificates that origins are verified against
 */
#include "net/roots.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

bool
roots_are_usable(const char *path)
{
	X509_STORE *store = X509_STORE_new();
	bool is_usable = store != NULL && X509_STORE_load_file(store, path) == 1;

	X509_STORE_free(store);
	ERR_clear_error();
	return is_usable;
}
