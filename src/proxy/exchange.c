/*
 * exchange.c - the dossier: one question, what became of it, one record
 */
#include "proxy/exchange.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/err.h"
#include "proxy/sent.h"
#include "proxy/upload.h"

/* Heads point into the request's buffer; this is for field arrays, rules' prefixes,
 * verdicts. */
#define ARENA_MAX ((size_t)256 * 1024)

#define ACCOUNT_MAX 1024

static const struct http_head no_head;
static const struct http_head connect_head = { .method = { "CONNECT", 7 }, .minor = 1 };

struct exchange *
exchange_begin(struct engine *e, const char *door, const char *parent)
{
	struct exchange *x = mem_zalloc(sizeof(*x));

	x->snapshot = snapshot_ref(e->snapshot);
	x->uploads = e->uploads;
	x->has_ledger = e->ledger != NULL;
	arena_init(&x->arena, ARENA_MAX);
	exchange_id_make(x->id);
	x->door = door;
	x->parent = parent;
	x->kind = RECORD_HTTP;
	x->head = &no_head;
	x->has_place = journal_reserve(e->journal);
	x->wall = clock_wall_us();
	x->begun = clock_mono_us();
	x->dns_ms = x->connect_ms = -1;
	count_add(COUNT_EXCHANGES, 1);
	count_add(COUNT_EXCHANGES_OPEN, 1);
	return x;
}

void
exchange_forget_head(struct exchange *x)
{
	x->head = x->kind == RECORD_CONNECT ? &connect_head : &no_head;
	x->ask.head = NULL;
}

static bool
refused(struct exchange *x)
{
	x->reason = x->verdict.reason;
	x->error = x->verdict.why;
	return false;
}

/* What is known by now. */
static struct facts
facts_of(const struct exchange *x)
{
	struct facts f;

	ask_facts(&f, &x->ask);
	if (x->first.protocols != 0)
		f.protocols = x->first.protocols;
	f.has_hello = x->first.has_hello;
	f.has_sni = x->first.has_sni;
	f.has_ech = x->first.has_ech;
	f.is_sni_equal = x->first.is_sni_equal;
	return f;
}

/* By what whoever asks is judged: its profile's rules, within them the networks of its
 * session and that one's ancestors.  NULL: the profile is gone, or there is no room. */
static const struct ruleset *
rules_of(const struct exchange *x, const struct snapshot *s, struct arena *a)
{
	const struct caller *who = x->who;
	const struct ruleset *outer = snapshot_rules(s, who == NULL ? NULL : who->grant);
	struct grant *inner[1 + SESSION_ANCESTORS];
	size_t n = 0;

	if (outer == NULL || who == NULL)
		return outer;
	if (who->grant->network != NULL)
		inner[n++] = who->grant;
	for (size_t i = 0; i < who->nkin; i++)
		if (who->kin[i]->network != NULL)
			inner[n++] = who->kin[i];
	return n == 0 ? outer : grants_narrow(outer, inner, n, a);
}

static const struct ruleset *
own_rules(struct exchange *x)
{
	if (x->rules == NULL)
		x->rules = rules_of(x, x->snapshot, &x->arena);
	return x->rules;
}

/* Of a provider that is metered in place. */
static const struct route *
route_of(const struct exchange *x, const struct snapshot *s)
{
	return routes_of_host(s->routes, &x->ask.host, x->ask.port);
}

bool
exchange_admit(struct exchange *x)
{
	struct facts f = facts_of(x);

	if (own_rules(x) == NULL) {
		x->reason = REASON_PROFILE_UNKNOWN;
		return false;
	}
	if (!match_admit(x->rules, &f, &x->arena, &x->admitted, &x->verdict, NULL))
		return refused(x);
	x->route = x->admitted.is_metered ? route_of(x, x->snapshot) : NULL;
	return true;
}

