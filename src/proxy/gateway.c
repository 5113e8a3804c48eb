/*
 * gateway.c - one call to a provider and its answer back, metered as it passes
 */
#include "proxy/gateway.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "proxy/charge.h"
#include "proxy/own.h"
#include "proxy/settle.h"

#define INTERIM_MAX 16                  /* 1xx answers to one request */
#define ROUNDS 16                       /* reads before others have their turn */
#define DOWN_MAX ((size_t)16 << 20)     /* what one read may decode to */
#define DECODED_MAX ((uint64_t)1 << 30) /* a bomb: no model writes so much */

static void pump(struct gateway *g);

static void
let_go(struct gateway *g)
{
	timer_clear(&g->timer);
	answer_free(g->answer);
	g->answer = NULL;
	decoder_free(g->decoder);
	g->decoder = NULL;
	scrub_fini(&g->scrub);
	buf_fini(&g->up);
	buf_fini(&g->head);
	buf_fini(&g->down);
	buf_fini(&g->shown);
	buf_fini(&g->clean);
}

void
gateway_cancel(struct gateway *g)
{
	if (g->answer != NULL && !g->is_settling) {
		struct usage u = *answer_end(g->answer, false);
		(void)settle_call(g->spend, g->answer, &u, NULL, NULL);
	}
	settle_end(g->spend);
	let_go(g);
}

bool
gateway_leaves_origin(const struct gateway *g)
{
	return g->is_origin_kept && g->is_whole;
}

static void
end(struct gateway *g)
{
	enum gateway_end how = GATEWAY_DONE;

	g->x->reason = g->reason;
	g->x->closed_by = g->by;
	if (g->reason != REASON_NONE)
		how =
		    g->has_answered || g->is_client_gone ? GATEWAY_CUT : GATEWAY_REFUSED;
	gateway_cancel(g);
	g->done(g->arg, how);
}

/* ---- the end, and the account */

/* What is held stays held: the call goes on elsewhere. */
static void
end_stale(struct gateway *g)
{
	let_go(g);
	g->done(g->arg, GATEWAY_STALE);
}

/* The last bytes: by them the client knows that it has all, and the ledger too. */
static void
put_end(struct gateway *g)
{
	if (g->is_ended)
		return;
	g->is_ended = true;
	if (g->reason == REASON_NONE && g->is_chunked && !g->is_client_gone)
		buf_text(&g->down, "0\r\n\r\n");
}

static void
on_settled(void *arg, bool is_fine)
{
	struct gateway *g = arg;

	(void)is_fine;
	put_end(g);
	pump(g);
}

/* Nothing more is read from the provider.  Calls back from the loop, or pump() goes on.
 */
static void
finish(struct gateway *g, enum reason reason, enum close_by by, bool is_whole)
{
	struct usage *u;

	if (g->is_settling)
		return;
	g->is_settling = true;
	g->is_whole = is_whole;
	g->reason = g->is_client_gone ? REASON_CLIENT_ABORTED : reason;
	g->by = g->is_client_gone ? CLOSE_CLIENT : by;
	if (!is_whole) /* first: what it still makes would not be in the account */
		(void)shutdown(g->origin->stream.fd, SHUT_RDWR);
	u = mem_zalloc(sizeof(*u));
	if (g->answer != NULL)
		*u = *answer_end(g->answer, is_whole);
	if (!settle_call(g->spend, g->answer, u, on_settled, g)) {
		put_end(g);
		stream_kick(g->client);
	}
	free(u);
}

static void
fail(struct gateway *g, enum reason reason, enum close_by by, const char *error)
{
	if (!g->is_settling)
		g->x->error = error;
	finish(g, reason, by, false);
}

static void
client_gone(struct gateway *g)
{
	if (g->is_client_gone)
		return;
	g->is_client_gone = true;
	if (g->is_settling && g->reason == REASON_NONE && g->down.n > 0) {
		g->reason = REASON_CLIENT_ABORTED;
		g->by = CLOSE_CLIENT;
	}
	g->drain_until = loop_now(g->e->loop) + g->x->snapshot->settings->budget_drain;
	buf_reset(&g->down);
	if (g->spend->is_held && g->is_begun)
		return;
	buf_reset(&g->up); /* there is nothing to account for */
	finish(g, REASON_CLIENT_ABORTED, CLOSE_CLIENT, false);
}

