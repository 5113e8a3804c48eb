#include "wire/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define HOST "Host: a.test\r\n"
#define GET "GET http://a.test/ HTTP/1.1\r\n"
#define POST "POST http://a.test/ HTTP/1.1\r\n" HOST

static const struct http_limits limits = {
	.target = 64, .head = 512, .fields = 8, .field = 128
};

struct outcome {
	enum http_result result;
	enum http_error error;
	size_t at, used;
	struct http_head head;
};

/* Every prefix lies in memory of its own exact size, so that a sanitizer sees a read past
 * it. */
static struct outcome
read_in_pieces(struct arena *a, enum http_kind kind, struct str text, size_t piece)
{
	struct outcome o = { .result = HTTP_MORE };
	struct http_reader r;

	http_reader_init(&r, kind, &limits);
	for (size_t n = 0; o.result == HTTP_MORE && n < text.n;) {
		n = n + piece < text.n ? n + piece : text.n;

		char *copy = arena_alloc(a, n);

		assert_non_null(copy);
		memcpy(copy, text.p, n);
		o.result = http_read(&r, (struct str){ copy, n }, a, &o.head, &o.used);
	}
	o.error = r.error;
	o.at = r.at;
	return o;
}

static void
assert_one_outcome(
    const char *name, enum http_kind kind, struct str text, enum http_error error)
{
	struct arena a;

	arena_init(&a, 16 << 20);
	struct outcome whole = read_in_pieces(&a, kind, text, text.n);

	if (whole.error != error)
		fail_msg("%s: error %d, not %d", name, whole.error, error);
	assert_row(name, whole.result == (error == HTTP_OK ? HTTP_DONE : HTTP_BAD));
	for (size_t piece = 1; piece < 8; piece += 3) {
		struct outcome o = read_in_pieces(&a, kind, text, piece);

		assert_row(name, o.result == whole.result);
		assert_row(name, o.error == whole.error);
		assert_row(name, o.at == whole.at);
		assert_row(name, o.used == whole.used);
	}
	arena_fini(&a);
}

struct refusal {
	const char *name;
	struct str text;
	enum http_error error;
};

#define ROW(name, text, error) \
	{ \
		name, { text, sizeof(text) - 1 }, error \
	}

