/*
 * audit_record_test.c - what record.h promises: the keys, their order, and no secret
 */
#include "audit/record.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "policy/compile.h"
#include "unit.h"

static struct buf
printed(const struct record *r)
{
	struct redactor *redactor = redactor_new(STR("a key"), "k1");
	struct buf b;

	buf_init(&b, 1 << 20);
	record_print(r, redactor, &b);
	redactor_free(redactor);
	return b;
}

static struct record
least(void)
{
	return (struct record){
		.ts = 0,
		.id = "abcdefghijklmnopqrstuvwxyz",
		.seq = 1,
		.kind = RECORD_CONNECT,
		.reason = REASON_REQUEST_MALFORMED,
		.total_ms = 3,
		.dns_ms = -1,
		.connect_ms = -1,
		.ttfb_ms = -1,
	};
}

static void
test_what_is_absent_is_left_out_but_session(void **state)
{
	struct record r = least();
	struct buf b = printed(&r);

	(void)state;
	assert_string_equal(buf_cstr(&b),
	    "{\"v\":1,\"ts\":\"1970-01-01T00:00:00.000000Z\",\"id\":"
	    "\"abcdefghijklmnopqrstuvwxyz\","
	    "\"seq\":1,\"kind\":\"connect\",\"phase\":\"final\",\"decision\":\"deny\","
	    "\"reason\":\"request_malformed\",\"session\":null,\"client\":{},\"target\":{"
	    "},"
	    "\"ms\":{\"total\":3},\"outcome\":\"terminal\"");
	buf_fini(&b);
}

static void
test_every_fact_has_its_key_in_its_place(void **state)
{
	struct host host;
	struct addr answer[2];
	struct endpoint upstream;
	struct record r = least();

	(void)state;
	assert_int_equal(host_parse(&host, STR("API.example.com")), HOST_OK);
	assert_true(addr_parse(&answer[0], STR("192.0.2.1")));
	assert_true(addr_parse(&answer[1], STR("2001:db8::1")));
	assert_true(endpoint_parse(&upstream, STR("192.0.2.1:443")));
	r.ts = 1933135628123456;
	r.parent = "zyxwvutsrqponmlkjihgfedcba";
	r.kind = RECORD_HTTP;
	r.allowed = true;
	r.reason = REASON_NONE;
	r.client_addr = "127.0.0.1";
	r.door = "proxy";
	r.host = &host;
	r.port = 443;
	r.protocol = "https";
	r.method = STR("GET");
	r.path = STR("/a/b");
	r.query = STR("page=2&token=hunter2&flag");
	r.dns_canonical = "edge.example.net";
	r.answer = answer;
	r.nanswer = 2;
	r.sni = "api.example.com";
	r.has_ech = true;
	r.upstream = &upstream;
	r.has_assurance = true;
	r.assurance = ASSURE_SNI;
	r.up = 10;
	r.down = 12345678901;
	r.dns_ms = 0;
	r.connect_ms = 2;
	r.ttfb_ms = 1;
	r.status = 200;
	r.close = "client";
	r.flag[0] = "websocket";
	r.nflag = 1;
	r.error = STR("read: reset");
	r.traceparent = STR("00-b8034424a6e94ff4229ae2d0b8aecf77-690fe7b66ecd9cd2-01");
	struct buf b = printed(&r);
	assert_string_equal(buf_cstr(&b),
	    "{\"v\":1,\"ts\":\"2031-04-05T06:07:08.123456Z\",\"id\":"
	    "\"abcdefghijklmnopqrstuvwxyz\","
	    "\"parent\":\"zyxwvutsrqponmlkjihgfedcba\",\"seq\":1,\"kind\":\"http\","
	    "\"phase\":\"final\",\"decision\":\"allow\",\"reason\":\"ok\",\"session\":"
	    "null,"
	    "\"client\":{\"addr\":\"127.0.0.1\",\"door\":\"proxy\"},"
	    "\"target\":{\"host\":\"api.example.com\",\"port\":443,\"protocol\":"
	    "\"https\","
	    "\"method\":\"GET\",\"path\":\"/a/"
	    "b\",\"query_keys\":[\"page\",\"token\",\"flag\"]},"
	    "\"dns\":{\"chain\":[\"edge.example.net\"],\"answers\":[\"192.0.2.1\",\"2001:"
	    "db8::1\"]},"
	    "\"tls\":{\"sni\":\"api.example.com\",\"ech\":true},"
	    "\"upstream\":{\"addr\":\"192.0.2.1:443\"},\"assurance\":\"sni\","
	    "\"bytes\":{\"up\":10,\"down\":12345678901},"
	    "\"ms\":{\"total\":3,\"dns\":0,\"connect\":2,\"ttfb\":1},\"status\":200,"
	    "\"outcome\":\"ok\",\"close\":\"client\",\"flags\":[\"websocket\"],"
	    "\"error\":\"read: reset\","
	    "\"traceparent\":\"00-b8034424a6e94ff4229ae2d0b8aecf77-690fe7b66ecd9cd2-"
	    "01\"");
	buf_fini(&b);
}

