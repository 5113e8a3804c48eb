#include "wire/sse.h"

#include <string.h>

#include "unit.h"

/* What a stream says, as text: "name[data]" for each event, "-" for one without data. */
static void
read_all(struct buf *out, const char *stream, size_t piece)
{
	struct str rest = str_of(stream), text;
	struct buf data;
	struct sse s;

	buf_init(&data, 65536);
	sse_init(&s);
	while (rest.n > 0) {
		struct str in = str_sub(rest, 0, piece);
		enum sse_token t;

		rest = str_sub(rest, piece, rest.n);
		while ((t = sse_next(&s, &in, &text)) != SSE_MORE) {
			if (t == SSE_DATA) {
				assert_true(text.n > 0);
				buf_str(&data, text);
				continue;
			}
			if (t == SSE_BLANK)
				buf_char(out, '-');
			else
				buf_fmt(out, "%.*s[%.*s]", STR_ARG(s.name),
				    STR_ARG(buf_view(&data)));
			buf_reset(&data);
		}
	}
	buf_text(out, sse_is_between(&s) ? "" : "...");
	buf_fini(&data);
}

static void
test_events_are_the_same_however_they_are_cut(void **state)
{
	static const struct {
		const char *stream, *events;
	} cases[] = {
		{ "", "" },
		{ "data: a\n\n", "[a]" },
		{ "data: a\r\n\r\ndata: b\r\n\r\n", "[a][b]" },
		{ "data: a\r\rdata: b\r\r", "[a][b]" },
		{ "data:a\n\n", "[a]" },
		{ "data:  a \n\n", "[ a ]" },
		{ "data: a\ndata: b\n\n", "[a\nb]" },
		{ "data: a\ndata\ndata:\ndata: b\n\n", "[a\n\n\nb]" },
		{ "data\n\n", "[]" },
		{ "event: x\ndata: a\n\ndata: b\n\n", "x[a][b]" },
		{ "data: a\nevent: x\n\n", "x[a]" },
		{ "event: x\nevent: y\ndata: a\n\n", "y[a]" },
		{ "event: x\nevent\ndata: a\n\n", "[a]" },
		{ "event: x\n\ndata: a\n\n", "-[a]" },
		{ ": keep-alive\n\ndata: a\n\n", "-[a]" },
		{ ":data: a\ndata: b\n\n", "[b]" },
		{ "id: 7\nretry: 10\ndata: a\n\n", "[a]" },
		{ "datas: x\ndat: y\nevents: z\ndata: a\n\n", "[a]" },
		{ "\xef\xbb\xbf"
		  "data: a\n\n",
		    "[a]" },
		{ "\xef\xbb"
		  "data: a\n\ndata: b\n\n",
		    "-[b]" },
		{ "data: \xf0\x9f\x8c\x8a\n\n", "[\xf0\x9f\x8c\x8a]" },
		{ "data: a\n\ndata: b", "[a]..." },
		{ "data: a\n\ndata: b\n", "[a]..." },
		{ "data: a\n\nd", "[a]..." },
		{ "data: a\r\n\r\n", "[a]" },
		{ "data: [DONE]\n\n", "[[DONE]]" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (size_t piece = 1; piece <= strlen(cases[i].stream) + 1; piece++) {
			struct buf out;

			buf_init(&out, 65536);
			read_all(&out, cases[i].stream, piece);
			assert_string_equal(buf_cstr(&out), cases[i].events);
			buf_fini(&out);
		}
}

static void
test_an_event_can_be_left_out_of_the_stream(void **state)
{
	static const char stream[] = "data: a\n\n: c\n\ndata: b\n\ndata: c\n\n";
	struct str in = str_of(stream), text;
	uint64_t begin[8] = { 0 }, end[8] = { 0 };
	enum sse_token t;
	struct sse s;
	size_t n = 0;

	(void)state;
	sse_init(&s);
	while ((t = sse_next(&s, &in, &text)) != SSE_MORE)
		if (t != SSE_DATA) {
			begin[n] = s.begin;
			end[n++] = s.at;
		}
	assert_int_equal(n, 4);
	assert_int_equal(begin[0], 0);
	for (size_t i = 1; i < n; i++)
		assert_int_equal(begin[i], end[i - 1]);
	assert_memory_equal(stream + begin[2], "data: b\n\n", end[2] - begin[2]);
	assert_int_equal(end[3], sizeof(stream) - 1);
}

static void
test_a_name_without_end_is_cut_and_said_to_be(void **state)
{
	struct str in, text;
	struct buf stream;
	struct sse s;

	(void)state;
	buf_init(&stream, 65536);
	buf_text(&stream, "event: ");
	for (size_t i = 0; i < 1000; i++)
		buf_char(&stream, 'x');
	buf_text(&stream, "\ndata: a\n\n");
	sse_init(&s);
	in = buf_view(&stream);
	assert_int_equal(sse_next(&s, &in, &text), SSE_DATA);
	assert_int_equal(sse_next(&s, &in, &text), SSE_EVENT);
	assert_int_equal(s.name.n, SSE_NAME);
	assert_true(s.name_is_cut);
	buf_fini(&stream);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events_are_the_same_however_they_are_cut),
		cmocka_unit_test(test_an_event_can_be_left_out_of_the_stream),
		cmocka_unit_test(test_a_name_without_end_is_cut_and_said_to_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