bool
exchange_knows(struct exchange *x, const struct grant *by, const struct host *other)
{
	const struct ruleset *rules = snapshot_rules(x->snapshot, by);
	struct facts f = facts_of(x);
	struct admitted admitted;

	f.host = other;
	return rules == NULL ||
	       match_admit(rules, &f, &x->arena, &admitted, &x->verdict, NULL) ||
	       refused(x);
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
reason_of_dial(int err)
{
	return reason_of(err, REASON_CONNECT_FAILED);
}

enum reason
reason_of_lookup(int err)
{
	return reason_of(err, REASON_DNS_FAILED);
}

static void
keep_answer(struct exchange *x, const struct found *found)
{
	assert(x->answer == NULL && found->count <= DNS_ADDRS_MAX);
	x->nanswer = (uint8_t)found->count;
	x->answer = mem_alloc(found->count * sizeof(*x->answer));
	memcpy(x->answer, found->addr, found->count * sizeof(*x->answer));
	if (found->chain > 0 && !host_eq(&found->canonical, &x->ask.host))
		x->canonical = mem_strdup(found->canonical.name);
}

static bool
vet_provider(struct exchange *x, const struct found *found)
{
	struct opened opened = route_opened(x->snapshot->settings);

	if (guard_vet(x->vetted, found->addr, found->count, x->route->port,
		&x->snapshot->place, &opened, &x->dropped))
		return true;
	x->reason = REASON_ADDRESS_DENIED;
	x->error = x->dropped;
	return false;
}

bool
exchange_vet(struct exchange *x, const struct found *found)
{
	struct facts f;

	if (x->resolving != 0)
		x->dns_ms = (clock_mono_us() - x->resolving) / 1000;
	if (found->err != 0) {
		x->reason = reason_of_lookup(found->err);
		x->error = err_text(found->err);
		return false;
	}
	keep_answer(x, found);
	x->vetted = arena_alloc(&x->arena, sizeof(*x->vetted));
	if (x->vetted == NULL) {
		x->reason = REASON_OVERLOADED;
		return false;
	}
	if (x->route != NULL)
		return vet_provider(x, found);
	f = facts_of(x);
	if (match_address(own_rules(x), &f, &x->admitted, found->addr, found->count,
		&x->snapshot->place, x->vetted, &x->verdict, NULL))
		return true;
	x->dropped = x->verdict.why;
	return refused(x);
}

/* a session's name begins with a length, and none is so large */
void
exchange_account(const struct exchange *x, struct buf *out)
{
	if (x->who != NULL) {
		buf_str(out, session_name(session_root(x->who->session)));
		return;
	}
	buf_char(out, '\xff');
	buf_str(out, client_name(x->share));
}

#define NO_SESSION STR("\xff") /* all that have none share one part */
#define UNWRITTEN_BYTES 1024   /* of a record that is not written */

/* Who has a session has one writer with its family, who has none has the client's. */
static struct writer *
writer_of(struct engine *e, struct exchange *x)
{
	struct buf account;

	if (x->who != NULL)
		return x->who->writer;
	if (*x->writer == NULL) {
		buf_init(&account, ACCOUNT_MAX);
		exchange_account(x, &account);
		*x->writer = writer_ref(e->writers, NO_SESSION, buf_view(&account));
		buf_fini(&account);
	}
	return *x->writer;
}

bool
exchange_may_record(struct engine *e, struct exchange *x)
{
	return writer_may(writer_of(e, x));
}

bool
exchange_may_write(struct engine *e, struct exchange *x)
{
	x->may_write = exchange_may_record(e, x);
	if (x->may_write)
		return true;
	writer_wrote(writer_of(e, x), UNWRITTEN_BYTES);
	count_add(COUNT_AUDIT_CROWDED, 1);
	return false;
}

static uint64_t
announced(const struct exchange *x)
{
	return x->head->framing == HTTP_LENGTH ? x->head->length : 0;
}

/* `sent`: what it has sent itself, as far as that is known here; `length`: of the body
 * that is still to be. */
static bool
may_send(struct exchange *x, uint64_t sent, uint64_t length)
{
	bool was_capped = x->lease.upload != NULL;
	struct upload_ask ask = {
		.all = x->uploads,
		.host = host_str(&x->ask.host),
		.owner = { .until = UPLOAD_FOREVER },
		.claim = SESSION_UNLIMITED,
		.limit = x->snapshot->settings->limits_upload,
		.length = length,
		.uncounted = sent - x->counted,
	};
	struct buf account;
	bool may;

	if (route_is_metered(x->route))
		return true;
	if (x->who != NULL) {
		ask.owner = sent_owner(x->who->session);
		ask.owner.is_kept = x->has_ledger;
		ask.claim = session_upload(x->who->session);
	}
	if (x->verdict.upload == 0 && ask.limit == 0 && ask.claim < 0 && !was_capped)
		return true; /* nothing is allocated for who has no cap */
	buf_init(&account, ACCOUNT_MAX);
	exchange_account(x, &account);
	ask.owner.session = buf_view(&account);
	may = upload_judge(&x->lease, &x->verdict, &ask);
	if (was_capped && x->lease.upload == NULL)
		x->counted = sent;
	buf_fini(&account);
	return may;
}

bool
exchange_judge(struct exchange *x)
{
	struct facts f = facts_of(x);

	match_judge(own_rules(x), &f, &x->arena,
	    x->has_upstream ? &x->upstream.addr : NULL, &x->snapshot->place, &x->verdict,
	    NULL);
	return (x->verdict.allow && may_send(x, 0, announced(x))) || refused(x);
}

bool
exchange_may_call(struct exchange *x, uint64_t read)
{
	uint64_t length = read > announced(x) ? read : announced(x);

	return x->route == NULL || may_send(x, 0, length) || refused(x);
}

bool
exchange_foresee(struct exchange *x)
{
	bool may;

	if (!x->ask.has_request && !x->admitted.is_tcp)
		return true;
	if (!x->ask.has_request)
		x->first.protocols = PROTOCOL_TCP;
	may = exchange_judge(x);
	if (!x->ask.has_request)
		x->first.protocols = 0; /* a reload may leave something else */
	x->verdict.allow = false;       /* not before the address is known, too */
	return may;
}

bool
exchange_inject(struct exchange *x, bool is_tls)
{
	const struct rule *by = x->verdict.injector;
	struct injection_ask ask = {
		.vault = x->snapshot->vault,
		.how = by != NULL ? by->inject : NULL,
		.host = &x->ask.host,
		.path = x->ask.path,
		.query = x->ask.query,
		.head = x->head,
		.has_session = x->grant != NULL,
		.tenant = x->grant != NULL ? x->grant->tenant : STR(""),
		.is_tls = is_tls,
		.arena = &x->arena,
	};
	const char *why;

	if (ask.vault->n == 0)
		return true;
	x->reason = injection_judge(&x->injection, &ask, &why);
	if (x->reason == REASON_NONE)
		return true;
	x->error = why;
	return false;
}

void
exchange_shrink(struct exchange *x)
{
	x->vetted = NULL;
	x->rules = NULL;
	arena_fini(&x->arena);
}

/* A deny rule with addresses must see them. */
static bool
denies_addresses(const struct ruleset *rules)
{
	for (size_t i = 0; i < rules->nlayer; i++)
		if (rules->layer[i]->has_address_deny)
			return true;
	return false;
}

bool
exchange_trusts_parent(struct exchange *x)
{
	if (x->route != NULL || !denies_addresses(own_rules(x)))
		return true;
	x->verdict.reason = REASON_ADDRESS_DENIED;
	x->verdict.why = "a deny rule names addresses, and only the parent proxy would "
			 "know this name's";
	return refused(x);
}

/* May it be there, by these rules?  NULL: only the parent proxy knows where. */
static bool
is_address_open(const struct ruleset *rules, const struct facts *f,
    const struct admitted *in, const struct addr *a, const struct place *place,
    struct verdict *v)
{
	struct vetted out;

	if (a == NULL)
		return !denies_addresses(rules);
	return match_address(rules, f, in, a, 1, place, &out, v, NULL);
}

/* What flows unseen, bytes or messages, cannot be seen any more. */
static bool
is_too_late(const struct exchange *x, const struct verdict *v)
{
	if ((x->flags & FLAG_WEBSOCKET) != 0 && x->verdict.dlp == DLP_NONE &&
	    v->dlp != DLP_NONE)
		return true;
	return v->needs_sight && (x->flags & FLAG_INTERCEPTED) == 0;
}

/* The same three questions under the new rules, for the address in use. */
static bool
judge_again(const struct exchange *x, const struct snapshot *s, struct admitted *in,
    struct verdict *v, struct arena *a)
{
	const struct ruleset *rules = rules_of(x, s, a);
	const struct addr *at = x->has_upstream ? &x->upstream.addr : NULL;
	struct facts f = facts_of(x);

	if (rules == NULL)
		return false;
	if (!match_admit(rules, &f, a, in, v, NULL))
		return false;
	/* a provider's no more, and nothing was vetted; or only now, and its way is
	 * another */
	if ((x->route != NULL) != in->is_metered)
		return false;
	if (!in->is_metered && !is_address_open(rules, &f, in, at, &s->place, v))
		return false;
	/* its requests are judged one by one */
	if (x->first.protocols == PROTOCOL_HTTP && !x->ask.has_request)
		return (in->protocols & PROTOCOL_HTTP) != 0;
	match_judge(rules, &f, a, at, &s->place, v, NULL);
	return v->allow && !is_too_late(x, v);
}

static void
move_to(struct exchange *x, struct snapshot *s)
{
	snapshot_ref(s);
	snapshot_unref(x->snapshot); /* old rules can go */
	x->snapshot = s;
	x->rules = NULL;
}

bool
exchange_vet_upstream(struct exchange *x)
{
	struct facts f = facts_of(x);
	struct vetted out;

	if (!x->has_upstream)
		return exchange_trusts_parent(x);
	if (match_address(own_rules(x), &f, &x->admitted, &x->upstream.addr, 1,
		&x->snapshot->place, &out, &x->verdict, NULL))
		return true;
	x->dropped = x->verdict.why;
	return refused(x);
}

bool
exchange_renew(struct exchange *x, struct snapshot *s)
{
	bool was_metered = x->route != NULL;

	if (x->snapshot == s)
		return true;
	move_to(x, s); /* before the verdict: its rule must be the snapshot's */
	x->verdict = (struct verdict){ .max_body = -1 };
	if (!exchange_admit(x))
		return false;
	if (x->admitted.is_metered)
		return true;
	if (!was_metered)
		return exchange_vet_upstream(x);
	x->reason = REASON_POLICY_CHANGED; /* a provider's no more: nothing was dialled */
	return false;
}

bool
exchange_would_stay(const struct exchange *x, const struct snapshot *s)
{
	struct verdict v = { 0 };
	struct admitted in;
	struct arena a;
	bool stays;

	if (!x->verdict.allow)
		return false;
	arena_init(&a, ARENA_MAX);
	stays = judge_again(x, s, &in, &v, &a);
	arena_fini(&a);
	return stays;
}

bool
exchange_rejudge(struct exchange *x, struct snapshot *s, uint64_t sent)
{
	struct verdict v = { 0 };
	struct admitted in;
	struct arena a;
	bool stays;

	count_add(COUNT_TUNNELS_REJUDGED, 1);
	if (!x->verdict.allow)
		return exchange_renew(x, s);
	arena_init(&a, ARENA_MAX);
	stays = judge_again(x, s, &in, &v, &a);
	arena_fini(&a);
	if (!stays) {
		/* static or the new ruleset's, which outlives this call */
		x->verdict.why = v.why;
	} else if (v.allow) { /* else plain HTTP in a tunnel keeps its verdict */
		v.allow_methods = STR_NONE;
		x->verdict = v;
		x->route = in.is_metered ? route_of(x, s) : NULL;
		move_to(x, s);
		stays = may_send(x, sent, announced(x));
	}
	return stays;
}

void
exchange_resolving(struct exchange *x)
{
	x->resolving = clock_mono_us();
}

void
exchange_dialling(struct exchange *x)
{
	x->dialling = clock_mono_us();
}

void
exchange_dialled(struct exchange *x, const struct endpoint *to, bool is_reused)
{
	if (to != NULL)
		x->upstream = *to;
	x->has_upstream = to != NULL;
	if (is_reused) {
		x->flags |= FLAG_REUSED;
		count_add(COUNT_UPSTREAM_REUSED, 1);
	} else {
		x->connect_ms = (clock_mono_us() - x->dialling) / 1000;
	}
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
	{ FLAG_OVER_HOLD, "actual_over_hold" },
	{ FLAG_USAGE_ABSURD, "usage_absurd" },
	{ FLAG_REPORTED_ZERO, "reported_zero" },
	{ FLAG_REPORTED_OFF, "reported_off" },
	{ FLAG_MODEL_UNPRICED, "model_unpriced" },
	{ FLAG_STREAM_CUT, "stream_cut" },
	{ FLAG_COUNTED, "counted" },
	{ FLAG_PARENT, "parent" },
	{ FLAG_DLP, "dlp" },
	{ FLAG_INTERCEPTED, "intercepted" },
	{ FLAG_DISTRUSTED, "client_distrusts_ca" },
};

static_assert(sizeof(flags) / sizeof(flags[0]) <= RECORD_FLAGS, "a record holds all");

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
	}
	r->method = x->kind == RECORD_DNS ? x->ask.method : x->head->method;
	r->path = x->ask.has_request ? x->ask.path : STR_NONE;
	r->query = x->ask.query;
	if (x->ask.host.len == 0) { /* not understood, but a query has its keys alone */
		bool is_path = str_starts(x->head->target, STR("/")); /* names no host */

		r->query = x->head->target;
		(void)str_split(&r->query, '?', is_path ? &r->path : &r->host_raw);
	}
	if (x->kind == RECORD_DNS)
		return;
	if (x->verdict.allow)
		r->protocol = protocol_name(x->verdict.protocol);
	else if (x->ask.has_request)
		r->protocol = protocol_name(
		    exchange_is_inside_tls(x) ? PROTOCOL_HTTPS : PROTOCOL_HTTP);
}

