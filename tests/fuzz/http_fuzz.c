/*
 * http_fuzz.c - however the bytes of a head are cut, its reading is one
 *
 * First byte: bit 0 response or request, the rest how many bytes come at a time.
 */
#include "wire/http.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "wire/chars.h"
#include "wire/ws.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
	enum http_result result;
	struct http_reader reader;
	struct http_head head;
	size_t used;
};

static struct outcome
read_in_pieces(struct arena *a, enum http_kind kind, struct str in, size_t piece)
{
	static const struct http_limits limits = { 100, 1000, 10, 200 };
	struct outcome o = { .result = HTTP_MORE };

	http_reader_init(&o.reader, kind, &limits);
	for (size_t n = 0; o.result == HTTP_MORE && n < in.n;) {
		n = n + piece < in.n ? n + piece : in.n;
		o.result = http_read(&o.reader, str_sub(in, 0, n), a, &o.head, &o.used);
	}
	return o;
}

static void
look_at(struct http_head *h, struct str in)
{
	bool drop[10];
	char accept[29];

	assert(h->nfield <= 10);
	for (size_t i = 0; i < h->nfield; i++) {
		const struct http_field *f = &h->field[i];

		assert(f->name.p > in.p && f->value.p + f->value.n < in.p + in.n);
		assert(http_is_token(f->name));
		assert(chars_span(f->value.p, f->value.n, CHAR_VALUE) == f->value.n);
		(void)ws_accept(accept, f->value);
	}
	http_hop_fields(h, drop);
	if (h->kind == HTTP_REQUEST) {
		assert(http_is_token(h->method) && h->target.n > 0);
		assert(h->framing != HTTP_UNTIL_CLOSE);
		assert(!ws_is_request(h) || h->minor == 1);
	} else
		http_response_for(h, STR("HEAD"));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = { (const char *)data + 1, size - 1 };
	struct arena a;

	if (size < 2)
		return 0;
	arena_init(&a, 1 << 20);

	enum http_kind kind = data[0] & 1 ? HTTP_RESPONSE : HTTP_REQUEST;
	struct outcome whole = read_in_pieces(&a, kind, in, in.n);
	struct outcome cut = read_in_pieces(&a, kind, in, (size_t)(data[0] >> 1) + 1);

	assert(whole.result == cut.result);
	assert(
	    whole.reader.error == cut.reader.error && whole.reader.at == cut.reader.at);
	if (whole.result == HTTP_DONE) {
		assert(whole.used == cut.used && whole.used <= in.n);
		assert(whole.head.framing == cut.head.framing);
		look_at(&whole.head, in);
	}
	if (whole.result == HTTP_BAD)
		assert(http_error_text(whole.reader.error) != NULL);
	arena_fini(&a);
	return 0;
}
