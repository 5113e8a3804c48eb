/*
 * admin.h - what an operator asks of a running weir, over a Unix socket
 *
 *   GET /status                        what it is and how it is
 *   GET /sessions /sessions/TENANT /sessions/TENANT/SID     who is using it
 *   POST /arm {socket|address, token, ttl}     that source speaks for the session
 *   DELETE /arm/unix:PATH /arm/ADDRESS         and no longer
 *   POST /revoke {tenant, sid|jti}     for ever; what is open ends
 *   POST /detach {tenant, sid}         the next source that comes owns it
 *   POST /reload /drain                as the signals
 *
 * A socket that no listener has is not armed.  What names a session or an arm that is not
 * known here is done all the same, and answered with "known": false.
 *
 * Answers are JSON.  Only root and the user weir runs as may ask.  On main's loop.
 */
#ifndef WEIR_DAEMON_ADMIN_H
#define WEIR_DAEMON_ADMIN_H

#include "daemon/sockets.h"
#include "proxy/engine.h"

struct admin;

/* What it works on; `snapshot` is asked for each time. */
struct admin_options {
	struct loop *loop;
	struct sessions *sessions;
	struct tokens *tokens;
	struct ledger *ledger; /* NULL: nobody has a session */
	const struct sockets *sockets;
	struct snapshot *(*snapshot)(void *arg);
	void (*print_status)(void *arg, struct buf *to); /* a JSON object */
	bool (*reload)(void *arg); /* false: it was refused, as the log says */
	void (*drain)(void *arg);
	/* One line in the audit log; source empty: of none. */
	void (*record)(void *arg, const char *event, struct str tenant, struct str name,
	    struct str source);
	void *arg;
};

struct admin *admin_new(const struct admin_options *o);
void admin_listen(struct admin *a, int fd); /* borrowed */
/* Before the ledger is closed. */
void admin_free(struct admin *a); /* NULL is fine */

#endif