static void
test_a_request_head_that_could_be_read_two_ways_is_refused(void **state)
{
	static const struct refusal cases[] = {
		ROW("plain", GET HOST "\r\n", HTTP_OK),
		ROW("one empty line first", "\r\n" GET HOST "\r\n", HTTP_OK),
		ROW("two empty lines first", "\r\n\r\n" GET HOST "\r\n", HTTP_LINE_END),
		ROW("LF first", "\n" GET HOST "\r\n", HTTP_LINE_END),
		ROW("CR without LF first", "\rG", HTTP_LINE_END),
		ROW("1.0 without Host", "CONNECT a:1 HTTP/1.0\r\n\r\n", HTTP_OK),
		ROW("any token is a method", "M-SEARCH * HTTP/1.1\r\n" HOST "\r\n",
		    HTTP_OK),

		ROW("two spaces", "GET  / HTTP/1.1\r\n", HTTP_START_LINE),
		ROW("two spaces before version", "GET /  HTTP/1.1\r\n", HTTP_START_LINE),
		ROW("tab", "GET\t/ HTTP/1.1\r\n", HTTP_START_LINE),
		ROW("leading space", " GET / HTTP/1.1\r\n", HTTP_START_LINE),
		ROW("space at the end", "GET / HTTP/1.1 \r\n", HTTP_START_LINE),
		ROW("0.9", "GET /\r\n", HTTP_START_LINE),
		ROW("method alone", "GET\r\n", HTTP_START_LINE),
		ROW("space in target", "GET /a b HTTP/1.1\r\n", HTTP_START_LINE),
		ROW("8 bit in target", "GET /\xc3\xa9 HTTP/1.1\r\n", HTTP_START_LINE),
		ROW("control in target", "GET /\x01 HTTP/1.1\r\n", HTTP_CONTROL),
		ROW("DEL in target", "GET /\x7f HTTP/1.1\r\n", HTTP_CONTROL),
		ROW("method with a paren", "G(T / HTTP/1.1\r\n", HTTP_METHOD),
		ROW("32 letters",
		    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1\r\n" HOST "\r\n",
		    HTTP_OK),
		ROW("33 letters", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", HTTP_METHOD),
		ROW("lower case version", "GET / http/1.1\r\n", HTTP_START_LINE),
		ROW("short version", "GET / HTTP/1.\r\n", HTTP_START_LINE),
		ROW("long version", "GET / HTTP/1.10\r\n", HTTP_START_LINE),
		ROW("1.2", "GET / HTTP/1.2\r\n", HTTP_VERSION),
		ROW("2.0", "GET / HTTP/2.0\r\n", HTTP_VERSION),
		ROW("h2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HTTP_VERSION),
		ROW("TLS", "\x16\x03\x01\x02", HTTP_CONTROL),
		ROW("SSLv2", "\x80\x2e\x01", HTTP_START_LINE),

		ROW("bare LF after the request line", "GET / HTTP/1.1\nHost",
		    HTTP_LINE_END),
		ROW("bare CR after the request line", "GET / HTTP/1.1\rHost",
		    HTTP_LINE_END),
		ROW("CR CR LF", "GET / HTTP/1.1\r\r\n", HTTP_LINE_END),
		ROW("bare LF in a value", GET "X: a\nY", HTTP_LINE_END),
		ROW("bare CR in a value", GET "X: a\rY", HTTP_LINE_END),
		ROW("bare LF at the end", GET HOST "\n", HTTP_LINE_END),
		ROW("LF in a name", GET "Te\nst: x", HTTP_LINE_END),
		ROW("NUL in a value", GET "X: a\0b", HTTP_CONTROL),
		ROW("NUL in a name", GET "X\0: b", HTTP_CONTROL),
		ROW("DEL in a value", GET "X: a\x7f", HTTP_CONTROL),
		ROW("VT before a value",
		    GET "Content-Length:\x0b"
			"5",
		    HTTP_CONTROL),

		ROW("no colon", GET "X\r\n", HTTP_FIELD),
		ROW("empty name", GET ": v\r\n", HTTP_FIELD),
		ROW("space before the colon", GET "Host : a\r\n", HTTP_FIELD),
		ROW("tab before the colon", GET "Host\t: a\r\n", HTTP_FIELD),
		ROW("8 bit in a name", GET "X\x85: a\r\n", HTTP_FIELD),
		ROW("paren in a name", GET "X(Y: v\r\n", HTTP_FIELD),
		ROW("fold", GET HOST "X: a\r\n b\r\n\r\n", HTTP_FOLD),
		ROW("fold before the first field", GET " " HOST "\r\n", HTTP_FOLD),
		ROW("fold with a tab", GET HOST "\tX: a\r\n\r\n", HTTP_FOLD),
		ROW("8 bit in a value", GET HOST "X: caf\xc3\xa9\r\n\r\n", HTTP_OK),
		ROW("empty value", GET HOST "X:\r\nY: \t \r\n\r\n", HTTP_OK),

		ROW("no Host", GET "X: a\r\n\r\n", HTTP_HOST_MISSING),
		ROW("no fields", GET "\r\n", HTTP_HOST_MISSING),
		ROW("Host twice", GET HOST HOST "\r\n", HTTP_HOST_TWICE),
		ROW("Host twice in 1.0", "GET / HTTP/1.0\r\n" HOST HOST "\r\n",
		    HTTP_HOST_TWICE),

		ROW("length with a sign", POST "Content-Length: +5\r\n\r\n",
		    HTTP_LENGTH_BAD),
		ROW("length in hex", POST "Content-Length: 0x5\r\n\r\n", HTTP_LENGTH_BAD),
		ROW("length list", POST "Content-Length: 5, 5\r\n\r\n", HTTP_LENGTH_BAD),
		ROW("length empty", POST "Content-Length:\r\n\r\n", HTTP_LENGTH_BAD),
		ROW("length 2^63-1", POST "Content-Length: 9223372036854775807\r\n\r\n",
		    HTTP_OK),
		ROW("length 2^63", POST "Content-Length: 9223372036854775808\r\n\r\n",
		    HTTP_LENGTH_BAD),
		ROW("length of 20 digits",
		    POST "Content-Length: 00000000000000000005\r\n\r\n", HTTP_LENGTH_BAD),
		ROW("length twice", POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
		    HTTP_LENGTH_CONFLICT),
		ROW("length and coding",
		    POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
		    HTTP_LENGTH_AND_CODING),
		ROW("coding and length",
		    POST "Transfer-Encoding: x\r\ncontent-length: 5\r\n\r\n",
		    HTTP_LENGTH_AND_CODING),
		ROW("coding in any case", POST "Transfer-Encoding: \tChunked \r\n\r\n",
		    HTTP_OK),
		ROW("coding twice",
		    POST
		    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
		    HTTP_CODING_BAD),
		ROW("coding empty", POST "Transfer-Encoding: \r\n\r\n", HTTP_CODING_BAD),
		ROW("coding in 1.0",
		    "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
		    HTTP_CODING_BAD),
		ROW("coding after chunked",
		    POST "Transfer-Encoding: chunked, identity\r\n\r\n", HTTP_CODING_BAD),
		ROW("chunked twice", POST "Transfer-Encoding: chunked, chunked\r\n\r\n",
		    HTTP_CODING_BAD),
		ROW("comma before chunked", POST "Transfer-Encoding: ,chunked\r\n\r\n",
		    HTTP_CODING_BAD),
		ROW("comma after chunked", POST "Transfer-Encoding: chunked,\r\n\r\n",
		    HTTP_CODING_BAD),
		ROW("chunked with parameter",
		    POST "Transfer-Encoding: chunked;q=1\r\n\r\n", HTTP_CODING_BAD),
		ROW("no-break space",
		    POST "Transfer-Encoding: \xa0"
			 "chunked\r\n\r\n",
		    HTTP_CODING_BAD),
		ROW("another coding", POST "Transfer-Encoding: gzip, chunked\r\n\r\n",
		    HTTP_CODING_UNSUPPORTED),
		ROW("alias of length", POST "Content_Length: 5\r\n\r\n", HTTP_ALIAS),
		ROW("alias of coding", POST "TRANSFER_encoding: chunked\r\n\r\n",
		    HTTP_ALIAS),
		ROW("CONNECT with coding",
		    "CONNECT a:1 HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n",
		    HTTP_CONNECT_BODY),
		ROW("CONNECT with length",
		    "CONNECT a:1 HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\n",
		    HTTP_CONNECT_BODY),
		ROW("CONNECT with length 0",
		    "CONNECT a:1 HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", HTTP_OK),

		ROW("Expect", POST "Expect: 100-Continue\r\n\r\n", HTTP_OK),
		ROW("another Expect", POST "Expect: 200-ok\r\n\r\n", HTTP_EXPECTATION),
		ROW("empty Expect", POST "Expect:\r\n\r\n", HTTP_EXPECTATION),
		ROW("Expect twice",
		    POST "Expect: 100-continue\r\nExpect: 100-continue\r\n\r\n",
		    HTTP_EXPECTATION),
		ROW("Expect in 1.0", "POST / HTTP/1.0\r\nExpect: x\r\n\r\n", HTTP_OK),
		ROW("nominates Host", GET HOST "Connection: close, host\r\n\r\n",
		    HTTP_NOMINATION),
		ROW("nominates Via",
		    GET HOST "Connection: close\r\nConnection:\tVia\r\n\r\n",
		    HTTP_NOMINATION),
		ROW("nominates nothing", GET HOST "Connection: ,, ,\r\n\r\n", HTTP_OK),
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_one_outcome(
		    cases[i].name, HTTP_REQUEST, cases[i].text, cases[i].error);
}

static void
test_a_response_head_that_could_be_read_two_ways_is_refused(void **state)
{
	static const struct refusal cases[] = {
		ROW("plain", "HTTP/1.1 200 OK\r\n\r\n", HTTP_OK),
		ROW("empty phrase", "HTTP/1.1 200 \r\n\r\n", HTTP_OK),
		ROW("no phrase", "HTTP/1.1 200\r\n\r\n", HTTP_OK),
		ROW("phrase with 8 bit", "HTTP/1.1 200 \xc3\x96K\r\n\r\n", HTTP_OK),
		ROW("1.0", "HTTP/1.0 599 Odd\r\n\r\n", HTTP_OK),
		ROW("2.0", "HTTP/2.0 200 OK\r\n\r\n", HTTP_VERSION),
		ROW("lower case", "http/1.1 200 OK\r\n\r\n", HTTP_START_LINE),
		ROW("empty line first", "\r\nHTTP/1.1 200 OK\r\n\r\n", HTTP_START_LINE),
		ROW("two spaces", "HTTP/1.1  200 OK\r\n\r\n", HTTP_START_LINE),
		ROW("two digits", "HTTP/1.1 20 OK\r\n\r\n", HTTP_START_LINE),
		ROW("four digits", "HTTP/1.1 2000 OK\r\n\r\n", HTTP_START_LINE),
		ROW("below 100", "HTTP/1.1 099 OK\r\n\r\n", HTTP_START_LINE),
		ROW("sign", "HTTP/1.1 -20 OK\r\n\r\n", HTTP_START_LINE),
		ROW("NUL in phrase", "HTTP/1.1 200 O\0K\r\n\r\n", HTTP_CONTROL),
		ROW("ssh", "SSH-2.0-x\r\n", HTTP_START_LINE),
		ROW("TLS alert", "\x15\x03\x01", HTTP_CONTROL),
		ROW("bare LF", "HTTP/1.1 200 OK\n\n", HTTP_LINE_END),
		ROW("fold", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", HTTP_FOLD),
		ROW("length and coding",
		    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: "
		    "chunked\r\n\r\n",
		    HTTP_LENGTH_AND_CODING),
		ROW("length twice",
		    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
		    HTTP_LENGTH_CONFLICT),
		ROW("gzip", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
		    HTTP_CODING_BAD),
		ROW("nomination is only ignored",
		    "HTTP/1.1 200 OK\r\nConnection: via\r\n\r\n", HTTP_OK),
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_one_outcome(
		    cases[i].name, HTTP_RESPONSE, cases[i].text, cases[i].error);
}

/* `head` repeats `unit` until it is `n` bytes longer. */
static struct str
padded(struct arena *a, const char *head, const char *unit, size_t n)
{
	size_t begin = strlen(head), length = strlen(unit);
	char *p = arena_alloc(a, begin + n);

	assert_non_null(p);
	memcpy(p, head, begin);
	for (size_t i = 0; i < n; i++)
		p[begin + i] = unit[i % length];
	return (struct str){ p, begin + n };
}

static void
test_a_head_that_grows_past_a_limit_is_refused_as_soon_as_it_does(void **state)
{
	static const struct {
		const char *name, *head, *unit;
		size_t most; /* that many bytes more still pass; limits at the top */
		enum http_error error;
	} cases[] = {
		{ "target", "GET /", "x", 63, HTTP_TARGET_TOO_LONG },
		{ "field name", GET, "x", 128, HTTP_HEAD_TOO_LARGE },
		{ "field value", GET "X:", "x", 126, HTTP_HEAD_TOO_LARGE },
		{ "fields", GET, "A:\r\n", 8 * 4, HTTP_HEAD_TOO_LARGE },
		{ "head", "GET / HTTP/1.1\r\n",
		    "A:"
		    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		    "xxxxx\r\n",
		    512 - 16 - 1, HTTP_HEAD_TOO_LARGE },
	};
	struct arena a;

	(void)state;
	arena_init(&a, 16 << 20);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct str fits = padded(&a, cases[i].head, cases[i].unit, cases[i].most);
		struct outcome o = read_in_pieces(&a, HTTP_REQUEST, fits, fits.n);

		assert_row(cases[i].name, o.result == HTTP_MORE);
		assert_one_outcome(cases[i].name, HTTP_REQUEST,
		    padded(&a, cases[i].head, cases[i].unit, cases[i].most + 1),
		    cases[i].error);
		assert_one_outcome(cases[i].name, HTTP_REQUEST,
		    padded(&a, cases[i].head, cases[i].unit, 5000), cases[i].error);
	}
	arena_fini(&a);
}

static struct http_head
head_of(struct arena *a, enum http_kind kind, const char *text)
{
	struct outcome o = read_in_pieces(a, kind, str_of(text), strlen(text));

	if (o.result != HTTP_DONE)
		fail_msg("%s: %s", text, http_error_text(o.error));
	return o.head;
}

static void
test_slices_are_the_bytes_that_came(void **state)
{
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 20);
	struct http_head h = head_of(&a, HTTP_REQUEST,
	    "\r\nPUT http://a.test/x?y HTTP/1.0\r\nHost:a.test\r\nX-A: \t b  c\t "
	    "\r\nx-a:\r\n\r\nbody");

	assert_true(str_eq(h.method, STR("PUT")));
	assert_true(str_eq(h.target, STR("http://a.test/x?y")));
	assert_int_equal(h.minor, 0);
	assert_int_equal(h.nfield, 3);
	assert_true(str_eq(h.host, STR("a.test")));
	assert_true(str_eq(h.field[1].name, STR("X-A")));
	assert_true(str_eq(h.field[1].value, STR("b  c")));
	assert_int_equal(http_field_count(&h, STR("x-A")), 2);
	assert_ptr_equal(http_field(&h, STR("X-a")), &h.field[1]);
	assert_null(http_field(&h, STR("X-")));

	h = head_of(&a, HTTP_RESPONSE, "HTTP/1.1 404 Not  Found\r\nA: b\r\n\r\n");
	assert_int_equal(h.status, 404);
	assert_true(str_eq(h.phrase, STR("Not  Found")));
	assert_int_equal(h.minor, 1);
	arena_fini(&a);
}

static void
test_a_done_head_says_how_its_body_is_framed(void **state)
{
	static const struct {
		const char *text, *method; /* method: of the request a response answers */
		enum http_framing framing;
		uint64_t length;
		bool is_kept;
	} cases[] = {
		{ GET HOST "\r\n", NULL, HTTP_NO_BODY, 0, true },
		{ POST "Content-Length: 010\r\n\r\n", NULL, HTTP_LENGTH, 10, true },
		{ GET HOST "Transfer-Encoding: chunked\r\n\r\n", NULL, HTTP_CHUNKED, 0,
		    true },
		{ GET HOST "Connection: x, Close\r\n\r\n", NULL, HTTP_NO_BODY, 0, false },
		{ "GET / HTTP/1.0\r\n\r\n", NULL, HTTP_NO_BODY, 0, false },
		{ "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", NULL, HTTP_NO_BODY,
		    0, true },
		{ "GET / HTTP/1.0\r\nProxy-Connection: keep-alive\r\n\r\n", NULL,
		    HTTP_NO_BODY, 0, true },
		{ "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", NULL,
		    HTTP_NO_BODY, 0, false },
		{ "HTTP/1.1 200 OK\r\n\r\n", "GET", HTTP_UNTIL_CLOSE, 0, false },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "GET", HTTP_LENGTH, 3,
		    true },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "HEAD", HTTP_NO_BODY, 3,
		    true },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "head", HTTP_LENGTH, 3,
		    true },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "GET",
		    HTTP_CHUNKED, 0, true },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "CONNECT",
		    HTTP_NO_BODY, 0, true },
		{ "HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\n", "CONNECT", HTTP_LENGTH,
		    3, true },
		{ "HTTP/1.1 204 No\r\n\r\n", "GET", HTTP_NO_BODY, 0, true },
		{ "HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n", "GET", HTTP_NO_BODY, 9,
		    true },
		{ "HTTP/1.1 100 Go\r\nContent-Length: 9\r\n\r\n", "POST", HTTP_NO_BODY, 9,
		    true },
		{ "HTTP/1.1 204 No\r\nConnection: close\r\n\r\n", "GET", HTTP_NO_BODY, 0,
		    false },
		{ "HTTP/1.0 200 OK\r\nContent-Length: 3\r\nProxy-Connection: "
		  "keep-alive\r\n\r\n",
		    "GET", HTTP_LENGTH, 3, false },
	};
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct http_head h =
		    head_of(&a, cases[i].method == NULL ? HTTP_REQUEST : HTTP_RESPONSE,
			cases[i].text);

		if (cases[i].method != NULL)
			http_response_for(&h, str_of(cases[i].method));
		assert_row(cases[i].text, h.framing == cases[i].framing);
		assert_row(cases[i].text, h.length == cases[i].length);
		assert_row(cases[i].text, h.is_kept == cases[i].is_kept);
	}
	arena_fini(&a);
}

