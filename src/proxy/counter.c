/*
 * counter.c - how many tokens the provider says a prompt has
 */
#include "proxy/counter.h"

#include <stdlib.h>

#include "base/count.h"
#include "base/decimal.h"
#include "base/err.h"
#include "meter/api.h"
#include "proxy/fetch.h"
#include "proxy/gateway_head.h"

#define COUNT_TIMEOUT ((msec)10000) /* a client waits for it */
#define ANSWER_MAX ((size_t)16384)  /* it is one number, and a few that part it */
#define CALL_MEMORY ((size_t)128 << 20)
#define REQUEST_MAX (CALL_BODY_MAX + (size_t)1024 * 1024)

enum result { COUNTED, ANSWER_BAD, REFUSED, UNREACHED, RESULT_N };

static const char *const results[RESULT_N] = {
	[COUNTED] = "counted",
	[ANSWER_BAD] = "malformed",
	[REFUSED] = "refused",
	[UNREACHED] = "unreachable",
};

struct counter {
	struct spend *s;
	struct fetch *fetch;
	counter_done *done;
	void *arg;
};

const char *
counter_result(size_t label)
{
	return label < RESULT_N ? results[label] : NULL;
}

/* ---- is it worth asking? */

/* With a prompt of next to nothing, what must be granted at least? */
static bool
least_hold(const struct spend *s, usd_nano *out)
{
	const struct settings *set = s->x->snapshot->settings;
	struct bound_input in = { .prices = s->x->snapshot->prices,
		.day = s->day,
		.floor = (uint64_t)set->budget_floor,
		.counted = 1 };
	struct bound b;
	struct str which;

	if (bound_call(&b, &s->call, &in, &which) != BOUND_OK)
		return false;
	*out = b.want;
	return set->budget_mode == BUDGET_STRICT || bound_floor(&b, out);
}

bool
counter_might_help(const struct spend *s)
{
	usd_nano least;

	return s->is_short && s->counted == 0 &&
	       s->x->snapshot->settings->gateway_count_tokens && least_hold(s, &least) &&
	       least <= s->short_of;
}

/* ---- the question */

/*
 * Of the body as it would be sent: what was taken out of it (a tool, a picture by URL)
 * the counter would have fetched and counted.
 */
static bool
put_question(struct spend *s, struct buf *path, struct buf *body)
{
	struct model_request r = { .kind = (enum provider_kind)s->route->row->kind,
		.method = s->x->head->method,
		.path = s->call.path,
		.head = s->x->head };
	struct call *sent = mem_zalloc(sizeof(*sent));
	struct arena arena;
	struct buf text;
	bool is_put;

	arena_init(&arena, CALL_MEMORY);
	buf_init(&text, CALL_BODY_MAX);
	is_put = call_body(&s->call, &text);
	r.body = buf_view(&text);
	is_put = is_put && call_read(sent, &r, &arena) &&
		 call_counter(sent, r.kind, path, body);
	buf_fini(&text);
	arena_fini(&arena);
	free(sent);
	return is_put;
}

static bool
put_request(struct spend *s, struct buf *to)
{
	struct buf path, body;
	bool is_put;

	buf_init(&path, 4096);
	buf_init(&body, CALL_BODY_MAX);
	is_put = put_question(s, &path, &body) &&
		 gateway_question(to, s, buf_view(&path), body.n);
	buf_str(to, buf_view(&body));
	buf_fini(&body);
	buf_fini(&path);
	return is_put && !to->is_over;
}

/* ---- the answer */

struct reading {
	uint64_t tokens;
	unsigned times;
	bool is_bad;
};

static void
on_value(void *arg, unsigned path, const struct scan_value *v)
{
	struct reading *r = arg;
	bool has_more;
	wide n;

	(void)path;
	r->times++;
	if (v->type != JSON_NUMBER || v->is_cut ||
	    !decimal_read(v->text, 0, &n, &has_more) || has_more ||
	    n > (wide)USAGE_TOKENS_MAX)
		r->is_bad = true;
	else
		r->tokens = (uint64_t)n;
}

/* 0: it is none. */
static uint64_t
tokens_of(const struct spend *s, struct str body)
{
	struct reading r = { .tokens = 0 };
	struct scan scan;

	scan_begin(&scan, &s->call.api->counted, 1, on_value, &r);
	if (scan_feed(&scan, body) == SCAN_BAD || scan_end(&scan) != SCAN_DONE)
		return 0;
	return r.times == 1 && !r.is_bad && !scan.has_duplicate ? r.tokens : 0;
}

static void
on_fetched(void *arg, int err, int status, struct str body)
{
	struct counter *c = arg;
	uint64_t tokens = 0;
	enum result result = UNREACHED;

	c->fetch = NULL;
	if (err == 0 && status == 200)
		tokens = tokens_of(c->s, body);
	if (err == 0)
		result = status == 200 ? tokens > 0 ? COUNTED : ANSWER_BAD : REFUSED;
	else if (err == ERR_INVALID)
		result = ANSWER_BAD;
	count_add_at(COUNT_TOKEN_COUNTS, result, 1);
	c->done(c->arg, tokens);
	free(c);
}

struct counter *
counter_start(struct spend *s, struct str asker, counter_done *done, void *arg)
{
	const struct settings *set = s->x->snapshot->settings;
	struct fetch_order order = { .host = s->route->host,
		.port = s->route->port,
		.is_https = s->route->is_https,
		.opened = route_opened(set),
		.asker = asker,
		.max = ANSWER_MAX,
		.timeout_ms = set->limits_response_timeout < COUNT_TIMEOUT
				  ? set->limits_response_timeout
				  : COUNT_TIMEOUT };
	struct counter *c;
	struct buf request;

	buf_init(&request, REQUEST_MAX);
	request.is_secret = true; /* the credential is in it */
	if (!put_request(s, &request)) {
		buf_fini(&request);
		return NULL;
	}
	c = mem_zalloc(sizeof(*c));
	c->s = s;
	c->done = done;
	c->arg = arg;
	order.request = &request;
	c->fetch = fetch_start(s->e, s->x->snapshot, &order, on_fetched, c);
	return c;
}

void
counter_cancel(struct counter *c)
{
	if (c == NULL)
		return;
	fetch_cancel(c->fetch);
	free(c);
}