/* From now on it may cost. */
static void
begun(struct gateway *g, msec at)
{
	if (g->is_begun)
		return;
	g->is_begun = true;
	spend_sent(g->spend, at);
}

/* ---- down */

static void
put_chunk(struct gateway *g, struct str s)
{
	char text[BODY_CHUNK_HEAD];

	if (s.n == 0 || g->is_client_gone)
		return;
	if (g->is_chunked)
		buf_add(&g->down, text, body_chunk_head(text, s.n));
	buf_str(&g->down, s);
	if (g->is_chunked)
		buf_text(&g->down, "\r\n");
}

void
gateway_cut(struct gateway *g, enum reason reason)
{
	struct buf ending;

	if (g->is_settling)
		return;
	buf_init(&ending, 65536);
	g->x->flags |= FLAG_STREAM_CUT;
	g->is_client_kept = false;
	if (g->answer != NULL && g->answer->form == ANSWER_EVENTS &&
	    answer_is_between(g->answer) && answer_cut(g->answer, &ending)) {
		put_chunk(g, buf_view(&ending));
		finish(g, REASON_NONE, CLOSE_WEIR, false);
		g->x->error = reason_row(reason)->name;
	} else {
		fail(g, reason, CLOSE_WEIR, NULL);
	}
	buf_fini(&ending);
	stream_kick(g->client);
}

/* ---- what it costs by now */

/* A live stream; a document was made before its first byte came. */
static bool
is_runaway(const struct gateway *g)
{
	return g->answer != NULL &&
	       (g->answer->form == ANSWER_EVENTS || g->spend->call.is_stream) &&
	       charge_is_passed(g->spend, g->answer);
}

/* It ends as if its limit had been reached; within an event that does not end, broken. */
static void
stop_runaway(struct gateway *g, size_t taken)
{
	bool is_event = g->answer->form == ANSWER_EVENTS;

	if (g->is_runaway)
		g->runaway += taken;
	g->is_runaway = true;
	if (!is_event || answer_is_between(g->answer) || g->runaway > ANSWER_HELD_MAX)
		gateway_cut(g, REASON_BUDGET_INSUFFICIENT_FOR_REQUEST);
}

/* ---- the answer's text */

static void
take_piece(struct gateway *g, struct str text)
{
	bool hides = g->answer != NULL && g->spend->call.hides_usage;

	buf_reset(&g->shown);
	buf_reset(&g->clean);
	if (g->answer != NULL)
		answer_feed(g->answer, text, hides ? &g->shown : NULL);
	if (g->answer != NULL)
		own_keep(g->spend, g->answer);
	scrub_feed(&g->scrub, hides ? buf_view(&g->shown) : text, &g->clean);
	put_chunk(g, buf_view(&g->clean));
}

/* To the end of a line, behind which an event may end. */
static struct str
take_line(struct str *text)
{
	size_t end;
	struct str line =
	    str_find(*text, '\n', &end) ? str_sub(*text, 0, end + 1) : *text;

	*text = str_sub(*text, line.n, text->n);
	return line;
}

/* Text of the answer, its codings off. */
static void
take_text(struct gateway *g, struct str text)
{
	while (text.n > 0 && !g->is_settling) {
		struct str piece = text;
		if (g->is_runaway)
			piece = take_line(&text);
		else
			text = STR_NONE;
		take_piece(g, piece);
		if (g->is_runaway || is_runaway(g))
			stop_runaway(g, piece.n);
	}
}

/* Nothing follows: what is still held may pass. */
static void
take_last(struct gateway *g)
{
	take_piece(g, STR_NONE);
	buf_reset(&g->clean);
	scrub_end(&g->scrub, &g->clean);
	put_chunk(g, buf_view(&g->clean));
}

/* False: it has ended. */
static bool
decode(struct gateway *g, struct str in)
{
	enum coding_result r;
	struct str text;

	while ((r = decoder_next(g->decoder, &in, &text)) == CODING_DATA) {
		take_text(g, text);
		if (g->is_settling)
			return false;
	}
	if (r == CODING_MORE || r == CODING_DONE)
		return true;
	fail(g, REASON_UPSTREAM_MALFORMED, CLOSE_WEIR,
	    r == CODING_OVER ? "more comes out of the answer's coding than fits"
			     : "the answer breaks its content coding");
	return false;
}

