/*
 * conf_settings_test.c - weir.yaml is read strictly, and secrets stay out of sight
 */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "conf/settings.h"
#include "unit.h"

static struct settings *
load(const char *text, struct report *rep)
{
	report_init(rep);
	return settings_load_text("w.yaml", str_of(text), "/etc/weir", rep);
}

static void
test_defaults_are_those_of_the_contract(void **state)
{
	struct report rep;
	struct settings *s = load("{}", &rep);

	(void)state;
	assert_non_null(s);
	assert_true(s->production);
	assert_false(s->allow_report);
	assert_int_equal(s->errors, ERRORS_PUBLIC);
	assert_string_equal(s->name, "weir");
	assert_int_equal(s->listen_proxy.n, 0);
	assert_int_equal(s->workers, 0);
	assert_null(s->state_dir);
	assert_null(s->tls_roots);
	assert_null(s->audit_key.bytes);
	assert_int_equal(s->audit_reserve, SIZE_AUTO);
	assert_string_equal(s->redact_id, "k1");
	assert_int_equal(s->dns_timeout, 5000);
	assert_int_equal(s->limits_head, 65536);
	assert_int_equal(s->limits_body_rate, 1024);
	assert_int_equal(s->limits_client_rate, 100);
	assert_int_equal(s->limits_refusals, 120);
	assert_int_equal(s->limits_body, 0);
	assert_int_equal(s->log_level, LOG_INFO);
	settings_free(s);
	report_fini(&rep);
}

static void
test_written_values_are_read(void **state)
{
	struct report rep;
	struct settings *s =
	    load("production: false\n"
		 "listen: { proxy: [\"127.0.0.1:3128\", \"[::1]:1\", unix:p.sock] }\n"
		 "workers: 4\n"
		 "policies: [a.yaml, /b.yaml]\n"
		 "state_dir: state\n"
		 "dns: { servers: [192.0.2.1, \"192.0.2.2:5353\"], nat64: "
		 "[\"2001:db8::/96\"],\n"
		 "  hosts: { a.test: [127.0.0.2, \"::1\"], B.test: [192.0.2.9] } }\n"
		 "audit: { path: \"-\", on_failure: drop, reserve: 2GiB }\n"
		 "tls: { roots: ca.pem }\n"
		 "limits: { body_rate: 0, client_rate: 7/s, idle: 2m, body: 1GiB }\n"
		 "addresses: { closed: [10.0.0.0/8, \"2001:db8::1\"] }\n"
		 "log: { level: debug, format: json }\n",
		&rep);

	(void)state;
	assert_non_null(s);
	assert_int_equal(rep.n, 0);
	assert_false(s->production);
	assert_int_equal(s->listen_proxy.n, 3);
	assert_string_equal(s->listen_proxy.p[0], "127.0.0.1:3128");
	assert_string_equal(s->listen_proxy.p[2], "unix:/etc/weir/p.sock");
	assert_int_equal(s->workers, 4);
	assert_string_equal(s->policies.p[0], "/etc/weir/a.yaml");
	assert_string_equal(s->policies.p[1], "/b.yaml");
	assert_string_equal(s->state_dir, "/etc/weir/state");
	assert_string_equal(s->dns_servers.p[1], "192.0.2.2:5353");
	assert_int_equal(s->dns_hosts.n, 2);
	assert_string_equal(s->dns_hosts.p[1].name, "B.test");
	assert_int_equal(s->dns_hosts.p[1].mark.line, 7);
	assert_int_equal(s->dns_hosts.p[0].naddr, 2);
	assert_int_equal(s->dns_nat64.p[0].len, 96);
	assert_string_equal(s->audit_path, "-");
	assert_int_equal(s->audit_on_failure, ON_FAILURE_DROP);
	assert_int_equal(s->audit_reserve, INT64_C(2) << 30);
	assert_string_equal(s->tls_roots, "/etc/weir/ca.pem");
	assert_int_equal(s->limits_body_rate, 0);
	assert_int_equal(s->limits_client_rate, 7);
	assert_int_equal(s->limits_idle, 120000);
	assert_int_equal(s->limits_body, 1073741824);
	assert_int_equal(s->addresses_closed.p[0].len, 104);
	assert_int_equal(s->addresses_closed.p[1].len, 128);
	assert_int_equal(s->log_level, LOG_DEBUG);
	assert_int_equal(s->log_format, LOG_JSON);
	settings_free(s);
	report_fini(&rep);
}