static void
test_what_report_mode_let_through_says_what_would_have_been(void **state)
{
	struct verdict v = { .allow = true,
		.would = { true, REASON_HOST_NOT_ALLOWED, NULL } };
	struct record r = least();

	(void)state;
	r.allowed = true;
	r.reason = REASON_NONE;
	r.verdict = &v;
	struct buf b = printed(&r);
	assert_non_null(
	    strstr(buf_cstr(&b), "\"reason\":\"ok\",\"would\":{\"decision\":\"deny\","
				 "\"reason\":\"host_not_allowed\"},"));
	buf_fini(&b);
}

static void
test_a_decision_names_its_layer_and_its_policy(void **state)
{
	struct ruleset_source source = {
		.name = "a.yaml",
		.text =
		    STR("policy: agent\nallow: [{ name: one, host: api.example.com }]\n"),
	};
	struct ruleset_terms terms = { .is_report_ok = true };
	struct verdict v = { .reason = REASON_HOST_NOT_ALLOWED };
	struct record r = least();
	struct report rep;
	char want[256];

	(void)state;
	report_init(&rep);
	struct ruleset *rs = ruleset_build(&source, 1, &terms, &rep);
	assert_non_null(rs);
	r.reason = v.reason;
	r.verdict = &v;
	r.ruleset = rs;
	r.generation = 3;
	snprintf(want, sizeof(want),
	    "\"reason\":\"host_not_allowed\",\"layer\":\"agent\",\"policy\":\"%s\","
	    "\"generation\":3,\"session\":null,",
	    ruleset_digest(rs));
	struct buf b = printed(&r);
	assert_non_null(strstr(buf_cstr(&b), want));
	buf_fini(&b);
	ruleset_free(rs);
	report_fini(&rep);
}

static void
test_no_secret_is_in_a_record(void **state)
{
	struct record r = least();

	(void)state;
	r.host_raw = STR("svc:hunter2@evil");
	r.method = STR("GET");
	r.path = STR("/x/token=hunter2/https://svc:hunter2@host/");
	r.query = STR("page=hunter2&gh"
		      "p_0123456789abcdefghijABCDEFGHIJ012345");
	r.error = STR("dial https://svc:hunter2@host failed, password=hunter2");
	r.traceparent = STR("hunter2");
	struct buf b = printed(&r);
	const char *path = strstr(buf_cstr(&b), "\"path\"");
	assert_non_null(path);
	assert_null(strstr(buf_cstr(&b), "hunter2"));
	assert_null(strstr(path, "0123456789abcdefghij"));
	assert_non_null(strstr(path, "\"query_keys\":[\"page\",\"~redacted.github.k1."));
	buf_fini(&b);
}

