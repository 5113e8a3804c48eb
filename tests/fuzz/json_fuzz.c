/*
 * json_fuzz.c - what is read as JSON and written again is read as the same
 */
#include "wire/json.h"

#include <assert.h>
#include <stdlib.h>

#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Copies one value token by token; false when the text is no JSON. */
static bool
copy_tokens(struct json_in *in, struct json_out *out)
{
	for (;;) {
		enum json_token t = json_next(in);
		char *key;

		assert(in->at <= in->in.n);
		switch (t) {
		case JSON_OBJECT:
		case JSON_ARRAY:
			json_open(out, t == JSON_OBJECT ? '{' : '[');
			break;
		case JSON_OBJECT_END:
		case JSON_ARRAY_END:
			json_close(out, t == JSON_OBJECT_END ? '}' : ']');
			break;
		case JSON_KEY:
			key = str_dup(in->text);
			json_key(out, key);
			free(key);
			break;
		case JSON_STRING:
			assert(utf8_is_valid(in->text));
			json_str(out, in->text);
			break;
		case JSON_NUMBER:
			json_raw(out, in->text);
			break;
		case JSON_TRUE:
		case JSON_FALSE:
			json_bool(out, t == JSON_TRUE);
			break;
		case JSON_NULL:
			json_null(out);
			break;
		case JSON_END:
			return true;
		case JSON_BAD:
			assert(in->error != NULL);
			return false;
		}
	}
}

static bool
rewrite(struct str text, struct arena *a, struct buf *to)
{
	struct json_out out;
	struct json_in in;

	json_in_init(&in, text, a);
	json_out_init(&out, to);
	return copy_tokens(&in, &out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = { (const char *)data, size };
	struct buf once, twice;
	const char *error;
	struct arena a;

	arena_init(&a, 16 << 20);
	buf_init(&once, 16 << 20);
	buf_init(&twice, 16 << 20);

	bool is_json = rewrite(in, &a, &once);
	struct json_value *tree = json_parse(in, &a, &error);

	assert((tree == NULL) == (error != NULL));
	assert(tree == NULL || is_json);
	if (is_json) {
		assert(rewrite(buf_view(&once), &a, &twice));
		assert(str_eq(buf_view(&once), buf_view(&twice)));
	}
	buf_fini(&once);
	buf_fini(&twice);
	arena_fini(&a);
	return 0;
}