static void
body_is_over(struct gateway *g)
{
	bool is_whole = decoder_is_whole(g->decoder);

	take_last(g);
	if (is_whole)
		finish(g, REASON_NONE, CLOSE_NOBODY, true);
	else
		fail(g, REASON_UPSTREAM_INCOMPLETE, CLOSE_ORIGIN,
		    "the answer's content coding breaks off");
}

static void
feed_body(struct gateway *g, struct str in)
{
	size_t used = 0;
	struct str piece;

	for (;;) {
		size_t step;
		enum body_result r =
		    body_read(&g->body, str_sub(in, used, in.n), &step, &piece);
		used += step;
		switch (r) {
		case BODY_DATA:
			if (!decode(g, piece))
				return;
			break;
		case BODY_DONE: /* what follows a whole answer was not asked for */
			g->is_origin_kept = g->is_origin_kept && used == in.n &&
					    g->up.n == 0 && !g->is_up_broken;
			body_is_over(g);
			return;
		case BODY_BAD:
			fail(g, REASON_UPSTREAM_MALFORMED, CLOSE_WEIR,
			    "the response body breaks its framing");
			return;
		case BODY_MORE:
			return;
		}
	}
}

static bool
begin_decoding(struct gateway *g)
{
	const struct http_field *f = http_field(&g->response, STR("Content-Encoding"));
	enum coding coding = CODING_IDENTITY;

	if (http_field_count(&g->response, STR("Content-Encoding")) > 1)
		return false;
	if (f != NULL && f->value.n > 0 && !coding_read(f->value, &coding))
		return false;
	g->decoder =
	    decoder_new(coding, coding == CODING_IDENTITY ? UINT64_MAX : DECODED_MAX);
	return true;
}

static void
begin_answer(struct gateway *g)
{
	bool has_body = g->response.framing != HTTP_NO_BODY;
	bool is_old = g->x->head->minor == 0;

	if (!begin_decoding(g)) {
		fail(g, REASON_UPSTREAM_MALFORMED, CLOSE_WEIR,
		    "the answer's content coding is not known");
		return;
	}
	if (spend_is_told(g->spend)) {
		g->answer = answer_new(&g->spend->call, &g->response);
		spend_answered(g->spend, &g->response);
	}
	begun(g, loop_now(g->e->loop)); /* who answers has heard something */
	g->has_head = g->has_answered = true;
	g->keep_alive_s = http_keep_alive_s(&g->response);
	g->is_origin_kept =
	    g->response.is_kept && g->response.framing != HTTP_UNTIL_CLOSE;
	g->is_chunked = has_body && !is_old;
	g->is_client_kept =
	    g->x->head->is_kept && (!has_body || !is_old) && !g->e->is_draining;
	g->x->status = g->response.status;
	if (g->x->answered == 0)
		g->x->answered = clock_mono_us();
	body_reader_init(&g->body, &g->response);
	if (!gateway_response(
		&g->down, g->spend, &g->response, &g->scrub, has_body, g->is_client_kept))
		fail(g, REASON_OVERLOADED, CLOSE_WEIR, "no room for the response head");
}

static enum reason
reason_of_response(enum http_error e)
{
	return e == HTTP_HEAD_TOO_LARGE ? REASON_UPSTREAM_HEAD_TOO_LARGE
					: REASON_UPSTREAM_MALFORMED;
}

/* A head is understood; interim ones are not passed on: the client has sent all. */
static void
take_head(struct gateway *g)
{
	http_response_for(&g->response, g->x->head->method);
	if (g->response.status == 101 || g->response.status == 407) {
		fail(g, REASON_UPSTREAM_MALFORMED, CLOSE_WEIR,
		    "a provider may not answer 101 or 407");
	} else if (g->response.status >= 200) {
		begin_answer(g);
	} else if (++g->interim > INTERIM_MAX) {
		fail(g, REASON_UPSTREAM_MALFORMED, CLOSE_WEIR,
		    "too many interim responses");
	} else {
		http_reader_init(
		    &g->reader, HTTP_RESPONSE, &g->x->snapshot->response_limit);
	}
}