static void
test_continue_and_upgrade_hold_only_where_they_mean_something(void **state)
{
	static const struct {
		const char *text;
		bool expects_continue, is_upgrade;
	} cases[] = {
		{ POST "Content-Length: 1\r\nExpect: 100-continue\r\n\r\n", true, false },
		{ POST "Content-Length: 0\r\nExpect: 100-continue\r\n\r\n", false,
		    false },
		{ "POST / HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n",
		    false, false },
		{ GET HOST
		    "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n\r\n",
		    false, true },
		{ GET HOST "Connection: upgrade\r\nUpgrade: h2c, websocket\r\n\r\n",
		    false, true },
		{ GET HOST "Connection: upgrade\r\nUpgrade: h2c\r\n\r\n", false, false },
		{ GET HOST "Upgrade: websocket\r\n\r\n", false, false },
		{ "GET / HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
		    false, false },
	};
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct http_head h = head_of(&a, HTTP_REQUEST, cases[i].text);

		assert_row(
		    cases[i].text, h.expects_continue == cases[i].expects_continue);
		assert_row(cases[i].text, h.is_upgrade == cases[i].is_upgrade);
	}
	arena_fini(&a);
}

static void
assert_kept_fields(enum http_kind kind, const char *text, const char *kept)
{
	bool drop[16] = { false };
	char names[256] = "";
	size_t n = 0;
	struct arena a;

	arena_init(&a, 1 << 20);
	struct http_head h = head_of(&a, kind, text);

	http_hop_fields(&h, drop);
	for (size_t i = 0; i < h.nfield; i++)
		if (!drop[i])
			n += (size_t)snprintf(names + n, sizeof(names) - n, "%.*s ",
			    (int)h.field[i].name.n, h.field[i].name.p);
	assert_string_equal(names, kept);
	arena_fini(&a);
}

