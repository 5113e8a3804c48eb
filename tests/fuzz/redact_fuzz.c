/*
 * redact_fuzz.c - any bytes, in each form: no crash, twice is once, a stream gives the
 * same
 */
#include <assert.h>

#include "audit/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct buf
pass(const struct redactor *r, enum redact_as as, struct str in)
{
	struct buf out;

	buf_init(&out, 1 << 24);
	redact(r, as, in, &out);
	return out;
}

static void
feed(const struct redactor *r, enum redact_as as, struct str in)
{
	struct redact_stream s;
	struct buf out;

	buf_init(&out, 1 << 24);
	redact_stream_init(&s, r, as);
	redact_stream_feed(&s, str_sub(in, 0, in.n / 2), &out);
	redact_stream_feed(&s, str_sub(in, in.n / 2, in.n), &out);
	redact_stream_end(&s, &out);
	redact_stream_fini(&s);
	buf_fini(&out);
}

/* The first byte chooses the form. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct redactor *r;

	if (r == NULL)
		r = redactor_new(STR("a key"), "k1");
	if (size == 0)
		return 0;
	enum redact_as as = (enum redact_as)(data[0] % 4);
	struct str in = { (const char *)data + 1, size - 1 };
	struct buf once = pass(r, as, in);
	struct buf twice = pass(r, as, buf_view(&once));

	assert(str_eq(buf_view(&once), buf_view(&twice)));
	feed(r, as, in);
	buf_fini(&once);
	buf_fini(&twice);
	return 0;
}