static void
feed_head(struct gateway *g, struct str in)
{
	buf_str(&g->head, in);
	while (!g->has_head && !g->is_settling && g->head.n > 0) {
		size_t used;
		enum http_result r = http_read(
		    &g->reader, buf_view(&g->head), &g->x->arena, &g->response, &used);
		if (r == HTTP_MORE && !g->head.is_over)
			return;
		if (r != HTTP_DONE) {
			fail(g, reason_of_response(g->reader.error), CLOSE_WEIR,
			    http_error_text(g->reader.error));
			return;
		}
		take_head(g);
		if (g->has_head && !g->is_settling)
			feed_body(g, str_sub(buf_view(&g->head), used, g->head.n));
		buf_drop(&g->head, used);
	}
	if (g->has_head)
		buf_fini(&g->head);
}

/* RFC 9110 9.2.2, 9112 9.3.1: it may have been closed before it heard the question. */
static bool
may_ask_again(const struct gateway *g)
{
	struct str m = g->x->head->method;

	return g->origin->is_reused && !g->spend->is_metered && !g->has_head &&
	       g->head.n == 0 && g->interim == 0 && !g->is_client_gone &&
	       g->x->spend->body.n == 0 &&
	       (str_eq(m, STR("GET")) || str_eq(m, STR("HEAD")) ||
		   str_eq(m, STR("OPTIONS")));
}

static void
origin_ended(struct gateway *g, bool is_clean)
{
	g->is_stale = may_ask_again(g);
	if (g->is_stale)
		return;
	if (g->has_head && is_clean && body_may_end(&g->body)) {
		body_is_over(g);
		return;
	}
	if (g->has_head)
		take_last(g);
	fail(g, REASON_UPSTREAM_INCOMPLETE, CLOSE_ORIGIN,
	    is_clean ? "the provider closed early" : "the provider broke the connection");
}

/* ---- both sides */

/* False: bytes wait until the client reads on, or it is gone. */
static bool
flush_down(struct gateway *g)
{
	while (g->down.n > 0) {
		struct iovec v = { g->down.p, g->down.n };
		ssize_t n = stream_write(g->client, &v, 1);
		if (n == -EAGAIN)
			return false;
		if (n <= 0) {
			client_gone(g);
			return false;
		}
		g->moved = loop_now(g->e->loop);
		g->x->down += (uint64_t)n;
		buf_drop(&g->down, (size_t)n);
	}
	return true;
}

static void
flush_up(struct gateway *g)
{
	msec before = loop_now(g->e->loop); /* no later than the provider counts from */

	while (g->up.n > 0) {
		struct iovec v = { g->up.p, g->up.n };
		ssize_t n = stream_write(&g->origin->stream, &v, 1);
		if (n == -EDQUOT) {
			buf_reset(&g->up);
			fail(g, REASON_UPLOAD_EXHAUSTED, CLOSE_WEIR, NULL);
			return;
		}
		if (n < 0 && n != -EAGAIN) { /* what it has answered is worth reading */
			g->is_stale = g->origin->is_reused && !g->is_begun;
			g->is_up_broken = true;
			buf_reset(&g->up);
			return;
		}
		begun(g,
		    before); /* part of a TLS record may be out, though it says EAGAIN */
		if (n < 0)
			return;
		g->moved = loop_now(g->e->loop);
		g->x->up += (uint64_t)n;
		buf_drop(&g->up, (size_t)n);
	}
	quota_rest(g->origin->stream.quota);
}

/* Everything about a kept connection is known until now, and nothing after. */
static bool
is_dead_on_arrival(struct gateway *g)
{
	return g->origin->is_reused && !g->is_begun && !g->is_settling &&
	       !stream_is_quiet(&g->origin->stream);
}

static void
read_origin(struct gateway *g)
{
	for (int round = 0; round < ROUNDS && !g->is_settling; round++) {
		ssize_t n;
		if (g->down.n > 0 && !flush_down(g) && !g->is_client_gone)
			return;
		if (!stream_may_have_ended(&g->origin->stream))
			return;
		n = stream_read(&g->origin->stream, g->e->scratch, SCRATCH);
		if (n == -EAGAIN)
			return;
		if (n <= 0) {
			origin_ended(g, n == 0);
			return;
		}
		g->moved = loop_now(g->e->loop);
		if (g->has_head)
			feed_body(g, (struct str){ g->e->scratch, (size_t)n });
		else
			feed_head(g, (struct str){ g->e->scratch, (size_t)n });
		if (g->down.is_over)
			fail(g, REASON_UPSTREAM_MALFORMED, CLOSE_WEIR,
			    "more comes out of the answer's coding than fits");
	}
	if (!g->is_settling)
		stream_kick(&g->origin->stream);
}

