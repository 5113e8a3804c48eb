/*
 * redis.c - the ledger that instances share: one script for each step, by Redis's clock
 *
 * A connection comes up in order: connect, AUTH, SELECT, SCRIPT LOAD of every script;
 * then the store is there.  Whatever goes wrong on it (an error reply too) ends the
 * connection: what was under way ends with LEDGER_AWAY, in doubt, and a new connection
 * is tried, ever less often.  hiredis has neither time-outs for this nor a way back, so
 * both are here.
 *
 * Single primary: a replica refuses to write, and so is away.
 */
#include <errno.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "ledger/address.h"
#include "ledger/args.h"
#include "ledger/backend.h"

#define CONNECT_MS 2000
#define COMMAND_MS 5000
#define LOOK_MS 250 /* how often it is asked whether an answer is overdue */
#define BACKOFF_FIRST_MS 50
#define BACKOFF_LAST_MS 2000
#define SCAN_PAGE "500"
#define KEYS_PER_CALL 1000

enum phase { DOWN, COMING, THERE };

struct redis {
	struct backend backend;
	struct backend_host host;
	const _Atomic int64_t *shift;
	struct address address;
	char *password; /* NULL: none */
	char new_id[SEEN_ID];

	redisAsyncContext *connection; /* NULL: DOWN */
	struct event readable, writable;
	enum phase phase;
	size_t greeting; /* answers of the greeting that are still to come */
	struct list pending;
	struct timer overdue, again;
	msec since; /* COMING: since when */
	msec backoff;
	bool is_closing;

	struct buf script[SCRIPTS];
	char sha[SCRIPTS][SCRIPT_SHA];
};

/* One op with Redis: its memory is the op's. */
struct asked {
	struct list link;
	struct redis *redis;
	struct ledger_op *op;
	msec since;
	size_t kind; /* forget: which kind's keys are walked */
	char cursor[24];
	size_t gone;
};

static struct redis *
of(struct backend *b)
{
	return (struct redis *)(void *)b;
}

static void break_off(struct redis *r, const char *why);

/* ---- hiredis on our loop */

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	redisAsyncHandleRead(((struct redis *)arg)->connection);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	redisAsyncHandleWrite(((struct redis *)arg)->connection);
}

static void
add_read(void *arg)
{
	event_add(&((struct redis *)arg)->readable, NULL);
}

static void
del_read(void *arg)
{
	event_del(&((struct redis *)arg)->readable);
}

static void
add_write(void *arg)
{
	event_add(&((struct redis *)arg)->writable, NULL);
}

static void
del_write(void *arg)
{
	event_del(&((struct redis *)arg)->writable);
}

static void
clean_up(void *arg)
{
	del_read(arg);
	del_write(arg);
}

static void
attach(struct redis *r)
{
	redisAsyncContext *c = r->connection;
	struct event_base *base = loop_base(r->host.loop);

	event_assign(&r->readable, base, c->c.fd, EV_READ | EV_PERSIST, on_readable, r);
	event_assign(&r->writable, base, c->c.fd, EV_WRITE | EV_PERSIST, on_writable, r);
	c->ev.data = r;
	c->ev.addRead = add_read;
	c->ev.delRead = del_read;
	c->ev.addWrite = add_write;
	c->ev.delWrite = del_write;
	c->ev.cleanup = clean_up;
}

/* ---- the connection's life */

static void
set_away(struct redis *r, enum ledger_answer is)
{
	r->host.health(r->host.arg, is);
}

static void
try_again(struct redis *r)
{
	if (r->is_closing)
		return;
	timer_set(r->host.loop, &r->again, r->backoff);
	r->backoff = 2 * r->backoff < BACKOFF_LAST_MS ? 2 * r->backoff : BACKOFF_LAST_MS;
}

/* hiredis has freed the connection, or is about to; every op on it has ended. */
static void
is_down(struct redis *r)
{
	if (r->phase == DOWN)
		return;
	r->connection = NULL;
	r->phase = DOWN;
	timer_clear(&r->overdue);
	if (r->is_closing)
		return;
	set_away(r, LEDGER_AWAY);
	try_again(r);
}

static void
on_disconnect(const redisAsyncContext *c, int status)
{
	struct redis *r = c->data;

	(void)status;
	is_down(r);
}

