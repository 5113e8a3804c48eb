/*
 * admin.c - what an operator asks of a running weir, over a Unix socket
 */
#include "daemon/admin.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "conf/text.h"
#include "daemon/pages.h"
#include "policy/token.h"
#include "proxy/conn.h"
#include "proxy/identity.h"
#include "state/operator.h"
#include "wire/json.h"

#define BODY_MAX ((size_t)16384)
#define MEMORY ((size_t)65536)
#define VIEWS_MAX 10000 /* sessions in one answer */
#define ARM_TTL_S INT64_C(86400)

struct admin {
	struct admin_options o;
	struct pages *pages;
	struct list jobs; /* what the store has been asked */
};

/* Is there what the request names?  Of some there is no telling. */
enum presence { PRESENCE_UNSAID, PRESENCE_NONE, PRESENCE_HERE };

/* A request that waits for the store: for all of its operations. */
struct job {
	struct list link;
	struct admin *a;
	struct visit *v;
	size_t waiting;
	bool is_away; /* one of them failed */
	int64_t ended;
	enum presence presence;
	/* what is to hold here once the store has answered; NULL: nothing more */
	void (*then)(struct job *job, enum ledger_answer said);
	char *source, *token; /* owned, or NULL; so is the next */
	struct grant *grant;
	unix_ms until;
	size_t nop;
	struct asked {
		struct job *job;
		struct ledger_op *op;
	} op[];
};

/* ---- answers ---- */

static void
answer(struct visit *v, int status, const char *key, const char *text)
{
	struct buf body;
	struct json_out j;

	buf_init(&body, 4096);
	json_out_init(&j, &body);
	json_open(&j, '{');
	json_key(&j, key);
	json_text(&j, text);
	json_close(&j, '}');
	buf_char(&body, '\n');
	visit_answer(v, status, buf_view(&body));
	buf_fini(&body);
}

static void
answer_wrong(struct visit *v, const char *why)
{
	answer(v, 400, "error", why);
}

static void
answer_done(struct visit *v, int64_t ended, enum presence presence, bool is_away)
{
	struct buf body;
	struct json_out j;

	buf_init(&body, 4096);
	json_out_init(&j, &body);
	json_open(&j, '{');
	json_key(&j, "ended");
	json_int(&j, ended);
	json_key(&j, "kept");
	json_bool(&j, !is_away);
	if (presence == PRESENCE_HERE || (presence == PRESENCE_NONE && !is_away)) {
		json_key(&j, "known");
		json_bool(&j, presence == PRESENCE_HERE);
	}
	if (is_away) {
		json_key(&j, "error");
		json_text(&j, "the ledger is away: done here, but not kept");
	}
	json_close(&j, '}');
	buf_char(&body, '\n');
	visit_answer(v, is_away ? 503 : 200, buf_view(&body));
	buf_fini(&body);
}

/* ---- waiting for the store ---- */

static struct job *
job_new(struct admin *a, struct visit *v, size_t most, int64_t ended)
{
	struct job *job = mem_zalloc(sizeof(*job) + most * sizeof(job->op[0]));

	job->a = a;
	job->v = v;
	job->ended = ended;
	list_append(&a->jobs, &job->link);
	return job;
}

static void
job_end(struct job *job)
{
	answer_done(job->v, job->ended, job->presence, job->is_away);
	list_remove(&job->link);
	free(job->source);
	if (job->token != NULL)
		OPENSSL_cleanse(job->token, strlen(job->token));
	free(job->token);
	grant_unref(job->grant);
	free(job);
}

static void
on_done(void *arg, const struct ledger_reply *reply)
{
	struct asked *asked = arg;
	struct job *job = asked->job;

	asked->op = NULL;
	job->is_away |= reply->answer != LEDGER_OK && reply->answer != LEDGER_UNKNOWN;
	if (--job->waiting > 0)
		return;
	if (job->then != NULL)
		job->then(job, reply->answer);
	job_end(job);
}

static struct asked *
next_op(struct job *job)
{
	struct asked *asked = &job->op[job->nop++];

	asked->job = job;
	job->waiting++;
	return asked;
}

/* ---- what a body says ---- */

static struct str
text_of(const struct json_value *o, const char *key)
{
	const struct json_value *v = json_get(o, key);

	return v == NULL || v->type != JSON_STRING ? STR_NONE : v->text;
}