static void
test_userinfo_of_a_target_that_is_no_url_is_not_written(void **state)
{
	static const struct {
		const char *sent, *before, *after; /* the mark stands between */
	} cases[] = {
		{ "svc:hunter2@evil:443", "\"", "@evil:443\"" },
		{ "hunter2@evil", "\"", "@evil\"" },
		{ "http:/svc:hunter2@evil/x", "\"http:/", "@evil/x\"" },
		{ "http:\\\\svc:hunter2@evil/", "\"http:\\\\\\\\", "@evil/\"" },
		{ "http://svc%3Ahunter2%40evil/", "\"http://", "%40evil/\"" },
		{ "http://svc:hun@hunter2@evil/", "\"http://", "@evil/\"" },
		{ "ftp://svc:hun/hunter2@evil/", "\"ftp://", "@evil/\"" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct record r = least();
		char begin[64];

		r.host_raw = str_of(cases[i].sent);
		r.path = STR("//svc:hunter2@evil/");
		struct buf b = printed(&r);
		snprintf(
		    begin, sizeof(begin), "%s~redacted.userinfo.k1.", cases[i].before);
		if (strstr(buf_cstr(&b), "hunter2") != NULL ||
		    strstr(buf_cstr(&b), begin) == NULL ||
		    strstr(buf_cstr(&b), cases[i].after) == NULL)
			fail_msg("%s: %s", cases[i].sent, buf_cstr(&b));
		buf_fini(&b);
	}
}

static void
test_whatever_was_sent_a_record_is_json_in_plain_text(void **state)
{
	static const struct {
		const char *what;
		const char *sent;
		const char *written;
	} cases[] = {
		{ "quotes", "a\"b\\c", "a\\\"b\\\\c" },
		{ "controls", "a\nb\x1b[1m\x7f", "a\\u000ab\\u001b[1m\\u007f" },
		{ "no UTF-8", "a\xff\xc3(", "a\\u00ff\\u00c3(" },
		{ "UTF-8", "caf\xc3\xa9", "caf\xc3\xa9" },
		{ "C1",
		    "a\xc2\x85"
		    "b",
		    "a\\u0085b" },
		{ "the direction of writing",
		    "a\xe2\x80\xae"
		    "b",
		    "a\\u202eb" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct record r = least();

		r.host_raw = str_of(cases[i].sent);
		struct buf b = printed(&r);
		if (strstr(buf_cstr(&b), cases[i].written) == NULL)
			fail_msg("%s: %s", cases[i].what, buf_cstr(&b));
		buf_char(&b, '}');
		json_t *json = json_loadb(b.p, b.n, JSON_REJECT_DUPLICATES, NULL);
		assert_row(cases[i].what, json != NULL);
		json_decref(json);
		buf_fini(&b);
	}
}

static void
test_long_text_is_cut_on_a_characters_boundary(void **state)
{
	char path[4000];
	struct record r = least();

	(void)state;
	memset(path, 'a', sizeof(path));
	for (size_t i = 1; i + 1 < sizeof(path); i += 2)
		memcpy(path + i, "\xc3\xa9", 2); /* byte 1024 is in the middle of one */
	r.path = (struct str){ path, sizeof(path) - 1 };
	struct buf b = printed(&r);
	const char *value = strstr(buf_cstr(&b), "\"path\":\"");
	assert_non_null(value);
	value += strlen("\"path\":\"");
	size_t n = (size_t)(strchr(value, '"') - value);
	assert_int_equal(n, 1023 + 3);
	assert_memory_equal(value + 1023, "\xe2\x80\xa6", 3);
	buf_fini(&b);
}

static void
test_query_keys_are_bounded(void **state)
{
	struct buf query;
	struct record r = least();
	size_t n = 0;

	(void)state;
	buf_init(&query, 1 << 20);
	for (int i = 0; i < 1000; i++)
		buf_text(&query, "key=value&");
	r.query = buf_view(&query);
	struct buf b = printed(&r);
	for (const char *p = buf_cstr(&b); (p = strstr(p, "\"key\"")) != NULL; p++)
		n++;
	assert_int_equal(n, 32);
	buf_fini(&b);
	buf_fini(&query);
}

static void
test_a_system_record_names_its_event(void **state)
{
	struct redactor *redactor = redactor_new(STR("a key"), "k1");
	struct buf b;

	(void)state;
	buf_init(&b, 1 << 16);
	record_print_system(1, 7, "reloaded", redactor, &b, "file", "a.yaml", "why",
	    "password=hunter2", NULL);
	assert_non_null(strstr(buf_cstr(&b),
	    "{\"v\":1,\"ts\":\"1970-01-01T00:00:00.000001Z\",\"seq\":7,\"kind\":"
	    "\"system\","
	    "\"phase\":\"final\",\"event\":\"reloaded\",\"file\":\"a.yaml\","
	    "\"why\":\"password=~redacted.password.k1."));
	buf_fini(&b);
	redactor_free(redactor);
}

static void
test_ids_are_base32_and_never_the_same(void **state)
{
	char last[EXCHANGE_ID] = "", id[EXCHANGE_ID];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		exchange_id_make(id);
		assert_int_equal(strlen(id), EXCHANGE_ID - 1);
		assert_int_equal(
		    strspn(id, "abcdefghijklmnopqrstuvwxyz234567"), EXCHANGE_ID - 1);
		assert_string_not_equal(id, last);
		memcpy(last, id, sizeof(last));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_absent_is_left_out_but_session),
		cmocka_unit_test(test_every_fact_has_its_key_in_its_place),
		cmocka_unit_test(
		    test_what_report_mode_let_through_says_what_would_have_been),
		cmocka_unit_test(test_a_decision_names_its_layer_and_its_policy),
		cmocka_unit_test(test_no_secret_is_in_a_record),
		cmocka_unit_test(test_userinfo_of_a_target_that_is_no_url_is_not_written),
		cmocka_unit_test(test_whatever_was_sent_a_record_is_json_in_plain_text),
		cmocka_unit_test(test_long_text_is_cut_on_a_characters_boundary),
		cmocka_unit_test(test_query_keys_are_bounded),
		cmocka_unit_test(test_a_system_record_names_its_event),
		cmocka_unit_test(test_ids_are_base32_and_never_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
