#include "wire/body.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

struct outcome {
	enum body_result result; /* MORE: the input ended first */
	size_t used;
	uint64_t at;
	struct buf data;
};

static struct outcome
read_in_pieces(const struct http_head *head, struct str text, size_t piece)
{
	struct outcome o = { .result = BODY_MORE };
	struct body_reader r;

	buf_init(&o.data, 1 << 20);
	body_reader_init(&r, head);
	for (;;) {
		size_t n = text.n - o.used < piece ? text.n - o.used : piece;
		char *copy = mem_alloc(n); /* of its own size, for the sanitizer */
		size_t used;
		struct str data;

		if (n > 0)
			memcpy(copy, text.p + o.used, n);
		o.result = body_read(&r, (struct str){ copy, n }, &used, &data);
		buf_str(&o.data, data);
		free(copy);
		assert_true(used <= n);
		assert_true((o.result == BODY_DATA) == (data.n > 0));
		assert_true(o.result != BODY_MORE || used == n);
		o.used += used;
		if (o.result == BODY_DONE || o.result == BODY_BAD ||
		    (o.result == BODY_MORE && o.used == text.n))
			break;
	}
	o.at = r.at;
	assert_int_equal(
	    body_may_end(&r), o.result == BODY_DONE || head->framing == HTTP_UNTIL_CLOSE);
	return o;
}

static void
assert_body(const char *name, const struct http_head *head, struct str text,
    enum body_result result, size_t used, const char *data)
{
	for (size_t piece = 1; piece <= text.n + 4; piece += 3) {
		struct outcome o = read_in_pieces(head, text, piece);

		assert_row(name, o.result == result);
		assert_row(name, o.used == used);
		assert_row(name, o.at == used);
		if (data != NULL)
			assert_row(name, str_eq(buf_view(&o.data), str_of(data)));
		buf_fini(&o.data);
	}
}

static void
test_a_length_body_ends_after_its_bytes(void **state)
{
	const struct http_head five = { .framing = HTTP_LENGTH, .length = 5 };
	const struct http_head none = { .framing = HTTP_LENGTH };

	(void)state;
	assert_body("whole", &five, STR("hello"), BODY_DONE, 5, "hello");
	assert_body("more behind", &five, STR("helloGET"), BODY_DONE, 5, "hello");
	assert_body("short", &five, STR("hell"), BODY_MORE, 4, "hell");
	assert_body("empty", &none, STR("GET"), BODY_DONE, 0, "");
}

static void
test_no_body_takes_no_byte_and_an_open_one_takes_all(void **state)
{
	const struct http_head none = { .framing = HTTP_NO_BODY, .length = 7 };
	const struct http_head all = { .framing = HTTP_UNTIL_CLOSE };
	struct body_reader r;

	(void)state;
	assert_body("none", &none, STR("GET"), BODY_DONE, 0, "");
	assert_body("all", &all, STR("0\r\n\r\n"), BODY_MORE, 5, "0\r\n\r\n");
	body_reader_init(&r, &all);
	assert_true(body_may_end(&r));
	body_reader_init(&r, &none);
	assert_true(body_may_end(&r));
}

