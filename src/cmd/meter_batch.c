/*
 * meter_batch.c - weir meter --batch: recorded calls as JSON lines in, a line out for
 * each
 */
#include "cmd/meter_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/jsonl.h"
#include "cmd/metered_print.h"
#include "wire/url.h"

#define LINE_MEMORY ((size_t)512 << 20)
#define TEXT_MAX ((size_t)64 << 20)
#define MONEY_MAX UINT64_C(1000000000000000000)
#define PPM 1000000
#define SHARE 500000 /* of the remainder, where nothing is said */

struct line {
	struct jsonl *in;
	const struct prices *common;
	struct prices *own;
	struct recorded r;
	struct terms t;
	const struct family *family;
	const struct json_value *frames, *answers; /* of a websocket */
};

/* ---- pieces of text */

static struct str
string_of(const struct json_value *object, const char *key)
{
	const struct json_value *v = json_get(object, key);

	return v != NULL && v->type == JSON_STRING ? v->text : STR_NONE;
}

static const struct json_value *
member(const struct json_value *object, const char *key)
{
	const struct json_value *v = json_get(object, key);

	return v != NULL && v->type != JSON_NULL ? v : NULL;
}

static uint64_t
number_of(struct line *l, const struct json_value *object, const char *key)
{
	const struct json_value *v = member(object, key);
	uint64_t n = 0;

	if (v != NULL &&
	    (v->type != JSON_NUMBER || !str_decimal(v->text, &n) || n > MONEY_MAX))
		jsonl_fault(l->in, "bad_number", "%s is a whole number", key);
	return n;
}

/* ---- families */

static const struct family {
	const char *name;
	enum provider_kind kind;
	const struct api *api;
	bool is_socket; /* frames, each request its own call */
} families[] = {
	{ "anthropic_messages", PROVIDER_ANTHROPIC, &api_anthropic_messages, false },
	{ "openai_chat", PROVIDER_OPENAI, &api_openai_chat, false },
	{ "openai_responses", PROVIDER_OPENAI, &api_openai_responses, false },
	{ "openai_responses_ws", PROVIDER_OPENAI, &api_openai_responses, true },
	{ "openai_embeddings", PROVIDER_OPENAI, &api_openai_embeddings, false },
	{ "gemini", PROVIDER_GEMINI, &api_gemini, false },
	{ "bedrock_converse", PROVIDER_BEDROCK, &api_bedrock_converse, false },
	{ "openrouter", PROVIDER_OPENROUTER, &api_openai_chat, false },
	{ "litellm", PROVIDER_LITELLM, &api_openai_chat, false },
	{ "vercel_openai", PROVIDER_VERCEL, &api_openai_chat, false },
	{ "vercel_native", PROVIDER_VERCEL, &api_aigateway, false },
};

static void
read_family(struct line *l, const struct json_value *v)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		if (v->type == JSON_STRING && str_eq(v->text, str_of(families[i].name)))
			l->family = &families[i];
	if (l->family == NULL) {
		jsonl_fault(l->in, "unknown_family", "there is no family \"%.*s\"",
		    STR_ARG(v->text));
		return;
	}
	l->r.request.kind = l->family->kind;
	l->r.family = l->family->api;
}

/* ---- heads and bodies */

static void
read_head(struct line *l, const struct json_value *headers, struct http_head *head)
{
	size_t n = headers != NULL ? headers->n : 0;

	head->field = arena_alloc(&l->in->arena, (n + 1) * sizeof(*head->field));
	if (head->field == NULL) {
		jsonl_fault(l->in, "too_large", "the line is too large");
		return;
	}
	for (const struct json_value *v = n > 0 ? headers->child : NULL; v != NULL;
	     v = v->next)
		head->field[head->nfield++] =
		    (struct http_field){ v->key, str_trim(v->text) };
}

/* The place for one more was made. */
static void
add_type(struct http_head *head, struct str type, bool replaces)
{
	for (size_t i = 0; i < head->nfield; i++)
		if (str_eq_nocase(head->field[i].name, STR("content-type"))) {
			if (replaces)
				head->field[i].value = type;
			return;
		}
	head->field[head->nfield++] = (struct http_field){ STR("content-type"), type };
}

