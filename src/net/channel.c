/*
 * channel.c - c-ares kept on a short lead
 *
 * What it would do by itself is either set explicitly (an option that is set is
 * not taken from the environment or resolv.conf) or not used at all.
 */
#include "net/channel.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "net/cares.h"

#define DNS_PORT 53
#define EDNS_SIZE 1232 /* unfragmented nearly everywhere, and TCP stays rare */
#define CLASS_IN 1

struct channel {
	struct list link; /* among the retired */
	struct loop *loop;
	ares_channel ares;
	struct list sockets;
	struct timer timer; /* c-ares' own: when it wants to try again */
	struct list questions;
	struct list over_tcp; /* a channel for each question that is asked again by TCP */
	struct endpoint server[CHANNEL_SERVERS_MAX];
	size_t nserver;
	msec timeout_ms;
	bool is_tcp, is_retired;
};

struct channel_socket {
	struct list link;
	struct channel *channel;
	int fd;
	struct event ev;
};

struct question {
	struct list link;
	struct channel *channel;
	channel_answered *answered;
	void *arg;
	int type;
	char name[]; /* to ask again */
};

static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void
library_init(void)
{
	if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS)
		abort(); /* out of memory */
}

static void
answer(struct question *q, int err, struct str message)
{
	list_remove(&q->link);
	if (q->answered != NULL)
		q->answered(q->arg, err, message);
	free(q);
}

/* After each call into c-ares, never inside one: it may not be destroyed from a callback.
 */
static void
settle(struct channel *c)
{
	struct timeval tv;

	if (c->is_retired && list_is_empty(&c->questions)) {
		channel_free(c);
		return;
	}
	if (ares_timeout(c->ares, NULL, &tv) != NULL)
		timer_set(c->loop, &c->timer,
		    (msec)tv.tv_sec * 1000 + (tv.tv_usec + 999) / 1000);
	else
		timer_clear(&c->timer);
}

static void
on_timer(void *arg)
{
	struct channel *c = arg;

	ares_process_fd(c->ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	settle(c);
}

/* The socket may be gone when c-ares returns. */
static void
on_socket(evutil_socket_t fd, short what, void *arg)
{
	struct channel_socket *s = arg;
	struct channel *c = s->channel;

	ares_process_fd(c->ares, what & EV_READ ? fd : ARES_SOCKET_BAD,
	    what & EV_WRITE ? fd : ARES_SOCKET_BAD);
	settle(c);
}

static struct channel_socket *
find_socket(struct channel *c, int fd)
{
	struct list *at;

	list_each(at, &c->sockets)
	{
		struct channel_socket *s = list_entry(at, struct channel_socket, link);

		if (s->fd == fd)
			return s;
	}
	return NULL;
}

static void
forget_socket(struct channel_socket *s)
{
	event_del(&s->ev);
	list_remove(&s->link);
	free(s);
}

static void
on_socket_state(void *arg, ares_socket_t fd, int is_read, int is_write)
{
	struct channel *c = arg;
	struct channel_socket *s = find_socket(c, fd);
	short wanted = (short)((is_read ? EV_READ : 0) | (is_write ? EV_WRITE : 0));

	if (s != NULL && wanted == 0) {
		forget_socket(s);
		return;
	}
	if (wanted == 0)
		return;
	if (s == NULL) {
		s = mem_zalloc(sizeof(*s));
		s->channel = c;
		s->fd = fd;
		list_append(&c->sockets, &s->link);
	} else {
		event_del(&s->ev);
	}
	event_assign(
	    &s->ev, loop_base(c->loop), fd, (short)(wanted | EV_PERSIST), on_socket, s);
	event_add(&s->ev, NULL); /* a failure shows as a time-out */
}

/*
 * Tries double their time-out.  They last longer than the lookup's own deadline
 * (which decides), and not much longer, since a question cannot be taken back.
 */
static void
set_patience(struct ares_options *o, size_t nserver, msec timeout_ms)
{
	msec each = timeout_ms / 4;

	o->timeout = (int)(each < 100 ? 100 : each);
	o->tries = nserver > 1 ? 2 : 3;
}

static bool
set_servers(struct channel *c)
{
	struct buf list;
	char text[ENDPOINT_TEXT];
	bool is_set;

	buf_init(&list, 4096);
	for (size_t i = 0; i < c->nserver; i++)
		buf_fmt(
		    &list, "%s%s", i > 0 ? "," : "", endpoint_text(text, &c->server[i]));
	is_set = !list.is_over &&
		 ares_set_servers_ports_csv(c->ares, buf_cstr(&list)) == ARES_SUCCESS;
	buf_fini(&list);
	return is_set;
}

static void
endpoint_of_node(struct endpoint *out, const struct ares_addr_port_node *node)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

	*out = (struct endpoint){ .port = 0 };
	memcpy(&v4.sin_addr, &node->addr, sizeof(v4.sin_addr));
	memcpy(&v6.sin6_addr, &node->addr, sizeof(v6.sin6_addr));
	addr_from_sockaddr(out, node->family == AF_INET ? (const struct sockaddr *)&v4
							: (const struct sockaddr *)&v6);
	out->port = (uint16_t)(node->udp_port != 0 ? node->udp_port : DNS_PORT);
}

