/*
 * backend.h - a store, as the ledger's thread sees it
 *
 * run() takes a batch of ops off a list and ends each exactly once, at once or later,
 * through the host: with what the store said, or with LEDGER_AWAY and whether the store
 * may have done it all the same.  Everything on the ledger's thread.
 */
#ifndef WEIR_LEDGER_BACKEND_H
#define WEIR_LEDGER_BACKEND_H

#include "ledger/op.h"
#include "ledger/seen.h"

struct backend;

/* What a backend may say to the ledger. */
struct backend_host {
	void (*ended)(void *arg, struct ledger_op *op);
	void (*health)(void *arg, enum ledger_answer is);
	void *arg;
	struct loop *loop;
	struct seen *seen;
};

struct backend_ops {
	void (*start)(struct backend *b); /* on the thread, before anything else */
	void (*run)(struct backend *b, struct list *batch);
	void (*close)(
	    struct backend *b); /* nothing is with it any more; or it ends that */
};

struct backend {
	const struct backend_ops *ops;
};

/* Each: NULL after logging why; what `o` says beside its URL is read, too. */
struct backend *backend_memory(
    struct str where, const struct ledger_options *o, const struct backend_host *host);
struct backend *backend_sqlite(
    struct str where, const struct ledger_options *o, const struct backend_host *host);
struct backend *backend_redis(
    struct str where, const struct ledger_options *o, const struct backend_host *host);
struct backend *backend_redis_unix(
    struct str where, const struct ledger_options *o, const struct backend_host *host);

#endif
