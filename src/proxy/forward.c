/*
 * forward.c - one HTTP exchange to an origin and back
 */
#include "proxy/forward.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/count.h"
#include "proxy/remake.h"
#include "wire/ws.h"

#define INTERIM_MAX 16 /* 1xx answers to one request */
#define ROUNDS 16      /* reads before other connections have their turn */
#define MINUTE ((msec)60000)

struct tally
forward_tally(const struct forward *f)
{
	struct tally t = { f->up.written, f->down.written };

	if (f->is_spliced) {
		t.up += f->relay.up;
		t.down += f->relay.down;
	}
	return t;
}

void
forward_moved(struct forward *f)
{
	const struct exchange *x = f->x;

	sieve_change(&f->sieve, x->snapshot->redactor, x->snapshot->held, x->verdict.dlp);
}

void
forward_cancel(struct forward *f)
{
	struct tally passed = forward_tally(f);

	timer_clear(&f->timer);
	f->x->up += passed.up;
	f->x->down += passed.down;
	if (f->is_spliced)
		relay_cancel(&f->relay);
	flow_fini(&f->up);
	flow_fini(&f->down);
	messages_free(f->messages);
	f->messages = NULL;
	sieve_fini(&f->sieve);
	if (f->down.scrub != NULL)
		scrub_fini(&f->scrub);
	buf_fini(&f->head);
}

static void
tell_owner(struct forward *f)
{
	forward_cancel(f);
	f->done(f->arg, f->how);
}

static void
end(struct forward *f, enum forward_end how, enum reason reason, enum close_by by)
{
	struct exchange *x = f->x;

	if (how != FORWARD_STALE) {
		x->reason = reason;
		x->closed_by = by;
	}
	f->how = how;
	f->is_over = true;
	if (f->is_starting)
		stream_kick(f->client); /* the owner is told from the loop */
	else
		tell_owner(f);
}

/* Refused while the client can still be told; cut when it has part of an answer. */
static void
fail(struct forward *f, enum reason reason, enum close_by by, const char *error)
{
	bool is_told = f->has_answered || f->down.pending.n > 0;

	f->x->error = error;
	end(f, is_told ? FORWARD_CUT : FORWARD_REFUSED, reason, by);
}

static void
client_gone(struct forward *f)
{
	end(f, FORWARD_CUT, REASON_CLIENT_ABORTED, CLOSE_CLIENT);
}

static bool
is_up_over(const struct forward *f)
{
	return f->is_up_broken || (f->up.is_done && f->up.pending.n == 0);
}

/* RFC 9110 5.3: a list may be of several fields, and each is looked at. */
static bool
is_coded(const struct http_head *h)
{
	for (size_t i = 0; i < h->nfield; i++)
		if (str_eq_nocase(h->field[i].name, STR("Content-Encoding")) &&
		    !str_eq_nocase(h->field[i].value, STR("identity")))
			return true;
	return false;
}

/* ---- up: the request's body ---- */

/* The origin takes no more; what it has answered is still worth reading. */
static void
origin_closed_up(struct forward *f)
{
	f->is_up_broken = true;
	f->is_client_kept = false;
	flow_fini(&f->up);
	f->origin->stream.ready |= STREAM_READ; /* its end may have been told already */
	stream_kick(&f->origin->stream);
}

static const char *
found_text(struct forward *f)
{
	const char *kind = f->sieve.kind;
	char text[96];

	if (str_eq(str_of(kind), STR(SIEVE_HELD)))
		return f->messages != NULL ? "a secret that weir holds is in a message"
					   : "a secret that weir holds is in the request";
	if (str_eq(str_of(kind), STR(SIEVE_CODED)))
		return "the body is in a coding that hides what is in it";
	snprintf(text, sizeof(text), "the %s has what looks like a secret: %s",
	    f->messages != NULL ? "message" : "request", kind);
	return arena_str(&f->x->arena, str_of(text)).p;
}

/* Once: the record says what it is. */
static void
note_found(struct forward *f)
{
	if (f->sieve.kind == NULL || (f->x->flags & FLAG_DLP))
		return;
	f->x->flags |= FLAG_DLP;
	f->x->error = found_text(f);
	count_add(COUNT_DLP_FOUND, 1);
}

