/*
 * wire_ws_frame_test.c - websocket frames are read as RFC 6455 5 has them, or not at all
 */
#include "unit.h"

#include <string.h>

#include "wire/ws_frame.h"

#define B(text) \
	{ \
		text, sizeof(text) - 1 \
	}

/* All that comes of some bytes, as text: "1:Hello! 9:ping" with '.' where a frame ends
 * and '!' where its message does. */
static void
read_all(struct buf *said, struct ws_reader *r, struct str in, size_t every)
{
	struct ws_piece piece;
	enum ws_result result = WS_MORE;

	for (size_t at = 0; at < in.n && result != WS_BAD; at += every) {
		struct str some = str_sub(in, at, every);
		while ((result = ws_read(r, &some, &piece)) == WS_PIECE) {
			if (piece.bytes.n == 0 || piece.mask.key[0] == 0)
				buf_str(said, piece.bytes);
			else
				ws_put_masked(said, piece.bytes, &piece.mask);
			if (piece.ends_frame)
				buf_fmt(said, "%d%s", (int)piece.opcode,
				    piece.ends_message ? "!" : ".");
		}
	}
}

static const struct {
	const char *name;
	enum ws_side side;
	struct str in;
	const char *said, *error;
} frames[] = {
	/* RFC 6455 5.7 */
	{ "unmasked text", WS_SERVER, B("\x81\x05Hello"), "Hello1!", NULL },
	{ "masked text", WS_CLIENT, B("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"),
	    "Hello1!", NULL },
	{ "fragments", WS_SERVER, B("\x01\x03Hel\x80\x02lo"), "Hel1.lo0!", NULL },
	{ "a ping among them", WS_SERVER, B("\x01\x03Hel\x89\x02hi\x80\x02lo"),
	    "Hel1.hi9.lo0!", NULL },
	{ "nothing in it", WS_SERVER, B("\x82\x00\x8a\x00"), "2!10.", NULL },
	{ "a close frame", WS_SERVER, B("\x88\x02\x03\xe8"),
	    "\x03\xe8"
	    "8.",
	    NULL },
	{ "in the middle", WS_SERVER, B("\x81\x05Hel"), "Hel", NULL },
	{ "a bit of an extension", WS_SERVER, B("\xc1\x00"), "",
	    "a frame has bits of an extension that was not agreed on" },
	{ "no opcode", WS_SERVER, B("\x83\x00"), "",
	    "a frame has an opcode that is none" },
	{ "no opcode of a control frame", WS_SERVER, B("\x8b\x00"), "",
	    "a frame has an opcode that is none" },
	{ "a client without a mask", WS_CLIENT, B("\x81\x00"), "",
	    "a client's frame is not masked" },
	{ "a server with one", WS_SERVER, B("\x81\x80"), "",
	    "a server's frame is masked" },
	{ "a ping in fragments", WS_SERVER, B("\x09\x00"), "",
	    "a control frame is in fragments, or too long" },
	{ "a long ping", WS_SERVER, B("\x89\x7e"), "",
	    "a control frame is in fragments, or too long" },
	{ "it continues nothing", WS_SERVER, B("\x80\x00"), "",
	    "a fragment continues no message" },
	{ "it continues what is over", WS_SERVER, B("\x81\x00\x00\x00"), "1!",
	    "a fragment continues no message" },
	{ "another message within", WS_SERVER, B("\x01\x00\x81\x00"), "1.",
	    "a message begins within another" },
	{ "behind a close frame", WS_SERVER, B("\x88\x00\x89\x00"), "8.",
	    "a frame comes behind a close frame" },
	{ "125 in two bytes", WS_SERVER, B("\x81\x7e\x00\x7d"), "",
	    "a frame's length is not in the fewest bytes" },
	{ "65535 in eight", WS_SERVER, B("\x81\x7f\0\0\0\0\0\0\xff\xff"), "",
	    "a frame's length is not in the fewest bytes" },
	{ "a length below zero", WS_SERVER, B("\x81\x7f\x80\0\0\0\0\0\0\0"), "",
	    "a frame's length is not in the fewest bytes" },
};

static void
test_frames_are_read_whole_and_byte_by_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(frames); i++)
		for (size_t every = 1; every <= 64; every += 63) {
			struct ws_reader r;
			struct buf said;

			buf_init(&said, 1000);
			ws_reader_init(&r, frames[i].side);
			read_all(&said, &r, frames[i].in, every);
			assert_row(
			    frames[i].name, strcmp(buf_cstr(&said), frames[i].said) == 0);
			assert_row(frames[i].name,
			    (r.error == NULL) == (frames[i].error == NULL));
			if (r.error != NULL)
				assert_string_equal(r.error, frames[i].error);
			buf_fini(&said);
		}
}

static void
test_another_frame_fits_only_between_two(void **state)
{
	struct str frame = B("\x81\x05Hello");
	struct ws_reader r;
	struct buf said;

	(void)state;
	buf_init(&said, 1000);
	ws_reader_init(&r, WS_SERVER);
	assert_true(ws_is_between(&r));
	for (size_t i = 0; i < frame.n; i++) {
		read_all(&said, &r, str_sub(frame, i, 1), 1);
		assert_int_equal(ws_is_between(&r), i + 1 == frame.n);
	}
	read_all(&said, &r, STR("\x81\x80"), 2);
	assert_false(ws_is_between(&r)); /* nobody knows where it would be */
	buf_fini(&said);
}

/* What is written is read as it was, whatever its length. */
static void
check_written(size_t n, const struct ws_mask *mask)
{
	char *payload = test_malloc(n + 1);
	struct ws_reader r;
	struct buf frame, said;
	size_t head = n <= 125 ? 2 : n <= 65535 ? 4 : 10;

	memset(payload, 'x', n);
	buf_init(&frame, n + WS_HEAD_MAX);
	buf_init(&said, n + 10);
	ws_put_frame(&frame, WS_BINARY, true, (struct str){ payload, n }, mask);
	assert_int_equal(frame.n, n + head + (mask != NULL ? 4 : 0));
	ws_reader_init(&r, mask != NULL ? WS_CLIENT : WS_SERVER);
	read_all(&said, &r, buf_view(&frame), 1000);
	assert_int_equal(said.n, n + 2);
	assert_memory_equal(said.p, payload, n);
	assert_true(str_ends(buf_view(&said), STR("2!")));
	buf_fini(&said);
	buf_fini(&frame);
	test_free(payload);
}

static void
test_what_is_written_is_read_as_it_was(void **state)
{
	static const size_t sizes[] = { 0, 1, 125, 126, 65535, 65536, 200001 };
	static const struct ws_mask mask = { { 1, 0x80, 0xff, 7 } };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		check_written(sizes[i], NULL);
		check_written(sizes[i], &mask);
	}
}

static void
test_a_close_frame_has_its_code_and_why(void **state)
{
	struct buf to;

	(void)state;
	buf_init(&to, 200);
	ws_put_close(&to, WS_POLICY_VIOLATION, STR("no"));
	assert_true(str_eq(buf_view(&to), STR("\x88\x04\x03\xf0no")));
	buf_fini(&to);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_are_read_whole_and_byte_by_byte),
		cmocka_unit_test(test_another_frame_fits_only_between_two),
		cmocka_unit_test(test_what_is_written_is_read_as_it_was),
		cmocka_unit_test(test_a_close_frame_has_its_code_and_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
