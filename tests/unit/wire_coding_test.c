#include "wire/coding.h"

#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "unit.h"

static const char event[] = "data: {\"usage\":{\"input_tokens\":812}}\n\n";

/* the same, and four million zero bytes, from a brotli encoder */
static const char event_br[] =
    "\x8b\x12\x80\x64\x61\x74\x61\x3a\x20\x7b\x22\x75\x73\x61\x67\x65\x22\x3a\x7b\x22\x69"
    "\x6e\x70\x75\x74\x5f\x74\x6f\x6b\x65\x6e\x73\x22\x3a\x38\x31\x32\x7d\x7d\x0a\x0a"
    "\x03";
static const char bomb_br[] = "\x9b\xff\x08\x3d\xf8\x27\x00\xe2\xb1\x40\x20\x17\xa0\x07";

static void
add_zlib(struct buf *to, struct str text, int window_bits)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)text.p, .avail_in = (uInt)text.n };
	Bytef out[65536];

	assert_int_equal(
	    deflateInit2(&z, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_out = out;
	z.avail_out = sizeof(out);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	buf_add(to, out, sizeof(out) - z.avail_out);
	deflateEnd(&z);
}

static void
add_zstd(struct buf *to, struct str text)
{
	char out[65536];
	size_t n = ZSTD_compress(out, sizeof(out), text.p, text.n, 3);

	assert_false(ZSTD_isError(n));
	buf_add(to, out, n);
}

static struct str
coded(struct buf *to, const char *name, struct str text)
{
	if (strcmp(name, "gzip") == 0)
		add_zlib(to, text, MAX_WBITS + 16);
	else if (strcmp(name, "deflate") == 0)
		add_zlib(to, text, MAX_WBITS);
	else if (strcmp(name, "deflate, bare") == 0)
		add_zlib(to, text, -MAX_WBITS);
	else if (strcmp(name, "zstd") == 0)
		add_zstd(to, text);
	else if (strcmp(name, "br") == 0)
		buf_add(to, event_br, sizeof(event_br) - 1);
	else
		buf_str(to, text);
	return buf_view(to);
}

static const struct {
	const char *name;
	enum coding coding;
	bool has_members; /* one coded text may follow another */
} codings[] = {
	{ "identity", CODING_IDENTITY, true },
	{ "gzip", CODING_GZIP, true },
	{ "deflate", CODING_DEFLATE, false },
	{ "deflate, bare", CODING_DEFLATE, false },
	{ "br", CODING_BR, false },
	{ "zstd", CODING_ZSTD, true },
};

/* How it ended: DONE, MORE (cut short), BAD or OVER. */
static enum coding_result
decode(enum coding c, struct str in, size_t piece, uint64_t max, struct buf *out)
{
	struct decoder *d = decoder_new(c, max);
	enum coding_result r = CODING_MORE;

	for (; in.n > 0 && (r == CODING_MORE || r == CODING_DONE);
	     in = str_sub(in, piece, in.n)) {
		struct str part = str_sub(in, 0, piece), text;

		while ((r = decoder_next(d, &part, &text)) == CODING_DATA)
			buf_str(out, text);
		assert_true(part.n == 0 || r == CODING_BAD || r == CODING_OVER);
	}
	if (r == CODING_MORE || r == CODING_DONE)
		r = decoder_is_whole(d) ? CODING_DONE : CODING_MORE;
	decoder_free(d);
	return r;
}

static void
test_every_coding_is_read_however_it_is_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(codings); i++)
		for (size_t piece = 1; piece < 100; piece++) {
			struct buf in, out;

			buf_init(&in, 65536);
			buf_init(&out, 65536);
			coded(&in, codings[i].name, str_of(event));
			assert_row(codings[i].name,
			    decode(codings[i].coding, buf_view(&in), piece, 1000, &out) ==
				CODING_DONE);
			assert_string_equal(buf_cstr(&out), event);
			buf_fini(&in);
			buf_fini(&out);
		}
}