/* One fault, its code, its place and, where it matters, its hint. */
static const struct {
	const char *text, *code;
	size_t line, column;
	const char *hint; /* NULL: any */
} faults[] = {
	{ "polices: [a]\n", "unknown_key", 1, 1, "did you mean \"policies\"?" },
	{ "dns: { timout: 5s }\n", "unknown_key", 1, 8, "did you mean \"dns.timeout\"?" },
	{ "timeout: 5s\n", "unknown_key", 1, 1, "did you mean \"dns.timeout\"?" },
	{ "dns.timeout: 5s\n", "unknown_key", 1, 1, "did you mean \"dns.timeout\"?" },
	{ "sessions: { key: [] }\n", "unknown_key", 1, 13,
	    "did you mean \"sessions.keys\"?" },
	{ "listen: { quic: [] }\n", "unknown_key", 1, 11, NULL },
	{ "limits: { records: 600/min }\n", "unknown_key", 1, 11, NULL },
	{ "audit: { opens_after: 5s }\n", "unknown_key", 1, 10, NULL },
	{ "tls: { intercept: {} }\n", "half_a_ca", 1, 19, NULL },
	{ "production: yes\n", "bad_boolean", 1, 13, NULL },
	{ "production:\n", "null_value", 1, 12, NULL },
	{ "listen: 1\n", "wrong_type", 1, 9, NULL },
	{ "errors: loud\n", "bad_choice", 1, 9, "write public or developer" },
	{ "name: a b\n", "bad_text", 1, 7, NULL },
	{ "name: ''\n", "out_of_range", 1, 7, NULL },
	{ "redact: { id: a.b }\n", "bad_text", 1, 15, NULL },
	{ "workers: 0\n", "out_of_range", 1, 10, NULL },
	{ "audit: { reserve: half }\n", "bad_size", 1, 19, NULL },
	{ "workers: 04\n", "bad_integer", 1, 10, "write it without leading zeros" },
	{ "state_dir: ''\n", "bad_path", 1, 12, NULL },
	{ "policies: a.yaml\n", "wrong_type", 1, 11, "write a list: [a, b]" },
	{ "policies: [a, a]\n", "duplicate_value", 1, 15, NULL },
	{ "policies: [a, ~]\n", "null_value", 1, 15, NULL },
	{ "listen: { proxy: [\"3128\"] }\n", "bad_listener", 1, 19,
	    "write the address too: 127.0.0.1:3128" },
	{ "listen: { proxy: [127.0.0.1] }\n", "bad_listener", 1, 19,
	    "add a port: 127.0.0.1:3128 or [::1]:3128" },
	{ "listen: { proxy: [\"localhost:80\"] }\n", "bad_listener", 1, 19, NULL },
	{ "listen: { proxy: [\"127.0.0.1:0\"] }\n", "bad_listener", 1, 19, NULL },
	{ "listen: { proxy: [\"unix:\"] }\n", "bad_listener", 1, 19, NULL },
	{ "listen: { proxy: [\"unix:@x\"] }\n", "bad_listener", 1, 19, NULL },
	{ "listen: { proxy: [\"/run/x\"] }\n", "bad_listener", 1, 19,
	    "write unix: before the path of a socket" },
	{ "listen: { proxy: [\"0.0.0.0:80\"], health: [\"127.0.0.1:80\"] }\n",
	    "listener_conflict", 1, 42, NULL },
	{ "listen: { proxy: [\"[::]:80\"], health: [\"127.0.0.1:80\"] }\n",
	    "listener_conflict", 1, 39, NULL },
	{ "listen: { proxy: [unix:/x], health: [unix:/x] }\n", "listener_conflict", 1, 37,
	    NULL },
	{ "dns: { servers: [ns.example] }\n", "bad_address", 1, 18, NULL },
	{ "dns: { hosts: { a: 1.2.3.4 } }\n", "wrong_type", 1, 20, NULL },
	{ "dns: { hosts: { a: [] } }\n", "out_of_range", 1, 20, NULL },
	{ "dns: { hosts: { a: [1.2.3] } }\n", "bad_address", 1, 21, NULL },
	{ "dns: { nat64: [\"2001:db8::/64\"] }\n", "bad_prefix", 1, 16, NULL },
	{ "dns: { timeout: 5 }\n", "bad_duration", 1, 17, NULL },
	{ "dns: { timeout: 2m }\n", "out_of_range", 1, 17, NULL },
	{ "addresses: { closed: [10.1.2.3/8] }\n", "bad_prefix", 1, 23,
	    "write 10.0.0.0/8" },
	{ "limits: { body_rate: 1KiB }\n", "bad_rate", 1, 22, NULL },
	{ "limits: { body_rate: 1K/min }\n", "bad_size", 1, 22, NULL },
	{ "limits: { client_rate: 100 }\n", "bad_rate", 1, 24, NULL },
	{ "limits: { refusals: 100/s }\n", "bad_rate", 1, 21, NULL },
	{ "limits: { client_rate: 0100/s }\n", "bad_integer", 1, 24, NULL },
	{ "limits: { head: 2MiB }\n", "out_of_range", 1, 17, NULL },
	{ "limits: { head: 8KiB }\n", "limits_disagree", 1, 17, NULL },
	{ "limits: { field: 128KiB }\n", "limits_disagree", 1, 18, NULL },
	{ "audit: { on_failure: open }\n", "bad_choice", 1, 22, NULL },
	{ "audit: { key: 'not-a-reference' }\n", "secret_literal", 1, 15, NULL },
	{ "audit: { key: env:WEIR_TEST_NOT_SET }\n", "secret_missing", 1, 15, NULL },
	{ "audit: { key: file:/nonexistent/key }\n", "secret_missing", 1, 15, NULL },
	{ "audit: { key: file:/ }\n", "secret_missing", 1, 15, NULL },
	{ "audit: { key: cred:../x }\n", "secret_literal", 1, 15, NULL },
	{ "audit: { key: [env:HOME] }\n", "wrong_type", 1, 15, NULL },
};