static bool
has_only(const struct json_value *o, const char *const *known, size_t n)
{
	for (const struct json_value *at = o->child; at != NULL; at = at->next) {
		size_t i = 0;
		while (i < n && !str_eq(at->key, str_of(known[i])))
			i++;
		if (i == n || at->type != JSON_STRING)
			return false;
	}
	return true;
}

static const struct json_value *
read_body(struct str body, struct arena *a, const char *const *known, size_t n)
{
	const char *why;
	const struct json_value *o = json_parse(body, a, &why);

	return o != NULL && o->type == JSON_OBJECT && has_only(o, known, n) ? o : NULL;
}

/* ---- sessions ---- */

struct listing {
	struct json_out *j;
	struct str sid; /* empty: all */
	size_t n;
};

static void
list_one(void *arg, const struct session_view *v)
{
	struct listing *l = arg;
	const struct {
		const char *key;
		struct str text;
	} texts[] = {
		{ "issuer", v->issuer },
		{ "tenant", v->tenant },
		{ "sid", v->sid },
		{ "sub", v->sub },
		{ "turn", v->turn },
		{ "source", v->source },
	};
	const struct {
		const char *key;
		int64_t n;
	} numbers[] = {
		{ "first_use_ms", v->first_use },
		{ "open", v->open },
		{ "connections", v->seats },
		{ "calls", v->calls },
		{ "tokens", v->tokens },
	};

	if ((l->sid.n > 0 && !str_eq(l->sid, v->sid)) || l->n++ >= VIEWS_MAX)
		return;
	json_open(l->j, '{');
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		json_key(l->j, texts[i].key);
		json_str(l->j, texts[i].text);
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		json_key(l->j, numbers[i].key);
		json_int(l->j, numbers[i].n);
	}
	json_key(l->j, "ended");
	json_bool(l->j, v->is_ended);
	json_close(l->j, '}');
}

static void
show_sessions(struct admin *a, struct visit *v, struct str rest, struct str body)
{
	struct listing l = { 0 };
	struct str tenant;
	struct buf page;
	struct json_out j;

	(void)body;
	buf_init(&page, (size_t)3 << 20);
	json_out_init(&j, &page);
	l.j = &j;
	json_open(&j, '{');
	json_key(&j, "sessions");
	json_open(&j, '[');
	if (!str_split(&rest, '/', &tenant))
		tenant = STR_NONE;
	l.sid = rest;
	sessions_each(a->o.sessions, tenant, list_one, &l);
	json_close(&j, ']');
	json_key(&j, "count");
	json_int(&j, (int64_t)l.n);
	json_close(&j, '}');
	buf_char(&page, '\n');
	visit_answer(v, 200, buf_view(&page));
	buf_fini(&page);
}

static void
show_status(struct admin *a, struct visit *v, struct str rest, struct str body)
{
	struct buf page;

	(void)rest, (void)body;
	buf_init(&page, 65536);
	a->o.print_status(a->o.arg, &page);
	buf_char(&page, '\n');
	visit_answer(v, 200, buf_view(&page));
	buf_fini(&page);
}

/* Whoever could have issued a token of that tenant: the store's keys have the issuer. */
static size_t
issuers(const struct snapshot *s, struct str *out)
{
	const struct session_keys *keys = &s->settings->sessions_keys;
	size_t n = 0;

	out[n++] = STR("weir:static");
	out[n++] = STR("weir:default");
	for (size_t i = 0; i < keys->n; i++) {
		struct str issuer = str_of(keys->p[i].issuer);
		size_t k = 0;
		while (k < n && !str_eq(out[k], issuer))
			k++;
		if (k == n)
			out[n++] = issuer;
	}
	return n;
}

static void
keep_revoked(
    struct job *job, struct str issuer, struct str tenant, struct str sid, struct str jti)
{
	struct admin *a = job->a;
	struct asked *asked = next_op(job);
	struct buf name;

	if (jti.n == 0) {
		asked->op = ledger_revoke_start(
		    a->o.ledger, a->o.loop, issuer, tenant, sid, on_done, asked);
		return;
	}
	buf_init(&name, 1024);
	ledger_jti_name(&name, issuer, tenant, jti);
	struct ledger_note note = { .kind = LEDGER_NOTE_JTI,
		.issuer = issuer,
		.tenant = tenant,
		.name = buf_view(&name),
		.until = LEDGER_FOREVER };
	asked->op = ledger_note_put_start(a->o.ledger, a->o.loop, &note, on_done, asked);
	buf_fini(&name);
}

