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
#include "net/channel.h"

#define CACHE_MAX 4096
#define QUERIES_MAX 1024 /* under way; beyond it ERR_FULL */
#define TTL_MAX_MS 30000
#define PARTIAL_MAX_MS 5000 /* one family failed: it is asked again soon */
#define GRACE_V6_MS 50      /* RFC 8305 3: what IPv6 may still take once IPv4 is there */
#define GRACE_MS 250
#define DNS_PORT 53

enum { V6, V4, FAMILIES };

static const enum dns_type type_of[FAMILIES] = { [V6] = DNS_AAAA, [V4] = DNS_A };

struct lookup {
	struct list link;
	resolver_done *done;
	void *arg;
};

struct family {
	struct query *query;
	bool is_asked; /* c-ares still holds it */
	bool is_known;
	int err;
	struct dns_answer answer; /* when err is 0 */
};

struct query {
	struct list link; /* resolver's */
	struct resolver *resolver;
	struct host name;
	struct list lookups;
	struct timer patience;
	struct event deliver;
	msec deadline;
	bool is_joinable; /* it is in `asking` */
	bool is_concluded, is_delivered;
	struct found found;
	struct family family[FAMILIES];
};

struct entry {
	struct list link; /* oldest first */
	struct host name;
	msec until;
	int err;
	struct host canonical;
	unsigned chain;
	size_t count;
	struct addr addr[];
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
	struct map cache; /* name -> struct entry */
	struct list entries;
	struct map asking; /* name -> struct query others may join */
	struct list queries;
	size_t nasked; /* queries c-ares still holds */
	bool is_dying;
};

/* How long a failure is remembered. */
static const struct {
	int err;
	msec ms;
} memory[] = {
	{ ERR_NXDOMAIN, 5000 },
	{ ERR_NODATA, 5000 },
	{ ERR_SERVFAIL, 2000 },
	{ ERR_DNS_TIMEOUT, 1000 },
};

/* ---- the cache */

static void
entry_drop(struct resolver *r, struct entry *e)
{
	map_del(&r->cache, host_str(&e->name));
	list_remove(&e->link);
	free(e);
}

static void
cache_clear(struct resolver *r)
{
	while (!list_is_empty(&r->entries))
		entry_drop(r, list_entry(r->entries.next, struct entry, link));
}

static bool
cache_get(struct resolver *r, const struct host *name, struct found *out)
{
	struct entry *e = map_get(&r->cache, host_str(name));

	if (e == NULL)
		return false;
	if (e->until <= loop_now(r->loop)) {
		entry_drop(r, e);
		return false;
	}
	*out = (struct found){ .err = e->err,
		.count = e->count,
		.canonical = e->canonical,
		.chain = e->chain };
	memcpy(out->addr, e->addr, e->count * sizeof(*e->addr));
	count_add(COUNT_DNS_CACHE_HITS, 1);
	return true;
}

static void
cache_put(
    struct resolver *r, const struct host *name, const struct found *found, msec keep_ms)
{
	struct entry *e = map_get(&r->cache, host_str(name));

	if (e != NULL)
		entry_drop(r, e);
	if (keep_ms <= 0)
		return;
	if (r->cache.n >= CACHE_MAX)
		entry_drop(r, list_entry(r->entries.next, struct entry, link));
	e = mem_alloc(sizeof(*e) + found->count * sizeof(*e->addr));
	*e = (struct entry){ .name = *name,
		.until = loop_now(r->loop) + keep_ms,
		.err = found->err,
		.canonical = found->canonical,
		.chain = found->chain,
		.count = found->count };
	memcpy(e->addr, found->addr, found->count * sizeof(*e->addr));
	list_append(&r->entries, &e->link);
	map_put(&r->cache, host_str(name), e);
}

static msec
keep_ms(const struct query *q)
{
	msec least = TTL_MAX_MS;

	for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
		if (memory[i].err == q->found.err)
			return memory[i].ms;
	for (int i = 0; i < FAMILIES; i++) {
		const struct family *f = &q->family[i];
		msec limit = TTL_MAX_MS;

		if (f->err == 0)
			limit = (msec)f->answer.ttl * 1000;
		else if (f->err == ERR_SERVFAIL || f->err == ERR_DNS_TIMEOUT)
			limit = PARTIAL_MAX_MS;
		if (limit < least)
			least = limit;
	}
	return least;
}

/* ---- two families, one answer */

/*
 * Neither has addresses.  NXDOMAIN is about the name, so one family's word
 * outweighs the other's fault, but not that the other says the name is there.
 */
static int
common_failure(int a, int b)
{
	static const int order[] = { ERR_NXDOMAIN, ERR_SERVFAIL, ERR_DNS_TIMEOUT,
		ERR_NODATA };

	if (a == ERR_NODATA && b == ERR_NXDOMAIN)
		return ERR_NODATA;
	if (b == ERR_NODATA && a == ERR_NXDOMAIN)
		return ERR_NODATA;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return ERR_SERVFAIL;
}

static void
interleave(struct found *out, const struct dns_answer *v6, const struct dns_answer *v4)
{
	for (size_t i = 0; i < DNS_ADDRS_MAX; i++) {
		if (i < v6->count && out->count < DNS_ADDRS_MAX)
			out->addr[out->count++] = v6->addr[i];
		if (i < v4->count && out->count < DNS_ADDRS_MAX)
			out->addr[out->count++] = v4->addr[i];
	}
}

