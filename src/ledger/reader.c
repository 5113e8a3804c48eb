/*
 * reader.c - a ledger looked at from outside
 */
#include "ledger/reader.h"

#include "base/log.h"

static const struct {
	struct str scheme;
	struct reader *(*open)(struct str where, const struct ledger_options *);
} schemes[] = {
	{ { "sqlite:", 7 }, reader_sqlite },
#ifdef HAVE_REDIS
	{ { "redis://", 8 }, reader_redis },
	{ { "redis+unix:", 11 }, reader_redis_unix },
#endif
};

static void
on_meta(void *arg, struct str key, const void *row)
{
	(void)key;
	*(int64_t *)arg = ((const struct row_meta *)row)->format;
}

static struct reader *
of_this_version(struct reader *r, const char *url)
{
	int64_t format = 0;

	if (r == NULL)
		return NULL;
	if (reader_walk(r, ROW_META, on_meta, &format) && format == ROW_FORMAT)
		return r;
	log_error("this ledger cannot be read", "url", url, "why",
	    format == 0 ? "there is none" : "another version of weir made it");
	reader_close(r);
	return NULL;
}

#define SCHEMES (sizeof(schemes) / sizeof(*schemes))

/* SCHEMES: none. */
static size_t
scheme_of(struct str url)
{
	size_t i = 0;

	while (i < SCHEMES && !str_starts(url, schemes[i].scheme))
		i++;
	return i;
}

bool
reader_knows(const char *url)
{
	return scheme_of(str_of(url)) < SCHEMES;
}

struct reader *
reader_open(const struct ledger_options *o)
{
	struct str url = str_of(o->url);
	size_t i = scheme_of(url);

	if (i < SCHEMES)
		return of_this_version(
		    schemes[i].open(str_sub(url, schemes[i].scheme.n, url.n), o), o->url);
	log_error("this ledger cannot be read from outside", "url", o->url);
	return NULL;
}

void
reader_close(struct reader *r)
{
	if (r != NULL)
		r->ops->close(r);
}

bool
reader_walk(struct reader *r, enum row_kind kind, reader_row *seen, void *arg)
{
	return r->ops->walk(r, kind, seen, arg);
}

void
reader_moment(struct reader *r, bool begins)
{
	if (r->ops->moment != NULL)
		r->ops->moment(r, begins);
}

bool
reader_backup(struct reader *r, const char *to)
{
	if (r->ops->backup != NULL)
		return r->ops->backup(r, to);
	log_error("this ledger is backed up by its own means", "remedy",
	    "redis-cli --rdb FILE");
	return false;
}
