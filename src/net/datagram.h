/*
 * datagram.h - questions in one datagram each, and each of them a stream
 *
 * A datagram that came is a stream of its bytes and then an end; what is written to the
 * stream goes back to its sender in one datagram.  So whatever serves connections serves
 * them.  The socket (net/listener.h) is bound to one address of this host, never to all
 * of them: what leaves must come from where the question went.
 */
#ifndef WEIR_NET_DATAGRAM_H
#define WEIR_NET_DATAGRAM_H

#include <sys/socket.h>

#include "net/stream.h"

/* One that came; the bytes are borrowed for the call. */
struct datagram {
	int fd; /* it came by; stays open while streams of it are */
	struct sockaddr_storage from;
	socklen_t from_len;
	struct str bytes;
};

struct datagrams;
typedef void datagram_came(void *arg, const struct datagram *d);
/* Borrowed fd; a longer datagram than `most` is not told. */
struct datagrams *datagrams_new(
    struct loop *l, int fd, size_t most, datagram_came *fn, void *arg);
void datagrams_free(struct datagrams *d);

/* Copies what it needs of d. */
void datagram_open(struct stream *s, struct loop *l, const struct datagram *d,
    void (*notify)(void *arg, unsigned what), void *arg);

#endif