static void
on_connect(const redisAsyncContext *c, int status)
{
	struct redis *r = c->data;

	if (status == REDIS_OK)
		return;
	log_debug(
	    "redis cannot be reached", "address", r->address.host, "err", c->errstr);
	is_down(r); /* hiredis frees it */
}

/* Every op under way is told (with no reply) while hiredis frees the connection. */
static void
break_off(struct redis *r, const char *why)
{
	redisAsyncContext *c = r->connection;

	if (c == NULL)
		return;
	if (!r->is_closing)
		log_warn(
		    "connection to redis ended", "address", r->address.host, "why", why);
	is_down(r);
	redisAsyncFree(c);
}

static void
free_connection(void *arg)
{
	struct redis *r = arg;

	break_off(r, "an answer was an error");
}

static void
on_overdue(void *arg)
{
	struct redis *r = arg;
	msec now = loop_now(r->host.loop);

	timer_set(r->host.loop, &r->overdue, LOOK_MS);
	if (r->phase == COMING && now - r->since > CONNECT_MS) {
		break_off(r, "it did not come up in time");
	} else if (!list_is_empty(&r->pending)) {
		const struct asked *oldest =
		    list_entry(r->pending.next, struct asked, link);

		if (now - oldest->since > COMMAND_MS)
			break_off(r, "an answer did not come in time");
	}
}

static bool
is_error(const redisReply *reply, const struct redis *r)
{
	if (reply == NULL)
		return true;
	if (reply->type != REDIS_REPLY_ERROR)
		return false;
	log_warn("redis refused", "address", r->address.host, "err", reply->str);
	return true;
}

static void
on_greeted(redisAsyncContext *c, void *answer, void *arg)
{
	struct redis *r = arg;

	(void)c;
	if (answer == NULL)
		return;
	if (is_error(answer, r)) {
		loop_post(r->host.loop, free_connection,
		    r); /* not from a callback of its own */
		return;
	}
	if (--r->greeting > 0)
		return;
	r->phase = THERE;
	r->backoff = BACKOFF_FIRST_MS;
	set_away(r, LEDGER_OK);
}

static void
greet(struct redis *r, size_t n, const char *a, const char *b, struct str c)
{
	const char *argv[] = { a, b, c.p };
	const size_t sizes[] = { strlen(a), strlen(b), c.n };

	r->greeting++;
	if (redisAsyncCommandArgv(r->connection, on_greeted, r, (int)n, argv, sizes) !=
	    REDIS_OK)
		loop_post(r->host.loop, free_connection, r);
}

static void
connect_now(void *arg)
{
	struct redis *r = arg;
	redisAsyncContext *c = r->address.port != 0
				   ? redisAsyncConnect(r->address.host, r->address.port)
				   : redisAsyncConnectUnix(r->address.host);

	if (c == NULL || c->err) {
		if (c != NULL)
			redisAsyncFree(c);
		set_away(r, LEDGER_AWAY);
		try_again(r);
		return;
	}
	c->data = r;
	r->connection = c;
	r->phase = COMING;
	r->since = loop_now(r->host.loop);
	r->greeting = 0;
	attach(r);
	redisAsyncSetConnectCallback(c, on_connect);
	redisAsyncSetDisconnectCallback(c, on_disconnect);
	timer_set(r->host.loop, &r->overdue, LOOK_MS);
	if (r->password != NULL)
		greet(r, 2, "AUTH", r->password, STR_NONE);
	greet(r, 2, "SELECT", r->address.database, STR_NONE);
	for (size_t i = 0; i < SCRIPTS; i++)
		greet(r, 3, "SCRIPT", "LOAD", buf_view(&r->script[i]));
}

/* ---- ops */

static void
end(struct asked *a)
{
	struct redis *r = a->redis;
	struct ledger_op *op = a->op;

	list_remove(&a->link);
	r->host.ended(r->host.arg, op); /* `a` goes with it */
}

static void
end_away(struct asked *a)
{
	a->op->reply = (struct ledger_reply){ .answer = LEDGER_AWAY };
	a->op->is_in_doubt = true;
	end(a);
}

static struct str
element(const void *from, size_t i)
{
	const redisReply *reply = ((const redisReply *)from)->element[i];

	if (reply->type != REDIS_REPLY_STRING)
		return STR_NONE;
	return (struct str){ reply->str, (size_t)reply->len };
}

