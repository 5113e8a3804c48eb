/*
 * pem.h - what every reader of a PEM says when OpenSSL asks for a passphrase
 *
 * Without a callback OpenSSL asks at the terminal, or reads standard input, for whatever
 * names itself encrypted: a key, a public half, a certificate.  weir's keys have none.
 */
#ifndef WEIR_BASE_PEM_H
#define WEIR_BASE_PEM_H

/* A pem_password_cb: there is none, and what wants one is not read.  Pure; any thread. */
int pem_no_passphrase(char *to, int size, int is_writing, void *arg);

#endif