/* False: the exchange is over. */
static bool
caught(struct forward *f)
{
	fail(f, REASON_DLP_BLOCKED, CLOSE_WEIR, f->x->error);
	return false;
}

/* False: the exchange is over. */
static bool
lost_up(struct forward *f)
{
	const struct quota *q = f->origin->stream.quota;

	if (q == NULL || !q->is_over) {
		origin_closed_up(f);
		return true;
	}
	fail(f, REASON_UPLOAD_EXHAUSTED, CLOSE_WEIR, NULL);
	return false;
}

/* False: the exchange is over. */
static bool
feed_up(struct forward *f, struct str head, struct str in)
{
	size_t used;
	enum flow_result r;

	f->moved_up = loop_now(f->e->loop);
	f->rate_bytes += in.n;
	r = flow_feed(&f->up, &f->origin->stream, head, in, &used);
	note_found(f);
	switch (r) {
	case FLOW_CAUGHT:
		return caught(f);
	case FLOW_DONE:
		buf_str(f->more, str_sub(in, used, in.n));
		return true;
	case FLOW_BAD:
		fail(f, REASON_REQUEST_MALFORMED, CLOSE_WEIR,
		    "the body breaks its chunked framing");
		return false;
	case FLOW_OVER:
		fail(f, REASON_BODY_TOO_LARGE, CLOSE_WEIR, NULL);
		return false;
	case FLOW_LOST:
		if (f->up.is_done)
			buf_str(f->more, str_sub(in, used, in.n));
		return lost_up(f);
	case FLOW_MORE:
		return true;
	}
	return true;
}

/* Not more than the body, so that the next request stays where it is. */
static size_t
room_up(const struct forward *f)
{
	if (f->up.in.framing == HTTP_LENGTH && f->up.in.left < SCRATCH)
		return (size_t)f->up.in.left;
	return SCRATCH;
}

/* False: the exchange is over. */
static bool
pump_up(struct forward *f)
{
	for (int round = 0; round < ROUNDS; round++) {
		int err = f->is_up_broken ? 0 : flow_flush(&f->up, &f->origin->stream);
		ssize_t n;
		if (err == -EAGAIN)
			return true;
		if (err != 0 && !lost_up(f))
			return false;
		if (is_up_over(f) || f->is_spliced) {
			quota_rest(f->origin->stream.quota);
			return true;
		}
		if (!stream_may_have_ended(f->client))
			return true;
		n = stream_read(f->client, f->e->scratch, room_up(f));
		if (n == -EAGAIN)
			return true;
		if (n == 0) { /* it may still read why */
			fail(f, REASON_REQUEST_MALFORMED, CLOSE_CLIENT,
			    "the request body ended early");
			return false;
		}
		if (n < 0) {
			client_gone(f);
			return false;
		}
		if (!feed_up(f, STR_NONE, (struct str){ f->e->scratch, (size_t)n }))
			return false;
	}
	stream_kick(f->client);
	return true;
}

/* ---- down: the response ---- */

static enum reason
reason_of_response(enum http_error e)
{
	return e == HTTP_HEAD_TOO_LARGE ? REASON_UPSTREAM_HEAD_TOO_LARGE
					: REASON_UPSTREAM_MALFORMED;
}

static void
sent_first(struct forward *f)
{
	if (f->x->answered == 0)
		f->x->answered = clock_mono_us();
}

/* Puts the head together in the worker's buffer; empty when it did not fit. */
static struct str
head_text(struct forward *f, bool is_chunked)
{
	struct remake how = {
		.via = f->x->snapshot->settings->name,
		.arena = &f->x->arena,
		.is_upgrade = f->is_websocket,
		.is_chunked = is_chunked,
		.is_kept = f->is_client_kept,
	};

	buf_reset(&f->e->text);
	if (!remake_response(&f->e->text, &f->response, f->x->head->minor, &how))
		return STR_NONE;
	if (f->down.scrub != NULL)
		scrub_text(&f->scrub, f->e->text.p, f->e->text.n);
	return buf_view(&f->e->text);
}

