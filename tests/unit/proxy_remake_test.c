/*
 * proxy_remake_test.c - heads as weir sends them
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proxy/remake.h"

static const struct http_limits limits = { 16384, 65536, 128, 16384 };

struct parsed {
	struct arena arena;
	struct http_head head;
	struct ask ask;
	struct buf out;
};

static void
parse(struct parsed *p, enum http_kind kind, const char *text)
{
	struct http_reader r;
	const char *why;
	size_t used;

	memset(p, 0, sizeof(*p));
	arena_init(&p->arena, 65536);
	buf_init(&p->out, 65536);
	http_reader_init(&r, kind, &limits);
	assert_int_equal(
	    http_read(&r, str_of(text), &p->arena, &p->head, &used), HTTP_DONE);
	if (kind == HTTP_REQUEST)
		assert_int_equal(ask_proxy(&p->ask, &p->head, &why), REASON_NONE);
}

static void
done(struct parsed *p)
{
	buf_fini(&p->out);
	arena_fini(&p->arena);
}

/* What goes in, how, and the whole head that comes out. */
static const struct {
	const char *name, *in;
	bool strips, is_upgrade;
	const char *out;
} requests[] = {
	{ "the target becomes origin-form, Host comes first and canonical",
	    "GET http://Example.TEST:80/a?b=c HTTP/1.1\r\nX: y\r\nHost: "
	    "Example.TEST:80\r\n\r\n",
	    false, false,
	    "GET /a?b=c HTTP/1.1\r\nHost: example.test\r\nX: y\r\nVia: 1.1 "
	    "weir\r\n\r\n" },
	{ "a port that is not the default stays",
	    "GET http://a.test:8080 HTTP/1.1\r\nHost: a.test:8080\r\n\r\n", false, false,
	    "GET / HTTP/1.1\r\nHost: a.test:8080\r\nVia: 1.1 weir\r\n\r\n" },
	{ "hop-by-hop fields, those Connection names and X-Weir-* do not pass",
	    "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: X-Secret, "
	    "keep-alive\r\n"
	    "X-Secret: 1\r\nKeep-Alive: 5\r\nProxy-Connection: x\r\nProxy-Authorization: "
	    "Basic eA==\r\n"
	    "TE: trailers\r\nTrailer: X\r\nX-Weir-Reason: y\r\nHTTP2-Settings: "
	    "AA\r\nUpgrade: h2c\r\n\r\n",
	    false, false, "GET / HTTP/1.1\r\nHost: a.test\r\nVia: 1.1 weir\r\n\r\n" },
	{ "a length is said once, in plain digits",
	    "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 007\r\n\r\n",
	    false, false,
	    "POST / HTTP/1.1\r\nHost: a.test\r\nVia: 1.1 weir\r\nContent-Length: "
	    "7\r\n\r\n" },
	{ "fields and query keys that rewrite a request are taken out",
	    "GET http://a.test/?x=1&_method=DELETE HTTP/1.1\r\nHost: a.test\r\n"
	    "X-HTTP-Method-Override: DELETE\r\nX-Original-URL: /admin\r\n\r\n",
	    true, false, "GET /?x=1 HTTP/1.1\r\nHost: a.test\r\nVia: 1.1 weir\r\n\r\n" },
	{ "websocket is asked for in exactly one way",
	    "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: keep-alive, "
	    "Upgrade\r\n"
	    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
	    "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n\r\n",
	    false, true,
	    "GET / HTTP/1.1\r\nHost: a.test\r\nSec-WebSocket-Version: 13\r\n"
	    "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\nVia: 1.1 weir\r\nConnection: "
	    "Upgrade\r\n"
	    "Upgrade: websocket\r\n\r\n" },
	{ "Max-Forwards counts down, OPTIONS without a path asks for *",
	    "OPTIONS http://a.test HTTP/1.1\r\nHost: a.test\r\nMax-Forwards: 3\r\n\r\n",
	    false, false,
	    "OPTIONS * HTTP/1.1\r\nHost: a.test\r\nMax-Forwards: 2\r\nVia: 1.1 "
	    "weir\r\n\r\n" },
};

static void
test_requests_are_made_anew(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		struct parsed p;
		struct remake how = { .via = "weir",
			.port = 80,
			.strips_rewriters = requests[i].strips,
			.is_upgrade = requests[i].is_upgrade };
		parse(&p, HTTP_REQUEST, requests[i].in);
		how.arena = &p.arena;
		assert_true(remake_request(&p.out, &p.head, &p.ask, &how));
		if (strcmp(buf_cstr(&p.out), requests[i].out) != 0)
			fail_msg("%s:\n%s", requests[i].name, buf_cstr(&p.out));
		done(&p);
	}
}