static void
fill_session(struct record *r, const struct exchange *x)
{
	const struct grant *g = x->grant;

	if (g == NULL)
		return;
	r->has_session = true;
	r->profile = g->profile;
	r->issuer = g->issuer;
	r->tenant = g->tenant;
	r->sub = g->sub;
	r->sid = g->sid;
	r->turn = g->turn;
	r->jti = g->jti;
}

static void
fill_network(struct record *r, const struct exchange *x)
{
	r->dns_canonical = x->canonical;
	r->answer = x->answer;
	r->nanswer = x->nanswer;
	r->dns_dropped = x->dropped;
	r->sni = x->first.other_sni;
	if (r->sni == NULL && x->first.has_sni && x->first.is_sni_equal)
		r->sni = x->ask.host.name;
	r->has_ech = x->first.has_ech;
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
write_record(struct engine *e, struct exchange *x, const char *client,
    enum record_phase phase, struct tally bytes)
{
	struct arena narrow;
	arena_init(&narrow, ARENA_MAX);
	struct record r = {
		.id = x->id,
		.parent = x->parent,
		.seq = journal_next_seq(e->journal),
		.kind = x->kind,
		.phase = phase,
		.verdict = &x->verdict,
		.allowed = x->verdict.allow,
		.reason = x->reason,
		.ruleset = rules_of(x, x->snapshot, &narrow),
		.generation = x->snapshot->generation,
		.client_addr = client,
		.door = x->door,
		.up = bytes.up,
		.down = bytes.down,
		.status = x->status,
		.close = closers[x->closed_by],
		.error = str_of(x->error),
	};
	const struct http_field *trace = http_field(x->head, STR("Traceparent"));

	fill_session(&r, x);
	fill_target(&r, x);
	fill_network(&r, x);
	fill_times(&r, x);
	if (trace != NULL)
		r.traceparent = trace->value;
	r.money = x->money;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (x->flags & flags[i].flag)
			r.flag[r.nflag++] = flags[i].name;
	buf_reset(&e->text);
	record_print(&r, x->snapshot->redactor, &e->text);
	writer_wrote(writer_of(e, x), e->text.n);
	journal_write(e->journal, buf_view(&e->text));
	buf_reset(&e->text);
	arena_fini(&narrow);
}

/* Instead of a record. */
static void
add_to_sum(struct engine *e, const struct exchange *x, const char *client)
{
	struct sum one = {
		.reason = reason_row(x->reason)->name,
		.door = x->door,
		.client = str_of(client),
	};

	if (x->grant != NULL) {
		one.issuer = x->grant->issuer;
		one.tenant = x->grant->tenant;
		one.sid = x->grant->sid;
	}
	sums_add(e->sums, &one, x->wall);
	journal_give_back(e->journal);
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

bool
exchange_says(struct engine *e, struct exchange *x, const char *client,
    enum record_phase phase, struct tally so_far)
{
	if (!journal_reserve(e->journal))
		return false;
	write_record(e, x, client, phase, so_far);
	return true;
}

/* Whoever leaves before WHO costs as much room as who is refused. */
static bool
is_one_of_many(struct engine *e, struct exchange *x)
{
	return !x->trailed.is_opened &&
	       (x->is_summed || !(x->may_write || exchange_may_record(e, x)));
}

void
exchange_end(struct engine *e, struct exchange *x, const char *client)
{
	trail_end(&x->trailed);
	if (x->has_place && is_one_of_many(e, x))
		add_to_sum(e, x, client);
	else if (x->has_place)
		write_record(
		    e, x, client, RECORD_FINAL, (struct tally){ x->up, x->down });
	count_end(x);
	arena_fini(&x->arena);
	free(x->canonical);
	lease_end(&x->lease);
	if (x->is_begun)
		session_end(x->who->session);
	caller_unref(x->who);
	free(x->first.other_sni);
	free(x->answer);
	grant_unref(x->grant);
	snapshot_unref(x->snapshot);
	free(x);
}