static void
set_piece(struct line *l, struct str text)
{
	struct str *piece = arena_alloc(&l->in->arena, sizeof(*piece));

	if (piece == NULL)
		return;
	*piece = text;
	l->r.piece = piece;
	l->r.npiece = 1;
}

static void
read_chunks(struct line *l, const struct json_value *v)
{
	struct str *piece = arena_alloc(&l->in->arena, (v->n + 1) * sizeof(*piece));

	if (piece == NULL)
		return;
	l->r.piece = piece;
	for (const struct json_value *at = v->child; at != NULL; at = at->next)
		piece[l->r.npiece++] = jsonl_base64(l->in, at);
}

/* Decoded events of a binary stream: a document a line. */
static void
read_frames(struct line *l, const struct json_value *v)
{
	struct json_out j;
	struct buf b;

	buf_init(&b, TEXT_MAX);
	for (const struct json_value *at = v->child; at != NULL; at = at->next) {
		json_out_init(&j, &b);
		json_value(&j, at);
		buf_char(&b, '\n');
	}
	set_piece(l, jsonl_keep(l->in, &b));
	buf_fini(&b);
	add_type(&l->r.response, STR("application/x-jsonl"), true);
}

static void
read_response(struct line *l, const struct json_value *v)
{
	const struct json_value *body;

	l->r.has_response = true;
	l->r.response.kind = HTTP_RESPONSE;
	l->r.response.status = (int)(number_of(l, v, "status") % 1000);
	read_head(l, member(v, "headers"), &l->r.response);
	if ((body = member(v, "chunks_b64")) != NULL)
		read_chunks(l, body);
	else if ((body = member(v, "body_b64")) != NULL)
		set_piece(l, jsonl_base64(l->in, body));
	else if ((body = member(v, "sse")) != NULL) {
		set_piece(l, body->text);
		add_type(&l->r.response, STR("text/event-stream"), false);
	} else if ((body = member(v, "frames")) != NULL) {
		l->answers = body;
		if (!l->family->is_socket)
			read_frames(l, body);
	} else if ((body = json_get(v, "body")) != NULL) {
		set_piece(l, jsonl_text(l->in, body));
		add_type(&l->r.response, STR("application/json"), false);
	}
}

/* "/model/ID/converse", its ID percent-encoded. */
static struct str
model_in(struct line *l, struct str path)
{
	struct str model = str_sub(path, strlen("/model/"), path.n);
	size_t end;
	struct buf b;

	if (!str_starts(path, STR("/model/")) || !str_find(model, '/', &end))
		return STR_NONE;
	model = str_sub(model, 0, end);
	buf_init(&b, TEXT_MAX);
	for (size_t i = 0; i < model.n; i++) {
		bool is_coded = model.p[i] == '%' && i + 2 < model.n &&
				ascii_is_hex(model.p[i + 1]) &&
				ascii_is_hex(model.p[i + 2]);

		buf_char(&b, is_coded ? (char)(ascii_hex_value(model.p[i + 1]) << 4 |
					       ascii_hex_value(model.p[i + 2]))
				      : model.p[i]);
		i += is_coded ? 2 : 0;
	}
	model = jsonl_keep(l->in, &b);
	buf_fini(&b);
	return model;
}

static void
read_request(struct line *l, const struct json_value *v)
{
	struct http_head *head = arena_zalloc(&l->in->arena, sizeof(*head));
	struct model_request *r = &l->r.request;
	const struct json_value *body;

	if (head == NULL)
		return;
	read_head(l, member(v, "headers"), head);
	head->method = r->method = string_of(v, "method");
	head->target = r->path = string_of(v, "path");
	r->head = head;
	l->r.model = model_in(l, r->path);
	l->frames = l->family->is_socket ? member(v, "frames") : NULL;
	if ((body = member(v, "body_b64")) != NULL)
		r->body = jsonl_base64(l->in, body);
	else if ((body = member(v, "body_raw")) != NULL)
		r->body = body->text;
	else if ((body = member(v, "body")) != NULL && !str_eq(r->method, STR("GET")))
		r->body = jsonl_text(l->in, body);
}

/* ---- prices, policy, state */

static void
read_prices(struct line *l, const struct json_value *v)
{
	if (prices_read(&l->own, "prices", jsonl_text(l->in, v), &l->in->rep) == 0)
		l->t.prices = l->own;
}

