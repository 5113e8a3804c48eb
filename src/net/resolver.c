/*
 * resolver.c - who waits for which name, and what is known of it
 *
 * A query is one name being asked for; lookups are those who wait for it.  It is
 * concluded when both families are known or patience is at an end, and delivered
 * from an event of its own: never inside start, never inside c-ares.  It stays
 * until c-ares has let go of it.
 */
#include "net/resolver.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/err.h"
#include "base/map.h"
#include "net/cache.h"
#include "net/channel.h"

#define CACHE_MAX 4096
#define QUERIES_MAX 4096 /* under way; beyond it ERR_FULL */
#define QUERIES_EACH 256 /* of one asker: else one with a silent server stops all */
#define GRACE_V6_MS 50   /* RFC 8305 3: what IPv6 may still take once IPv4 is there */
#define GRACE_MS 250
#define DNS_PORT 53

_Static_assert(RESOLVER_SERVERS_MAX == CHANNEL_SERVERS_MAX, "all of them, and no more");

enum { V6, V4, FAMILIES };

static const enum dns_type type_of[FAMILIES] = { [V6] = DNS_AAAA, [V4] = DNS_A };

struct lookup {
	struct list link;
	resolver_done *done;
	void *arg;
};

struct half {
	struct query *query;
	bool is_asked; /* c-ares still holds it */
	bool is_known;
	struct family family;
};

/* Who has questions under way, though it may have gone since. */
struct asker {
	size_t n;
	size_t key_len;
	char key[];
};

struct query {
	struct list link; /* resolver's */
	struct resolver *resolver;
	struct asker *asker; /* of what c-ares holds */
	struct host name;
	struct list lookups;
	struct timer patience;
	struct event deliver;
	msec deadline;
	bool is_joinable; /* it is in `asking` */
	bool is_concluded, is_delivered;
	struct found found;
	struct half half[FAMILIES];
};

struct fixed {
	size_t count;
	struct addr addr[DNS_ADDRS_MAX];
};

struct resolver {
	struct loop *loop;
	struct channel *channel;
	struct list retired; /* channels of configurations before */
	msec timeout_ms;
	struct map hosts; /* name -> struct fixed */
	struct cache cache;
	struct map asking; /* name -> struct query others may join */
	struct map askers; /* key -> struct asker, while it has any */
	struct list queries;
	size_t nasked; /* queries c-ares still holds */
	bool is_dying;
};

/* ---- askers */

static size_t
asker_count(const struct resolver *r, struct str key)
{
	const struct asker *a = map_get(&r->askers, key);

	return a == NULL ? 0 : a->n;
}

static struct asker *
asker_take(struct resolver *r, struct str key)
{
	struct asker *a = map_get(&r->askers, key);

	if (a == NULL) {
		a = mem_zalloc(sizeof(*a) + key.n);
		a->key_len = key.n;
		memcpy(a->key, key.p, key.n);
		map_put(&r->askers, key, a);
	}
	a->n++;
	return a;
}

static void
asker_give(struct resolver *r, struct asker *a)
{
	if (--a->n == 0)
		free(map_del(&r->askers, (struct str){ a->key, a->key_len }));
}

/* ---- queries */

static void
query_release(struct query *q)
{
	if (!q->is_delivered || q->half[V6].is_asked || q->half[V4].is_asked)
		return;
	list_remove(&q->link);
	free(q);
}

static void
on_deliver(evutil_socket_t fd, short what, void *arg)
{
	struct query *q = arg;

	(void)fd, (void)what;
	while (!list_is_empty(&q->lookups)) {
		struct lookup *lookup = list_entry(q->lookups.next, struct lookup, link);
		resolver_done *done = lookup->done;
		void *done_arg = lookup->arg;

		list_remove(&lookup->link);
		free(lookup);
		done(done_arg,
		    &q->found); /* which may cancel others, or free the resolver */
	}
	if (q->resolver->is_dying)
		return;
	q->is_delivered = true;
	query_release(q);
}

/* From here it is found in the cache, if anywhere. */
static void
unlist(struct query *q)
{
	if (!q->is_joinable)
		return;
	map_del(&q->resolver->asking, host_str(&q->name));
	q->is_joinable = false;
}

static void
conclude(struct query *q)
{
	msec keep_ms;

	q->is_concluded = true;
	timer_clear(&q->patience);
	for (int i = 0; i < FAMILIES; i++)
		if (!q->half[i].is_known)
			q->half[i].family.err = ERR_DNS_TIMEOUT;
	keep_ms =
	    found_join(&q->found, &q->name, &q->half[V6].family, &q->half[V4].family);
	if (q->found.err != 0)
		count_add(COUNT_DNS_FAILURES, 1);
	if (q->is_joinable) /* else the configuration has changed since it was asked */
		cache_put(&q->resolver->cache, &q->name, &q->found, keep_ms);
	unlist(q);
	event_active(&q->deliver, EV_TIMEOUT, 0);
}

