/*
 * accept.c - who may connect
 */
#include "proxy/accept.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/count.h"
#include "net/original.h"
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

/* NULL: it is one too many. */
static struct conn *
new_client(struct engine *e, const struct door *door, const struct endpoint *peer,
    const char *unix_path)
{
	struct conn *c = mem_zalloc(sizeof(*c));
	char text[ADDR_TEXT];

	c->e = e;
	c->door = door;
	c->way = door->way;
	c->peer = *peer;
	c->unix_path = unix_path;
	c->share = client_ref(e->limits, str_of(conn_share(c, text)), loop_now(e->loop));
	count_add(COUNT_CONNECTIONS, 1);
	if (take_place(c))
		return c;
	count_add(COUNT_CONNECTIONS_DROPPED, 1);
	refusals_drop(c, REASON_CONCURRENCY_LIMITED);
	client_unref(c->share);
	free(c);
	return NULL;
}

void
accept_client(
    struct engine *e, const struct entrance *in, int fd, const struct peer *peer)
{
	struct endpoint to = { .port = 0 };
	struct conn *c;

	if (in->door == &door_transparent && !original_destination(fd, &to)) {
		close(fd);
		return;
	}
	if ((c = new_client(e, in->door, &peer->endpoint, in->unix_path)) == NULL) {
		close(fd);
		return;
	}
	c->to = to;
	c->stage = in->is_tls ? STAGE_SECURE : STAGE_GREET;
	conn_open(c, fd);
}

void
accept_datagram(struct engine *e, const struct door *door, const struct datagram *d)
{
	struct endpoint from;
	struct conn *c;

	if (!addr_from_sockaddr(&from, (const struct sockaddr *)&d->from))
		return;
	if ((c = new_client(e, door, &from, NULL)) != NULL)
		conn_open_datagram(c, d);
}