/* A 1xx goes to clients that know it; false: the exchange is over. */
static bool
pass_interim(struct forward *f)
{
	struct http_head nothing = { .framing = HTTP_NO_BODY };
	struct str head;
	size_t used;

	if (++f->interim > INTERIM_MAX || f->response.framing != HTTP_NO_BODY) {
		fail(f, REASON_UPSTREAM_MALFORMED, CLOSE_WEIR,
		    "too many interim responses");
		return false;
	}
	if (f->x->head->minor == 0)
		return true;
	head = head_text(f, false);
	if (head.n == 0) {
		fail(f, REASON_OVERLOADED, CLOSE_WEIR, "no room for the response head");
		return false;
	}
	body_reader_init(&f->down.in, &nothing);
	if (flow_feed(&f->down, f->client, head, STR_NONE, &used) == FLOW_LOST) {
		client_gone(f);
		return false;
	}
	f->down.is_done = false; /* the final answer is still to come */
	return true;
}

/* ---- a websocket whose messages are looked at ---- */

static bool
pass_messages(void *arg, int way, struct str in, struct str *out)
{
	struct forward *f = arg;
	bool may = true;

	if (way == RELAY_UP)
		may = messages_up(f->messages, in, out);
	else
		messages_down(f->messages, in);
	note_found(f);
	return may;
}

/* `rest` of the origin's first bytes is behind its 101; *early is what the client did not
 * wait with, as it may go.  False: the exchange is over. */
static bool
begin_messages(struct forward *f, struct str rest, struct str *early)
{
	struct str more = buf_view(f->more);

	f->messages = messages_new(&f->sieve);
	messages_down(f->messages, rest);
	if (pass_messages(f, RELAY_UP, more, early))
		return true;
	buf_reset(f->more); /* no request is in it */
	fail(f, f->sieve.is_caught ? REASON_DLP_BLOCKED : REASON_REQUEST_MALFORMED,
	    CLOSE_WEIR, f->sieve.is_caught ? f->x->error : f->messages->up.error);
	return false;
}

/* The client may read why; the origin's end is none, for it has part of a message. */
static void
caught_message(struct forward *f)
{
	bool is_bad = !f->sieve.is_caught;
	struct buf frame;
	struct iovec v;

	buf_init(&frame, 2 * WS_CONTROL_MAX);
	if (!f->relay.was_pending)
		messages_put_close(f->messages, &frame);
	v = (struct iovec){ frame.p, frame.n };
	f->is_told = frame.n > 0 && stream_write(f->client, &v, 1) == (ssize_t)frame.n;
	buf_fini(&frame);
	f->x->error = is_bad ? f->messages->up.error : found_text(f);
	end(f, FORWARD_CUT, is_bad ? REASON_REQUEST_MALFORMED : REASON_DLP_BLOCKED,
	    CLOSE_WEIR);
}

static void
on_relayed(void *arg, enum relay_end how)
{
	struct forward *f = arg;

	switch (how) {
	case RELAY_DONE:
		end(f, FORWARD_DONE, REASON_NONE, CLOSE_NOBODY);
		return;
	case RELAY_CLIENT_GONE:
		client_gone(f);
		return;
	case RELAY_ORIGIN_GONE:
		end(f, FORWARD_CUT, REASON_UPSTREAM_INCOMPLETE, CLOSE_ORIGIN);
		return;
	case RELAY_IDLE:
	case RELAY_STALLED:
		end(f, FORWARD_CUT, REASON_IDLE_TIMEOUT, CLOSE_WEIR);
		return;
	case RELAY_SPENT:
		end(f, FORWARD_CUT, REASON_UPLOAD_EXHAUSTED, CLOSE_WEIR);
		return;
	case RELAY_CAUGHT:
		caught_message(f);
		return;
	}
}

/* Where messages are looked at none was offered. */
static bool
has_foreign_extension(const struct forward *f)
{
	return f->x->verdict.dlp != DLP_NONE &&
	       http_field(&f->response, STR("Sec-WebSocket-Extensions")) != NULL;
}

static bool
is_right_accept(const struct forward *f)
{
	const struct http_field *key = http_field(f->x->head, STR("Sec-WebSocket-Key"));
	const struct http_field *got =
	    http_field(&f->response, STR("Sec-WebSocket-Accept"));
	char want[29];

	return key != NULL && got != NULL && ws_accept(want, key->value) &&
	       f->response.is_upgrade &&
	       http_field_count(&f->response, STR("Sec-WebSocket-Accept")) == 1 &&
	       str_eq(got->value, str_of(want)) && !has_foreign_extension(f);
}