static void
test_faults_have_their_code_and_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(faults); i++) {
		struct report rep;
		struct settings *s = load(faults[i].text, &rep);
		if (s != NULL || rep.n == 0)
			fail_msg("accepted: %s", faults[i].text);
		const struct finding *f = &rep.finding[0];
		if (strcmp(f->code, faults[i].code) != 0 ||
		    f->mark.line != faults[i].line ||
		    f->mark.column != faults[i].column ||
		    (faults[i].hint != NULL &&
			(f->hint == NULL || strcmp(f->hint, faults[i].hint) != 0)))
			fail_msg("%s: %s at %zu:%zu: %s (%s)", faults[i].text, f->code,
			    f->mark.line, f->mark.column, f->text,
			    f->hint == NULL ? "no hint" : f->hint);
		report_fini(&rep);
	}
}

static void
test_all_faults_are_found_in_one_run(void **state)
{
	struct report rep;

	(void)state;
	assert_null(
	    load("polices: []\nworkers: x\nname: 'a b'\nname: c\nlimits: { head: 5 }\n"
		 "listen: { proxy: [a, \":1\"] }\n",
		&rep));
	assert_int_equal(rep.errors, 7);
	report_fini(&rep);
}

/* Where the secret stands, and how it is misused. */
static const char *const leaks[] = {
	"audit: { key: hunter2 }\n",
	"audit: { key: hunter2, on_failure: nothing }\n",
	"audit: { on_failure: nothing, key: hunter2 }\n",
	"audit: { key: [hunter2] }\n",
	"audit: { key: { value: hunter2 } }\n",
	"audit: { key: \"env:hunter2 \" }\n",
	"audit: { kee: hunter2, on_failure: nothing }\n",
	"audit: { key: hunter2, key: hunter2 }\n",
	"audit: hunter2\n",
	"audit: { key: |\n  hunter2\n }\n",
	"audit:\n  key: |\n    hunter2\n    hunter2\n  on_failure: nothing\n",
	"audit: { key: \"hunter2\\q\" }\n",
	"sessions: { keys: [ { secret: hunter2 } ] }\n",
	"credentials: { forge: { value: hunter2 } }\n",
	"redact: { key: &a hunter2 }\n",
	"redact: { key: !t hunter2 }\n",
	"redact: { key: hunter2: x }\n",
	"redact: { key: hunter2\xff }\n",
};