static void
test_fields_for_this_hop_and_for_weir_never_pass(void **state)
{
	(void)state;
	assert_kept_fields(HTTP_REQUEST,
	    GET HOST "Keep-Alive: 5\r\nTE: gzip\r\nTrailer: X\r\nUpgrade: h2c\r\n"
		     "HTTP2-Settings: A\r\nAccept: b\r\n\r\n",
	    "Host Accept ");
	assert_kept_fields(HTTP_REQUEST,
	    GET HOST
	    "Proxy-Connection: x\r\nProxy-Authorization: x\r\nproxy_authorization: x\r\n"
	    "Proxy-Authenticate: x\r\nAuthorization: x\r\n\r\n",
	    "Host Authorization ");
	assert_kept_fields(HTTP_REQUEST,
	    GET HOST
	    "X-Weir-Session: x\r\nx-weir-: x\r\nX_Weir_Session: x\r\nX-Weird: x\r\n\r\n",
	    "Host X-Weird ");
	assert_kept_fields(HTTP_REQUEST,
	    GET "X-Foo: 1\r\nConnection: X-Foo\r\n" HOST
		"Connection: x-bar,\r\nX-Bar: 1\r\nX-Baz: 1\r\n\r\n",
	    "Host X-Baz ");
	assert_kept_fields(HTTP_RESPONSE,
	    "HTTP/1.1 200 OK\r\nConnection: content-length, Via\r\nContent-Length: 0\r\n"
	    "Via: x\r\nAlt-Svc: h3\r\n\r\n",
	    "Content-Length Via ");
}