static void
test_a_text_cut_short_is_not_whole(void **state)
{
	(void)state;
	for (size_t i = 1; i < COUNT_OF(codings); i++) {
		struct buf in, out;
		struct str text;

		buf_init(&in, 65536);
		buf_init(&out, 65536);
		text = coded(&in, codings[i].name, str_of(event));
		for (size_t n = 1; n < text.n; n++)
			assert_row(codings[i].name,
			    decode(codings[i].coding, str_sub(text, 0, n), 7, 1000,
				&out) == CODING_MORE);
		buf_fini(&in);
		buf_fini(&out);
	}
}

static void
test_what_follows_the_end_is_another_member_or_a_fault(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(codings); i++) {
		struct buf in, out;

		buf_init(&in, 65536);
		buf_init(&out, 65536);
		coded(&in, codings[i].name, str_of(event));
		coded(&in, codings[i].name, str_of(event));
		assert_row(codings[i].name,
		    decode(codings[i].coding, buf_view(&in), 5, 1000, &out) ==
			(codings[i].has_members ? CODING_DONE : CODING_BAD));
		assert_int_equal(
		    out.n, (codings[i].has_members ? 2 : 1) * (sizeof(event) - 1));
		buf_fini(&in);
		buf_fini(&out);
	}
}

static void
test_a_bomb_is_stopped_by_its_ratio_and_by_the_cap(void **state)
{
	static char zeros[4000000];
	struct buf in, out;

	(void)state;
	buf_init(&in, 65536);
	buf_init(&out, sizeof(zeros));
	add_zlib(&in, (struct str){ zeros, sizeof(zeros) }, MAX_WBITS + 16);
	assert_int_equal(
	    decode(CODING_GZIP, buf_view(&in), 100, UINT64_MAX, &out), CODING_OVER);
	assert_true(out.n < 2 << 20);
	buf_reset(&out);
	assert_int_equal(decode(CODING_BR, (struct str){ bomb_br, sizeof(bomb_br) - 1 },
			     100, UINT64_MAX, &out),
	    CODING_OVER);
	buf_reset(&out);
	assert_int_equal(
	    decode(CODING_GZIP, buf_view(&in), 100, 100000, &out), CODING_OVER);
	assert_true(out.n <= 100000);
	buf_fini(&in);
	buf_fini(&out);
}

static void
test_damage_is_said(void **state)
{
	(void)state;
	for (size_t i = 1; i < COUNT_OF(codings); i++) {
		struct buf out;

		buf_init(&out, 65536);
		assert_row(codings[i].name,
		    decode(codings[i].coding, STR("\xff\xff\xff\xff\xff\xff\xff\xff"), 3,
			1000, &out) == CODING_BAD);
		buf_fini(&out);
	}
}

static void
test_a_coding_is_known_by_its_name(void **state)
{
	static const struct {
		const char *value;
		bool is_known;
		enum coding coding;
	} cases[] = {
		{ "", true, CODING_IDENTITY },
		{ "identity", true, CODING_IDENTITY },
		{ " GZip\t", true, CODING_GZIP },
		{ "x-gzip", true, CODING_GZIP },
		{ "deflate", true, CODING_DEFLATE },
		{ "br", true, CODING_BR },
		{ "zstd", true, CODING_ZSTD },
		{ "gzip, gzip", false, CODING_IDENTITY },
		{ "compress", false, CODING_IDENTITY },
		{ "dcz", false, CODING_IDENTITY },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		enum coding c = CODING_IDENTITY;

		assert_row(cases[i].value,
		    coding_read(str_of(cases[i].value), &c) == cases[i].is_known);
		assert_row(cases[i].value, c == cases[i].coding);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_coding_is_read_however_it_is_cut),
		cmocka_unit_test(test_a_text_cut_short_is_not_whole),
		cmocka_unit_test(test_what_follows_the_end_is_another_member_or_a_fault),
		cmocka_unit_test(test_a_bomb_is_stopped_by_its_ratio_and_by_the_cap),
		cmocka_unit_test(test_damage_is_said),
		cmocka_unit_test(test_a_coding_is_known_by_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
