/*
 * pem.c - what every reader of a PEM says when OpenSSL asks for a passphrase
 */
#include "base/pem.h"

int
pem_no_passphrase(char *to, int size, int is_writing, void *arg)
{
	(void)to, (void)size, (void)is_writing, (void)arg;
	return -1;
}
