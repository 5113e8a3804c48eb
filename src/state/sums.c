/*
 * sums.c - what one client can make without end
 */
#include "state/sums.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/map.h"

#define KEY_MOST 4096

struct row {
	struct sum sum;
	char *text; /* the bytes of its slices */
};

struct sums {
	pthread_mutex_t lock;
	size_t most;
	struct map rows; /* -> struct row * */
	struct sum other;
};

static const struct sum no_other = { .reason = "other" };

struct sums *
sums_new(size_t most)
{
	struct sums *s = mem_zalloc(sizeof(*s));

	pthread_mutex_init(&s->lock, NULL);
	s->most = most;
	s->other = no_other;
	map_init(&s->rows);
	return s;
}

static void
free_row(void *arg)
{
	struct row *r = arg;

	free(r->text);
	free(r);
}

void
sums_free(struct sums *s)
{
	if (s == NULL)
		return;
	map_fini(&s->rows, free_row);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Lengths in front, so that no two keys are alike by accident. */
static void
put_part(struct buf *to, struct str part)
{
	buf_fmt(to, "%zu:", part.n);
	buf_str(to, part);
}

/* Of a session its reason alone counts, wherever it comes from. */
static void
put_key(struct buf *to, const struct sum *one)
{
	put_part(to, str_of(one->reason));
	if (one->sid.n > 0) {
		put_part(to, one->issuer);
		put_part(to, one->tenant);
		put_part(to, one->sid);
	} else {
		put_part(to, one->client);
		buf_text(to, one->door);
	}
}

static struct str
keep(char **at, struct str part)
{
	struct str kept = { *at, part.n };

	str_put(*at, part);
	*at += part.n;
	return kept;
}

static struct row *
row_new(const struct sum *one)
{
	struct row *r = mem_zalloc(sizeof(*r));
	char *at = r->text =
	    mem_alloc(one->issuer.n + one->tenant.n + one->sid.n + one->client.n + 1);

	r->sum = *one;
	r->sum.issuer = keep(&at, one->issuer.n > 0 ? one->issuer : STR(""));
	r->sum.tenant = keep(&at, one->tenant.n > 0 ? one->tenant : STR(""));
	r->sum.sid = keep(&at, one->sid.n > 0 ? one->sid : STR(""));
	r->sum.client = keep(&at, one->client.n > 0 ? one->client : STR(""));
	r->sum.count = 0;
	return r;
}

static void
count(struct sum *to, uint64_t n, usec from, usec until)
{
	if (to->count == 0 || from < to->from)
		to->from = from;
	if (to->count == 0 || until > to->to)
		to->to = until;
	to->count += n;
}

/* Called with the lock: where this is counted. */
static struct sum *
find(struct sums *s, const struct sum *one)
{
	struct row *r;
	struct buf key;

	buf_init(&key, KEY_MOST);
	put_key(&key, one);
	r = key.is_over ? NULL : map_get(&s->rows, buf_view(&key));
	if (r == NULL && !key.is_over && s->rows.n < s->most) {
		r = row_new(one);
		(void)map_put(&s->rows, buf_view(&key), r);
	}
	buf_fini(&key);
	if (r == NULL)
		count_add(COUNT_AUDIT_SUMS_FULL, 1);
	return r != NULL ? &r->sum : &s->other;
}

void
sums_add(struct sums *s, const struct sum *one, usec now)
{
	count_add(COUNT_AUDIT_SUMMED, 1);
	pthread_mutex_lock(&s->lock);
	count(find(s, one), 1, now, now);
	pthread_mutex_unlock(&s->lock);
}

static void
put_back(struct sums *s, const struct sum *row)
{
	pthread_mutex_lock(&s->lock);
	count(
	    row->door == NULL ? &s->other : find(s, row), row->count, row->from, row->to);
	pthread_mutex_unlock(&s->lock);
}

/* 1: it was not taken, and stays. */
static size_t
give(struct sums *s, const struct sum *row,
    bool (*take)(void *arg, const struct sum *row), void *arg)
{
	if (take(arg, row))
		return 0;
	put_back(s, row);
	return 1;
}

size_t
sums_take(struct sums *s, bool (*take)(void *arg, const struct sum *row), void *arg)
{
	struct map rows;
	struct sum other;
	struct str key;
	size_t at = 0, stayed = 0;
	void *r;

	pthread_mutex_lock(&s->lock); /* what comes meanwhile begins anew */
	rows = s->rows;
	other = s->other;
	map_init(&s->rows);
	s->other = no_other;
	pthread_mutex_unlock(&s->lock);
	while (map_next(&rows, &at, &key, &r))
		stayed += give(s, &((struct row *)r)->sum, take, arg);
	if (other.count > 0)
		stayed += give(s, &other, take, arg);
	map_fini(&rows, free_row);
	return stayed;
}