/* 101: a pipe from here on, but only if it is the one that was asked for. */
static void
upgrade(struct forward *f, struct str rest)
{
	const struct settings *set = f->x->snapshot->settings;
	struct str head, early = buf_view(f->more);
	struct buf first;

	if (!f->x->ask.wants_websocket) {
		fail(f, REASON_UPSTREAM_MALFORMED, CLOSE_WEIR, "101 was not asked for");
		return;
	}
	f->is_websocket = is_right_accept(f);
	if (!f->is_websocket) {
		fail(f, REASON_UPGRADE_FAILED, CLOSE_WEIR,
		    "the 101 does not match the request");
		return;
	}
	f->is_client_kept = false;
	head = head_text(f, false);
	if (head.n == 0) {
		fail(f, REASON_OVERLOADED, CLOSE_WEIR, "no room for the response head");
		return;
	}
	if (f->x->verdict.dlp != DLP_NONE && !begin_messages(f, rest, &early))
		return;
	f->has_head = f->has_answered = true;
	sent_first(f);
	f->x->status = 101;
	f->x->flags |= FLAG_WEBSOCKET;
	buf_init(&first, head.n + rest.n);
	buf_str(&first, head);
	buf_str(&first, rest); /* perhaps within f->head */
	timer_clear(&f->timer);
	f->is_spliced = true;
	relay_start(&f->relay, f->e->loop, f->e->pipes, f->client, &f->origin->stream,
	    early, buf_view(&first), set->limits_idle, set->limits_write_timeout,
	    on_relayed, f);
	if (f->messages != NULL)
		relay_filter(&f->relay, pass_messages, f);
	buf_reset(f->more);
	buf_fini(&first);
	buf_fini(&f->head);
}

/* What cannot be looked through may hold the credential; a part of it is no form of it.
 * NULL, or what is wrong with the answer. */
static const char *
unreadable(const struct forward *f)
{
	if (f->down.scrub == NULL)
		return NULL;
	if (is_coded(&f->response))
		return "the answer has a coding that was not asked for";
	return f->response.status == 206 ? "the answer is a part of what was asked for"
					 : NULL;
}

/* The final head: how the body will be framed, and whether connections may go on. */
static bool
begin_answer(struct forward *f)
{
	bool has_end =
	    f->response.framing == HTTP_LENGTH || f->response.framing == HTTP_NO_BODY;
	bool is_old = f->x->head->minor == 0;
	const char *why = unreadable(f);

	if (why != NULL) {
		fail(f, REASON_UPSTREAM_MALFORMED, CLOSE_WEIR, why);
		return false;
	}
	f->has_head = f->has_answered = true;
	f->is_client_kept = f->x->head->is_kept && (has_end || !is_old) &&
			    !f->e->is_draining && !f->is_up_broken &&
			    (!f->is_pinned || f->response.is_kept);
	f->is_origin_kept =
	    f->response.is_kept && f->response.framing != HTTP_UNTIL_CLOSE;
	f->x->status = f->response.status;
	sent_first(f);
	f->down.is_chunked = !has_end && !is_old;
	body_reader_init(&f->down.in, &f->response);
	if (head_text(f, f->down.is_chunked).n > 0)
		return true;
	f->has_answered = false;
	fail(f, REASON_OVERLOADED, CLOSE_WEIR, "no room for the response head");
	return false;
}

/* An understood head; false: the exchange is over, or a pipe. */
static bool
take_head(struct forward *f, struct str rest)
{
	http_response_for(&f->response, f->x->head->method);
	if (f->response.status == 101) {
		upgrade(f, rest);
		return false;
	}
	if (f->response.status < 200) {
		http_reader_init(
		    &f->reader, HTTP_RESPONSE, &f->x->snapshot->response_limit);
		return pass_interim(f);
	}
	if (f->response.status == 407) { /* it may not ask for a proxy's credentials */
		fail(f, REASON_UPSTREAM_MALFORMED, CLOSE_WEIR,
		    "an origin may not answer 407");
		return false;
	}
	return begin_answer(f);
}