static void
read_share(struct line *l, const struct json_value *v)
{
	bool has_more;
	wide n;

	if (v->type != JSON_NUMBER || !decimal_read(v->text, 6, &n, &has_more) ||
	    n == 0 || n > PPM)
		jsonl_fault(l->in, "bad_number", "clamp_share is a fraction");
	else
		l->t.share_ppm = (int64_t)n;
}

static void
read_policy(struct line *l, const struct json_value *v)
{
	struct str hosted = string_of(v, "hosted_tools");
	const struct json_value *share = member(v, "clamp_share");

	l->t.is_strict = str_eq(string_of(v, "reserve"), STR("strict"));
	l->t.trusts_reported = str_eq(string_of(v, "settle_by"), STR("reported"));
	l->t.floor = number_of(l, v, "clamp_floor_tokens");
	if (share != NULL)
		read_share(l, share);
	if (str_eq(hosted, STR("allow")))
		l->t.hosted = TERMS_ALLOW;
	if (str_eq(hosted, STR("deny")))
		l->t.hosted = TERMS_REFUSE;
}

static void
read_purse(struct line *l, const struct json_value *v, const char *name, enum purse_of of)
{
	struct purse *p = &l->t.purse[l->t.npurse];
	char key[64];

	snprintf(key, sizeof(key), "%s_budget_nano", name);
	if (member(v, key) == NULL)
		return;
	p->of = of;
	p->cap = (usd_nano)number_of(l, v, key);
	snprintf(key, sizeof(key), "%s_spent_nano", name);
	p->spent = (usd_nano)number_of(l, v, key);
	snprintf(key, sizeof(key), "%s_reserved_nano", name);
	p->reserved = (usd_nano)number_of(l, v, key);
	l->t.npurse++;
}

static void
read_models(struct line *l, const struct json_value *v)
{
	struct str *model = arena_alloc(&l->in->arena, (v->n + 1) * sizeof(*model));

	if (model == NULL)
		return;
	l->t.limits_models = true;
	l->t.model = model;
	for (const struct json_value *at = v->child; at != NULL; at = at->next)
		model[l->t.nmodel++] = at->text;
}

static void
read_state(struct line *l, const struct json_value *v)
{
	static const struct {
		const char *name;
		enum purse_of of;
	} purses[PURSES] = {
		/* innermost first */
		{ "turn", OF_TURN },
		{ "session", OF_SESSION },
		{ "ancestor", OF_SESSION },
		{ "tenant", OF_TENANT },
		{ "public", OF_TENANT },
		{ "total", OF_TENANT },
	};
	const struct json_value *models = member(v, "models_allowed");

	for (size_t i = 0; i < PURSES; i++)
		read_purse(l, v, purses[i].name, purses[i].of);
	l->t.has_hold = member(v, "hold_nano") != NULL;
	l->t.hold = (usd_nano)number_of(l, v, "hold_nano");
	l->t.parallel = number_of(l, v, "parallel_requests");
	if (models != NULL)
		read_models(l, models);
}

/* In the order they are read. */
static const struct {
	const char *name;
	void (*read)(struct line *l, const struct json_value *v);
	bool is_needed;
} keys[] = {
	{ "family", read_family, true },
	{ "request", read_request, true },
	{ "response", read_response, false },
	{ "prices", read_prices, false },
	{ "policy", read_policy, false },
	{ "state", read_state, false },
};

static bool
read_line(struct line *l, const struct json_value *object)
{
	l->t.prices = l->common;
	l->t.share_ppm = SHARE;
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys) && l->in->rep.errors == 0;
	     i++) {
		const struct json_value *v = member(object, keys[i].name);

		if (v != NULL)
			keys[i].read(l, v);
		else if (keys[i].is_needed)
			jsonl_fault(
			    l->in, "missing_key", "a line has a \"%s\"", keys[i].name);
	}
	if (l->in->rep.errors == 0 && l->t.prices == NULL)
		jsonl_fault(l->in, "no_prices",
		    "the line has no prices, and --prices gives none");
	return l->in->rep.errors == 0;
}

/* ---- websockets: each response.create is a call, its events up to the one that ends it
 */