static void
test_chunks_are_read_to_the_letter(void **state)
{
	static const struct {
		const char *name;
		struct str text;
		enum body_result result;
		size_t used; /* BAD: offset of the refused byte */
		const char *data;
	} cases[] = {
#define ROW(name, text, result, used, data) \
	{ name, { text, sizeof(text) - 1 }, result, used, data }
		ROW("two chunks", "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\nGET", BODY_DONE,
		    26, "hello world"),
		ROW("empty", "0\r\n\r\n", BODY_DONE, 5, ""),
		ROW("zeros lead", "0005\r\nhello\r\n0000\r\n\r\n", BODY_DONE, 21,
		    "hello"),
		ROW("hex of any case", "A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n",
		    BODY_DONE, 35, "01234567890123456789"),
		ROW("extension", "5;a=b\r\nhello\r\n0\r\n\r\n", BODY_DONE, 19, "hello"),
		ROW("extensions", "5;a;b=\"x;\\\"\ty\";c=d\r\nhello\r\n0;z\r\n\r\n",
		    BODY_DONE, 34, "hello"),
		ROW("white space round them", "5 ;\ta = b ; c\r\nhello\r\n0\r\n\r\n",
		    BODY_DONE, 27, "hello"),
		ROW("trailers", "0\r\nA: b\r\nX-Y:\r\n\r\n", BODY_DONE, 17, ""),
		ROW("unfinished", "5\r\nhello\r\n", BODY_MORE, 10, "hello"),

		ROW("plus", "+5\r\n", BODY_BAD, 0, ""),
		ROW("space before", " 5\r\n", BODY_BAD, 0, ""),
		ROW("space after", "5 \r\n", BODY_BAD, 2, ""),
		ROW("0x", "0x5\r\n", BODY_BAD, 1, ""),
		ROW("no hex", "g\r\n", BODY_BAD, 0, ""),
		ROW("no size", ";a\r\n", BODY_BAD, 0, ""),
		ROW("empty line", "\r\n", BODY_BAD, 0, ""),
		ROW("LF after the size", "5\nhello", BODY_BAD, 1, ""),
		ROW("CR without LF", "5\rhello", BODY_BAD, 2, ""),
		ROW("NUL after the size", "5\0\r\n", BODY_BAD, 1, ""),
		ROW("VT after the size", "5\v\r\n", BODY_BAD, 1, ""),
		ROW("17 digits", "00000000000000005\r\n", BODY_BAD, 16, ""),
		ROW("2^63", "8000000000000000\r\n", BODY_BAD, 15, ""),
		ROW("2^63-1 waits", "7fffffffffffffff\r\nab", BODY_MORE, 20, "ab"),
		ROW("2^64+5", "10000000000000005\r\n", BODY_BAD, 16, ""),
		ROW("LF after data", "1\r\na\n0\r\n\r\n", BODY_BAD, 4, "a"),
		ROW("other bytes after data", "1\r\naXX0\r\n", BODY_BAD, 4, "a"),
		ROW("more data than said", "1\r\nab\r\n", BODY_BAD, 4, "a"),
		ROW("empty line between", "1\r\na\r\n\r\n0\r\n\r\n", BODY_BAD, 6, "a"),
		ROW("nameless extension", "5;=x\r\n", BODY_BAD, 2, ""),
		ROW("empty extension", "5;\r\n", BODY_BAD, 2, ""),
		ROW("valueless extension", "5;a=\r\n", BODY_BAD, 4, ""),
		ROW("space at the end", "5;a \r\n", BODY_BAD, 4, ""),
		ROW("LF in extension", "5;a\n\r\n", BODY_BAD, 3, ""),
		ROW("CRLF in quotes", "5;a=\"b\r\n", BODY_BAD, 6, ""),
		ROW("escaped CR", "5;a=\"b\\\r\n", BODY_BAD, 7, ""),
		ROW("after quotes", "5;a=\"b\"c\r\n", BODY_BAD, 7, ""),
		ROW("no end", "0\r\nX", BODY_MORE, 4, ""),
		ROW("CR CR LF at the end", "0\r\n\r\r\n", BODY_BAD, 4, ""),
		ROW("trailer without colon", "0\r\nbad trailer\r\n\r\n", BODY_BAD, 6, ""),
		ROW("trailer with space before the colon", "0\r\nX : y\r\n\r\n", BODY_BAD,
		    4, ""),
		ROW("folded trailer", "0\r\nX: y\r\n z\r\n\r\n", BODY_BAD, 9, ""),
		ROW("NUL in a trailer", "0\r\nX: a\0b\r\n\r\n", BODY_BAD, 7, ""),
		ROW("nameless trailer", "0\r\n: y\r\n\r\n", BODY_BAD, 3, ""),
	};
	const struct http_head chunked = { .framing = HTTP_CHUNKED };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_body(cases[i].name, &chunked, cases[i].text, cases[i].result,
		    cases[i].used, cases[i].data);
}

/* Feeds `head`, then `unit` again and again, until it is refused; returns at which byte.
 */
static uint64_t
fill(const char *head, const char *unit)
{
	const struct http_head chunked = { .framing = HTTP_CHUNKED };
	enum body_result result = BODY_MORE;
	struct str in = str_of(head);
	struct body_reader r;

	body_reader_init(&r, &chunked);
	while (result != BODY_BAD && r.at < 1 << 20) {
		struct str data;
		size_t used;

		result = body_read(&r, in, &used, &data);
		in = result == BODY_DATA ? str_sub(in, used, in.n) : str_of(unit);
	}
	assert_int_equal(
	    body_read(&r, STR("0"), &(size_t){ 0 }, &(struct str){ NULL, 0 }), BODY_BAD);
	return r.at;
}

static void
test_what_is_dropped_cannot_grow_without_end(void **state)
{
	(void)state;
	assert_int_equal(fill("5;", "a"), 1 + 4096);
	assert_int_equal(fill("0\r\n", "T: v\r\n"), 3 + 8192);
	assert_in_range(fill("", "1;aaaaaaa\r\nx\r\n"), 16384, 16384 * 2);
}

static void
test_chunk_heads_say_their_size(void **state)
{
	static const struct {
		size_t n;
		const char *text;
	} cases[] = {
		{ 1, "1\r\n" },
		{ 15, "f\r\n" },
		{ 16, "10\r\n" },
		{ 0xabcdef, "abcdef\r\n" },
		{ SIZE_MAX, "ffffffffffffffff\r\n" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char out[BODY_CHUNK_HEAD];
		size_t n = body_chunk_head(out, cases[i].n);

		assert_row(
		    cases[i].text, str_eq((struct str){ out, n }, str_of(cases[i].text)));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_length_body_ends_after_its_bytes),
		cmocka_unit_test(test_no_body_takes_no_byte_and_an_open_one_takes_all),
		cmocka_unit_test(test_chunks_are_read_to_the_letter),
		cmocka_unit_test(test_what_is_dropped_cannot_grow_without_end),
		cmocka_unit_test(test_chunk_heads_say_their_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
