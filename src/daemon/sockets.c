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

static int
open_one(struct sockets *s, const char *text, enum socket_kind kind,
    const struct door *door, bool is_udp, size_t workers)
{
	struct open_socket *o = &s->p[s->n];
	struct buf why;
	int err;

	*o = (struct open_socket){ .kind = kind, .door = door };
	if (!listen_at_parse(&o->at, str_of(text)))
		return ERR_INVALID; /* settings checked it */
	o->at.is_udp = is_udp;
	o->at.is_transparent = door == &door_transparent;
	s->n++;
	if (o->at.is_unix)
		snprintf(o->source, sizeof(o->source), "unix:%s", o->at.path);
	buf_init(&why, 1024);
	err = bind_all(o, o->door == NULL || o->at.is_unix ? 1 : workers, &why);
	if (err != 0)
		log_error("cannot listen", "address", text, "why", buf_cstr(&why));
	buf_fini(&why);
	return err;
}

/* Everything of one setting; the last error of it. */
static int
open_list(struct sockets *s, const struct texts *list, const char *key, size_t workers)
{
	size_t k = kind_of(key);
	int err = 0, one;

	for (size_t i = 0; i < list->n; i++) {
		one =
		    open_one(s, list->p[i], kinds[k].kind, kinds[k].door, false, workers);
		if (one == 0 && kinds[k].udp_door != NULL)
			one = open_one(s, list->p[i], kinds[k].kind, kinds[k].udp_door,
			    true, workers);
		err = one != 0 ? one : err;
	}
	return err;
}

int
sockets_open(struct sockets *s, const struct settings *set, size_t workers)
{
	const struct texts *list;
	const char *key;
	int err = 0, one;

	*s = (struct sockets){ 0 };
	s->p = mem_zalloc((count_listeners(set) + 1) * sizeof(*s->p));
	for (size_t i = 0; (list = settings_listeners(set, i, &key)) != NULL; i++)
		if ((one = open_list(s, list, key, workers)) != 0)
			err = one;
	if (err != 0)
		sockets_close(s);
	return err;
}

void
sockets_close(struct sockets *s)
{
	for (size_t i = 0; i < s->n; i++) {
		for (size_t k = 0; k < s->p[i].nfd; k++)
			listener_unbind(s->p[i].fd[k], &s->p[i].at);
		free(s->p[i].fd);
	}
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