static int64_t
revoke_here(struct admin *a, struct str tenant, struct str sid, struct str jti)
{
	unix_ms now = clock_wall_ms();

	return (int64_t)(jti.n == 0 ? sessions_revoke(a->o.sessions, tenant, sid,
					  SESSION_FOREVER, now)
				    : sessions_revoke_token(a->o.sessions, tenant, jti,
					  SESSION_FOREVER, now));
}

static void
note_known(void *arg, const struct session_view *v)
{
	struct listing *l = arg;

	l->n += str_eq(l->sid, v->sid);
}

static enum presence
session_presence(const struct admin *a, struct str tenant, struct str sid)
{
	struct listing l = { .sid = sid };

	sessions_each(a->o.sessions, tenant, note_known, &l);
	return l.n > 0 ? PRESENCE_HERE : PRESENCE_NONE;
}

static void
revoke(struct admin *a, struct visit *v, struct str rest, struct str body)
{
	static const char *const known[] = { "tenant", "sid", "jti" };
	struct snapshot *s = a->o.snapshot(a->o.arg);
	struct arena arena;

	(void)rest;
	arena_init(&arena, MEMORY);
	const struct json_value *o = read_body(body, &arena, known, 3);
	struct str tenant = o == NULL ? STR_NONE : text_of(o, "tenant");
	struct str sid = o == NULL ? STR_NONE : text_of(o, "sid");
	struct str jti = o == NULL ? STR_NONE : text_of(o, "jti");
	struct str *issuer =
	    mem_alloc((s->settings->sessions_keys.n + 2) * sizeof(*issuer));

	if (tenant.n == 0 || tenant.n > CLAIM_WORD_MAX || (sid.n == 0) == (jti.n == 0) ||
	    sid.n > CLAIM_WORD_MAX || jti.n > CLAIM_WORD_MAX) {
		answer_wrong(v, "write {\"tenant\": …, \"sid\" or \"jti\": …}");
	} else {
		enum presence presence =
		    sid.n > 0 ? session_presence(a, tenant, sid) : PRESENCE_UNSAID;
		int64_t ended = revoke_here(a, tenant, sid, jti);
		a->o.record(a->o.arg, "revoke", tenant, sid.n > 0 ? sid : jti, STR_NONE);
		if (a->o.ledger == NULL) {
			answer_done(v, ended, presence, true);
		} else {
			size_t n = issuers(s, issuer);
			struct job *job = job_new(a, v, n, ended);
			job->presence = presence;
			for (size_t i = 0; i < n; i++)
				keep_revoked(job, issuer[i], tenant, sid, jti);
		}
	}
	free(issuer);
	arena_fini(&arena);
}

static void
detach(struct admin *a, struct visit *v, struct str rest, struct str body)
{
	static const char *const known[] = { "tenant", "sid" };
	struct arena arena;

	(void)rest;
	arena_init(&arena, MEMORY);
	const struct json_value *o = read_body(body, &arena, known, 2);
	struct str tenant = o == NULL ? STR_NONE : text_of(o, "tenant");
	struct str sid = o == NULL ? STR_NONE : text_of(o, "sid");

	if (tenant.n == 0 || sid.n == 0) {
		answer_wrong(v, "write {\"tenant\": …, \"sid\": …}");
	} else {
		a->o.record(a->o.arg, "detach", tenant, sid, STR_NONE);
		answer_done(v, (int64_t)sessions_detach(a->o.sessions, tenant, sid),
		    session_presence(a, tenant, sid), false);
	}
	arena_fini(&arena);
}

/* ---- arms ---- */

/* As WHO names sources: a Unix socket's path, an address, or all of loopback. */
static struct str
source_of(struct str socket, struct str address, struct arena *a)
{
	char text[ADDR_TEXT];
	struct addr addr;

	if (socket.n > 0 && address.n == 0 && socket.p[0] == '/') {
		struct buf b;
		buf_init(&b, 256);
		buf_fmt(&b, "unix:%.*s", STR_ARG(socket));
		struct str s = arena_str(a, buf_view(&b));
		buf_fini(&b);
		return s;
	}
	if (socket.n == 0 && addr_parse(&addr, address))
		return arena_str(a, str_of(client_source(&addr, text)));
	return STR_NONE;
}