static void
merge(struct query *q)
{
	const struct family *v6 = &q->family[V6], *v4 = &q->family[V4];
	const struct dns_answer *named = v4->err == 0 ? &v4->answer : &v6->answer;

	q->found = (struct found){ .canonical = q->name };
	if (v6->err != 0 && v4->err != 0) {
		q->found.err = common_failure(v6->err, v4->err);
		return;
	}
	interleave(&q->found, &v6->answer, &v4->answer);
	q->found.canonical = named->canonical;
	q->found.chain = named->chain;
}

/* ---- queries */

static void
query_release(struct query *q)
{
	if (!q->is_delivered || q->family[V6].is_asked || q->family[V4].is_asked)
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
	q->is_concluded = true;
	timer_clear(&q->patience);
	for (int i = 0; i < FAMILIES; i++)
		if (!q->family[i].is_known)
			q->family[i].err = ERR_DNS_TIMEOUT;
	merge(q);
	if (q->found.err != 0)
		count_add(COUNT_DNS_FAILURES, 1);
	if (q->is_joinable) /* else the configuration has changed since it was asked */
		cache_put(q->resolver, &q->name, &q->found, keep_ms(q));
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
	const struct family *v6 = &q->family[V6], *v4 = &q->family[V4];
	const struct family *known = v4->is_known ? v4 : v6;

	if (known->err == 0)
		return known == v4 ? GRACE_V6_MS : GRACE_MS;
	if (known->err == ERR_NXDOMAIN)
		return GRACE_MS;
	return INT32_MAX;
}

static void
consider(struct query *q)
{
	struct resolver *r = q->resolver;
	msec left = q->deadline - loop_now(r->loop), grace;

	if (q->family[V6].is_known && q->family[V4].is_known) {
		conclude(q);
		return;
	}
	grace = grace_ms(q);
	if (grace < left)
		timer_set(r->loop, &q->patience, grace);
}

static int
read_answer(struct family *f, struct str message)
{
	switch (dns_read_answer(
	    &f->answer, message, &f->query->name, type_of[f - f->query->family])) {
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
	struct family *f = arg;
	struct query *q = f->query;

	f->is_asked = false;
	if (!q->family[V6].is_asked && !q->family[V4].is_asked)
		q->resolver->nasked--;
	if (q->is_concluded) { /* too late */
		query_release(q);
		return;
	}
	f->is_known = true;
	f->err = err != 0 ? err : read_answer(f, message);
	if (f->err != 0)
		f->answer.count = 0;
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
query_ask(struct resolver *r, const struct host *name)
{
	struct query *q = query_new(r, name);

	q->deadline = loop_now(r->loop) + r->timeout_ms;
	q->is_joinable = true;
	map_put(&r->asking, host_str(name), q);
	timer_set(r->loop, &q->patience, r->timeout_ms);
	count_add(COUNT_DNS_QUERIES, 1);
	r->nasked++;
	for (int i = 0; i < FAMILIES; i++) {
		q->family[i].query = q;
		q->family[i].is_asked = true;
	}
	for (int i = 0; i < FAMILIES; i++)
		channel_ask(r->channel, q->name.name, (int)type_of[i], on_answered,
		    &q->family[i]);
	return q;
}

/* ---- what needs no question */

static bool
fixed_get(struct resolver *r, const struct host *name, struct found *out)
{
	const struct fixed *fixed = map_get(&r->hosts, host_str(name));

	if (fixed == NULL)
		return false;
	*out = (struct found){ .count = fixed->count, .canonical = *name };
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
	return fixed_get(r, name, out) || cache_get(r, name, out);
}

/* ---- lookups */

static struct query *
query_for(struct resolver *r, const struct host *name)
{
	struct found found;
	struct query *q;

	if (resolver_cached(r, name, &found))
		return query_answered(r, name, &found);
	if ((q = map_get(&r->asking, host_str(name))) != NULL) {
		count_add(COUNT_DNS_JOINED, 1);
		return q;
	}
	if (r->nasked < QUERIES_MAX)
		return query_ask(r, name);
	count_add(COUNT_DNS_FAILURES, 1);
	found = (struct found){ .err = ERR_FULL, .canonical = *name };
	return query_answered(r, name, &found);
}

struct lookup *
resolver_start(
    struct resolver *r, const struct host *name, resolver_done *done, void *arg)
{
	struct lookup *lookup = mem_alloc(sizeof(*lookup));
	struct query *q = query_for(r, name);

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
	map_init(&r->cache);
	map_init(&r->asking);
	list_init(&r->retired);
	list_init(&r->entries);
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
	cache_clear(r);
	set_hosts(r, o);
	r->timeout_ms = o->timeout_ms;
	channel_retire(r->channel, &r->retired);
	r->channel = channel;
	return true;
}

size_t
resolver_servers(const struct resolver *r, struct endpoint *out, size_t max)
{
	return channel_servers(r->channel, out, max);
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
	cache_clear(r);
	map_fini(&r->cache, NULL);
	map_fini(&r->asking, NULL);
	map_fini(&r->hosts, free);
	loop_free_later(r->loop, free, r);
}