static void
test_chunked_bodies_stay_chunked(void **state)
{
	struct parsed p;
	struct remake how = { .via = "weir", .is_chunked = true };

	(void)state;
	parse(&p, HTTP_REQUEST,
	    "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
	    "Transfer-Encoding: Chunked\r\n\r\n");
	how.arena = &p.arena;
	assert_true(remake_request(&p.out, &p.head, &p.ask, &how));
	assert_non_null(
	    strstr(buf_cstr(&p.out), "\r\nTransfer-Encoding: chunked\r\n\r\n"));
	assert_null(strstr(buf_cstr(&p.out), "Content-Length"));
	done(&p);
}

static const struct {
	const char *name, *in;
	bool is_kept;
	const char *out;
} responses[] = {
	{ "what only a proxy may say does not pass",
	    "HTTP/1.1 200 OK\r\nAlt-Svc: h3=\":443\"\r\nProxy-Authenticate: Basic\r\n"
	    "Proxy-Status: weir; error=x\r\nX-Weir-Request: y\r\nA: b\r\nContent-Length: "
	    "3\r\n\r\n",
	    true,
	    "HTTP/1.1 200 OK\r\nA: b\r\nVia: 1.1 weir\r\nContent-Length: 3\r\n\r\n" },
	{ "another proxy's status passes",
	    "HTTP/1.0 404 No\r\nProxy-Status: edge; error=x\r\nContent-Length: 0\r\n\r\n",
	    false,
	    "HTTP/1.1 404 No\r\nProxy-Status: edge; error=x\r\nVia: 1.1 "
	    "weir\r\nConnection: close\r\n"
	    "Content-Length: 0\r\n\r\n" },
};

static void
test_responses_are_made_anew(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(responses) / sizeof(responses[0]); i++) {
		struct parsed p;
		struct remake how = { .via = "weir", .is_kept = responses[i].is_kept };
		parse(&p, HTTP_RESPONSE, responses[i].in);
		how.arena = &p.arena;
		assert_true(remake_response(&p.out, &p.head, 1, &how));
		if (strcmp(buf_cstr(&p.out), responses[i].out) != 0)
			fail_msg("%s:\n%s", responses[i].name, buf_cstr(&p.out));
		done(&p);
	}
}

/* A password with two placeholders, each of which stands for much. */
static void
test_a_credential_that_does_not_fit_is_not_sent_in_part(void **state)
{
	static char bytes[60000];
	struct credential row = { .value = { .bytes = bytes, .n = sizeof(bytes) } };
	struct vault_item item = { .row = &row, .placeholder = STR("PH") };
	const struct inject rule = { 0 };
	struct injection injection = { &rule, &item };
	struct remake how = { .via = "weir", .injection = &injection };

	(void)state;
	memset(bytes, 'k', sizeof(bytes));
	for (int n = 1; n <= 3; n++) {
		struct parsed p;
		/* u:PH, u:PHPH, u:PHPHPH */
		const char *const pairs[] = { "dTpQSA==", "dTpQSFBI", "dTpQSFBIUEg=" };
		char text[256];

		snprintf(text, sizeof(text),
		    "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
		    "Authorization: Basic %s\r\n\r\n",
		    pairs[n - 1]);
		parse(&p, HTTP_REQUEST, text);
		buf_fini(&p.out);
		buf_init(&p.out, 1 << 20);
		how.arena = &p.arena;
		assert_int_equal(remake_request(&p.out, &p.head, &p.ask, &how), n < 3);
		assert_true(n == 3 || p.out.n > (size_t)n * sizeof(bytes));
		done(&p);
	}
}

static const struct {
	const char *via;
	bool is_loop;
} vias[] = {
	{ "1.1 weir", true },
	{ "1.0 a, 1.1 WEIR (a, comment), 1.1 b", true },
	{ "1.1 other (1.1 weir)", false },
	{ "1.1 weirdo", false },
	{ "1.1 a (x, 1.1 weir), 1.1 b", false },
};

static void
test_a_request_that_was_here_before_is_a_loop(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(vias) / sizeof(vias[0]); i++) {
		struct http_field f = { STR("via"), str_of(vias[i].via) };
		struct http_head h = { .field = &f, .nfield = 1 };
		if (remake_is_loop(&h, "weir") != vias[i].is_loop)
			fail_msg("%s", vias[i].via);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_are_made_anew),
		cmocka_unit_test(test_chunked_bodies_stay_chunked),
		cmocka_unit_test(test_responses_are_made_anew),
		cmocka_unit_test(test_a_credential_that_does_not_fit_is_not_sent_in_part),
		cmocka_unit_test(test_a_request_that_was_here_before_is_a_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