static bool
read_ttl(struct str text, int64_t *s)
{
	uint64_t n;

	if (text.n == 0)
		return true;
	if (!str_decimal(text, &n) || n == 0 || n > (uint64_t)ARM_TTL_S * 365)
		return false;
	*s = (int64_t)n;
	return true;
}

/* After the store: before it, whoever asks it at this moment would hear of no arm. */
static void
armed(struct job *job, enum ledger_answer said)
{
	struct admin *a = job->a;
	struct str source = str_of(job->source);
	struct session_ask ask =
	    identity_ask(a->o.snapshot(a->o.arg), job->grant, source);

	(void)said;
	sessions_arm(
	    a->o.sessions, source, str_of(job->token), &ask, job->until, clock_wall_ms());
}

/* Once more: until the store had it, somebody may have heard there that it was armed. */
static void
disarmed(struct job *job, enum ledger_answer said)
{
	bool was_armed = sessions_disarm(job->a->o.sessions, str_of(job->source));

	if (was_armed || said == LEDGER_OK)
		job->ended = 1;
	job->presence = job->ended > 0 ? PRESENCE_HERE : PRESENCE_NONE;
}

/* The token is good: the source speaks for its session. */
static void
arm_with(struct admin *a, struct visit *v, struct grant *g, struct str source,
    struct str token, int64_t ttl_s)
{
	struct snapshot *s = a->o.snapshot(a->o.arg);
	unix_ms until = clock_wall_ms() + ttl_s * 1000;
	struct session_ask ask = identity_ask(s, g, source);

	if (until > ask.expires)
		until = ask.expires;
	a->o.record(a->o.arg, "arm", g->tenant, g->sid, source);
	struct ledger_note note = { .kind = LEDGER_NOTE_ARM,
		.issuer = g->issuer,
		.tenant = g->tenant,
		.sid = g->sid,
		.name = source,
		.text = token,
		.until = until * 1000 };
	struct job *job = job_new(a, v, 1, 0);
	struct asked *asked = next_op(job);
	job->then = armed;
	job->source = str_dup(source);
	job->token = str_dup(token);
	job->grant = grant_ref(g);
	job->until = until;
	asked->op = ledger_note_put_start(a->o.ledger, a->o.loop, &note, on_done, asked);
}

/* Nobody could come from there: it is another path that is meant. */
static bool
is_unheard(const struct admin *a, struct visit *v, struct str source)
{
	struct buf why;

	if (!str_starts(source, STR("unix:")))
		return false;
	buf_init(&why, 65536);
	buf_text(&why, "no listener has this socket; of those that there are: ");
	bool is_unheard = !sockets_have_source(a->o.sockets, source, &why);
	if (is_unheard)
		answer(v, 404, "error", buf_cstr(&why));
	buf_fini(&why);
	return is_unheard;
}

/* The token is of no use: which of what was sent that is, is said. */
static void
answer_bad_token(struct visit *v, const char *why)
{
	struct buf text;

	buf_init(&text, 4096);
	buf_fmt(&text, "the token is of no use: %s", why);
	answer_wrong(v, buf_cstr(&text));
	buf_fini(&text);
}

static void
arm(struct admin *a, struct visit *v, struct str rest, struct str body)
{
	static const char *const known[] = { "socket", "address", "token", "ttl" };
	struct arena arena;
	struct grant *g = NULL;
	int64_t ttl_s = ARM_TTL_S;
	const char *why;

	(void)rest;
	arena_init(&arena, MEMORY);
	const struct json_value *o = read_body(body, &arena, known, 4);
	struct str token = o == NULL ? STR_NONE : text_of(o, "token");
	struct str source =
	    o == NULL ? STR_NONE
		      : source_of(text_of(o, "socket"), text_of(o, "address"), &arena);

	if (source.n == 0 || token.n == 0 || !read_ttl(text_of(o, "ttl"), &ttl_s))
		answer_wrong(v,
		    "write {\"socket\": a path that begins with / (or \"address\": an IP "
		    "address), \"token\": …, \"ttl\": seconds, as text}");
	else if (is_unheard(a, v, source))
		; /* answered */
	else if (identity_token(a->o.tokens, a->o.snapshot(a->o.arg), token, &g, &why) !=
		 REASON_NONE)
		answer_bad_token(v, why);
	else if (a->o.ledger == NULL)
		answer_done(v, 0, PRESENCE_UNSAID, true);
	else
		arm_with(a, v, g, source, token, ttl_s);
	grant_unref(g);
	arena_fini(&arena);
}

