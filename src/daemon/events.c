/*
 * events.c - what weir records of itself: starts, reloads, commands, floods
 */
#include "daemon/events.h"

#include <stdlib.h>

#include "audit/record.h"
#include "base/log.h"

#define TEXT_ROOM ((size_t)65536)

/* It needs no place. */
static void
write_down(const struct events *e, const char *event, struct buf *text)
{
	if (!journal_write_system(e->journal, buf_view(text)))
		log_error("the audit log has no room", "event", event);
	buf_fini(text);
}

void
events_record(const struct events *e, const char *event)
{
	struct buf b;

	buf_init(&b, TEXT_ROOM);
	record_print_system(clock_wall_us(), journal_next_seq(e->journal), event,
	    e->snapshot->redactor, &b, "generation",
	    NUM((int64_t)e->snapshot->generation), "policy",
	    ruleset_digest(e->snapshot->rules), NULL);
	write_down(e, event, &b);
}

void
events_command(const struct events *e, const char *event, struct str tenant,
    struct str name, struct str source)
{
	char *of = str_dup(tenant), *what = str_dup(name), *from = str_dup(source);
	const char *key = source.n > 0 ? "source" : NULL; /* NULL ends the pairs */
	struct buf b;

	buf_init(&b, TEXT_ROOM);
	record_print_system(clock_wall_us(), journal_next_seq(e->journal), event,
	    e->snapshot->redactor, &b, "tenant", of, "name", what, key, from, NULL);
	write_down(e, event, &b);
	log_info("an operator's command", "command", event, "tenant", of, "name", what,
	    key, from);
	free(of);
	free(what);
	free(from);
}

/* A record of a flood; it has a place, or waits for the next minute without a number. */
static bool
record_sum(void *arg, const struct sum *row)
{
	const struct events *e = arg;
	char from[RECORD_TIME], to[RECORD_TIME];
	struct buf b;

	if (!journal_reserve(e->journal))
		return false;
	char *tenant = str_dup(row->tenant), *sid = str_dup(row->sid);
	char *client = str_dup(row->client);
	record_time(from, row->from);
	record_time(to, row->to);
	buf_init(&b, TEXT_ROOM);
	record_print_system(clock_wall_us(), journal_next_seq(e->journal), "sum",
	    e->snapshot->redactor, &b, "reason", row->reason, "count",
	    NUM((int64_t)row->count), "tenant", tenant, "sid", sid, "client", client,
	    "door", row->door, "from", from, "to", to, NULL);
	journal_write(e->journal, buf_view(&b));
	buf_fini(&b);
	free(tenant);
	free(sid);
	free(client);
	return true;
}

size_t
events_sums(const struct events *e, struct sums *sums)
{
	struct events to = *e;

	return sums_take(sums, record_sum, &to);
}
