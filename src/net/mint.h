/*
 * mint.h - certificates of a CA, made on a thread of their own and kept
 *
 * A signature takes as long as hundreds of requests, so no worker makes one.  What is
 * kept is bounded and shared by all workers: the least used goes first, a day is the
 * most, and another CA's is as good as none.  How many may wait is bounded, too.
 */
#ifndef WEIR_NET_MINT_H
#define WEIR_NET_MINT_H

#include "base/loop.h"
#include "net/ca.h"

struct mint;
struct mint_wait;

struct mint *mint_new(size_t leaves, size_t waiting);
int mint_start(struct mint *m) MUST_CHECK; /* 0, or an errno: no thread */
/* While the loops of all who wait are there: they are told, and find it cancelled. */
void mint_free(struct mint *m); /* NULL is fine */

/* A reference, or NULL: none is kept.  Any thread. */
struct leaf *mint_kept(struct mint *m, const struct ca *ca, const struct host *name);

/* `leaf` is borrowed for the call; NULL: none could be made. */
typedef void mint_done(void *arg, struct leaf *leaf);

/*
 * done runs once, on the loop of whoever asks, never inside; after mint_cancel() never.
 * NULL: too many wait.
 */
struct mint_wait *mint_ask(struct mint *m, struct ca *ca, const struct host *name,
    struct loop *home, mint_done *done, void *arg) MUST_CHECK;
void mint_cancel(struct mint_wait *w); /* NULL is fine */

#endif
