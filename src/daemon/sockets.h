/*
 * sockets.h - every listening socket of this process, opened before rights are dropped
 *
 * TCP addresses of the proxy get one socket for each worker; Unix sockets, and those
 * that the service manager opened, are shared by all.  Belongs to main.
 */
#ifndef WEIR_DAEMON_SOCKETS_H
#define WEIR_DAEMON_SOCKETS_H

#include "conf/settings.h"
#include "net/listener.h"
#include "proxy/door.h"

enum socket_kind { SOCKET_DOOR, SOCKET_HEALTH, SOCKET_ADMIN };

struct open_socket {
	enum socket_kind kind;
	struct listen_at at;
	int *fd; /* one, or one for each worker */
	size_t nfd;
	bool is_inherited;       /* its file, if it has one, is the service manager's */
	const struct door *door; /* they lead to it; NULL: to main's own pages */
	char source[128]; /* of its clients, when it is a Unix socket: "unix:/path" */
};

struct sockets {
	struct open_socket *p;
	size_t n;
};

/*
 * 0; else every address that failed is logged, with the remedy, and all are closed.  A
 * socket that was handed over and that no setting names is such a failure: who came to
 * it would wait for ever.
 */
int sockets_open(
    struct sockets *s, const struct settings *set, size_t workers) MUST_CHECK;
void sockets_close(struct sockets *s);
/* The addresses, for the guard: what is listened on is never dialled.  Room for s->n. */
size_t sockets_endpoints(const struct sockets *s, struct endpoint *out);
/* Does a door take clients whose source is that, "unix:/path"?  False: the Unix sockets
 * that one does are appended to `others`, or "none". */
bool sockets_have_source(
    const struct sockets *s, struct str source, struct buf *others) MUST_CHECK;
/* Those of one kind, commas between, or "none": for the log.  Stands in `to`, which is
 * the caller's to end. */
const char *sockets_text(const struct sockets *s, enum socket_kind kind,
    const struct door *door, struct buf *to);

#endif