/* Takes heads off *in until the final one; false: the exchange is over, or a pipe. */
static bool
read_heads(struct forward *f, struct str *in)
{
	while (!f->has_head && in->n > 0) {
		size_t used;
		enum http_result r =
		    http_read(&f->reader, *in, &f->x->arena, &f->response, &used);
		if (r == HTTP_BAD) {
			fail(f, reason_of_response(f->reader.error), CLOSE_WEIR,
			    http_error_text(f->reader.error));
			return false;
		}
		if (r == HTTP_MORE)
			return true;
		*in = str_sub(*in, used, in->n);
		if (!take_head(f, *in))
			return false;
	}
	return true;
}

/* `in` is a head's beginning, perhaps within f->head itself. */
static void
keep_head(struct forward *f, struct str in)
{
	struct buf kept;

	buf_init(&kept, f->head.max);
	buf_str(&kept, in);
	buf_fini(&f->head);
	f->head = kept;
}

/* Bytes from the origin; false: the exchange is over, or a pipe. */
static bool
feed_down(struct forward *f, struct str in)
{
	struct str head = STR_NONE;
	size_t used;

	f->moved_down = loop_now(f->e->loop);
	if (!f->has_head) {
		if (f->head.n > 0) {
			buf_str(&f->head, in);
			in = buf_view(&f->head);
		}
		if (!read_heads(f, &in))
			return false;
		if (!f->has_head) {
			keep_head(f, in);
			return true;
		}
		head = buf_view(&f->e->text);
	}
	switch (flow_feed(&f->down, f->client, head, in, &used)) {
	case FLOW_DONE: /* what follows a whole answer was not asked for */
		f->is_origin_kept = f->is_origin_kept && used == in.n;
		break;
	case FLOW_BAD:
		fail(f, REASON_UPSTREAM_MALFORMED, CLOSE_WEIR,
		    "the response body breaks its framing");
		return false;
	case FLOW_LOST:
		client_gone(f);
		return false;
	case FLOW_MORE:
	case FLOW_OVER:   /* an answer has no limit */
	case FLOW_CAUGHT: /* and no sieve */
		break;
	}
	buf_fini(&f->head);
	return true;
}

static bool
may_try_again(const struct forward *f)
{
	struct str m = f->x->head->method;

	return f->origin->is_reused && !f->has_answered && f->interim == 0 &&
	       f->head.n == 0 && f->up.payload == 0 && f->up.is_done &&
	       (str_eq(m, STR("GET")) || str_eq(m, STR("HEAD")) ||
		   str_eq(m, STR("OPTIONS")));
}

static void
finish(struct forward *f)
{
	if (!is_up_over(f))
		f->is_client_kept = f->is_origin_kept = false;
	end(f, FORWARD_DONE, REASON_NONE, CLOSE_NOBODY);
}

/* The origin's end, clean or not. */
static void
origin_ended(struct forward *f, bool is_clean)
{
	f->is_origin_kept = false;
	if (may_try_again(f)) {
		end(f, FORWARD_STALE, REASON_NONE, CLOSE_NOBODY);
		return;
	}
	if (!f->has_head || !is_clean || !body_may_end(&f->down.in)) {
		fail(f, REASON_UPSTREAM_INCOMPLETE, CLOSE_ORIGIN,
		    is_clean ? "the origin closed early"
			     : "the origin reset the connection");
		return;
	}
	if (!flow_end(&f->down, f->client))
		client_gone(f);
	else if (f->down.pending.n == 0)
		finish(f);
}

/* False: the exchange is over, or a pipe. */
static bool
pump_down(struct forward *f)
{
	for (int round = 0; round < ROUNDS; round++) {
		ssize_t n;
		int err = flow_flush(&f->down, f->client);
		if (err == -EAGAIN)
			return true;
		if (err != 0) {
			client_gone(f);
			return false;
		}
		if (f->down.is_done) {
			finish(f);
			return false;
		}
		if (!stream_may_have_ended(&f->origin->stream))
			return true;
		n = stream_read(&f->origin->stream, f->e->scratch, SCRATCH);
		if (n == -EAGAIN)
			return true;
		if (n <= 0) {
			origin_ended(f, n == 0);
			return false;
		}
		if (!feed_down(f, (struct str){ f->e->scratch, (size_t)n }))
			return false;
	}
	stream_kick(&f->origin->stream);
	return true;
}

/* ---- deadlines ---- */

