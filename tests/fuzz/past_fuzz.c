/*
 * past_fuzz.c - whatever stands in a log: what was lost is recorded as JSON, and as much
 * of it is found from the last start on as from the log's beginning
 */
#include <assert.h>
#include <string.h>

#include "audit/past.h"
#include "wire/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A record without its end is a whole object once it has one. */
static void
is_json(struct str record)
{
	struct buf whole;
	struct arena arena;
	struct json_in in;

	buf_init(&whole, record.n + 1);
	buf_str(&whole, record);
	buf_char(&whole, '}');
	arena_init(&arena, 4 * whole.n + 4096);
	json_in_init(&in, buf_view(&whole), &arena);
	assert(json_skip(&in));
	assert(json_next(&in) == JSON_END);
	arena_fini(&arena);
	buf_fini(&whole);
}

/* How many exchanges of the log are lost. */
static size_t
lost_of(struct str log)
{
	struct past p;
	struct str line;
	struct buf record;
	size_t n = 0;

	past_init(&p);
	buf_init(&record, 1 << 20);
	while (str_split(&log, '\n', &line))
		past_see(&p, line);
	for (; past_next(&p, n, &record); n++) {
		is_json(buf_view(&record));
		buf_reset(&record);
	}
	buf_fini(&record);
	past_fini(&p);
	return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str log = { (const char *)data, size };
	size_t lost = lost_of(log), at;

	if (!past_find_boundary(log, &at))
		return 0;
	assert(at == 0 || log.p[at - 1] == '\n');
	assert(lost_of(str_sub(log, at, log.n)) == lost);
	return 0;
}