static bool
is_last_event(const struct json_value *frame)
{
	struct str type = string_of(frame, "type");

	return str_eq(type, STR("response.completed")) ||
	       str_eq(type, STR("response.incomplete")) ||
	       str_eq(type, STR("response.failed"));
}

/* The `nth` response on one stream of the socket, as a stream of events. */
static struct str
events_of(struct line *l, struct str stream, size_t nth)
{
	const struct json_value *at = l->answers != NULL ? l->answers->child : NULL;
	struct json_out j;
	struct buf b;
	struct str out;

	buf_init(&b, TEXT_MAX);
	for (; at != NULL; at = at->next) {
		if (!str_eq(string_of(at, "stream_id"), stream))
			continue;
		if (nth == 0) {
			buf_text(&b, "data: ");
			json_out_init(&j, &b);
			json_value(&j, at);
			buf_text(&b, "\n\n");
		}
		if (is_last_event(at) && nth-- == 0)
			break;
	}
	out = jsonl_keep(l->in, &b);
	buf_fini(&b);
	return out;
}

/* How many calls came before this one on its stream. */
static size_t
calls_before(const struct line *l, const struct json_value *frame)
{
	size_t n = 0;

	for (const struct json_value *at = l->frames->child; at != frame; at = at->next)
		n += str_eq(string_of(at, "stream_id"), string_of(frame, "stream_id"));
	return n;
}

static void
add_call(struct metered *all, const struct metered *one)
{
	const struct run *from = &one->tokens;
	struct run *to = &all->tokens;

	to->input_total += from->input_total;
	to->cache_read += from->cache_read;
	to->cache_write += from->cache_write;
	to->cache_write_long += from->cache_write_long;
	to->output += from->output;
	to->reasoning += from->reasoning;
	all->cost += one->cost;
	all->flags |= one->flags;
	all->reserve += one->reserve;
	if (one->basis == BASIS_ESTIMATE)
		all->basis = BASIS_ESTIMATE;
}

static void
meter_socket(struct line *l, struct buf *to)
{
	struct metered *each =
	    arena_zalloc(&l->in->arena, (l->frames->n + 1) * sizeof(*each));
	struct metered all = { .action = METERED_DENY };
	size_t n = 0;

	l->r.request.path = STR("/v1/responses");
	l->r.request.method = STR("POST");
	l->r.response.status = 200;
	if (l->r.has_response)
		add_type(&l->r.response, STR("text/event-stream"), true);
	for (const struct json_value *at = l->frames->child; at != NULL && each != NULL;
	     at = at->next, n++) {
		l->r.request.body = jsonl_text(l->in, at);
		set_piece(
		    l, events_of(l, string_of(at, "stream_id"), calls_before(l, at)));
		metered(&each[n], &l->r, &l->t, &l->in->arena);
		if (n == 0 || each[n].action == METERED_DENY)
			all = each[n];
		else
			add_call(&all, &each[n]);
		if (each[n].action == METERED_DENY)
			break;
	}
	metered_print(
	    &all, &l->t, l->in->id, each, all.action == METERED_SETTLE ? n : 0, to);
}

/* ---- lines */

/* A line that can be asked. */
static void
answer_object(struct line *l, const struct json_value *object, struct buf *to)
{
	struct metered m;

	if (json_get(object, "id") != NULL)
		l->in->id = jsonl_text(l->in, json_get(object, "id"));
	if (!read_line(l, object))
		return;
	if (l->frames != NULL) {
		meter_socket(l, to);
		return;
	}
	metered(&m, &l->r, &l->t, &l->in->arena);
	metered_print(&m, &l->t, l->in->id, NULL, 0, to);
}

/* The table and the day, where a line names none. */
struct common {
	const struct prices *prices;
	yyyymmdd day;
};

static void
answer(void *arg, struct jsonl *in, struct str text, struct buf *to)
{
	const struct common *common = arg;
	struct line l = {
		.in = in, .common = common->prices, .t = { .day = common->day }
	};
	const char *why;
	const struct json_value *object = jsonl_object(in, text, &why);

	if (object == NULL)
		jsonl_fault(in, "no_json", "%s", why);
	else
		answer_object(&l, object, to);
	prices_free(l.own);
}

int
meter_batch_run(const struct prices *common, yyyymmdd day)
{
	struct common all = { .prices = common, .day = day };

	return jsonl_run(LINE_MEMORY, answer, &all);
}