static struct answer
answer_of(const redisReply *reply)
{
	return (
	    struct answer){ .n = reply->type == REDIS_REPLY_ARRAY ? reply->elements : 0,
		.element = element,
		.from = reply };
}

/* What a script says of the store as a whole. */
static void
look_at_store(struct redis *r, const struct ledger_op *op, struct str id)
{
	if (op->reply.answer == LEDGER_ROLLED_BACK) {
		set_away(r, LEDGER_ROLLED_BACK);
		return;
	}
	if (op->reply.answer == LEDGER_AWAY)
		return;
	seen_note(r->host.seen, id, op->reply.revision, loop_now(r->host.loop));
	set_away(r, LEDGER_OK);
}

static bool
take_reply(struct asked *a, const redisReply *reply)
{
	struct redis *r = a->redis;
	struct answer answer;
	struct str id;

	if (reply == NULL)
		return false;
	answer = answer_of(reply);
	if (!is_error(reply, r) && args_reply(a->op, &answer, &id)) {
		look_at_store(r, a->op, id);
		return true;
	}
	loop_post(r->host.loop, free_connection, r);
	return false;
}

static void forget_next(struct asked *a);

static void
on_answer(redisAsyncContext *c, void *reply, void *arg)
{
	struct asked *a = arg;

	(void)c;
	if (!take_reply(a, reply))
		end_away(a);
	else if (a->op->kind == OP_FORGET && a->op->reply.answer == LEDGER_OK)
		forget_next(a);
	else
		end(a);
}

static void
put_eval(struct redis *r, struct args *args, enum script script)
{
	const struct seen *seen = r->host.seen;

	args_text(args, STR("EVALSHA"));
	args_text(args, (struct str){ r->sha[script], SCRIPT_SHA });
	args_text(args, STR("0"));
	args_text(args, str_of(seen->id));
	args_num(args, seen->revision);
	args_text(args, str_of(r->new_id));
	args_num(args, r->shift != NULL ? atomic_load(r->shift) : 0);
}

static void
send_args(struct asked *a, const struct args *args, redisCallbackFn *done)
{
	struct redis *r = a->redis;

	a->since = loop_now(r->host.loop);
	list_remove(&a->link);
	list_append(&r->pending, &a->link);
	/* hiredis copies; a connection that is being freed takes nothing */
	if (redisAsyncCommandArgv(r->connection, done, a, (int)args->n,
		(const char **)(uintptr_t)args->text, args->size) != REDIS_OK)
		end_away(a);
}

static void
ask(struct redis *r, struct ledger_op *op)
{
	struct asked *a = arena_zalloc(&op->memory, sizeof(*a));
	struct args args;

	*a = (struct asked){ .redis = r, .op = op, .cursor = "0" };
	list_init(&a->link);
	args_init(&args, &op->memory);
	put_eval(r, &args, args_script(op->kind));
	args_op(&args, op);
	send_args(a, &args, on_answer);
}

static void
redis_run(struct backend *b, struct list *batch)
{
	struct redis *r = of(b);

	while (!list_is_empty(batch)) {
		struct ledger_op *op = list_entry(batch->next, struct ledger_op, link);

		list_remove(&op->link);
		if (r->phase == THERE) {
			ask(r, op);
			continue;
		}
		op->reply = (struct ledger_reply){ .answer = LEDGER_AWAY };
		op->is_in_doubt = false;
		r->host.ended(r->host.arg, op);
	}
}

/* ---- forget: after its tombstone, the rows, a page of keys at a time */

/* Calls first: they are charged to scopes that go after them. */
static const char *const walked[] = { "call", "note", "scope", "session" };

static void on_rows(redisAsyncContext *c, void *reply, void *arg);

