/*
 * worker.c - one thread: its loop, its listeners, its connections
 */
#include "daemon/worker.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/log.h"
#include "net/listener.h"
#include "proxy/accept.h"
#include "proxy/conn.h"
#include "proxy/conns.h"

#define DATAGRAM_MOST 4096 /* bytes of a question: its name, and options */

struct portal {
	struct list link;
	struct worker *w;
	struct entrance to;
	struct listener *listener;   /* or NULL: */
	struct datagrams *datagrams; /* NULL once nothing more is heard */
	int fd;
	bool is_lent;
};

struct worker {
	struct engine engine;
	struct list portals;
	pthread_t thread;
	bool is_started, is_emptied;
	struct loop *home;
	void (*emptied)(void *arg);
	void *arg;
};

static struct resolver_options
dns_of(const struct snapshot *s)
{
	return snapshot_dns(s->settings, s->host, s->nhost);
}

static void
on_emptied(void *arg)
{
	struct worker *w = arg;

	if (w->is_emptied)
		return;
	w->is_emptied = true;
	loop_post(w->home, w->emptied, w->arg);
}

struct worker *
worker_new(const struct worker_options *o, const char **why)
{
	struct worker *w = mem_zalloc(sizeof(*w));
	struct engine *e = &w->engine;
	struct resolver_options dns = dns_of(o->snapshot);

	e->loop = loop_new();
	e->resolver = resolver_new(e->loop, &dns, why);
	if (e->resolver == NULL) {
		loop_free(e->loop);
		free(w);
		return NULL;
	}
	e->pipes = pipes_new(o->max_pipes);
	origins_init(&e->origins, e->loop, o->max_kept);
	origins_init(&e->providers, e->loop, o->max_kept);
	e->journal = o->journal;
	e->limits = o->limits;
	e->uploads = o->uploads;
	e->coined = o->coined;
	e->writers = o->writers;
	e->sums = o->sums;
	e->names = o->names;
	e->sessions = o->sessions;
	e->tokens = o->tokens;
	e->ledger = o->ledger;
	e->mint = o->mint;
	e->chores = chores_new(e->loop);
	e->tls_server = tls_server_new(e->chores);
	e->snapshot = snapshot_ref(o->snapshot);
	if (o->snapshot->roots != NULL)
		e->tls = tls_client_new(o->snapshot->roots, e->chores);
	e->scratch = mem_alloc(SCRATCH);
	buf_init(&e->text, (size_t)4 << 20);
	trail_init(&e->trail, e->loop, o->snapshot->settings->audit_open_after,
	    o->snapshot->settings->audit_progress, conn_says);
	list_init(&e->conns);
	list_init(&w->portals);
	e->says_refusals = o->says_refusals;
	e->emptied = on_emptied;
	e->emptied_arg = w;
	w->home = o->home;
	w->emptied = o->emptied;
	w->arg = o->arg;
	return w;
}

static void
on_accepted(void *arg, int fd, const struct peer *peer)
{
	struct portal *in = arg;

	accept_client(&in->w->engine, &in->to, fd, peer);
}

static void
on_datagram(void *arg, const struct datagram *d)
{
	struct portal *in = arg;

	accept_datagram(&in->w->engine, in->to.door, d);
}

static struct portal *
add_portal(struct worker *w, int fd, const struct entrance *to)
{
	struct portal *in = mem_alloc(sizeof(*in));

	*in = (struct portal){ .w = w, .to = *to, .fd = fd };
	list_append(&w->portals, &in->link);
	return in;
}

void
worker_listen(struct worker *w, int fd, const struct entrance *to, bool is_lent)
{
	struct portal *in = add_portal(w, fd, to);

	in->is_lent = is_lent;
	in->listener = listener_new(w->engine.loop, fd, on_accepted, in);
}

