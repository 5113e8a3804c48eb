/*
 * accept.c - who may connect
 */
#include "proxy/accept.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/count.h"
#include "proxy/refusals.h"

#define SURPLUS 64 /* connections beyond the cap that may be told so at once */

/* Over the cap SURPLUS more are told so; beyond that a client is not let in at all. */
static bool
take_place(struct conn *c)
{
	int64_t cap = c->e->snapshot->settings->limits_client_connections;

	if (client_take(c->share, CLIENT_CONNECTION, cap))
		return true;
	c->is_surplus = true;
	return client_take(c->share, CLIENT_SURPLUS, cap + SURPLUS);
}

void
accept_client(struct engine *e, const struct door *door, int fd, const struct peer *peer,
    const char *unix_path)
{
	struct conn *c = mem_zalloc(sizeof(*c));
	char text[ADDR_TEXT];

	c->e = e;
	c->door = door;
	c->way = door->way;
	c->peer = peer->endpoint;
	c->unix_path = unix_path;
	c->share = client_ref(e->limits, str_of(conn_share(c, text)), loop_now(e->loop));
	count_add(COUNT_CONNECTIONS, 1);
	if (!take_place(c)) {
		count_add(COUNT_CONNECTIONS_DROPPED, 1);
		refusals_drop(c, REASON_CONCURRENCY_LIMITED);
		client_unref(c->share);
		close(fd);
		free(c);
		return;
	}
	conn_open(c, fd);
}
