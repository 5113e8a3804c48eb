/*
 * exchange.c - the dossier: one question, what became of it, one record
 */
#include "proxy/exchange.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/err.h"

/* Heads point into the request's buffer; this is for field arrays, rules' prefixes,
 * verdicts. */
#define ARENA_MAX ((size_t)256 * 1024)

struct exchange *
exchange_begin(struct engine *e, const char *parent)
{
	struct exchange *x = mem_zalloc(sizeof(*x));

	x->snapshot = snapshot_ref(e->snapshot);
	arena_init(&x->arena, ARENA_MAX);
	exchange_id_make(x->id);
	if (parent != NULL)
		memcpy(x->parent, parent, sizeof(x->parent));
	x->kind = RECORD_HTTP;
	x->has_place = journal_reserve(e->journal);
	x->wall = clock_wall_us();
	x->begun = clock_mono_us();
	x->dns_ms = x->connect_ms = -1;
	count_add(COUNT_EXCHANGES, 1);
	count_add(COUNT_EXCHANGES_OPEN, 1);
	return x;
}

static bool
refused(struct exchange *x)
{
	x->reason = x->verdict.reason;
	x->error = x->verdict.why;
	return false;
}

bool
exchange_admit(struct exchange *x)
{
	ask_facts(&x->facts, &x->ask);
	if (match_admit(x->snapshot->rules, &x->facts, &x->arena, &x->admitted,
		&x->verdict, NULL))
		return true;
	return refused(x);
}

static void
keep_answer(struct exchange *x, const struct found *found)
{
	for (; x->nanswer < found->count &&
	       x->nanswer < sizeof(x->answer) / sizeof(x->answer[0]);
	     x->nanswer++)
		x->answer[x->nanswer] = found->addr[x->nanswer];
	if (found->chain > 0 && !host_eq(&found->canonical, &x->ask.host))
		x->canonical = mem_strdup(found->canonical.name);
}

bool
exchange_vet(struct exchange *x, const struct found *found)
{
	if (x->resolving != 0)
		x->dns_ms = (clock_mono_us() - x->resolving) / 1000;
	if (found->err != 0) {
		x->reason = reason_of_dns(found->err);
		x->error = err_text(found->err);
		return false;
	}
	keep_answer(x, found);
	if (match_address(x->snapshot->rules, &x->facts, &x->admitted, found->addr,
		found->count, &x->snapshot->place, &x->vetted, &x->verdict, NULL))
		return true;
	x->dropped = x->verdict.why;
	return refused(x);
}

bool
exchange_judge(struct exchange *x)
{
	match_judge(x->snapshot->rules, &x->facts, &x->arena,
	    x->has_upstream ? &x->upstream.addr : NULL, &x->snapshot->place, &x->verdict,
	    NULL);
	return x->verdict.allow || refused(x);
}

/* The same three questions under the new rules, for the address in use. */
static bool
judge_again(struct exchange *x, struct snapshot *s, struct admitted *in,
    struct verdict *v, struct arena *a)
{
	struct vetted out;

	if (!match_admit(s->rules, &x->facts, a, in, v, NULL) ||
	    !match_address(
		s->rules, &x->facts, in, &x->upstream.addr, 1, &s->place, &out, v, NULL))
		return false;
	if (!x->verdict
		 .allow) /* its first bytes are still to come: they will be judged */
		return true;
	if (x->facts.protocols == PROTOCOL_HTTP) /* its requests are judged one by one */
		return (in->protocols & PROTOCOL_HTTP) != 0;
	match_judge(s->rules, &x->facts, a, &x->upstream.addr, &s->place, v, NULL);
	return v->allow;
}

bool
exchange_rejudge(struct exchange *x, struct snapshot *s)
{
	struct verdict v = { 0 };
	struct admitted in;

	count_add(COUNT_TUNNELS_REJUDGED, 1);
	if (!judge_again(x, s, &in, &v, &x->arena)) {
		x->verdict.why =
		    v.why; /* static or the new ruleset's, which outlives this call */
		arena_fini(&x->arena);
		return false;
	}
	if (v.allow) {
		v.allow_methods = STR_NONE;
		x->verdict = v;
		arena_fini(&x->arena); /* an idle tunnel keeps the dossier only */
	} else if (!x->verdict.allow) {
		x->admitted = in;
	} else {
		return true; /* the outer exchange of plain HTTP keeps what it was allowed
				by */
	}
	snapshot_ref(s);
	snapshot_unref(x->snapshot); /* old rules can go */
	x->snapshot = s;
	return true;
}

void
exchange_resolving(struct engine *e, struct exchange *x)
{
	(void)e;
	x->resolving = clock_mono_us();
}

void
exchange_dialling(struct engine *e, struct exchange *x)
{
	(void)e;
	x->dialling = clock_mono_us();
}

void
exchange_dialled(
    struct engine *e, struct exchange *x, const struct endpoint *to, bool is_reused)
{
	(void)e;
	x->upstream = *to;
	x->has_upstream = true;
	if (is_reused) {
		x->flags |= FLAG_REUSED;
		count_add(COUNT_UPSTREAM_REUSED, 1);
	} else {
		x->connect_ms = (clock_mono_us() - x->dialling) / 1000;
	}
}