static void
on_patience(void *arg)
{
	conclude(arg);
}

/* One family is known: how long is the other worth waiting for? */
static msec
grace_ms(const struct query *q)
{
	const struct half *v6 = &q->half[V6], *v4 = &q->half[V4];
	const struct half *known = v4->is_known ? v4 : v6;

	if (known->family.err == 0)
		return known == v4 ? GRACE_V6_MS : GRACE_MS;
	if (known->family.err == ERR_NXDOMAIN)
		return GRACE_MS;
	return INT32_MAX;
}

static void
consider(struct query *q)
{
	struct resolver *r = q->resolver;
	msec left = q->deadline - loop_now(r->loop), grace;

	if (q->half[V6].is_known && q->half[V4].is_known) {
		conclude(q);
		return;
	}
	grace = grace_ms(q);
	if (grace < left)
		timer_set(r->loop, &q->patience, grace);
}

static int
read_answer(struct half *h, struct str message)
{
	struct query *q = h->query;
	enum dns_type type = type_of[h - q->half];

	switch (dns_read_answer(&h->family.answer, message, &q->name, type)) {
	case DNS_OK:
		return 0;
	case DNS_NODATA:
		return ERR_NODATA;
	case DNS_NXDOMAIN:
		return ERR_NXDOMAIN;
	case DNS_SERVFAIL:
	case DNS_BAD:
		return ERR_SERVFAIL;
	}
	return ERR_SERVFAIL;
}

static void
on_answered(void *arg, int err, struct str message)
{
	struct half *h = arg;
	struct query *q = h->query;

	h->is_asked = false;
	if (!q->half[V6].is_asked && !q->half[V4].is_asked) {
		q->resolver->nasked--;
		asker_give(q->resolver, q->asker);
	}
	if (q->is_concluded) { /* too late */
		query_release(q);
		return;
	}
	h->is_known = true;
	h->family.err = err != 0 ? err : read_answer(h, message);
	consider(q);
}

static struct query *
query_new(struct resolver *r, const struct host *name)
{
	struct query *q = mem_zalloc(sizeof(*q));

	q->resolver = r;
	q->name = *name;
	list_init(&q->lookups);
	timer_init(&q->patience, on_patience, q);
	event_assign(&q->deliver, loop_base(r->loop), -1, 0, on_deliver, q);
	list_append(&r->queries, &q->link);
	return q;
}

/* What needs no question is delivered from the loop all the same. */
static struct query *
query_answered(struct resolver *r, const struct host *name, const struct found *found)
{
	struct query *q = query_new(r, name);

	q->found = *found;
	q->is_concluded = true;
	event_active(&q->deliver, EV_TIMEOUT, 0);
	return q;
}

static struct query *
query_ask(struct resolver *r, struct str asker, const struct host *name)
{
	struct query *q = query_new(r, name);

	q->deadline = loop_now(r->loop) + r->timeout_ms;
	q->is_joinable = true;
	map_put(&r->asking, host_str(name), q);
	timer_set(r->loop, &q->patience, r->timeout_ms);
	count_add(COUNT_DNS_QUERIES, 1);
	r->nasked++;
	q->asker = asker_take(r, asker);
	for (int i = 0; i < FAMILIES; i++) {
		q->half[i].query = q;
		q->half[i].is_asked = true;
	}
	for (int i = 0; i < FAMILIES; i++)
		channel_ask(
		    r->channel, q->name.name, (int)type_of[i], on_answered, &q->half[i]);
	return q;
}

/* ---- what needs no question */

static bool
fixed_get(struct resolver *r, const struct host *name, struct found *out)
{
	const struct fixed *fixed = map_get(&r->hosts, host_str(name));

	if (fixed == NULL)
		return false;
	*out = (struct found){ .count = fixed->count,
		.knows_v6 = fixed->count < DNS_ADDRS_MAX,
		.knows_v4 = fixed->count < DNS_ADDRS_MAX,
		.canonical = *name };
	memcpy(out->addr, fixed->addr, fixed->count * sizeof(*fixed->addr));
	if (fixed->count == 0)
		out->err = ERR_NODATA;
	return true;
}

bool
resolver_cached(struct resolver *r, const struct host *name, struct found *out)
{
	if (name->is_literal) {
		*out = (struct found){
			.addr = { name->addr }, .count = 1, .canonical = *name
		};
		return true;
	}
	if (fixed_get(r, name, out))
		return true;
	if (!cache_get(&r->cache, name, out))
		return false;
	count_add(COUNT_DNS_CACHE_HITS, 1);
	return true;
}

/* ---- lookups */