struct deadline {
	msec at;
	enum reason reason;
	const char *error;
};

static struct deadline
deadline_of(const struct forward *f)
{
	const struct settings *set = f->x->snapshot->settings;

	if (f->down.pending.n > 0)
		return (struct deadline){ f->moved_down + set->limits_write_timeout,
			REASON_IDLE_TIMEOUT, "the client takes nothing" };
	if (!f->is_up_broken && f->up.pending.n > 0)
		return (struct deadline){ f->moved_up + set->limits_write_timeout,
			REASON_RESPONSE_TIMEOUT, "the origin takes nothing" };
	if (!is_up_over(f) && !f->has_head) {
		msec idle_at = f->moved_up + set->limits_idle;
		return (struct deadline){
			idle_at < f->rate_at + MINUTE ? idle_at : f->rate_at + MINUTE,
			REASON_CLIENT_TIMEOUT, "the request body comes too slowly"
		};
	}
	if (!f->has_head)
		return (struct deadline){ f->moved_up + set->limits_response_timeout,
			REASON_RESPONSE_TIMEOUT, NULL };
	return (struct deadline){ (f->moved_down > f->moved_up ? f->moved_down
							       : f->moved_up) +
				      set->limits_idle,
		REASON_IDLE_TIMEOUT, NULL };
}

static void
arm(struct forward *f)
{
	msec now = loop_now(f->e->loop);
	msec at = deadline_of(f).at;

	timer_set(f->e->loop, &f->timer, at > now ? at - now : 0);
}

/* A minute of a body is over: was it enough?  The first one may be slow, but not idle. */
static bool
is_fast_enough(struct forward *f, msec now)
{
	bool is_idle = now >= f->moved_up + f->x->snapshot->settings->limits_idle;
	bool is_first = f->rate_at == f->begun;
	bool is_enough =
	    f->rate_bytes >= (uint64_t)f->x->snapshot->settings->limits_body_rate;

	f->rate_at = now;
	f->rate_bytes = 0;
	return !is_idle && (is_first || is_enough);
}

static void
on_timer(void *arg)
{
	struct forward *f = arg;
	struct deadline d = deadline_of(f);
	msec now = loop_now(f->e->loop);

	if (now >= d.at && (d.reason != REASON_CLIENT_TIMEOUT || !is_fast_enough(f, now)))
		fail(f, d.reason, CLOSE_WEIR, d.error);
	else
		arm(f);
}

/* ---- events ---- */

/* The client's end is no abort (it may still read), but a reset is. */
static bool
is_client_lost(struct forward *f, unsigned what)
{
	ssize_t n;

	if ((what & (STREAM_READ | STREAM_HUP)) == 0 || !is_up_over(f))
		return false;
	n = stream_peek(f->client);
	return n < 0 && n != -EAGAIN;
}

static void
on_client(void *arg, unsigned what)
{
	struct forward *f = arg;

	if (f->is_over) {
		tell_owner(f);
		return;
	}
	if (is_client_lost(f, what)) {
		client_gone(f);
		return;
	}
	if ((what & STREAM_WRITE) && f->down.pending.n > 0) {
		f->moved_down = loop_now(f->e->loop);
		if (!pump_down(f))
			return;
	}
	if (pump_up(f) && !f->is_spliced)
		arm(f);
}

static void
on_origin(void *arg, unsigned what)
{
	struct forward *f = arg;

	if (f->is_over) {
		tell_owner(f);
		return;
	}
	if ((what & STREAM_WRITE) && f->up.pending.n > 0) {
		f->moved_up = loop_now(f->e->loop);
		if (!pump_up(f))
			return;
	}
	if (pump_down(f) && !f->is_spliced)
		arm(f);
}

/* is_whole: with what is put in. */
static bool
put_request(struct forward *f, struct buf *to, bool is_whole)
{
	struct remake how = {
		.via = f->x->snapshot->settings->name,
		.arena = &f->x->arena,
		.port = exchange_is_inside_tls(f->x) ? 443 : 80,
		.strips_rewriters = f->x->verdict.strip_rewriters,
		.is_upgrade = f->x->ask.wants_websocket,
		.strips_extensions = f->x->verdict.dlp != DLP_NONE,
		.is_chunked = f->x->head->framing == HTTP_CHUNKED,
		.injection = f->x->injection.how != NULL ? &f->x->injection : NULL,
		.is_bare = !is_whole,
	};

	return remake_request(to, f->x->head, &f->x->ask, &how);
}