static void
on_page(redisAsyncContext *c, void *answer, void *arg)
{
	struct asked *a = arg;
	const redisReply *reply = answer;
	struct args args;

	(void)c;
	if (reply == NULL || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
	    reply->element[1]->elements > KEYS_PER_CALL) {
		end_away(a);
		return;
	}
	struct str cursor = element(reply, 0);
	if (cursor.p == NULL || cursor.n >= sizeof(a->cursor)) {
		end_away(a);
		return;
	}
	str_put(a->cursor, cursor);
	a->cursor[cursor.n] = '\0';
	args_init(&args, &a->op->memory);
	put_eval(a->redis, &args, SCRIPT_SMALL);
	args_text(&args, STR("forget_rows"));
	args_text(&args, a->op->session);
	args_text(&args, str_of(walked[a->kind]));
	args_num(&args, (int64_t)reply->element[1]->elements);
	for (size_t i = 0; i < reply->element[1]->elements; i++)
		args_text(&args, element(reply->element[1], i));
	send_args(a, &args, on_rows);
}

static void
on_rows(redisAsyncContext *c, void *reply, void *arg)
{
	struct asked *a = arg;

	(void)c;
	if (!take_reply(a, reply)) {
		end_away(a);
		return;
	}
	a->gone += (size_t)a->op->number;
	if (a->op->reply.answer != LEDGER_OK) {
		end(a);
		return;
	}
	if (strcmp(a->cursor, "0") == 0)
		a->kind++;
	forget_next(a);
}

static void
forget_next(struct asked *a)
{
	struct args args;
	struct buf pattern;

	if (a->kind == sizeof(walked) / sizeof(*walked)) {
		a->op->number = (int64_t)a->gone;
		end(a);
		return;
	}
	buf_init(&pattern, 64);
	buf_fmt(&pattern, "{weir}:%s:*", walked[a->kind]);
	args_init(&args, &a->op->memory);
	args_text(&args, STR("SCAN"));
	args_text(&args, str_of(a->cursor));
	args_text(&args, STR("MATCH"));
	args_text(&args, arena_str(&a->op->memory, buf_view(&pattern)));
	args_text(&args, STR("COUNT"));
	args_text(&args, STR(SCAN_PAGE));
	buf_fini(&pattern);
	send_args(a, &args, on_page);
}

/* ---- beginning and end */

static void
redis_begin(struct backend *b)
{
	connect_now(of(b));
}

static void
redis_close(struct backend *b)
{
	struct redis *r = of(b);

	r->is_closing = true;
	timer_clear(&r->again);
	if (r->connection != NULL)
		break_off(r, "weir ends");
	for (size_t i = 0; i < SCRIPTS; i++)
		buf_fini(&r->script[i]);
	if (r->password != NULL)
		OPENSSL_cleanse(r->password, strlen(r->password));
	free(r->password);
	address_fini(&r->address);
	free(r);
}

static const struct backend_ops redis_ops = { redis_begin, redis_run, redis_close };

static void
make_id(char id[static SEEN_ID])
{
	unsigned char bytes[(SEEN_ID - 1) / 2];
	static const char hex[] = "0123456789abcdef";

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		abort();
	for (size_t i = 0; i < sizeof(bytes); i++) {
		id[2 * i] = hex[bytes[i] >> 4];
		id[2 * i + 1] = hex[bytes[i] & 15];
	}
	id[SEEN_ID - 1] = '\0';
}

static struct redis *
redis_new(const struct ledger_options *o, const struct backend_host *host)
{
	struct redis *r = mem_zalloc(sizeof(*r));

	r->backend.ops = &redis_ops;
	r->host = *host;
	r->shift = o->shift_us;
	r->password = o->password.n > 0 ? str_dup(o->password) : NULL;
	r->backoff = BACKOFF_FIRST_MS;
	make_id(r->new_id);
	list_init(&r->pending);
	timer_init(&r->overdue, on_overdue, r);
	timer_init(&r->again, connect_now, r);
	for (enum script i = 0; i < SCRIPTS; i++) {
		buf_init(&r->script[i], 1 << 20);
		script_print(&r->script[i], i);
		script_sha(r->sha[i], buf_view(&r->script[i]));
	}
	return r;
}

struct backend *
backend_redis(
    struct str where, const struct ledger_options *o, const struct backend_host *host)
{
	struct redis *r = redis_new(o, host);

	if (address_read(&r->address, where))
		return &r->backend;
	address_complain(o->url);
	redis_close(&r->backend);
	return NULL;
}

struct backend *
backend_redis_unix(
    struct str where, const struct ledger_options *o, const struct backend_host *host)
{
	struct redis *r = redis_new(o, host);

	address_unix(&r->address, where);
	return &r->backend;
}
