/*
 * channel.h - questions to name servers, through c-ares, on a loop
 *
 * Carries one question there and the raw answer back (asked again by TCP when it
 * was truncated); reads neither.  Only the
 * configured servers are asked, for exactly the name given: no search list, no
 * hosts file, no aliases, and nothing from the environment.
 */
#ifndef WEIR_NET_CHANNEL_H
#define WEIR_NET_CHANNEL_H

#include "base/addr.h"
#include "base/loop.h"

#define CHANNEL_SERVERS_MAX 8

struct channel;

/* `err` 0: `message` is an answer, whatever it says (borrowed); else ERR_SERVFAIL,
 * ERR_DNS_TIMEOUT. */
typedef void channel_answered(void *arg, int err, struct str message);

/* No servers: those of /etc/resolv.conf.  NULL: *why is a static sentence. */
struct channel *channel_new(struct loop *l, const struct endpoint *server, size_t nserver,
    msec timeout_ms, const char **why) MUST_CHECK;
/* Not from `answered`, which is called for nobody any more. */
void channel_free(struct channel *c);
/* Asks nothing any more and goes when its last question has been answered; it is on the
 * list until then. */
void channel_retire(struct channel *c, struct list *retired);
void channels_free(struct list *retired);
/* `answered` may be called before this returns; the question cannot be taken back. */
void channel_ask(
    struct channel *c, const char *name, int type, channel_answered *answered, void *arg);
size_t channel_servers(const struct channel *c, struct endpoint *out, size_t max);

#endif