/*
 * Those of /etc/resolv.conf, as c-ares has read it.  It keeps no more than are
 * told here: nobody may be asked whom the guard does not know as a name server.
 */
static void
get_servers(struct channel *c)
{
	struct ares_addr_port_node *nodes = NULL, *node, *last = NULL, *rest;

	if (ares_get_servers_ports(c->ares, &nodes) != ARES_SUCCESS)
		return;
	for (node = nodes; node != NULL && c->nserver < CHANNEL_SERVERS_MAX;
	     node = node->next) {
		endpoint_of_node(&c->server[c->nserver++], node);
		last = node;
	}
	if (node != NULL && last != NULL) {
		rest = last->next;
		last->next = NULL;
		if (ares_set_servers_ports(c->ares, nodes) != ARES_SUCCESS)
			abort(); /* out of memory */
		last->next = rest;
	}
	ares_free_data(nodes);
}

static bool
start_cares(struct channel *c)
{
	struct ares_options o = { .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES |
					   ARES_FLAG_EDNS | ARES_FLAG_IGNTC };
	int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS |
		   ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS | ARES_OPT_NOROTATE |
		   ARES_OPT_EDNSPSZ | ARES_OPT_SOCK_STATE_CB;
	char no_file[] = "/dev/null", lookups[] = "b";

	o.ndots = 1;
	o.lookups = lookups;
	o.ednspsz = EDNS_SIZE;
	o.sock_state_cb = on_socket_state;
	o.sock_state_cb_data = c;
	if (c->is_tcp)
		o.flags |= ARES_FLAG_USEVC;
	if (c->nserver > 0) {
		o.resolvconf_path = no_file;
		mask |= ARES_OPT_RESOLVCONF;
	}
	set_patience(&o, c->nserver, c->timeout_ms);
	cares_tame(&o, &mask);
	return ares_init_options(&c->ares, &o, mask) == ARES_SUCCESS;
}

static struct channel *
channel_make(struct loop *l, const struct endpoint *server, size_t nserver,
    msec timeout_ms, bool is_tcp, const char **why)
{
	struct channel *c = mem_zalloc(sizeof(*c));

	assert(nserver <= CHANNEL_SERVERS_MAX);
	c->loop = l;
	c->nserver = nserver;
	c->timeout_ms = timeout_ms;
	c->is_tcp = is_tcp;
	memcpy(c->server, server, nserver * sizeof(*server));
	list_init(&c->link);
	list_init(&c->sockets);
	list_init(&c->questions);
	list_init(&c->over_tcp);
	timer_init(&c->timer, on_timer, c);
	if (!start_cares(c)) {
		*why = "c-ares could not be started (is /etc/resolv.conf readable?)";
		free(c);
		return NULL;
	}
	if (nserver == 0)
		get_servers(c);
	else if (!set_servers(c)) {
		*why = "c-ares did not take the name servers";
		channel_free(c);
		return NULL;
	}
	return c;
}

