/*
 * audit_stats.c - weir audit stats: how many exchanges, bytes, dollars and milliseconds
 *
 * An exchange counts once, by its final record; what weir summed counts as often as the
 * sum says.  Memory is bounded: of more than GROUPS_MAX rows the rest is one row, and
 * that is said.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/reader.h"
#include "base/exit.h"
#include "base/map.h"
#include "cmd/audit.h"
#include "cmd/audit_by.h"
#include "cmd/audit_filter.h"
#include "cmd/book_rows.h"
#include "cmd/output.h"
#include "cmd/spread.h"

#define GROUPS_MAX 8192
#define OUT_MAX ((size_t)64 << 20)

struct group {
	char *key; /* owned; NULL: all others, or the total */
	uint64_t count, allow, deny, up, down;
	usd_nano usd;
	bool is_usd_over; /* there was more than fits */
	struct spread ms;
};

struct stats {
	const struct audit_asked *o;
	const struct audit_by *by;
	struct map by_key;
	struct group total, other;
	uint64_t unreadable; /* lines that are no records */
	struct arena arena;
	bool is_missing;
};

/* ---- sums */

static void
grow(uint64_t *sum, int64_t n)
{
	if (n > 0 && __builtin_add_overflow(*sum, (uint64_t)n, sum))
		*sum = UINT64_MAX;
}

static void
grow_usd(struct group *g, usd_nano n, bool is_over)
{
	if (n != ENTRY_NONE && !money_add(g->usd, n, &g->usd)) {
		g->usd = INT64_MAX;
		is_over = true;
	}
	g->is_usd_over = g->is_usd_over || is_over;
}

static void
count_in(struct group *g, const struct entry *e, int64_t times)
{
	bool is_denied = str_eq(e->decision, STR("deny")) || e->decision.n == 0;

	grow(&g->count, times);
	grow(is_denied ? &g->deny : &g->allow, times);
	grow(&g->up, e->up);
	grow(&g->down, e->down);
	grow_usd(g, e->charged, false);
	if (e->ms != ENTRY_NONE)
		spread_add(&g->ms, (uint64_t)e->ms);
}

static void
merge(struct group *to, const struct group *g)
{
	to->count += g->count;
	to->allow += g->allow;
	to->deny += g->deny;
	to->up += g->up;
	to->down += g->down;
	grow_usd(to, g->usd, g->is_usd_over);
	spread_merge(&to->ms, &g->ms);
}

static struct group *
group_of(struct stats *s, struct str key)
{
	struct group *g = map_get(&s->by_key, key);

	if (g != NULL)
		return g;
	if (s->by_key.n >= GROUPS_MAX)
		return &s->other;
	g = mem_zalloc(sizeof(*g));
	g->key = str_dup(key);
	map_put(&s->by_key, key, g);
	return g;
}

static void
group_free(void *arg)
{
	struct group *g = arg;

	free(g->key);
	free(g);
}

/* An exchange that ended, or a sum of what was refused; 0: it does not count. */
static int64_t
times_of(const struct entry *e)
{
	if (entry_is(e, "sum"))
		return e->count > 0 ? e->count : 0;
	return str_eq(e->phase, STR("final")) && !str_eq(e->kind, STR("system"));
}

static void
count_line(struct stats *s, const struct audit_line *l)
{
	struct entry e;
	struct buf key;

	arena_reset(&s->arena);
	if (l->is_too_long || entry_read(&e, l->text, &s->arena) != NULL) {
		s->unreadable++;
		return;
	}
	int64_t times = times_of(&e);
	if (times == 0 || !audit_filter_is_in_time(s->o, &e))
		return;
	buf_init(&key, 2 * AUDIT_BY_MAX);
	count_in(group_of(s, audit_by_key(s->by, &e, &key)), &e, times);
	count_in(&s->total, &e, times);
	buf_fini(&key);
}

static void
read_log(struct stats *s, const struct audit_files *files)
{
	struct audit_reader r;
	struct audit_line line;
	enum audit_read what;

	audit_reader_init(&r, files);
	while ((what = audit_reader_next(&r, &line)) != AUDIT_END)
		if (what == AUDIT_LINE) {
			count_line(s, &line);
		} else if (what == AUDIT_FAILED) {
			fprintf(stderr, "weir audit: %s: %s\n", audit_reader_path(&r),
			    strerror(errno));
			s->is_missing = true;
		}
	audit_reader_fini(&r);
}

/* ---- rows */

static int
by_count(const void *a, const void *b)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->key, y->key);
}

static int
by_name(const void *a, const void *b)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

	return strcmp(x->key, y->key);
}

