/*
 * redact_fuzz.c - any bytes, in each form: no crash, twice is once, a stream gives the
 * same wherever it is split, and a secret that stands somewhere in them is masked
 */
#include <assert.h>

#include "../unit/redacting.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BODY "0123456789abcdefghijABCDEFGHIJ012345"

/* With BODY behind them, in pieces: no scanner of source code shall find one. */
static const char *const heads[][2] = { { "gh", "p_" }, { "sk-", "ant-api03-" },
	{ "np", "m_" }, { "gl", "pat-" }, { "Bearer", " " } };

static void
look_for_secret(const struct redactor *r, enum redact_as as, struct str in, size_t at,
    const char *const head[static 2])
{
	struct buf planted;

	buf_init(&planted, 1 << 26);
	buf_str(&planted, str_sub(in, 0, at));
	buf_fmt(&planted, " %s%s%s ", head[0], head[1], BODY);
	buf_str(&planted, str_sub(in, at, in.n));
	struct buf out = redacted(r, as, buf_view(&planted));
	assert(memmem(out.p, out.n, BODY, strlen(BODY)) == NULL);
	buf_fini(&planted);
	buf_fini(&out);
}

static enum redact_as
form_of(uint8_t byte)
{
	return byte >= 0xf0 ? REDACT_HOST : (enum redact_as)(byte % 4);
}

/* The first byte chooses the form and the secret, the second where it stands. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct redactor *r;

	if (r == NULL)
		r = redactor_new(STR("a key"), "k1");
	if (size < 2)
		return 0;
	enum redact_as as = form_of(data[0]);
	struct str in = { (const char *)data + 2, size - 2 };
	size_t at = in.n * data[1] / 256;
	struct buf once = redacted(r, as, in);
	struct buf twice = redacted(r, as, buf_view(&once));
	struct buf whole = streamed(r, as, in, 0, in.n);
	struct buf parts = streamed(r, as, in, at, in.n);

	assert(str_eq(buf_view(&once), buf_view(&twice)));
	assert(str_eq(buf_view(&whole), buf_view(&parts)));
	struct buf again = streamed(r, as, buf_view(&whole), 0, whole.n);
	assert(str_eq(buf_view(&whole), buf_view(&again)));
	if (memmem(in.p, in.n, BODY, strlen(BODY)) == NULL)
		look_for_secret(
		    r, as, in, at, heads[data[0] / 4 % (sizeof(heads) / sizeof(*heads))]);
	buf_fini(&once);
	buf_fini(&twice);
	buf_fini(&whole);
	buf_fini(&parts);
	buf_fini(&again);
	return 0;
}