static void
disarm(struct admin *a, struct visit *v, struct str rest, struct str body)
{
	struct str path = rest, scheme = STR("unix:");
	struct arena arena;
	bool is_socket = str_starts(rest, scheme);

	(void)body;
	if (is_socket)
		path = str_sub(rest, scheme.n, rest.n);
	arena_init(&arena, MEMORY);
	struct str source =
	    source_of(is_socket ? path : STR_NONE, is_socket ? STR_NONE : path, &arena);

	if (source.n == 0) {
		answer_wrong(v, "write DELETE /arm/unix:PATH or /arm/ADDRESS");
	} else {
		bool was_armed = sessions_disarm(a->o.sessions, source);
		a->o.record(a->o.arg, "disarm", STR_NONE, source, STR_NONE);
		if (a->o.ledger == NULL) {
			answer_done(v, was_armed,
			    was_armed ? PRESENCE_HERE : PRESENCE_NONE, true);
		} else {
			struct ledger_note note = { .kind = LEDGER_NOTE_ARM,
				.name = source };
			struct job *job = job_new(a, v, 1, was_armed);
			struct asked *asked = next_op(job);
			job->then = disarmed;
			job->source = str_dup(source);
			asked->op = ledger_note_delete_start(
			    a->o.ledger, a->o.loop, &note, on_done, asked);
		}
	}
	arena_fini(&arena);
}

/* ---- as the signals ---- */

static void
reload(struct admin *a, struct visit *v, struct str rest, struct str body)
{
	(void)rest, (void)body;
	if (a->o.reload(a->o.arg))
		show_status(a, v, STR_NONE, STR_NONE);
	else
		answer(v, 409, "error",
		    "reload refused: what was in force stays in force; the log says "
		    "what is wrong");
}

static void
drain(struct admin *a, struct visit *v, struct str rest, struct str body)
{
	(void)rest, (void)body;
	a->o.drain(a->o.arg);
	show_status(a, v, STR_NONE, STR_NONE);
}

/* ---- the table ---- */

static const struct {
	const char *method, *path;
	bool has_rest;
	void (*run)(struct admin *a, struct visit *v, struct str rest, struct str body);
} commands[] = {
	{ "GET", "/status", false, show_status },
	{ "GET", "/sessions", false, show_sessions },
	{ "GET", "/sessions/", true, show_sessions },
	{ "POST", "/arm", false, arm },
	{ "DELETE", "/arm/", true, disarm },
	{ "POST", "/revoke", false, revoke },
	{ "POST", "/detach", false, detach },
	{ "POST", "/reload", false, reload },
	{ "POST", "/drain", false, drain },
};

static void
on_ask(void *arg, struct visit *v, const struct http_head *head, struct str body)
{
	struct admin *a = arg;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct str path = str_of(commands[i].path);
		bool fits = commands[i].has_rest ? str_starts(head->target, path)
						 : str_eq(head->target, path);
		if (fits && str_eq(head->method, str_of(commands[i].method))) {
			commands[i].run(
			    a, v, str_sub(head->target, path.n, head->target.n), body);
			return;
		}
	}
	answer(v, 404, "error", "there is no such command; see weir(8)");
}

struct admin *
admin_new(const struct admin_options *o)
{
	struct admin *a = mem_zalloc(sizeof(*a));
	struct pages_options pages = {
		.type = "application/json",
		.body_max = BODY_MAX,
		.is_private = true,
		.ask = on_ask,
		.arg = a,
	};

	a->o = *o;
	list_init(&a->jobs);
	a->pages = pages_new(o->loop, &pages);
	return a;
}

void
admin_listen(struct admin *a, int fd)
{
	pages_listen(a->pages, fd);
}

void
admin_free(struct admin *a)
{
	if (a == NULL)
		return;
	while (!list_is_empty(&a->jobs)) {
		struct job *job = list_entry(a->jobs.next, struct job, link);
		for (size_t i = 0; i < job->nop; i++)
			if (job->op[i].op != NULL)
				ledger_cancel(job->op[i].op);
		job->is_away = true;
		job_end(job);
	}
	pages_free(a->pages);
	free(a);
}
