/*
 * accept.c - who may connect
 */
#include "proxy/accept.h"

#include <assert.h>
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

static bool
is_dropped(struct conn *c)
{
	if (take_place(c))
		return false;
	count_add(COUNT_CONNECTIONS_DROPPED, 1);
	refusals_drop(c, REASON_CONCURRENCY_LIMITED);
	return true;
}

static void
share_limits(struct conn *c)
{
	char text[ADDR_TEXT];

	c->share =
	    client_ref(c->e->limits, str_of(conn_share(c, text)), loop_now(c->e->loop));
}

/* Whose its connections are is yet to be said: they take no place of its own. */
static bool
is_balancer(const struct conn *c)
{
	const struct prefixes *from = &c->e->snapshot->settings->proxy_protocol_from;

	return c->door->is_balanced && c->unix_path == NULL &&
	       prefixes_have(from->p, from->n, &c->peer.addr);
}

static void
take_no_place(struct conn *c)
{
	bool is_taken = client_take(c->share, CLIENT_CONNECTION, 0); /* no limit */

	assert(is_taken);
	(void)is_taken;
	c->is_surplus = false;
}

bool
accept_as(struct conn *c, const struct endpoint *source)
{
	client_give(c->share, CLIENT_CONNECTION);
	client_unref(c->share);
	writer_unref(c->writer);
	c->writer = NULL;
	c->peer = *source;
	share_limits(c);
	if (!is_dropped(c))
		return true;
	take_no_place(c); /* which its end gives back */
	return false;
}

/* NULL: it is one too many. */
static struct conn *
new_client(struct engine *e, const struct door *door, const struct endpoint *peer,
    const char *unix_path)
{
	struct conn *c = mem_zalloc(sizeof(*c));

	c->e = e;
	c->door = door;
	c->way = door->way;
	c->peer = *peer;
	c->unix_path = unix_path;
	share_limits(c);
	count_add(COUNT_CONNECTIONS, 1);
	if (is_balancer(c)) {
		take_no_place(c);
		c->stage = STAGE_SOURCE;
		return c;
	}
	if (!is_dropped(c))
		return c;
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
	c->is_tls = in->is_tls;
	if (c->is_tls && c->stage == STAGE_GREET)
		c->stage = STAGE_SECURE;
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
