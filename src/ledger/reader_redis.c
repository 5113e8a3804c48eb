/*
 * reader_redis.c - a Redis ledger, read key by key
 */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "base/log.h"
#include "ledger/address.h"
#include "ledger/key.h"
#include "ledger/reader.h"

#define TIMEOUT_S 5
#define PREFIX "{weir}:"

struct redis_reader {
	struct reader reader;
	redisContext *c;
};

static struct redis_reader *
of(struct reader *r)
{
	return (struct redis_reader *)(void *)r;
}

static redisReply *
ask(struct redis_reader *r, int n, const char **argv, const size_t *sizes)
{
	redisReply *reply = redisCommandArgv(r->c, n, argv, sizes);

	if (reply != NULL && reply->type != REDIS_REPLY_ERROR)
		return reply;
	log_error(
	    "redis cannot be read", "err", reply != NULL ? reply->str : r->c->errstr);
	freeReplyObject(reply);
	return NULL;
}

/* ---- rows, as put() in redis.lua writes them */

static bool
read_number(struct str *rest, int64_t *out)
{
	struct str number;
	uint64_t n;

	if (!str_split(rest, ',', &number))
		return false;
	bool is_negative = number.n > 0 && number.p[0] == '-';
	if (!str_decimal(str_sub(number, is_negative, number.n), &n) || n > INT64_MAX)
		return false;
	*out = is_negative ? -(int64_t)n : (int64_t)n;
	return true;
}

static bool
read_row(enum row_kind kind, struct str text, void *row)
{
	const struct row_shape *shape = &row_shapes[kind];

	for (size_t i = 0; i < shape->nfield; i++) {
		int64_t n;

		if (shape->field[i].is_text)
			continue;
		if (!read_number(&text, &n))
			return false;
		row_set_num(row, &shape->field[i], n);
	}
	for (size_t i = 0; i < shape->nfield; i++) {
		struct str s;

		if (!shape->field[i].is_text)
			continue;
		if (!key_next(&text, &s))
			return false;
		row_set_text(row, &shape->field[i], s);
	}
	return text.n == 0;
}

static bool
see_key(struct redis_reader *r, enum row_kind kind, struct str key, reader_row *seen,
    void *arg)
{
	const char *argv[] = { "GET", key.p };
	const size_t sizes[] = { 3, key.n };
	redisReply *reply = ask(r, 2, argv, sizes);
	struct str row[ROW_FIELDS_MAX]; /* room for any */
	size_t at = sizeof(PREFIX) + strlen(row_shapes[kind].name);

	if (reply == NULL)
		return false;
	if (reply->type == REDIS_REPLY_STRING) {
		struct str text = { reply->str, (size_t)reply->len };

		if (!read_row(kind, text, row)) {
			log_error("a row cannot be read", "key", key.p);
			freeReplyObject(reply);
			return false;
		}
		seen(arg, str_sub(key, at, key.n), row);
	}
	freeReplyObject(reply);
	return true;
}

static bool
redis_walk(struct reader *reader, enum row_kind kind, reader_row *seen, void *arg)
{
	struct redis_reader *r = of(reader);
	char pattern[64], cursor[24] = "0";
	bool is_done = true;

	snprintf(pattern, sizeof(pattern), PREFIX "%s:*", row_shapes[kind].name);
	do {
		const char *argv[] = { "SCAN", cursor, "MATCH", pattern, "COUNT", "500" };
		redisReply *page = ask(r, 6, argv, NULL);

		if (page == NULL)
			return false;
		snprintf(cursor, sizeof(cursor), "%s", page->element[0]->str);
		for (size_t i = 0; i < page->element[1]->elements && is_done; i++) {
			const redisReply *key = page->element[1]->element[i];

			is_done = see_key(r, kind,
			    (struct str){ key->str, (size_t)key->len }, seen, arg);
		}
		freeReplyObject(page);
	} while (is_done && strcmp(cursor, "0") != 0);
	return is_done;
}

static void
redis_close(struct reader *reader)
{
	struct redis_reader *r = of(reader);

	if (r->c != NULL)
		redisFree(r->c);
	free(r);
}

static const struct reader_ops redis_ops = { redis_walk, NULL, NULL, redis_close };

static bool
greet(struct redis_reader *r, const char *command, const char *value, size_t n)
{
	const char *argv[] = { command, value };
	const size_t sizes[] = { strlen(command), n };
	redisReply *reply = ask(r, 2, argv, sizes);
	bool is_done = reply != NULL;

	freeReplyObject(reply);
	return is_done;
}

static struct reader *
open_reader(const struct address *a, const struct ledger_options *o)
{
	struct redis_reader *r = mem_zalloc(sizeof(*r));
	struct timeval patience = { .tv_sec = TIMEOUT_S };

	r->reader.ops = &redis_ops;
	r->c = a->port != 0 ? redisConnectWithTimeout(a->host, a->port, patience)
			    : redisConnectUnixWithTimeout(a->host, patience);
	if (r->c == NULL || r->c->err != 0 || redisSetTimeout(r->c, patience) != REDIS_OK)
		log_error("redis cannot be reached", "address", a->host, "err",
		    r->c != NULL ? r->c->errstr : "no memory");
	else if ((o->password.n == 0 || greet(r, "AUTH", o->password.p, o->password.n)) &&
		 greet(r, "SELECT", a->database, strlen(a->database)))
		return &r->reader;
	redis_close(&r->reader);
	return NULL;
}

struct reader *
reader_redis(struct str where, const struct ledger_options *o)
{
	struct address a;
	struct reader *r = NULL;

	if (address_read(&a, where))
		r = open_reader(&a, o);
	else
		address_complain(o->url);
	address_fini(&a);
	return r;
}

struct reader *
reader_redis_unix(struct str where, const struct ledger_options *o)
{
	struct address a;
	struct reader *r;

	address_unix(&a, where);
	r = open_reader(&a, o);
	address_fini(&a);
	return r;
}
