/*
 * scan_fuzz.c - what comes in pieces is read as the whole text is
 *
 * First byte: how many bytes come at a time.
 */
#include "wire/scan.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct scan_path paths[] = {
	{ { "model" } },
	{ { "usage" } },
	{ { "usage", "input_tokens" } },
	{ { "a", "[]", "a" } },
	{ { "[]" } },
	{ { "[]", "[]", "[]", "[]", "[]", "[]", "[]", "[]" } },
};

static void
say(void *arg, unsigned path, const struct scan_value *v)
{
	assert(v->key <= v->begin && v->begin < v->end);
	buf_fmt(arg, "%u %d %.*s %llu %llu\n", path, (int)v->type, STR_ARG(v->text),
	    (unsigned long long)v->begin, (unsigned long long)v->end);
}

static bool
read_in_pieces(struct str in, size_t piece, struct buf *out)
{
	struct scan s;

	scan_begin(&s, paths, sizeof(paths) / sizeof(*paths), say, out);
	for (; in.n > 0; in = str_sub(in, piece, in.n))
		if (scan_feed(&s, str_sub(in, 0, piece)) == SCAN_BAD)
			return false;
	return scan_end(&s) == SCAN_DONE;
}

static bool
is_json(struct str in, bool *is_deep)
{
	struct json_in j;
	struct arena a;
	bool is_read;

	arena_init(&a, 16 << 20);
	json_in_init(&j, in, &a);
	is_read = json_skip(&j) && json_next(&j) == JSON_END;
	*is_deep = j.depth == JSON_DEPTH;
	arena_fini(&a);
	return is_read;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole, cut;
	bool is_deep;
	struct str in;

	if (size < 1)
		return 0;
	in = (struct str){ (const char *)data + 1, size - 1 };
	buf_init(&whole, 64 << 20);
	buf_init(&cut, 64 << 20);

	bool a = read_in_pieces(in, in.n + 1, &whole);
	bool b = read_in_pieces(in, (size_t)data[0] + 1, &cut);
	bool c = is_json(in, &is_deep);

	assert(a == b && (a == c || is_deep));
	assert(str_eq(buf_view(&whole), buf_view(&cut)));
	buf_fini(&whole);
	buf_fini(&cut);
	return 0;
}
