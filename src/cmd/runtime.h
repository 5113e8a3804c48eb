/*
 * runtime.h - what a program's runtime is told of weir: the variables, one row for each
 *
 * Pure; any thread.
 */
#ifndef WEIR_CMD_RUNTIME_H
#define WEIR_CMD_RUNTIME_H

#include "wire/url.h"

#define RUNTIME_HOSTS_MAX 64

/* Where something of weir is, as the sandbox sees it. */
struct runtime_at {
	bool is_there, is_tls;
	struct host host;
	uint16_t port;
};

struct runtime {
	struct runtime_at proxy, gateway;
	/* of providers at the gateway; NULL: there is none of that kind */
	const char *anthropic, *openai, *gemini;
	const char *ca;     /* weir's own certificate; NULL: nothing is intercepted */
	const char *bundle; /* public roots and it, for whom one file replaces all */
	const char *java;   /* the same as PKCS#12 */
	struct str token;   /* empty: none is told */
	const char
	    *direct[RUNTIME_HOSTS_MAX]; /* hosts that are not asked for by the proxy */
	size_t ndirect;
};

/* Each variable that has a value here; the value is good for the call. */
void runtime_each(const struct runtime *r,
    void (*told)(void *arg, const char *name, struct str value), void *arg);

#endif