static void
test_a_flood_of_nominations_is_refused(void **state)
{
	static const struct http_limits wide = { 64, 1 << 16, 128, 1 << 14 };
	struct http_reader r;
	struct http_head h;
	struct arena a;
	size_t used;

	(void)state;
	arena_init(&a, 1 << 20);
	struct str head = padded(&a, GET HOST "Connection: ", "x,", 2 * 300);
	char *text = arena_alloc(&a, head.n + 4);

	assert_non_null(text);
	memcpy(text, head.p, head.n);
	memcpy(text + head.n, "\r\n\r\n", 4);
	http_reader_init(&r, HTTP_REQUEST, &wide);
	assert_int_equal(
	    http_read(&r, (struct str){ text, head.n + 4 }, &a, &h, &used), HTTP_BAD);
	assert_int_equal(r.error, HTTP_NOMINATION);
	arena_fini(&a);
}

static void
test_every_refusal_has_words(void **state)
{
	(void)state;
	for (int e = HTTP_OK; e < HTTP_ERROR_N; e++)
		assert_non_null(http_error_text((enum http_error)e));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_a_request_head_that_could_be_read_two_ways_is_refused),
		cmocka_unit_test(
		    test_a_response_head_that_could_be_read_two_ways_is_refused),
		cmocka_unit_test(
		    test_a_head_that_grows_past_a_limit_is_refused_as_soon_as_it_does),
		cmocka_unit_test(test_slices_are_the_bytes_that_came),
		cmocka_unit_test(test_a_done_head_says_how_its_body_is_framed),
		cmocka_unit_test(
		    test_continue_and_upgrade_hold_only_where_they_mean_something),
		cmocka_unit_test(test_fields_for_this_hop_and_for_weir_never_pass),
		cmocka_unit_test(test_a_flood_of_nominations_is_refused),
		cmocka_unit_test(test_every_refusal_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