static msec
deadline_of(const struct gateway *g)
{
	const struct settings *set = g->x->snapshot->settings;

	if (g->is_client_gone)
		return g->drain_until;
	if (g->down.n > 0 || g->up.n > 0)
		return g->moved + set->limits_write_timeout;
	if (!g->has_head)
		return g->moved + set->limits_response_timeout;
	return g->moved + set->limits_idle;
}

static void
arm(struct gateway *g)
{
	msec now = loop_now(g->e->loop), at = deadline_of(g);

	timer_set(g->e->loop, &g->timer, at > now ? at - now : 0);
}

/* All that can go on goes on.  Last in whatever calls it: the exchange may be over. */
static void
pump(struct gateway *g)
{
	bool is_out;

	g->is_stale = is_dead_on_arrival(g);
	if (!g->is_stale)
		flush_up(g);
	if (!g->is_stale)
		read_origin(g);
	if (g->is_stale) {
		end_stale(g);
		return;
	}
	is_out = flush_down(g);
	if (g->is_ended && (is_out || g->is_client_gone)) {
		end(g);
		return;
	}
	arm(g);
}

static void
on_timer(void *arg)
{
	struct gateway *g = arg;

	if (loop_now(g->e->loop) < deadline_of(g)) {
		arm(g);
		return;
	}
	if (g->is_client_gone)
		fail(g, REASON_CLIENT_ABORTED, CLOSE_CLIENT, "not read to its end");
	else if (g->down.n > 0)
		client_gone(g);
	else
		fail(g, g->has_head ? REASON_IDLE_TIMEOUT : REASON_RESPONSE_TIMEOUT,
		    CLOSE_WEIR, NULL);
	pump(g);
}

/* The client's end is no abort (it may still read), but a reset is. */
static bool
is_client_lost(const struct gateway *g, unsigned what)
{
	char byte;

	return (what & (STREAM_READ | STREAM_HUP)) != 0 &&
	       recv(g->client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
	       errno != EAGAIN;
}

static void
on_client(void *arg, unsigned what)
{
	struct gateway *g = arg;

	if (is_client_lost(g, what))
		client_gone(g);
	pump(g);
}

static void
on_origin(void *arg, unsigned what)
{
	(void)what;
	pump(arg);
}

void
gateway_start(struct gateway *g, struct engine *e, struct spend *spend,
    struct stream *client, struct origin *origin, gateway_done *done, void *arg)
{
	struct exchange *x = spend->x;
	struct buf body;

	*g = (struct gateway){ .e = e,
		.x = x,
		.spend = spend,
		.client = client,
		.origin = origin,
		.moved = loop_now(e->loop),
		.done = done,
		.arg = arg };
	buf_init(&g->up, CALL_BODY_MAX + (size_t)2 * 1024 * 1024);
	g->up.is_secret = true; /* the credential is in it */
	buf_init(&g->head, x->snapshot->response_limit.head + SCRATCH);
	buf_init(&g->down, DOWN_MAX);
	buf_init(&g->shown, DOWN_MAX);
	buf_init(&g->clean, DOWN_MAX);
	scrub_init(&g->scrub, spend->route->credential);
	http_reader_init(&g->reader, HTTP_RESPONSE, &x->snapshot->response_limit);
	timer_init(&g->timer, on_timer, g);
	stream_attach(client, on_client, g);
	stream_attach(&origin->stream, on_origin, g);
	buf_init(&body, CALL_BODY_MAX);
	if (!call_body(&spend->call, &body) || !gateway_request(&g->up, spend, body.n)) {
		buf_reset(&g->up);
		fail(g, REASON_OVERLOADED, CLOSE_WEIR, "no room for the request");
	} else {
		buf_str(&g->up, buf_view(&body));
	}
	buf_fini(&body);
	stream_kick(client);
}