void
worker_hear(struct worker *w, int fd, const struct door *door)
{
	struct portal *in = add_portal(w, fd, &(struct entrance){ .door = door });

	in->datagrams = datagrams_new(w->engine.loop, fd, DATAGRAM_MOST, on_datagram, in);
}

static void *
thread(void *arg)
{
	struct worker *w = arg;

	loop_run(w->engine.loop);
	return NULL;
}

int
worker_start(struct worker *w)
{
	int error = chores_start(w->engine.chores);

	if (error == 0)
		error = pthread_create(&w->thread, NULL, thread, w);
	w->is_started = error == 0;
	return error;
}

/* ---- through the mailbox ---- */

struct handover {
	struct worker *w;
	struct snapshot *snapshot;
};

/* What is open goes on with the roots it began with. */
static void
take_roots(struct engine *e, const struct snapshot *s)
{
	if (e->snapshot->roots == s->roots)
		return;
	tls_client_free(e->tls);
	e->tls = s->roots != NULL ? tls_client_new(s->roots, e->chores) : NULL;
}

static void
take_snapshot(void *arg)
{
	struct handover *h = arg;
	struct engine *e = &h->w->engine;
	struct resolver_options dns = dns_of(h->snapshot);
	const char *why;

	if (e->snapshot->settings != h->snapshot->settings) {
		if (!resolver_reconfigure(e->resolver, &dns, &why))
			log_error("the resolver keeps its old name servers", "why", why);
		origins_clear(&e->providers); /* of old roots, routes and keys */
	}
	take_roots(e, h->snapshot);
	snapshot_unref(e->snapshot);
	e->snapshot = h->snapshot;
	free(h);
	conns_rejudge(e);
}

void
worker_reload(struct worker *w, struct snapshot *s)
{
	struct handover *h = mem_alloc(sizeof(*h));

	*h = (struct handover){ w, snapshot_ref(s) };
	loop_post(w->engine.loop, take_snapshot, h);
}

static void
recap(void *arg)
{
	conns_recap(arg);
}

void
worker_recap(struct worker *w)
{
	loop_post(w->engine.loop, recap, &w->engine);
}

static void
drain(void *arg)
{
	struct worker *w = arg;
	struct list *at;

	w->engine.is_draining = true;
	list_each(at, &w->portals)
	{
		struct portal *in = list_entry(at, struct portal, link);
		datagrams_free(in->datagrams);
		in->datagrams = NULL;
		if (in->listener == NULL)
			continue;
		listener_pause(in->listener);
		if (!in->is_lent)
			shutdown(in->fd, SHUT_RDWR); /* who comes is told at once */
	}
	conns_drain(&w->engine);
}

void
worker_drain(struct worker *w)
{
	loop_post(w->engine.loop, drain, w);
}

static void
stop(void *arg)
{
	struct worker *w = arg;

	drain(w);
	conns_stop(&w->engine);
}

void
worker_stop(struct worker *w)
{
	loop_post(w->engine.loop, stop, w);
}

static void
close_portals(struct worker *w)
{
	struct list *at, *next;

	list_each_safe(at, next, &w->portals)
	{
		struct portal *in = list_entry(at, struct portal, link);
		listener_free(in->listener);
		datagrams_free(in->datagrams);
		free(in);
	}
}

void
worker_free(struct worker *w)
{
	struct engine *e = &w->engine;

	if (w->is_started) {
		loop_stop(e->loop);
		pthread_join(w->thread, NULL);
	}
	chores_stop(e->chores);
	loop_settle(e->loop); /* while all that it may name is there */
	close_portals(w);
	trail_fini(&e->trail);
	origins_fini(&e->origins);
	origins_fini(&e->providers);
	tls_client_free(e->tls);
	tls_server_free(e->tls_server);
	chores_free(e->chores);
	resolver_free(e->resolver);
	loop_free(e->loop);
	pipes_free(e->pipes);
	snapshot_unref(e->snapshot);
	buf_fini(&e->text);
	free(e->scratch);
	free(w);
}