static const struct {
	int err;
	enum reason reason;
} faults[] = {
	{ ERR_NXDOMAIN, REASON_DNS_FAILED },
	{ ERR_NODATA, REASON_DNS_FAILED },
	{ ERR_SERVFAIL, REASON_DNS_FAILED },
	{ ERR_DNS_TIMEOUT, REASON_DNS_TIMEOUT },
	{ ERR_FULL, REASON_OVERLOADED },
	{ ERR_DESCRIPTORS, REASON_OVERLOADED },
	{ ERR_REFUSED, REASON_CONNECT_REFUSED },
	{ ERR_UNROUTABLE, REASON_CONNECT_UNROUTABLE },
	{ ERR_TIMEOUT, REASON_CONNECT_TIMEOUT },
};

static enum reason
reason_of(int err, enum reason other)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (faults[i].err == err)
			return faults[i].reason;
	return other;
}

enum reason
reason_of_dns(int err)
{
	return reason_of(err, REASON_DNS_FAILED);
}

enum reason
reason_of_dial(int err)
{
	return reason_of(err, REASON_CONNECT_FAILED);
}

/* ---- the end ---- */

static const struct {
	enum flag flag;
	const char *name;
} flags[] = {
	{ FLAG_REUSED, "reused" },
	{ FLAG_RETRIED, "retried" },
	{ FLAG_WEBSOCKET, "websocket" },
	{ FLAG_DELAYED, "delayed" },
};

static const char *const closers[] = {
	[CLOSE_NOBODY] = NULL,
	[CLOSE_CLIENT] = "client",
	[CLOSE_ORIGIN] = "origin",
	[CLOSE_WEIR] = "weir",
};

static void
fill_target(struct record *r, const struct exchange *x)
{
	if (x->ask.host.len > 0) {
		r->host = &x->ask.host;
		r->port = x->ask.port;
	} else {
		r->host_raw = x->head.target;
	}
	r->method = x->head.method;
	r->path = x->ask.has_request ? x->ask.path : STR_NONE;
	r->query = x->ask.query;
	if (x->verdict.allow)
		r->protocol = protocol_name(x->verdict.protocol);
	else if (x->ask.has_request)
		r->protocol = protocol_name(PROTOCOL_HTTP);
}

static void
fill_network(struct record *r, const struct exchange *x)
{
	r->dns_canonical = x->canonical;
	r->answer = x->answer;
	r->nanswer = x->nanswer;
	r->dns_dropped = x->dropped;
	if (x->facts.has_hello && x->facts.has_sni && x->facts.is_sni_equal)
		r->sni = x->ask.host.name;
	r->has_ech = x->facts.has_ech;
	r->upstream = x->has_upstream ? &x->upstream : NULL;
	r->has_assurance = x->verdict.allow;
	r->assurance = x->verdict.assurance;
}

static void
fill_times(struct record *r, const struct exchange *x)
{
	r->ts = x->wall;
	r->total_ms = (clock_mono_us() - x->begun) / 1000;
	r->dns_ms = x->dns_ms;
	r->connect_ms = x->connect_ms;
	r->ttfb_ms = x->answered != 0 ? (x->answered - x->begun) / 1000 : -1;
}

static void
write_record(struct engine *e, const struct exchange *x, const char *client)
{
	struct record r = {
		.id = x->id,
		.parent = x->parent[0] != '\0' ? x->parent : NULL,
		.seq = journal_next_seq(e->journal),
		.kind = x->kind,
		.verdict = &x->verdict,
		.allowed = x->verdict.allow,
		.reason = x->reason,
		.ruleset = x->snapshot->rules,
		.generation = x->snapshot->generation,
		.client_addr = client,
		.door = "proxy",
		.up = x->up,
		.down = x->down,
		.status = x->status,
		.close = closers[x->closed_by],
		.error = str_of(x->error),
	};
	const struct http_field *trace = http_field(&x->head, STR("Traceparent"));

	fill_target(&r, x);
	fill_network(&r, x);
	fill_times(&r, x);
	if (trace != NULL)
		r.traceparent = trace->value;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (x->flags & flags[i].flag)
			r.flag[r.nflag++] = flags[i].name;
	buf_reset(&e->text);
	record_print(&r, x->snapshot->redactor, &e->text);
	journal_write(e->journal, buf_view(&e->text));
	buf_reset(&e->text);
}

static void
count_end(const struct exchange *x)
{
	count_add(COUNT_EXCHANGES_OPEN, -1);
	count_add(COUNT_BYTES_UP, (int64_t)x->up);
	count_add(COUNT_BYTES_DOWN, (int64_t)x->down);
	if (x->verdict.allow)
		count_add(COUNT_ALLOWED, 1);
	if (x->reason != REASON_NONE)
		count_add_at(COUNT_REFUSED, x->reason, 1);
}

void
exchange_end(struct engine *e, struct exchange *x, const char *client)
{
	if (x->has_place)
		write_record(e, x, client);
	count_end(x);
	arena_fini(&x->arena);
	free(x->canonical);
	snapshot_unref(x->snapshot);
	free(x);
}