static struct query *
query_for(struct resolver *r, struct str asker, const struct host *name)
{
	struct found found;
	struct query *q;

	if (resolver_cached(r, name, &found))
		return query_answered(r, name, &found);
	if ((q = map_get(&r->asking, host_str(name))) != NULL) {
		count_add(COUNT_DNS_JOINED, 1);
		return q;
	}
	if (r->nasked < QUERIES_MAX && asker_count(r, asker) < QUERIES_EACH)
		return query_ask(r, asker, name);
	count_add(COUNT_DNS_FAILURES, 1);
	found = (struct found){ .err = ERR_FULL, .canonical = *name };
	return query_answered(r, name, &found);
}

struct lookup *
resolver_start(struct resolver *r, struct str asker, const struct host *name,
    resolver_done *done, void *arg)
{
	struct lookup *lookup = mem_alloc(sizeof(*lookup));
	struct query *q = query_for(r, asker, name);

	*lookup = (struct lookup){ .done = done, .arg = arg };
	list_append(&q->lookups, &lookup->link);
	return lookup;
}

/* The query goes on: its answer is worth keeping. */
void
lookup_cancel(struct lookup *l)
{
	if (l == NULL)
		return;
	list_remove(&l->link);
	free(l);
}

/* ---- configuration */

static bool
server_parse(struct endpoint *out, const char *text)
{
	struct str s = str_of(text);

	*out = (struct endpoint){ .port = DNS_PORT };
	return addr_parse(&out->addr, s) || endpoint_parse(out, s);
}

static struct channel *
open_channel(struct loop *l, const struct resolver_options *o, const char **why)
{
	struct endpoint server[CHANNEL_SERVERS_MAX];

	if (o->nserver > CHANNEL_SERVERS_MAX) {
		*why = "more than 8 name servers";
		return NULL;
	}
	for (size_t i = 0; i < o->nserver; i++)
		if (!server_parse(&server[i], o->server[i])) {
			*why = "a name server is neither an address nor an address and a "
			       "port";
			return NULL;
		}
	return channel_new(l, server, o->nserver, o->timeout_ms, why);
}

static void
set_hosts(struct resolver *r, const struct resolver_options *o)
{
	map_fini(&r->hosts, free);
	map_init(&r->hosts);
	for (size_t i = 0; i < o->nhost; i++) {
		const struct static_host *h = &o->host[i];
		struct fixed *fixed = mem_zalloc(sizeof(*fixed));

		fixed->count = h->naddr < DNS_ADDRS_MAX ? h->naddr : DNS_ADDRS_MAX;
		memcpy(fixed->addr, h->addr, fixed->count * sizeof(*fixed->addr));
		free(map_put(&r->hosts, host_str(&h->host), fixed));
	}
}

struct resolver *
resolver_new(struct loop *l, const struct resolver_options *o, const char **why)
{
	struct channel *channel = open_channel(l, o, why);
	struct resolver *r;

	if (channel == NULL)
		return NULL;
	r = mem_zalloc(sizeof(*r));
	r->loop = l;
	r->channel = channel;
	r->timeout_ms = o->timeout_ms;
	map_init(&r->hosts);
	cache_init(&r->cache, l, CACHE_MAX);
	map_init(&r->asking);
	map_init(&r->askers);
	list_init(&r->retired);
	list_init(&r->queries);
	set_hosts(r, o);
	return r;
}

bool
resolver_reconfigure(
    struct resolver *r, const struct resolver_options *o, const char **why)
{
	struct channel *channel = open_channel(r->loop, o, why);
	struct list *at;

	if (channel == NULL)
		return false;
	list_each(at, &r->queries) unlist(list_entry(at, struct query, link));
	cache_clear(&r->cache);
	set_hosts(r, o);
	r->timeout_ms = o->timeout_ms;
	channel_retire(r->channel, &r->retired);
	r->channel = channel;
	return true;
}

size_t
resolver_servers(
    const struct resolver_options *o, struct endpoint out[static RESOLVER_SERVERS_MAX])
{
	struct loop *l = loop_new();
	const char *why;
	struct channel *c = open_channel(l, o, &why);
	size_t n = c == NULL ? 0 : channel_servers(c, out, RESOLVER_SERVERS_MAX);

	channel_free(c);
	loop_free(l);
	return n;
}

static void
query_abandon(struct query *q)
{
	struct loop *l = q->resolver->loop;

	while (!list_is_empty(&q->lookups))
		lookup_cancel(list_entry(q->lookups.next, struct lookup, link));
	timer_clear(&q->patience);
	event_del(&q->deliver);
	list_remove(&q->link);
	loop_free_later(l, free, q); /* it may be delivering */
}

void
resolver_free(struct resolver *r)
{
	if (r == NULL)
		return;
	r->is_dying = true;
	channel_free(r->channel);
	channels_free(&r->retired);
	while (!list_is_empty(&r->queries))
		query_abandon(list_entry(r->queries.next, struct query, link));
	cache_clear(&r->cache);
	map_fini(&r->asking, NULL);
	map_fini(&r->askers, free);
	map_fini(&r->hosts, free);
	loop_free_later(r->loop, free, r);
}