struct channel *
channel_new(struct loop *l, const struct endpoint *server, size_t nserver,
    msec timeout_ms, const char **why)
{
	pthread_once(&library_once, library_init);
	return channel_make(l, server, nserver, timeout_ms, false, why);
}

void
channel_free(struct channel *c)
{
	struct list *at;

	if (c == NULL)
		return;
	list_each(at, &c->questions)
	{
		list_entry(at, struct question, link)->answered = NULL;
	}
	channels_free(&c->over_tcp);
	ares_destroy(c->ares); /* it gives its questions back, those of TCP remain */
	while (!list_is_empty(&c->questions))
		answer(list_entry(c->questions.next, struct question, link), ERR_SERVFAIL,
		    STR_NONE);
	while (!list_is_empty(&c->sockets))
		forget_socket(list_entry(c->sockets.next, struct channel_socket, link));
	timer_clear(&c->timer);
	list_remove(&c->link);
	free(c);
}

void
channels_free(struct list *retired)
{
	while (!list_is_empty(retired))
		channel_free(list_entry(retired->next, struct channel, link));
}

void
channel_retire(struct channel *c, struct list *retired)
{
	c->is_retired = true;
	list_append(retired, &c->link);
	settle(c);
}

/* This is inside the other channel's c-ares, so this one can only go later. */
static void
on_tcp_answered(void *arg, int err, struct str message)
{
	struct question *q = arg;
	struct channel *c = q->channel;

	answer(q, err, message);
	if (c->is_retired)
		timer_set(c->loop, &c->timer, 0);
}

/*
 * c-ares 1.18 loses answers when two questions share a TCP connection, so each
 * has a channel to itself; it is rare enough.
 */
static void
ask_over_tcp(struct question *q)
{
	struct channel *c = q->channel;
	const char *why;
	struct channel *tcp =
	    channel_make(c->loop, c->server, c->nserver, c->timeout_ms, true, &why);

	if (tcp == NULL) {
		answer(q, ERR_SERVFAIL, STR_NONE);
		return;
	}
	channel_ask(tcp, q->name, q->type, on_tcp_answered, q);
	channel_retire(tcp, &c->over_tcp);
}

static bool
is_truncated(struct str message)
{
	return message.n > 2 && (message.p[2] & 0x02) != 0;
}

static void
on_answer(void *arg, int status, int timeouts, unsigned char *bytes, int length)
{
	struct question *q = arg;
	struct str message = { (const char *)bytes, bytes == NULL ? 0 : (size_t)length };

	(void)timeouts;
	if (bytes == NULL)
		answer(
		    q, status == ARES_ETIMEOUT ? ERR_DNS_TIMEOUT : ERR_SERVFAIL, message);
	else if (q->answered != NULL && !q->channel->is_tcp && is_truncated(message))
		ask_over_tcp(q);
	else
		answer(q, 0, message);
}

void
channel_ask(
    struct channel *c, const char *name, int type, channel_answered *answered, void *arg)
{
	size_t n = strlen(name) + 1;
	struct question *q = mem_alloc(sizeof(*q) + n);

	*q = (struct question){
		.channel = c, .answered = answered, .arg = arg, .type = type
	};
	memcpy(q->name, name, n);
	list_append(&c->questions, &q->link);
	ares_query(c->ares, q->name, CLASS_IN, type, on_answer, q);
	settle(c);
}

size_t
channel_servers(const struct channel *c, struct endpoint *out, size_t max)
{
	size_t n = c->nserver < max ? c->nserver : max;

	memcpy(out, c->server, n * sizeof(*out));
	return n;
}