static int64_t
smaller_limit(int64_t rule, int64_t setting)
{
	if (setting == 0)
		return rule;
	return rule < 0 || setting < rule ? setting : rule;
}

/* Is there nothing in the head that must stay here, and can the body be looked into? */
static bool
may_leave(struct forward *f, struct str head)
{
	bool may = sieve_head(&f->sieve, head);

	if (may && is_coded(f->x->head))
		may = sieve_coded(&f->sieve);
	note_found(f);
	return may;
}

/* What is put in is looked at by nobody, and its memory is wiped.  False: over, or a
 * pipe. */
static bool
send_injected(struct forward *f, struct str rest)
{
	struct buf head = { .max = f->e->text.max };
	bool goes_on = false;

	head.is_secret = f->up.pending.is_secret = true;
	if (put_request(f, &head, true))
		goes_on = feed_up(f, buf_view(&head), rest);
	else
		fail(f, REASON_OVERLOADED, CLOSE_WEIR, "no room for the request head");
	buf_fini(&head);
	return goes_on;
}

static bool
send_head(struct forward *f, struct str rest)
{
	return f->x->injection.how != NULL ? send_injected(f, rest)
					   : feed_up(f, buf_view(&f->e->text), rest);
}

/* The request's head, and as much of its body as is there. */
static void
send_request(struct forward *f, struct str rest)
{
	buf_reset(&f->e->text);
	if (!put_request(f, &f->e->text, false)) {
		buf_str(f->more, rest); /* the next request, when this one has no body */
		fail(f, REASON_OVERLOADED, CLOSE_WEIR, "no room for the request head");
	} else if (!may_leave(f, buf_view(&f->e->text))) {
		buf_str(f->more, rest);
		(void)caught(f);
	} else if (send_head(f, rest) && pump_up(f)) {
		arm(f);
	}
}

/* What it says before it is asked would be taken for the answer. */
static bool
has_spoken_early(const struct stream *origin)
{
	return stream_may_read(origin) && stream_peek(origin) > 0;
}

static void
begin(struct forward *f, struct str rest)
{
	struct stream *origin = &f->origin->stream;

	if (has_spoken_early(origin)) {
		buf_str(f->more, rest);
		fail(f, REASON_UPSTREAM_MALFORMED, CLOSE_WEIR,
		    "the origin answered before it was asked");
		return;
	}
	if (stream_may_read(origin))
		stream_kick(origin); /* told before this carrier listened */
	send_request(f, rest);
}

void
forward_start(struct forward *f, struct engine *e, struct exchange *x,
    struct stream *client, struct origin *origin, struct str rest, struct buf *more,
    bool is_pinned, forward_done *done, void *arg)
{
	msec now = loop_now(e->loop);

	*f = (struct forward){ .e = e,
		.x = x,
		.client = client,
		.origin = origin,
		.more = more,
		.is_pinned = is_pinned,
		.begun = now,
		.moved_up = now,
		.moved_down = now,
		.rate_at = now,
		.done = done,
		.arg = arg };
	flow_init(&f->up, x->head, x->head->framing == HTTP_CHUNKED);
	flow_init(&f->down, x->head, false);
	if (x->injection.how != NULL) {
		scrub_init(&f->scrub, x->injection.what->known);
		f->down.scrub = &f->scrub;
	}
	buf_init(&f->head, x->snapshot->response_limit.head + SCRATCH);
	http_reader_init(&f->reader, HTTP_RESPONSE, &x->snapshot->response_limit);
	timer_init(&f->timer, on_timer, f);
	f->up.max =
	    smaller_limit(x->verdict.max_body, x->snapshot->settings->limits_body);
	sieve_init(&f->sieve, x->snapshot->redactor, x->snapshot->held, x->verdict.dlp);
	if (sieve_looks(&f->sieve)) /* else the body goes as it is, and is not copied */
		f->up.sieve = &f->sieve;
	stream_attach(client, on_client, f);
	stream_attach(&origin->stream, on_origin, f);
	f->is_starting = true;
	begin(f, rest);
	f->is_starting = false;
}
