/*
 * sockets.c - every listening socket of this process
 */
#include "daemon/sockets.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "net/inherit.h"

#define LISTENERS_TEXT 16384 /* 64 of them and more */

/* Where the listeners of a setting lead. */
static const struct {
	const char *setting;
	const struct door *door;
	enum socket_kind kind;
	const struct door *udp_door; /* NULL: it is asked over TCP alone */
} kinds[] = {
	{ "listen.proxy", &door_http, SOCKET_DOOR, NULL },
	{ "listen.gateway", &door_gateway, SOCKET_DOOR, NULL },
	{ "listen.socks5", &door_socks, SOCKET_DOOR, NULL },
	{ "listen.transparent", &door_transparent, SOCKET_DOOR, NULL },
	{ "listen.dns", &door_dns, SOCKET_DOOR, &door_dns_udp },
	{ "listen.health", NULL, SOCKET_HEALTH, NULL },
	{ "listen.admin", NULL, SOCKET_ADMIN, NULL },
};

static size_t
kind_of(const char *setting)
{
	size_t k = 0;

	while (strcmp(kinds[k].setting, setting) != 0) {
		k++;
		assert(k < sizeof(kinds) / sizeof(kinds[0]));
	}
	return k;
}

static size_t
count_listeners(const struct settings *set)
{
	const struct texts *list;
	const char *key;
	size_t n = 0;

	for (size_t i = 0; (list = settings_listeners(set, i, &key)) != NULL; i++)
		n += list->n * (kinds[kind_of(key)].udp_door != NULL ? 2 : 1);
	return n;
}

/* Sockets that share a port would not notice a stranger on it: an exclusive one asks
 * first. */
static int
bind_all(struct open_socket *o, size_t want, struct buf *why)
{
	int err;

	if (want > 1 && (err = listener_probe(&o->at, why)) != 0)
		return err;
	o->fd = mem_zalloc(want * sizeof(*o->fd));
	while (o->nfd < want) {
		if ((err = listener_bind(&o->fd[o->nfd], &o->at, want > 1, why)) != 0)
			return err;
		o->nfd++;
	}
	return 0;
}

/* What is open so far, and what can be had without opening it. */
struct opening {
	struct sockets *s;
	struct inherited in;
	size_t workers;
};

static int
take_over(struct open_socket *o, int fd, struct buf *why)
{
	o->is_inherited = true;
	o->fd = mem_zalloc(sizeof(*o->fd));
	o->fd[o->nfd++] = fd;
	return listener_adopt(fd, &o->at, why);
}

static int
open_at(struct opening *op, struct open_socket *o, struct buf *why)
{
	int fd = inherit_take(&op->in, &o->at);

	if (fd >= 0)
		return take_over(o, fd, why);
	return bind_all(o, o->door == NULL || o->at.is_unix ? 1 : op->workers, why);
}

static int
open_one(struct opening *op, const char *text, enum socket_kind kind,
    const struct door *door, bool is_udp)
{
	struct open_socket *o = &op->s->p[op->s->n];
	struct buf why;
	int err;

	*o = (struct open_socket){ .kind = kind, .door = door };
	if (!listen_at_parse(&o->at, str_of(text)))
		return ERR_INVALID; /* settings checked it */
	o->at.is_udp = is_udp;
	o->at.is_transparent = door == &door_transparent;
	op->s->n++;
	if (o->at.is_unix)
		snprintf(o->source, sizeof(o->source), "unix:%s", o->at.path);
	buf_init(&why, 1024);
	if ((err = open_at(op, o, &why)) != 0)
		log_error("cannot listen", "address", text, "why", buf_cstr(&why));
	buf_fini(&why);
	return err;
}

/* Everything of one setting; the last error of it. */
static int
open_list(struct opening *op, const struct texts *list, const char *key)
{
	size_t k = kind_of(key);
	int err = 0, one;

	for (size_t i = 0; i < list->n; i++) {
		one = open_one(op, list->p[i], kinds[k].kind, kinds[k].door, false);
		if (one == 0 && kinds[k].udp_door != NULL)
			one = open_one(
			    op, list->p[i], kinds[k].kind, kinds[k].udp_door, true);
		err = one != 0 ? one : err;
	}
	return err;
}

static int
open_inherited(struct opening *op)
{
	struct buf why;
	int err;

	buf_init(&why, 1024);
	if ((err = inherit_open(&op->in, &why)) != 0)
		log_error("cannot listen", "why", buf_cstr(&why));
	buf_fini(&why);
	return err;
}

static int
refuse_left(const struct opening *op)
{
	const struct listen_at *at = inherit_left(&op->in);
	char text[128];

	if (at == NULL)
		return 0;
	log_error("a socket was handed over that no listener of the configuration names",
	    "address", listen_at_text(text, at), "protocol",
	    at->is_udp ? "udp" : "stream", "remedy",
	    "name it under listen, or take it out of the .socket unit");
	return ERR_INVALID;
}

int
sockets_open(struct sockets *s, const struct settings *set, size_t workers)
{
	struct opening op = { .s = s, .workers = workers };
	const struct texts *list;
	const char *key;
	int err = 0, one;

	*s = (struct sockets){ 0 };
	s->p = mem_zalloc((count_listeners(set) + 1) * sizeof(*s->p));
	err = open_inherited(&op);
	for (size_t i = 0; (list = settings_listeners(set, i, &key)) != NULL; i++)
		if ((one = open_list(&op, list, key)) != 0)
			err = one;
	if (err == 0)
		err = refuse_left(&op);
	inherit_close(&op.in);
	if (err != 0)
		sockets_close(s);
	return err;
}

/* Looking whether somebody is left who accepts would start an inherited one's service. */
static void
close_one(const struct open_socket *o)
{
	for (size_t k = 0; k < o->nfd; k++)
		if (o->is_inherited)
			close(o->fd[k]);
		else
			listener_unbind(o->fd[k], &o->at);
	free(o->fd);
}

void
sockets_close(struct sockets *s)
{
	for (size_t i = 0; i < s->n; i++)
		close_one(&s->p[i]);
	free(s->p);
	*s = (struct sockets){ 0 };
}

size_t
sockets_endpoints(const struct sockets *s, struct endpoint *out)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (!s->p[i].at.is_unix)
			out[n++] = s->p[i].at.endpoint;
	return n;
}

bool
sockets_have_source(const struct sockets *s, struct str source, struct buf *others)
{
	size_t before = others->n;

	for (size_t i = 0; i < s->n; i++)
		if (s->p[i].kind == SOCKET_DOOR && str_eq(source, str_of(s->p[i].source)))
			return true;
	for (size_t i = 0; i < s->n; i++)
		if (s->p[i].kind == SOCKET_DOOR && s->p[i].at.is_unix)
			buf_fmt(others, "%s%s", others->n > before ? ", " : "",
			    s->p[i].at.path);
	if (others->n == before)
		buf_text(others, "none");
	return false;
}

const char *
sockets_text(const struct sockets *s, enum socket_kind kind, const struct door *door,
    struct buf *to)
{
	char at[128];

	buf_init(to, LISTENERS_TEXT);
	for (size_t i = 0; i < s->n; i++) {
		const struct open_socket *o = &s->p[i];
		if (o->kind == kind && o->door == door)
			buf_fmt(
			    to, "%s%s", to->n > 0 ? "," : "", listen_at_text(at, &o->at));
	}
	return to->n > 0 ? buf_cstr(to) : "none";
}