/* In order; what is beyond --top goes to the others. */
static struct group **
sorted(struct stats *s, size_t *n)
{
	struct group **all = mem_alloc((s->by_key.n + 1) * sizeof(struct group *));
	size_t at = 0;
	struct str key;
	void *g;

	for (*n = 0; map_next(&s->by_key, &at, &key, &g);)
		all[(*n)++] = g;
	qsort(all, *n, sizeof(struct group *), by_count);
	while (s->o->top > 0 && *n > s->o->top)
		merge(&s->other, all[--*n]);
	if (strcmp(s->o->by, "hour") == 0)
		qsort(all, *n, sizeof(struct group *), by_name);
	return all;
}

static const char *
usd_text(const struct group *g, char out[static USD_TEXT + 1])
{
	usd_print(g->usd, out);
	if (g->is_usd_over)
		memcpy(out + strlen(out), "+", 2);
	return out;
}

static void
show_group(struct buf *to, const struct group *g, const char *name)
{
	char usd[USD_TEXT + 1];

	buf_fmt(to,
	    "%10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %12" PRIu64 " %14" PRIu64
	    " %12s %7" PRIu64 " %7" PRIu64 " %7" PRIu64 "  ",
	    g->count, g->allow, g->deny, g->up, g->down, usd_text(g, usd),
	    spread_percentile(&g->ms, 50), spread_percentile(&g->ms, 90),
	    spread_percentile(&g->ms, 99));
	if (name != NULL)
		buf_text(to, name);
	else
		row_show(to, str_of(g->key));
	buf_char(to, '\n');
}

static void
show(struct stats *s, struct group *const *all, size_t n, struct buf *to)
{
	buf_fmt(to, "%10s %10s %10s %12s %14s %12s %7s %7s %7s  %s\n", "count", "allow",
	    "deny", "up", "down", "usd", "p50 ms", "p90 ms", "p99 ms", s->o->by);
	for (size_t i = 0; i < n; i++)
		show_group(to, all[i], NULL);
	if (s->other.count > 0)
		show_group(to, &s->other, "(other)");
	show_group(to, &s->total, "(total)");
	if (s->unreadable > 0)
		buf_fmt(to,
		    "lines that are no records: %" PRIu64 "; see weir audit verify\n",
		    s->unreadable);
}

static void
put_count(struct json_out *j, const char *key, uint64_t n)
{
	json_key(j, key);
	json_int(j, n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

static void
put_ms(struct json_out *j, const struct spread *ms)
{
	json_key(j, "ms");
	json_open(j, '{');
	put_count(j, "p50", spread_percentile(ms, 50));
	put_count(j, "p90", spread_percentile(ms, 90));
	put_count(j, "p99", spread_percentile(ms, 99));
	put_count(j, "max", ms->most);
	json_close(j, '}');
}

static void
put_group(struct json_out *j, const struct group *g)
{
	char usd[USD_TEXT + 1];

	json_open(j, '{');
	if (g->key != NULL) {
		json_key(j, "key");
		json_text(j, g->key[0] == '\0' ? NULL : g->key);
	}
	put_count(j, "count", g->count);
	put_count(j, "allow", g->allow);
	put_count(j, "deny", g->deny);
	json_key(j, "bytes");
	json_open(j, '{');
	put_count(j, "up", g->up);
	put_count(j, "down", g->down);
	json_close(j, '}');
	json_key(j, "usd");
	json_text(j, usd_text(g, usd));
	put_ms(j, &g->ms);
	json_close(j, '}');
}

static void
put(struct stats *s, struct group *const *all, size_t n, struct buf *to)
{
	struct json_out j;

	json_out_init(&j, to);
	json_open(&j, '{');
	json_key(&j, "by");
	json_text(&j, s->o->by);
	json_key(&j, "rows");
	json_open(&j, '[');
	for (size_t i = 0; i < n; i++)
		put_group(&j, all[i]);
	json_close(&j, ']');
	json_key(&j, "other");
	put_group(&j, &s->other);
	json_key(&j, "total");
	put_group(&j, &s->total);
	put_count(&j, "unreadable", s->unreadable);
	json_close(&j, '}');
	buf_char(to, '\n');
}

/* ---- the command */

static int
say(struct stats *s)
{
	struct group **all;
	struct buf out;
	int status = s->is_missing ? EXIT_NOINPUT : EXIT_YES;
	size_t n;

	buf_init(&out, OUT_MAX);
	all = sorted(s, &n);
	if (s->o->is_json)
		put(s, all, n, &out);
	else
		show(s, all, n, &out);
	int failed = output_flush(&out) ? EXIT_YES : output_failed("audit");
	if (status == EXIT_YES)
		status = failed;
	free(all);
	buf_fini(&out);
	return status;
}

int
audit_stats(struct audit_log *log, const struct audit_asked *o)
{
	struct stats s = { .o = o, .by = audit_by_find(o->by) };
	int status;

	signal(SIGPIPE, SIG_IGN);
	map_init(&s.by_key);
	arena_init(&s.arena, ENTRY_MEMORY);
	read_log(&s, &log->files);
	status = say(&s);
	arena_fini(&s.arena);
	map_fini(&s.by_key, group_free);
	return status;
}