static void
test_no_finding_shows_a_secret(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(leaks); i++) {
		struct report rep;
		struct buf b;
		assert_null(load(leaks[i], &rep));
		buf_init(&b, 1 << 20);
		report_print_text(&rep, &b);
		report_print_json(&rep, &b);
		if (strstr(buf_cstr(&b), "hunter2") != NULL)
			fail_msg("%s: %s", leaks[i], buf_cstr(&b));
		buf_fini(&b);
		report_fini(&rep);
	}
}

static char directory[] = "/tmp/conf_settings_test.XXXXXX";

static void
put_file(const char *name, const char *text, size_t n, mode_t mode)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), (ssize_t)n);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static struct settings *
load_key(const char *reference, struct report *rep)
{
	char text[256];

	snprintf(text, sizeof(text), "audit: { key: \"%s\" }\n", reference);
	report_init(rep);
	return settings_load_text("w.yaml", str_of(text), directory, rep);
}

static const struct {
	const char *reference;
	const char *code;  /* NULL: none */
	const char *bytes; /* NULL: refused */
} references[] = {
	{ "env:WEIR_TEST_KEY", NULL, "from-env" },
	{ "env:WEIR_TEST_EMPTY", "secret_missing", NULL },
	{ "file:plain", NULL, "from-file" },
	{ "file:./plain", NULL, "from-file" },
	{ "file:crlf", NULL, "a secret\n" },
	{ "file:short", "secret_short", "seven b" },
	{ "file:empty", "secret_missing", NULL },
	{ "file:newline", "secret_missing", NULL },
	{ "file:open", "secret_readable_by_all", "seen by all" },
	{ "file:large", "secret_too_large", NULL },
	{ "file:absent", "secret_missing", NULL },
	{ "cred:plain", NULL, "from-file" },
	{ "cred:absent", "secret_missing", NULL },
};

static void
test_references_are_resolved(void **state)
{
	char *large = calloc(1, SECRET_MAX + 1);

	(void)state;
	assert_non_null(mkdtemp(directory));
	put_file("plain", "from-file\n", 10, 0600);
	put_file("crlf", "a secret\n\r\n", 11, 0600);
	put_file("short", "seven b\n", 8, 0600);
	put_file("empty", "", 0, 0600);
	put_file("newline", "\n", 1, 0600);
	put_file("open", "seen by all", 11, 0604);
	put_file("large", large, SECRET_MAX + 1, 0600);
	free(large);
	setenv("WEIR_TEST_KEY", "from-env", 1);
	setenv("WEIR_TEST_EMPTY", "", 1);
	setenv("CREDENTIALS_DIRECTORY", directory, 1);
	for (size_t i = 0; i < COUNT_OF(references); i++) {
		struct report rep;
		struct settings *s = load_key(references[i].reference, &rep);
		const char *code = rep.n == 0 ? NULL : rep.finding[0].code;
		if ((s == NULL) != (references[i].bytes == NULL) ||
		    (code == NULL) != (references[i].code == NULL) ||
		    (code != NULL && strcmp(code, references[i].code) != 0) ||
		    (s != NULL && strcmp(s->audit_key.bytes, references[i].bytes) != 0))
			fail_msg(
			    "%s: %s", references[i].reference, code == NULL ? "-" : code);
		settings_free(s);
		report_fini(&rep);
	}
}

/* The whole file: production and policies are looked at too. */
static const struct {
	const char *text, *code; /* NULL: good */
	size_t line;
} wholes[] = {
	{ "production: false\npolicies: [a]\n", NULL, 0 },
	{ "policies: [a]\nsessions: { keys: [ { issuer: a, audience: b, alg: HS256, "
	  "secret: "
	  "env:PATH } ] }\n",
	    "no_boundary", 0 },
	{ "policies: [a]\nboundary: { kind: vm }\n", "no_sessions", 0 },
	{ "production: false\n", "no_policies", 0 },
	{ "production: false\npolicies: []\n", "no_policies", 2 },
	{ "production: off\npolicies: [a]\n", "bad_boolean", 1 },
};

