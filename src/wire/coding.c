#include "wire/coding.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

/* Text that a model writes shrinks tenfold, a stream of events thirtyfold; a bomb beyond
 * any of that.  The first bytes are free, since a short text says nothing of its ratio.
 */
#define RATIO 256
#define RATIO_FREE (1 << 20)
#define WINDOW_LOG 23 /* RFC 9659: what a zstd reader must have, and weir's most */

struct decoder {
	enum coding coding;
	uint64_t max, in, out;
	bool has_begun, is_over; /* is_over: the end of the coded text was seen */
	bool is_bad;
	z_stream zlib;
	BrotliDecoderState *brotli;
	ZSTD_DStream *zstd;
	char text[16384]; /* last: it is written before it is read, so never cleared */
};

bool
coding_read(struct str value, enum coding *out)
{
	static const struct {
		struct str name;
		enum coding coding;
	} names[] = {
		{ { "", 0 }, CODING_IDENTITY },
		{ { "identity", 8 }, CODING_IDENTITY },
		{ { "gzip", 4 }, CODING_GZIP },
		{ { "x-gzip", 6 }, CODING_GZIP },
		{ { "deflate", 7 }, CODING_DEFLATE },
		{ { "br", 2 }, CODING_BR },
		{ { "zstd", 4 }, CODING_ZSTD },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (str_eq_nocase(str_trim(value), names[i].name)) {
			*out = names[i].coding;
			return true;
		}
	return false;
}

/* One step of a coding: takes from the front of *in, fills up to `room`. */
enum step {
	STEP_ON,
	STEP_END, /* the coded text, or one member of it, is over */
	STEP_BAD,
};

struct filled {
	char *p;
	size_t room, n;
};

static enum step
copy_step(struct decoder *d, struct str *in, struct filled *to)
{
	(void)d;
	while (in->n > 0 && to->n < to->room) {
		to->p[to->n++] = in->p[0];
		*in = str_sub(*in, 1, in->n);
	}
	return STEP_ON;
}

/* RFC 1950 2.2: a zlib header's first byte ends in 8; servers send bare deflate too. */
static int
window_bits(const struct decoder *d, char first)
{
	if (d->coding == CODING_GZIP)
		return MAX_WBITS + 16;
	return (first & 0x0f) == 8 ? MAX_WBITS : -MAX_WBITS;
}

static enum step
zlib_step(struct decoder *d, struct str *in, struct filled *to)
{
	uInt n = in->n < UINT32_MAX ? (uInt)in->n : UINT32_MAX;
	int result;

	if (in->n > 0 && !d->has_begun) {
		d->has_begun = true;
		if (inflateInit2(&d->zlib, window_bits(d, in->p[0])) != Z_OK)
			return STEP_BAD;
	}
	if (!d->has_begun)
		return STEP_ON;
	d->zlib.next_in = (z_const Bytef *)(uintptr_t)in->p;
	d->zlib.avail_in = n;
	d->zlib.next_out = (Bytef *)to->p;
	d->zlib.avail_out = (uInt)to->room;
	result = inflate(&d->zlib, Z_NO_FLUSH);
	*in = str_sub(*in, n - d->zlib.avail_in, in->n);
	to->n = to->room - d->zlib.avail_out;
	if (result == Z_STREAM_END)
		return STEP_END;
	return result == Z_OK || result == Z_BUF_ERROR ? STEP_ON : STEP_BAD;
}

static enum step
brotli_step(struct decoder *d, struct str *in, struct filled *to)
{
	const uint8_t *next_in = (const uint8_t *)in->p;
	uint8_t *next_out = (uint8_t *)to->p;
	size_t room = to->room, n = in->n;
	BrotliDecoderResult result;

	result = BrotliDecoderDecompressStream(
	    d->brotli, &n, &next_in, &room, &next_out, NULL);
	*in = str_sub(*in, in->n - n, n);
	to->n = to->room - room;
	if (result == BROTLI_DECODER_RESULT_SUCCESS)
		return STEP_END;
	return result == BROTLI_DECODER_RESULT_ERROR ? STEP_BAD : STEP_ON;
}

static enum step
zstd_step(struct decoder *d, struct str *in, struct filled *to)
{
	ZSTD_inBuffer from = { in->p, in->n, 0 };
	ZSTD_outBuffer out = { to->p, to->room, 0 };
	size_t result = ZSTD_decompressStream(d->zstd, &out, &from);

	*in = str_sub(*in, from.pos, in->n);
	to->n = out.pos;
	if (ZSTD_isError(result))
		return STEP_BAD;
	return result == 0 ? STEP_END : STEP_ON;
}

static enum step (*const steps[])(struct decoder *, struct str *, struct filled *) = {
	[CODING_IDENTITY] = copy_step,
	[CODING_GZIP] = zlib_step,
	[CODING_DEFLATE] = zlib_step,
	[CODING_BR] = brotli_step,
	[CODING_ZSTD] = zstd_step,
};

/* gzip's members (RFC 1952 2.2) and zstd's frames (RFC 8878 3) may follow one another. */
static bool
begin_next_member(struct decoder *d)
{
	d->is_over = false;
	if (d->coding == CODING_GZIP)
		return inflateReset(&d->zlib) == Z_OK;
	return d->coding == CODING_ZSTD;
}

struct decoder *
decoder_new(enum coding c, uint64_t max)
{
	struct decoder *d = mem_alloc(sizeof(*d));

	memset(d, 0, offsetof(struct decoder, text));
	d->coding = c;
	d->max = max;
	if (c == CODING_BR)
		d->is_bad =
		    (d->brotli = BrotliDecoderCreateInstance(NULL, NULL, NULL)) == NULL;
	if (c == CODING_ZSTD)
		d->is_bad = (d->zstd = ZSTD_createDStream()) == NULL ||
			    ZSTD_isError(ZSTD_DCtx_setParameter(
				d->zstd, ZSTD_d_windowLogMax, WINDOW_LOG));
	return d;
}

void
decoder_free(struct decoder *d)
{
	if (d == NULL)
		return;
	if (d->coding == CODING_GZIP || d->coding == CODING_DEFLATE)
		inflateEnd(&d->zlib);
	if (d->brotli != NULL)
		BrotliDecoderDestroyInstance(d->brotli);
	ZSTD_freeDStream(d->zstd);
	free(d);
}

static bool
is_over_caps(const struct decoder *d)
{
	return d->out > d->max || (d->out > RATIO_FREE && d->out / RATIO > d->in);
}

/* Until something comes out, all is taken, or it goes wrong. */
static void
run(struct decoder *d, struct str *in, struct filled *to)
{
	do {
		size_t before = in->n;
		enum step step = STEP_BAD;

		if (!d->is_over || begin_next_member(d))
			step = steps[d->coding](d, in, to);
		d->in += before - in->n;
		d->is_over = step == STEP_END;
		d->is_bad =
		    step == STEP_BAD || (in->n > 0 && in->n == before && to->n == 0);
	} while (!d->is_bad && to->n == 0 && in->n > 0);
	d->out += to->n;
}

enum coding_result
decoder_next(struct decoder *d, struct str *in, struct str *out)
{
	struct filled to = { .p = d->text, .room = sizeof(d->text) };

	*out = STR_NONE;
	if (!d->is_bad && d->is_over && in->n == 0)
		return CODING_DONE;
	if (!d->is_bad)
		run(d, in, &to);
	if (d->is_bad)
		return CODING_BAD;
	if (is_over_caps(d)) {
		d->is_bad = true;
		return CODING_OVER;
	}
	*out = (struct str){ d->text, to.n };
	if (to.n > 0)
		return CODING_DATA;
	return d->is_over ? CODING_DONE : CODING_MORE;
}

bool
decoder_is_whole(const struct decoder *d)
{
	return !d->is_bad && (d->coding == CODING_IDENTITY || d->is_over || d->in == 0);
}
