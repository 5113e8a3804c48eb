/*
 * channel.c - c-ares kept on a short lead
 *
 * What it would do by itself is either set explicitly (an option that is set is
 * not taken from the environment or resolv.conf) or not used at all.
 */
#include "net/channel.h"

#include <arpa/inet.h>
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
	bool is_retired;
};

struct channel_socket {
	struct list link;
	struct channel *channel;
	int fd;
	struct event ev;
};

struct question {
	struct list link;
	channel_answered *answered;
	void *arg;
};

static pthread_once_t library_once = PTHREAD_ONCE_INIT;
static int library_status;

static void
library_init(void)
{
	library_status = ares_library_init(ARES_LIB_INIT_ALL);
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
set_servers(ares_channel ares, const struct endpoint *server, size_t nserver)
{
	struct buf list;
	char text[ENDPOINT_TEXT];
	bool is_set;

	buf_init(&list, 4096);
	for (size_t i = 0; i < nserver; i++)
		buf_fmt(&list, "%s%s", i > 0 ? "," : "", endpoint_text(text, &server[i]));
	is_set = !list.is_over &&
		 ares_set_servers_ports_csv(ares, buf_cstr(&list)) == ARES_SUCCESS;
	buf_fini(&list);
	return is_set;
}

struct channel *
channel_new(struct loop *l, const struct endpoint *server, size_t nserver,
    msec timeout_ms, const char **why)
{
	struct channel *c;
	struct ares_options o = { .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES |
					   ARES_FLAG_EDNS };
	int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS |
		   ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS | ARES_OPT_NOROTATE |
		   ARES_OPT_EDNSPSZ | ARES_OPT_SOCK_STATE_CB;
	char no_file[] = "/dev/null", lookups[] = "b";

	pthread_once(&library_once, library_init);
	c = mem_zalloc(sizeof(*c));
	c->loop = l;
	list_init(&c->sockets);
	list_init(&c->questions);
	list_init(&c->link);
	timer_init(&c->timer, on_timer, c);

	o.ndots = 1;
	o.lookups = lookups;
	o.ednspsz = EDNS_SIZE;
	o.sock_state_cb = on_socket_state;
	o.sock_state_cb_data = c;
	if (nserver > 0) {
		o.resolvconf_path = no_file;
		mask |= ARES_OPT_RESOLVCONF;
	}
	set_patience(&o, nserver, timeout_ms);
	cares_tame(&o, &mask);
	if (library_status != ARES_SUCCESS ||
	    ares_init_options(&c->ares, &o, mask) != ARES_SUCCESS) {
		*why = "c-ares could not be started (is /etc/resolv.conf readable?)";
		free(c);
		return NULL;
	}
	if (nserver > 0 && !set_servers(c->ares, server, nserver)) {
		*why = "c-ares did not take the name servers";
		channel_free(c);
		return NULL;
	}
	return c;
}

void
channel_free(struct channel *c)
{
	struct list *at, *tmp;

	if (c == NULL)
		return;
	list_each_safe(at, tmp, &c->questions) list_entry(at, struct question, link)
	    ->answered = NULL;
	ares_destroy(c->ares);
	list_each_safe(at, tmp, &c->sockets)
	    forget_socket(list_entry(at, struct channel_socket, link));
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

static void
on_answer(void *arg, int status, int timeouts, unsigned char *answer, int length)
{
	struct question *q = arg;
	struct str message = { (const char *)answer,
		answer == NULL ? 0 : (size_t)length };
	int err = 0;

	(void)timeouts;
	if (answer == NULL)
		err = status == ARES_ETIMEOUT ? ERR_DNS_TIMEOUT : ERR_SERVFAIL;
	list_remove(&q->link);
	if (q->answered != NULL)
		q->answered(q->arg, err, message);
	free(q);
}

void
channel_ask(
    struct channel *c, const char *name, int type, channel_answered *answered, void *arg)
{
	struct question *q = mem_alloc(sizeof(*q));

	*q = (struct question){ .answered = answered, .arg = arg };
	list_append(&c->questions, &q->link);
	ares_query(c->ares, name, CLASS_IN, type, on_answer, q);
	settle(c);
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

size_t
channel_servers(const struct channel *c, struct endpoint *out, size_t max)
{
	struct ares_addr_port_node *nodes = NULL;
	size_t n = 0;

	if (ares_get_servers_ports(c->ares, &nodes) != ARES_SUCCESS)
		return 0;
	for (const struct ares_addr_port_node *node = nodes; node != NULL && n < max;
	     node = node->next)
		endpoint_of_node(&out[n++], node);
	ares_free_data(nodes);
	return n;
}