static void
test_whole_file_must_be_fit_to_serve(void **state)
{
	char path[128], expected[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/weir.yaml", directory);
	for (size_t i = 0; i < COUNT_OF(wholes); i++) {
		struct report rep;
		put_file("weir.yaml", wholes[i].text, strlen(wholes[i].text), 0600);
		report_init(&rep);
		struct settings *s = settings_load_file(path, &rep);
		const char *code = rep.n == 0 ? NULL : rep.finding[0].code;
		if (rep.n > 1 || (code == NULL) != (wholes[i].code == NULL) ||
		    (code != NULL && wholes[i].code != NULL &&
			strcmp(code, wholes[i].code) != 0) ||
		    (code != NULL && rep.finding[0].mark.line != wholes[i].line))
			fail_msg("%s: %s", wholes[i].text, code == NULL ? "-" : code);
		if (s != NULL && rep.n == 0) {
			snprintf(expected, sizeof(expected), "%s/a", directory);
			assert_string_equal(s->policies.p[0], expected);
			settings_check_listener(s, &rep);
			assert_string_equal(rep.finding[0].code, "no_listener");
		}
		settings_free(s);
		report_fini(&rep);
	}
}

static void
test_socket_path_must_fit(void **state)
{
	(void)state;
	for (size_t n = 107; n <= 108; n++) {
		char text[256];
		struct report rep;
		snprintf(text, sizeof(text), "listen: { proxy: [\"unix:/%0*d\"] }\n",
		    (int)n - 1, 0);
		struct settings *s = load(text, &rep);
		assert_int_equal(s != NULL, n == 107);
		settings_free(s);
		report_fini(&rep);
	}
}

static void
test_laptop_serves_this_machine_alone(void **state)
{
	struct report rep;

	(void)state;
	setenv("XDG_STATE_HOME", "/home/u/state", 1);
	report_init(&rep);
	struct settings *s = settings_laptop(&rep);
	assert_non_null(s);
	assert_false(s->production);
	assert_int_equal(s->errors, ERRORS_DEVELOPER);
	assert_int_equal(s->listen_proxy.n, 2);
	assert_string_equal(s->listen_proxy.p[0], "127.0.0.1:3128");
	assert_string_equal(s->listen_proxy.p[1], "[::1]:3128");
	assert_int_equal(s->policies.n, 0);
	assert_string_equal(
	    s->state_dir, geteuid() == 0 ? "/var/lib/weir" : "/home/u/state/weir");
	assert_string_equal(s->audit_path + strlen(s->state_dir), "/audit.jsonl");
	assert_int_equal(s->limits_head, 65536);
	settings_free(s);
	report_fini(&rep);
}

static void
test_what_needs_a_restart_is_named(void **state)
{
	struct report rep;
	struct settings *a =
	    load("workers: 1\nname: a\nlisten: { proxy: [\"127.0.0.1:1\"] }\n", &rep);
	struct settings *b =
	    load("workers: 2\nname: b\nlisten: { proxy: [\"127.0.0.1:2\"] }\n", &rep);
	const char *key[8];

	(void)state;
	assert_int_equal(settings_not_reloadable(a, b, key, 8), 2);
	assert_string_equal(key[0], "listen.proxy");
	assert_string_equal(key[1], "workers");
	assert_int_equal(settings_not_reloadable(a, a, key, 8), 0);
	settings_free(a);
	settings_free(b);
	report_fini(&rep);
}

static void
test_every_default_can_be_printed(void **state)
{
	struct buf b;
	json_error_t why;

	(void)state;
	buf_init(&b, 1 << 20);
	settings_print_defaults(&b, true);
	json_t *all = json_loadb(b.p, b.n, 0, &why);
	assert_non_null(all);
	assert_true(json_array_size(all) > 40);
	assert_string_equal(
	    json_string_value(json_object_get(json_array_get(all, 0), "default")),
	    "true");
	json_decref(all);
	buf_reset(&b);
	settings_print_defaults(&b, false);
	assert_non_null(strstr(buf_cstr(&b), "limits.head_timeout"));
	buf_fini(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults_are_those_of_the_contract),
		cmocka_unit_test(test_written_values_are_read),
		cmocka_unit_test(test_faults_have_their_code_and_place),
		cmocka_unit_test(test_all_faults_are_found_in_one_run),
		cmocka_unit_test(test_no_finding_shows_a_secret),
		cmocka_unit_test(test_references_are_resolved),
		cmocka_unit_test(test_whole_file_must_be_fit_to_serve),
		cmocka_unit_test(test_socket_path_must_fit),
		cmocka_unit_test(test_laptop_serves_this_machine_alone),
		cmocka_unit_test(test_what_needs_a_restart_is_named),
		cmocka_unit_test(test_every_default_can_be_printed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
