/*
 * listener.h - sockets that wait for clients
 *
 * Opened before rights are dropped, by main; accepted on by workers.  TCP
 * listeners are opened once for each worker (SO_REUSEPORT); Unix and inherited
 * sockets are one descriptor that all workers watch.  Accepts come in batches
 * of 64; EMFILE and other errors pause it (100 ms) instead of spinning, and a
 * spare descriptor lets a client be told to go away.
 */
#ifndef WEIR_NET_LISTENER_H
#define WEIR_NET_LISTENER_H

#include "base/addr.h"
#include "base/loop.h"

/* Where to listen: "127.0.0.1:3128", "[::1]:3128", "tls:192.0.2.1:3129",
 * "unix:/run/weir/proxy.sock". */
struct listen_at {
	bool is_unix;
	bool is_tls; /* its clients shake hands before they say anything */
	/* said by whoever wants that, never in the text */
	bool is_udp;
	bool is_transparent; /* for addresses that are not this host's, where it may */
	struct endpoint endpoint;
	char path[108];
};

bool listen_at_parse(struct listen_at *out, struct str text); /* false: none of these */
char *listen_at_text(char out[static 128], const struct listen_at *at);

/* 0 and *fd; or ERR_IO and `why` holds errno's text and the remedy. */
int listener_bind(
    int *fd, const struct listen_at *at, bool shares_port, struct buf *why) MUST_CHECK;

/* The same of a socket that somebody else bound there. */
int listener_adopt(int fd, const struct listen_at *at, struct buf *why) MUST_CHECK;

/*
 * Is a TCP address nobody's?  As above when it is not.  Nobody can connect to what
 * asks: a client taken into a backlog that is closed at once would be cut off.
 */
int listener_probe(const struct listen_at *at, struct buf *why) MUST_CHECK;

/* Closes; a Unix socket's file goes with the last who listened on it. */
void listener_unbind(int fd, const struct listen_at *at);

/* Who connected. */
struct peer {
	struct endpoint endpoint; /* of the client; zero for Unix sockets */
	bool is_unix;
	uint32_t uid; /* SO_PEERCRED, Unix only */
};

struct listener;
/* fd is the callback's (non-blocking, CLOEXEC). */
typedef void listener_accepted(void *arg, int fd, const struct peer *peer);
/* Borrowed fd; several workers may watch the same one. */
struct listener *listener_new(struct loop *l, int fd, listener_accepted *fn, void *arg);
void listener_pause(struct listener *l); /* drain: stop accepting; the fd stays */
void listener_free(struct listener *l);  /* from the callback, too */

#endif
