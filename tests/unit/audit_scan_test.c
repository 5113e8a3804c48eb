/*
 * audit_scan_test.c - secrets in codes, in odd places, and without a name; what it costs
 *
 * Secrets stand here in pieces, so that no scanner of source code takes this file for
 * a leak.
 */
#include "audit/scan.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/join.h"
#include "audit/stream.h"
#include "redacting.h"
#include "unit.h"

/* What $ stands for in a text: a token, and what must not be seen of it. */
#define TOKEN \
	"gh" \
	"p_0123456789abcdefghijABCDEFGHIJ012345"
#define BODY "0123456789abcdefghij"

static struct redactor *
keyed(void)
{
	return redactor_new(STR("a key"), "k1");
}

static bool
holds(const struct buf *b, const char *word)
{
	return memmem(b->p, b->n, word, strlen(word)) != NULL;
}

/* ---- codes */

static void
put_hex(struct buf *b, const char *prefix, bool is_upper, struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		buf_fmt(b, is_upper ? "%s%02X" : "%s%02x", prefix, (unsigned char)s.p[i]);
}

static void
put_json(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '"' || s.p[i] == '\\')
			buf_fmt(b, "\\%c", s.p[i]);
		else if (i % 3 == 0)
			buf_fmt(b, "\\u%04x", (unsigned char)s.p[i]);
		else
			buf_char(b, s.p[i]);
}

static void
put_html(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '"')
			buf_text(b, "&quot;");
		else if (i % 3 == 0)
			buf_fmt(b, "&#%u;", (unsigned char)s.p[i]);
		else if (i % 3 == 1)
			buf_fmt(b, "&#x%X;", (unsigned char)s.p[i]);
		else
			buf_char(b, s.p[i]);
}

static void
put_base64(struct buf *b, const char *last, struct str s)
{
	char digits[65] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

	memcpy(digits + 62, last, 2);
	for (size_t i = 0; i < s.n; i += 3) {
		unsigned v = 0;

		for (size_t k = 0; k < 3; k++)
			v = v << 8 | (i + k < s.n ? (unsigned char)s.p[i + k] : 0);
		for (size_t k = 0; k < 4 && i + k <= s.n; k++)
			buf_char(b, digits[v >> (18 - 6 * k) & 63]);
	}
}

enum code { PERCENT, PERCENT_UPPER, JSON, HTML, BASE64, BASE64URL, HEX, CODES };

static const char *const code_name[] = { "percent", "percent, capitals", "JSON", "HTML",
	"base64", "base64url", "hex" };

static struct buf
coded(enum code code, struct str s)
{
	struct buf b;

	buf_init(&b, 1 << 20);
	switch (code) {
	case PERCENT:
	case PERCENT_UPPER:
		put_hex(&b, "%", code == PERCENT_UPPER, s);
		break;
	case JSON:
		put_json(&b, s);
		break;
	case HTML:
		put_html(&b, s);
		break;
	case BASE64:
		put_base64(&b, "+/", s);
		break;
	case BASE64URL:
		put_base64(&b, "-_", s);
		break;
	case HEX:
		put_hex(&b, "", false, s);
		break;
	case CODES:
		break;
	}
	return b;
}

/* Whatever comes out, undone or not, must be no secret: it is looked for as it went in.
 */
static void
assert_masked(const struct redactor *r, const char *what, struct str code)
{
	struct buf in, out;

	buf_init(&in, 1 << 20);
	buf_fmt(&in, "before %.*s after\n", STR_ARG(code));
	out = redacted(r, REDACT_TEXT, buf_view(&in));
	struct str middle = str_sub(code, code.n / 3, code.n / 3);
	if (memmem(out.p, out.n, middle.p, middle.n) != NULL ||
	    !holds(&out, "~redacted.") || !holds(&out, "before ") ||
	    !holds(&out, " after"))
		fail_msg("%s: %s -> %s", what, buf_cstr(&in), buf_cstr(&out));
	buf_fini(&in);
	buf_fini(&out);
}

static void
test_a_secret_is_found_in_each_code(void **state)
{
	struct redactor *r = keyed();

	(void)state;
	for (int code = 0; code < CODES; code++) {
		struct buf b =
		    coded((enum code)code, STR("authorization: Bearer " TOKEN));

		assert_masked(r, code_name[code], buf_view(&b));
		buf_fini(&b);
	}
	redactor_free(r);
}

static void
test_a_secret_is_found_in_codes_three_deep(void **state)
{
	struct redactor *r = keyed();

	(void)state;
	for (int a = 0; a < CODES; a++)
		for (int c = 0; c < CODES; c++)
			for (int d = 0; d < CODES; d++) {
				struct buf one = coded((enum code)a, STR("token=" TOKEN));
				struct buf two = coded((enum code)c, buf_view(&one));
				struct buf three = coded((enum code)d, buf_view(&two));

				assert_masked(r, code_name[d], buf_view(&three));
				buf_fini(&one);
				buf_fini(&two);
				buf_fini(&three);
			}
	redactor_free(r);
}

/* As UTF-16; a character's NUL stands behind it or before it. */
static void
put_wide(struct buf *b, bool is_big, const char *text)
{
	for (; *text != '\0'; text++) {
		buf_char(b, is_big ? '\0' : *text);
		buf_char(b, is_big ? *text : '\0');
	}
}

static struct buf
narrowed(struct str wide, bool is_big)
{
	struct buf b;

	buf_init(&b, 1 << 16);
	assert_int_equal(wide.n % 2, 0);
	for (size_t i = 0; i < wide.n; i += 2) {
		assert_int_equal(wide.p[i + !is_big], 0);
		buf_char(&b, wide.p[i + is_big]);
	}
	return b;
}

static void
test_utf_16_is_searched_and_stays_utf_16(void **state)
{
	struct redactor *r = keyed();

	(void)state;
	for (int is_big = 0; is_big < 2; is_big++) {
		struct buf in;

		buf_init(&in, 1 << 16);
		put_wide(&in, is_big != 0,
		    "a line\r\ntoken " TOKEN "\r\npassword=hunter2\nmax_tokens=4096 x\n");
		struct buf out = redacted(r, REDACT_TEXT, buf_view(&in));
		struct buf got = narrowed(buf_view(&out), is_big != 0);
		assert_true(!holds(&got, BODY) && !holds(&got, "hunter2"));
		assert_true(holds(&got, "a line\r\ntoken ~redacted.github.k1."));
		assert_true(holds(&got, "~\nmax_tokens=4096 x\n"));
		struct buf again = redacted(r, REDACT_TEXT, buf_view(&out));
		assert_true(str_eq(buf_view(&again), buf_view(&out)));
		for (size_t at = 0; at < in.n; at++) {
			struct buf parts =
			    streamed(r, REDACT_TEXT, buf_view(&in), at, in.n);

			assert_true(str_eq(buf_view(&parts), buf_view(&out)));
			buf_fini(&parts);
		}
		buf_fini(&in);
		buf_fini(&out);
		buf_fini(&got);
		buf_fini(&again);
	}
	redactor_free(r);
}

static void
test_base64_is_found_wherever_in_a_run_it_begins(void **state)
{
	struct redactor *r = keyed();

	(void)state;
	for (size_t before = 0; before < 9; before++) {
		struct buf b;

		buf_init(&b, 1 << 16);
		buf_str(&b, str_sub(STR("x1X2y3Y4z"), 0, before));
		put_base64(&b, "+/", STR("user=svc " TOKEN));
		assert_masked(r, "base64 behind letters", buf_view(&b));
		buf_fini(&b);
	}
	redactor_free(r);
}

/* ---- forms */

#define DEEP8 "[[[[[[[["
#define DEEP "{\"password\":" DEEP8 DEEP8 DEEP8 DEEP8 DEEP8 DEEP8 DEEP8 DEEP8

static const struct {
	const char *what;
	enum redact_as as;
	const char *in; /* $ stands for TOKEN, | for nothing */
	const char *gone;
	const char *stays;
} forms[] = {
	{ "JSON in a line", REDACT_TEXT,
	    "12 INFO env=[{\"name\":\"DB_PASSWORD\",\"value\":\"two wo|rds\"}] end",
	    "two words", "] end" },
	{ "a key in a block's label", REDACT_TEXT,
	    ("-----BEGIN "
	     "PRIVATE KEY s|k-an"
	     "t-api03-0123456789abcdefghijABCDEFGHIJ012 ok"),
	    "0123456789abcdefghij", " ok" },
	{ "a key behind a block's END", REDACT_TEXT,
	    ("Private-Lines: 2\n-----END s|k-an"
	     "t-api03-0123456789abcdefghijABCDEFGHIJ012 ok"),
	    "0123456789abcdefghij", " ok" },
	{ "a scheme behind a key", REDACT_TEXT, "x token= Bearer abc|defGHIJ0123 ok",
	    "abcdefGHIJ0123", " ok" },
	{ "a scheme in a password", REDACT_TEXT, "x password: Basic ZFhO|bGNqbw== end",
	    "ZFhObGNqbw", " end" },
	{ "a scheme in a query", REDACT_HEADER, "a&sig= Bearer 0123|456789abcdef c",
	    "0123456789abcdef", " c" },
	{ "a scheme behind a blank that a backslash keeps", REDACT_HEADER,
	    "a&sig=1ac\\ Bearer 0123|456789abcdef c", "0123456789abcdef", " c" },
	{ "a scheme that is a word", REDACT_TEXT, "x api_key: hun|ter2 basic plan",
	    "hunter2", "basic plan" },
	{ "a number in JSON in a line", REDACT_TEXT, "cfg={\"pin\": 48|15, \"n\": 7} ok",
	    "4815", "\"n\": 7} ok" },
	{ "an object behind a key", REDACT_TEXT,
	    "credentials={\"login\":\"svc\",\"x\":\"hun|ter\"} ok", "hunter", " ok" },
	{ "JSON in JSON in JSON", REDACT_JSON,
	    "{\"a\":\"{\\\"b\\\":\\\"{\\\\\\\"password\\\\\\\":12|34}\\\"}\",\"n\":1}",
	    "1234", "\"n\":1" },
	{ "a raw header list", REDACT_JSON,
	    "{\"rawHeaders\":[\"Host\",\"a.example\",\"X-Api-Key\",\"hun|ter2\","
	    "\"Accept\",\"*/*\"]}",
	    "hunter2", "*/*" },
	{ "key and value", REDACT_JSON,
	    "[{\"key\":\"api_token\",\"value\":\"hun|ter2\"},{\"key\":\"a\",\"value\":"
	    "\"b\"}]",
	    "hunter2", "\"b\"" },
	{ "an environment", REDACT_JSON,
	    "{\"env\":[\"PATH=/bin\",\"DB_PASSWORD=two wo|rds\"]}", "two words",
	    "PATH=/bin" },
	{ "a header in a list", REDACT_JSON, "[\"Authorization: Bearer $\"]", BODY,
	    "Authorization" },
	{ "a schema's default", REDACT_JSON,
	    "{\"password\":{\"type\":\"string\",\"default\":\"hun|ter2\",\"minLength\":8}"
	    "}",
	    "hunter2", "\"minLength\":8" },
	{ "a private JWK", REDACT_JSON,
	    "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":"
	    "\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\",\"d\":\"jpsQnnGQmL-"
	    "YBIffH1136cspYG6-0iY7|X1fCE9-E9LI\"}",
	    "jpsQnnGQ", "f83OJ3D2" },
	{ "a form", REDACT_TEXT,
	    "grant_type=password&username=svc&password=hun|ter2&scope=a", "hunter2",
	    "&scope=a" },
	{ "a signed URL", REDACT_URL,
	    "https://d.example/f?Expires=1&Signature=hun|ter2hunter2__&Key-Pair-Id=K1",
	    "hunter2", "Key-Pair-Id=K1" },
	{ "a password file", REDACT_TEXT, "db.example:5432:orders:app:hun|ter2\n",
	    "hunter2", "db.example:5432:orders:app:" },
	{ "a netrc of lines", REDACT_TEXT,
	    "machine a\n  login svc\n  password hun|ter2\n", "hunter2", "login svc" },
	{ "a hashed password", REDACT_TEXT,
	    "svc:$2y|$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234",
	    "ABCDEFGHIJ", "svc:" },
	{ "HTML", REDACT_TEXT,
	    "<pre>{&quot;password&quot;: &quot;two wo|rds&quot;}</pre>", "two words",
	    "</pre>" },
	{ "docker's login", REDACT_JSON,
	    "{\"auths\":{\"r.example\":{\"auth\":\"c3ZjOmh1bnRlcjJodW50|ZXIy\"}}}",
	    "c3ZjOmh1", "r.example" },
	{ "PEM, indented", REDACT_TEXT,
	    "key: |\n  -----BEGIN EC PRIV|ATE KEY-----\n  "
	    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU2Nzg5QUJDREVGR0hJSktM\n  TU5P\n  "
	    "-----END EC PRIV|ATE KEY-----\nnext: 1\n",
	    "QUJDREVG", "next: 1" },
	{ "PEM, blanks for newlines", REDACT_TEXT,
	    "k=-----BEGIN PRIV|ATE KEY----- QUJDREVGR0hJSktMTU5PUFFS "
	    "U1RVVldYWVowMTIzNDU2Nzg5 -----END PRIV|ATE KEY----- done",
	    "QUJDREVG", " done" },
	{ "PEM, encrypted", REDACT_TEXT,
	    "-----BEGIN RSA PRIV|ATE KEY-----\r\nProc-Type: 4,ENCRYPTED\r\nDEK-Info: "
	    "AES-256-CBC,"
	    "00\r\n\r\nQUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU2Nzg5QUJDREVGR0hJSktM\r"
	    "\n-----END RSA PRIV|ATE KEY-----\r\nend\r\n",
	    "QUJDREVG", "end" },
	{ "PuTTY's", REDACT_TEXT,
	    "Private-Lines: "
	    "1\nQUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU2Nzg5QUJDREVGR0hJSktM\nPrivate"
	    "-MAC: 00\n",
	    "QUJDREVG", "Private-MAC" },
	{ "no name, but a word before it", REDACT_TEXT,
	    "pairing code ekG7lsqWPpuULIIIEtR-ve|KXsxnrF-OpB_i1b2q8 accepted", "ekG7lsqW",
	    "accepted" },
	{ "what is nested too deep to be read", REDACT_JSON, DEEP "\"hun|ter2\"",
	    "hunter2", "{\"password\":" },
	{ "what cannot be read in what is secret", REDACT_TEXT,
	    "x {\"password\": {a: hun|ter2}} \ny", "hunter2", "\ny" },
	{ "a name behind its value", REDACT_JSON,
	    "{\"value\":\"hun|ter2\",\"key\":\"DB_PASSWORD\",\"n\":1}", "hunter2",
	    "DB_PASSWORD\",\"n\":1}" },
	{ "a name behind all that is its value", REDACT_JSON,
	    "{\"value\":{\"a\":[\"hun|ter2\"]},\"name\":\"token\"}", "hunter2",
	    "\"name\":\"token\"}" },
	{ "many values before a name", REDACT_JSON,
	    "[{\"value\":1,\"value\":2,\"value\":3,\"value\":4,\"value\":\"hun|ter2\","
	    "\"value\":5,\"name\":\"token\"}]",
	    "hunter2", "\"name\":\"token\"}" },
	{ "two names", REDACT_JSON,
	    "{\"name\":\"token\",\"name\":\"x\",\"value\":\"hun|ter2\"}", "hunter2",
	    "\"name\":\"x\"" },
	{ "an option at an odd place", REDACT_JSON,
	    "[\"curl\",\"--password\",\"hun|ter2\",\"-v\"]", "hunter2", "\"-v\"" },
	{ "beside what describes it", REDACT_JSON,
	    "{\"password\":{\"description\":\"of the shop\",\"data\":\"hun|ter2\"}}",
	    "hunter2", "of the shop" },
	{ "among properties that are none of a schema", REDACT_JSON,
	    "{\"properties\":{\"password\":\"hun|ter2\",\"token\":{\"type\":"
	    "\"string\"}}}",
	    "hunter2", "{\"type\":\"string\"}" },
	{ "a short login of docker's", REDACT_JSON, "{\"auth\":\"dTpw|dw==\",\"n\":1}",
	    "dTpwdw", "\"n\":1" },
	{ "one of several", REDACT_TEXT, "new_password1=hun|ter2&b=1", "hunter2",
	    "&b=1" },
	{ "numbered", REDACT_TEXT, "x API_KEY_12: hun|ter2 ok", "hunter2", " ok" },
	{ "a form's list", REDACT_TEXT, "a=1&user[password][0]=hun|ter2&b=1", "hunter2",
	    "&b=1" },
	{ "a form's list in a URL", REDACT_URL,
	    "https://a.example/?user%5Bpassword%5D%5B0%5D=hun|ter2&b=1", "hunter2",
	    "&b=1" },
	{ "WireGuard's other key", REDACT_TEXT, "PresharedKey = hun|ter2=\nMTU = 1",
	    "hunter2", "MTU" },
	{ "small letters", REDACT_TEXT, "accountname=a;accountkey=hun|ter2==;b=1",
	    "hunter2", ";b=1" },
	{ "npm's login", REDACT_TEXT, "//r.example/:_auth=hun|ter2", "hunter2",
	    ":_auth=" },
	{ "what holds without the variable", REDACT_TEXT,
	    "password: ${DB_PASS:-hun|ter2}", "hunter2", "password: " },
	{ "what only begins as a reference", REDACT_JSON, "{\"password\":\"$(hun|ter2\"}",
	    "hunter2", "\"password\":" },
	{ "what only begins as a template", REDACT_TEXT, "a password={{hun|ter2 x",
	    "hunter2", " x" },
	{ "assigned in a makefile", REDACT_TEXT, "PASSWORD?=hun|ter2", "hunter2", "?=" },
	{ "in backquotes", REDACT_TEXT, "`password`: `hun|ter2` is", "hunter2", " is" },
	{ "an unknown scheme", REDACT_TEXT, "x Authorization: Splunk hun|ter2 ok",
	    "hunter2", " ok" },
	{ "behind a forged mark", REDACT_TEXT,
	    "~redacted.token.k1.0123456789ab~abc8Q~0123456789abcdefghijABCDEFGHIJ|klmn",
	    "ABCDEFGHIJkl", "~redacted.token.k1.0123456789ab~" },
	{ "an element of XML", REDACT_TEXT, "<db:password>hun|ter2</db:password>",
	    "hunter2", "</db:password>" },
	{ "a property in XML", REDACT_TEXT,
	    "<property name=\"password\">hun|ter2</property>", "hunter2", "</property>" },
	{ "a block of YAML", REDACT_TEXT,
	    "a: 1\n  password: |\n    two wo|rds\n\n    and mo|re\n  next: x1\n", "words",
	    "  next: x1\n" },
	{ "all of a block of YAML", REDACT_TEXT,
	    "password: >-\n  two wo|rds\n  and mo|re\nnext: x1\n", "and more",
	    "next: x1\n" },
	{ "a value below its key", REDACT_TEXT,
	    "- db_password:\r\n    hun|ter2\r\nnext:\n", "hunter2",
	    "- db_password:\r\n    ~" },
	{ "a member's value below its name", REDACT_TEXT,
	    "{\n  \"password\":\n  \"hun|ter2\",\n  \"n\": 1\n}\n", "hunter2",
	    "\",\n  \"n\": 1\n}\n" },
	{ "a property that goes on", REDACT_TEXT,
	    "db.password=abc\\\n  hun|ter2\\\n  mo|re\nnext=1\n", "more", "\nnext=1\n" },
	{ "a property that begins below its name", REDACT_TEXT,
	    "db.password = \\\n  hun|ter2\nnext=1\n", "hunter2", "\nnext=1\n" },
	{ "a variable of a container", REDACT_TEXT,
	    "env:\n- name: DB_PASSWORD\n  value: hun|ter2\n- name: a\n", "hunter2",
	    "\n- name: a\n" },
	{ "a variable of a container in JSON", REDACT_TEXT,
	    "{\n \"name\": \"DB_PASSWORD\",\n \"value\": \"hun|ter2\"\n}\n", "hunter2",
	    "\"\n}\n" },
	{ "a number below its name", REDACT_TEXT,
	    " \"name\": \"pin\",\n \"value\": 48|15\n}\n", "4815", "~\"\n}\n" },
	{ "a key in a block", REDACT_TEXT,
	    "private_key: |\n  -----BEGIN EC PRIV|ATE KEY-----\n  "
	    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU2Nzg5QUJDREVGR0hJSktM\n  TU5P\n  "
	    "-----END EC PRIV|ATE KEY-----\nnext: 1\n",
	    "QUJDREVG", "next: 1" },
	{ "a login in an argument list", REDACT_JSON,
	    "[\"curl\",\"-u\",\"svc:hun|ter2\",\"https://a\"]", "hunter2", "\"svc:~" },
	{ "a login in a list of text", REDACT_TEXT, "run ['curl', '-u', 'svc:hun|ter2']",
	    "hunter2", "'-u', 'svc:~" },
	{ "a password in a list of text", REDACT_TEXT,
	    "run ['x', '--password', 'hun|ter2', '-v']", "hunter2", "', '-v']" },
	{ "a list of text that was cut", REDACT_TEXT,
	    "run [\"x\", \"--password\", \"hun|ter2\", \"-v", "hunter2", "\", \"-v" },
	{ "mysql's password in an argument list", REDACT_TEXT,
	    "argv=[\"/usr/bin/mysql\",\"-uroot\",\"-phun|ter2\",\"shop\"]", "hunter2",
	    "\"-p~" },
	{ "mysql's password alone", REDACT_TEXT, "mysql -phun|ter2 shop", "hunter2",
	    "mysql -p~" },
	{ "MariaDB's password", REDACT_TEXT, "mariadb-dump -u root -phun|ter2 shop",
	    "hunter2", " shop" },
	{ "sshpass in an argument list", REDACT_JSON,
	    "[\"sshpass\",\"-p\",\"hun|ter2\",\"ssh\",\"-p\",\"22\"]", "hunter2",
	    "\"ssh\",\"-p\",\"22\"]" },
	{ "docker login in an argument list", REDACT_JSON,
	    "[\"docker\",\"login\",\"-u\",\"svc\",\"-p\",\"hun|ter2\"]", "hunter2",
	    "\"-u\",\"svc\",\"-p\"" },
	{ "a session of Java's", REDACT_TEXT, "/a;jsessionid=hun|ter2abc ok", "hunter2",
	    " ok" },
	{ "a session of PHP's", REDACT_TEXT, "PHPSESSID=hun|ter2; path=/", "hunter2",
	    "; path=/" },
	{ "a session of a web server's", REDACT_TEXT, "connect.sid=s%3Ahun|ter2.x&b=1",
	    "hunter2", "&b=1" },
	{ "a session in JSON", REDACT_JSON, "{\"sessionId\":\"hun|ter2\",\"n\":1}",
	    "hunter2", "\"n\":1" },
	{ "a session in text", REDACT_TEXT, "session_id=0f3a9c7d21|e4 user=a", "7d21e4",
	    " user=a" },
	{ "a session in a URL", REDACT_URL, "/a?sid=hun|ter2&b=1", "hunter2", "&b=1" },
	{ "a session in a field", REDACT_HEADER, "X-Session-Id: hun|ter2\r\nHost: a\r\n",
	    "hunter2", "Host: a" },
	{ "a field for a token", REDACT_HEADER, "X-Auth: hun|ter2\r\nHost: a\r\n",
	    "hunter2", "Host: a" },
	{ "pass=", REDACT_TEXT, "user=svc pass=hun|ter2 n=1", "hunter2", " n=1" },
	{ "pass:", REDACT_TEXT, "user: svc pass: hun|ter2 host: a", "hunter2",
	    " host: a" },
	{ "pass, quoted", REDACT_TEXT, "pass='p@ss|wd!' n=1", "p@sswd", " n=1" },
	{ "a PIN", REDACT_TEXT, "card=1 pin=48|15, n=1", "4815", "card=1 pin=~" },
	{ "a one-time password", REDACT_TEXT, "user=svc otp: 481|516\n", "481516",
	    "user=svc otp: " },
	{ "a token called jwt", REDACT_TEXT, "jwt=hun|ter2hunter3 n=1", "hunter2hunter3",
	    " n=1" },
	{ "a URL with JSON's slashes", REDACT_TEXT,
	    "x \"https:\\/\\/svc:hun|ter2@h\\/\" y", "hunter2", "@h\\/\" y" },
	{ "a URL with slashes escaped twice", REDACT_TEXT,
	    "https:\\\\/\\\\/svc:hun|ter2@h ok", "hunter2", "https:\\\\/\\\\/svc:" },
	{ "a URL with JSON's slashes, and one in the password", REDACT_TEXT,
	    "\"https:\\/\\/svc:hun\\/|ter2@h\\/\"", "ter2", "@h\\/\"" },
	{ "a URL with JSON's slashes in JSON", REDACT_JSON,
	    "{\"u\":\"https:\\/\\/svc:hun|ter2@h\\/\"}", "hunter2", "@h\\/\"}" },
	{ "a pair of attributes", REDACT_TEXT,
	    "<add key=\"Password\" value=\"hun|ter2\"/>", "hunter2",
	    "<add key=\"Password\" value=\"~" },
	{ "a pair of attributes the other way round", REDACT_TEXT,
	    "<add value = 'hun|ter2' key='api_key' />", "hunter2", "key='api_key' />" },
	{ "a pair of attributes, escaped", REDACT_TEXT,
	    "<add key=\\\"Password\\\" value=\\\"hun|ter2\\\" n=\\\"1\\\"/>", "hunter2",
	    "\\\" n=\\\"1\\\"/>" },
	{ "a field of a form", REDACT_TEXT,
	    "<input type=\"hidden\" name=\"csrf_token\" value=\"hun|ter2\" >", "hunter2",
	    "\" >" },
	{ "a page's own", REDACT_TEXT, "<meta name=\"csrf-token\" content=\"hun|ter2\">",
	    "hunter2", "<meta name=\"csrf-token\" content=\"~" },
	{ "an element with its name in an attribute", REDACT_TEXT,
	    "<entry name='apiKey'>hun|ter2</entry>", "hunter2", "</entry>" },
	{ "a property list", REDACT_TEXT,
	    "<key>api_token</key> <string>hun|ter2</string>", "hunter2", "</string>" },
	{ "an element that names the next", REDACT_TEXT,
	    "<name>fs.a.secret.key</name><value>hun|ter2</value>", "hunter2",
	    "</value>" },
	{ "CDATA", REDACT_TEXT, "<token><![CDATA[hun|ter2]]></token>", "hunter2",
	    "]]></token>" },
	{ "SQL", REDACT_TEXT, "CREATE USER svc IDENTIFIED BY 'hun|ter2' x", "hunter2",
	    "' x" },
	{ "SQL's other one", REDACT_TEXT, "ALTER ROLE svc WITH PASSWORD 'hun|ter2' x",
	    "hunter2", "' x" },
	{ "a number of hex digits", REDACT_TEXT, "0x70617373776f72643d|68756e74657232 ok",
	    "68756e74657232", " ok" },
	{ "C's escapes", REDACT_TEXT, "pass\\x77ord\\x3dhun|ter2 ok", "hunter2", " ok" },
	{ "JavaScript's escapes", REDACT_TEXT, "pass\\u{77}ord\\u{3d}hun|ter2 ok",
	    "hunter2", " ok" },
	{ "hex between slashes", REDACT_URL, "/x/70617373776f7264|3d68756e74657232/b?x=1",
	    "756e74657232", "/x/~redacted.password.k1." },
	{ "hex between slashes, in capitals", REDACT_TEXT,
	    "GET /x=70617373776F7264|3D68756E74657232/x=1 ok", "756E74657232",
	    "/x=1 ok" },
	{ "hex with colons", REDACT_TEXT, "id 74:6f:6b:65:6e:3d:6|8:75:6e:74:65:72:32 ok",
	    "74:65:72:32", "~ ok" },
	{ "hex with dashes", REDACT_TEXT, "id 74-6f-6b-65-6e-3d-6|8-75-6e-74-65-72-32 ok",
	    "74-65-72-32", "~ ok" },
	{ "base32", REDACT_TEXT,
	    "id /OBQXG43XN5ZGIPLIOVXHIZLS|GI5SA5LTMVZD243WMM====== ok",
	    "A5LTMVZD243WMM======", "id /~" },
	{ "base32 in small letters", REDACT_TEXT,
	    "id obqxg43xn5zgipliovxhi|zlsgi5sa5ltmvzd243wmm.x ok", "lsgi5sa5ltmvzd243wmm",
	    "~.x ok" },
	{ "octal escapes", REDACT_TEXT, "pass\\167ord\\075hun|ter2 ok", "hunter2",
	    " ok" },
	{ "a list of arguments without their command", REDACT_JSON,
	    "[\"-u\",\"svc\",\"-p\",\"hun|ter2\",\"-v\"]", "hunter2", "\"-v\"" },
	{ "an argument that can only be a password", REDACT_JSON,
	    "[\"-p\",\"hun|ter2!\"]", "hunter2", "[\"-p\",\"~" },
	{ "JavaScript's escape()", REDACT_TEXT, "pass%u0077ord%u003dhun|ter2 ok",
	    "hunter2", " ok" },
};

static struct buf
spelt(const char *text)
{
	struct buf b;

	buf_init(&b, 1 << 16);
	for (; *text != '\0'; text++)
		if (*text == '$' && (text[1] == '"' || text[1] == '\0'))
			buf_text(&b, TOKEN);
		else if (*text != '|' || (text[1] == '\n'))
			buf_char(&b, *text);
	return b;
}

static void
test_secrets_go_from_where_they_stand_and_the_rest_stays(void **state)
{
	struct redactor *r = keyed();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		struct buf in = spelt(forms[i].in);
		struct buf out = redacted(r, forms[i].as, buf_view(&in));

		if (holds(&out, forms[i].gone) || !holds(&out, forms[i].stays))
			fail_msg("%s: %s", forms[i].what, buf_cstr(&out));
		buf_fini(&in);
		buf_fini(&out);
	}
	redactor_free(r);
}

static void
test_what_looks_random_and_is_no_secret_stays(void **state)
{
	static const char *const harmless[] = {
		"token usage of msg_01u6VOwcYjMoK08fWi6VH7DB is 5",
		"the key is at h1:zEvuhJp/dqW+tyGIsRQLfP38N5GGYIkL5PcDLhV+SPY=",
		("secret rotated, image sha256:37bd4761d7a092df0630"
		 "8c45ea27b08b8653d21ae458f0448dfdc371114cb6a5"),
		"public key f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU loaded",
		"key fingerprint 5eVAVoMlrcP9fGBx0y4wQnJTmfHcTzBIfVLcYAxGVht",
		"token request_id=K7lsqWPpuULIIIEtRveKXsxnrFOpB ok",
		"password reset at /usr/lib/x86_64-linux-gnu/security/pam_unix_2",
		"token bucket of TokenAuthenticationProviderFactoryBean2 is full",
		"secret 1940b13f-07bf-4bec-aed2-016461ce5ded",
		"private 01HSYNTHKNM5QHYEY6F0CG4SYQ",
		"no word K7lsqWPpuULIIIEtRveKXsxnrFOpB5 of it",
		"root:x:0:0:root:/root:/bin/bash",
		"12:34:56 host:8080: a b: c",
		"password incorrect",
		"at 12:34:56 token1 of 3",
		"<password></password> <token/> a->b if (x > y)",
		"password: $(cat /run/s)",
		"tokens: 512 max_tokens2=4096",
		"{\"properties\":{\"password\":{\"type\":\"string\",\"minLength\":8}}}",
		"[\"--max-tokens\",\"12\"] [{\"value\":\"a\",\"name\":\"b\"}]",
		"  password required\n",
		"[\"ssh\",\"-p\",\"2222\"] [\"mkdir\",\"-p\",\"/a\"] "
		"[\"run\",\"-u\",\"1000:1000\"]",
		"[\"mysql\",\"-P3306\",\"-p\",\"shop\"] ['run', '-u', 'svc'] mysql -p "
		"shop",
		"['x', '--password', '-v'] ['--token-type', 'bearer']",
		"password:\n  type: string\n  minLength: 8\ntoken:\n- a1\nsecret:\n\nx1",
		"Invalid password:\n    hunter2x\ntoken:\n    at "
		"a.b(c.java:12)\ntoken:\nabc1",
		"token: |\nnot1: inside\npassword: |\n  ${PASSWORD}\nmax_tokens: |\n  "
		"4096x",
		"- name: DB_PASSWORD\n  valueFrom:\n    key: password\n- name: a\n  "
		"value: b1",
		"- name: token\n  value: \"\"\n- name: token\n  value: {a: b1}\nname: "
		"x\nvalue: y",
		"owner.secret = \\\n    self.validator.get_token_secret(\n  a1)\n",
		"user=svc \\\n  next1\nrun --x \\\n --y2\npassword:\n  required\n",
		"pass=5 pass: 1204 pass=99.5% pass: 12ms pass=ok pass: Not-Run pass=0x1f",
		"pass: step2 went well, second pass: 3/4, bypass=hunter2x pass",
		"pin=13 pin: D7 pin=GPIO17 otp=on otp: 3 jwt=none jwt: enabled --pass 2",
		"session_id=17 session_id=4815162342 session=hunter2hunter2 "
		"sid=hunter2hunter2",
		"{\"session\":{\"issuer\":\"i1\",\"tenant\":\"t1\",\"sub\":\"s1\","
		"\"sid\":"
		"\"a1b2c3d4e5f6a7b8\",\"turn\":\"t7\",\"jti\":\"a1b2c3d4\"},\"id\":"
		"\"x1y2z3\"}",
		"request_id=0f3a9c7d21e4 transaction_id=0f3a9c7d21e4 X-Auth-User: svc1",
		"\"https:\\/\\/h:8080\\/x?to=a@b\" C:\\\\/x:y@z",
		"<add key=\"PasswordLength\" value=\"12\"/>",
		"<input type=\"submit\" name=\"password\" value=\"Change\"/>",
		"<add key=\"token\" value=\"\"/> if a > b -> c => d <name>token</name>",
		"<key>max_tokens</key><string>12</string><value>a</value>",
		"[\"-p\",\"8080:80\"] [\"-p\",\"/var/lib/x1\"] [\"-p\",\"crate2\"] "
		"[\"-u\",\"svc\",\"-p\",\"2222\"] [\"-p\",\"typescript@4.2\"]",
		"06:07:08.123 aa:bb:cc:dd:ee:ff 2031-04-05 C:\\101\\x "
		"64:28:a9:d7:3e:ba:46:79:"
		"64:f3:e7:ed:43:4f:e8:15",
		"/objects/ab/cdef0123456789abcdef0123456789abcdef01/x "
		"JBSWY3DPEHPK3PXPJBSWY3DP",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n",
	};
	struct redactor *r = keyed();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(harmless); i++) {
		struct buf out = redacted(r, REDACT_TEXT, str_of(harmless[i]));

		if (!str_eq(buf_view(&out), str_of(harmless[i])))
			fail_msg("%s", buf_cstr(&out));
		buf_fini(&out);
	}
	redactor_free(r);
}

/* A token's part may begin where it ended before: a slash is a digit of base64. */
static void
test_a_form_in_base64_is_found_behind_a_slash(void **state)
{
	static const struct {
		const char *head[2];
		size_t before, behind; /* digits */
		const char *fill;
	} of[] = {
		{ { "sntr", "yu_" }, 0, 64, "" },
		{ { "AB", "SK" }, 0, 110, "" },
		{ { "ops_", "eyJ" }, 0, 250, "" },
		{ { "fm", "2_" }, 0, 120, "" },
		{ { "glc_", "eyJ" }, 0, 100, "" },
		{ { "ZX", "lK" }, 0, 120, "" },
		{ { "+A", "St" }, 76, 6, "==" },
		{ { "AI", "oT" }, 33, 6, "=" },
		{ { "AZ", "DO" }, 76, 4, "" },
		{ { "JQ", "QJ9" }, 52, 27, "" },
		{ { "+A", "CR" }, 42, 6, "" },
	};
	static const char digits[] = "0123456789abcdefghijABCDEFGHIJKLMNOPQRSTUVWXYZklmn";
	struct redactor *r = keyed();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(of); i++)
		for (int as = REDACT_TEXT; as <= REDACT_URL; as += REDACT_URL) {
			struct buf in;

			buf_init(&in, 1 << 12);
			buf_text(&in, "/v1/accounts/of/somebody/");
			for (size_t n = 0; n < of[i].before; n++)
				buf_char(&in, digits[n % 50]);
			buf_fmt(&in, "%s%s", of[i].head[0], of[i].head[1]);
			for (size_t n = 0; n < of[i].behind; n++)
				buf_char(&in, digits[n % 50]);
			buf_fmt(&in, "%s/b?x=1", of[i].fill);
			struct buf out = redacted(r, (enum redact_as)as, buf_view(&in));
			if (holds(&out, "01234567") || holds(&out, "89ab") ||
			    !str_starts(buf_view(&out),
				STR("/v1/accounts/of/somebody/~redacted.")) ||
			    !str_ends(buf_view(&out), STR("?x=1")))
				fail_msg("%s: %s", of[i].head[1], buf_cstr(&out));
			buf_fini(&in);
			buf_fini(&out);
		}
	redactor_free(r);
}

static void
test_digits_that_were_cut_in_lines_are_read_as_one(void **state)
{
	static const size_t widths[] = { 60, 64, 76 };
	struct redactor *r = keyed();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(widths); i++)
		for (size_t before = 0; before < 60; before += 7) {
			struct buf plain, code, in;

			buf_init(&plain, 1 << 12);
			buf_init(&code, 1 << 12);
			buf_init(&in, 1 << 12);
			for (size_t n = 0; n < 50 + before; n++)
				buf_char(&plain, (char)('a' + n % 26));
			buf_text(&plain, " " TOKEN " and so on, for a while\n");
			if (i == 0)
				put_hex(&code, "", false, buf_view(&plain));
			else
				put_base64(&code, "+/", buf_view(&plain));
			buf_text(&in, "one:\r\n\r\n");
			for (size_t at = 0; at < code.n; at += widths[i]) {
				buf_str(&in, str_sub(buf_view(&code), at, widths[i]));
				buf_text(&in, "\r\n");
			}
			buf_text(&in, "two:\r\n");
			struct buf out = redacted(r, REDACT_TEXT, buf_view(&in));
			assert_string_equal(buf_cstr(&out) + out.n - 9, "~\r\ntwo:\r\n");
			assert_true(str_starts(
			    buf_view(&out), STR("one:\r\n\r\n~redacted.github.")));
			for (size_t at = 0; at < in.n; at += 11) {
				struct buf parts =
				    streamed(r, REDACT_TEXT, buf_view(&in), at, in.n);

				assert_true(str_eq(buf_view(&parts), buf_view(&out)));
				buf_fini(&parts);
			}
			buf_fini(&plain);
			buf_fini(&code);
			buf_fini(&in);
			buf_fini(&out);
		}
	redactor_free(r);
}

static void
test_all_of_a_long_block_below_its_key_is_the_value(void **state)
{
	struct redactor *r = keyed();
	struct buf in, out;

	(void)state;
	buf_init(&in, 1 << 16);
	buf_text(&in, "a: 1\npassword: |\n");
	for (int n = 0; n < 400; n++)
		buf_fmt(&in, "  line %d of it\n", n);
	buf_text(&in, "b: 2\n");
	out = redacted(r, REDACT_TEXT, buf_view(&in));
	assert_true(str_starts(buf_view(&out), STR("a: 1\npassword: |\n  ~redacted.")));
	assert_true(str_ends(buf_view(&out), STR("~\nb: 2\n")) && !holds(&out, "line"));
	buf_fini(&in);
	buf_fini(&out);
	redactor_free(r);
}

/*
 * A private key in a block has an end of its own, and where its lines are missing it is
 * early: the block goes whole, in the first pass as in a second one.
 */
static void
test_a_block_below_a_key_goes_whole_with_a_private_key_in_it(void **state)
{
	static const char *const blocks[] = {
		"  -----BEGIN PRIV"
		"ATE KEY-----\n  words of it\n  more words of it\n",
		"  -----BEGIN PRIV"
		"ATE KEY-----\n  QUJDREVGR0hJSktM\n"
		"  -----END PRIV"
		"ATE KEY-----\n  words of it\n",
		"  first of it\n  -----BEGIN RSA PRIV"
		"ATE KEY-----\n\n  of it\n",
		"  Private"
		"-Lines: 2\n  of it\n  more of it\n",
	};
	static const char *const keys[] = { "password: |\n", "  - token: >-\n",
		"key=1\n\"client_secret\": |\n" };
	struct redactor *r = keyed();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(blocks) * COUNT_OF(keys); i++) {
		const char *block = blocks[i / COUNT_OF(keys)];
		struct str rest = str_of(block), l;
		struct buf in;

		buf_init(&in, 4096);
		buf_text(&in, keys[i % COUNT_OF(keys)]);
		while (rest.n > 0 && str_split(&rest, '\n', &l))
			buf_fmt(&in, "  %.*s\n", STR_ARG(l));
		buf_text(&in, "end\n");
		struct buf once = redacted(r, REDACT_TEXT, buf_view(&in));
		struct buf twice = redacted(r, REDACT_TEXT, buf_view(&once));
		assert_row(block, !holds(&once, "of it") && holds(&once, "~\nend\n"));
		assert_row(block, str_eq(buf_view(&once), buf_view(&twice)));
		buf_fini(&in);
		buf_fini(&once);
		buf_fini(&twice);
	}
	redactor_free(r);
}

/* ---- what it costs */

/* In parts: no text here is to look like a key. */
#define PEM_WORDS \
	("-----BEGIN " \
	 "PRIVATE KEY")
#define PEM_LINE \
	("-----BEGIN " \
	 "PRIVATE KEY-----")

static const char *const odd[] = { "eyJ.", "://a:b", "://a:b://", "password=$", "a:b@",
	"=", "MT.", PEM_WORDS, PEM_LINE, "~redacted.", "mysql ", "Bearer ", "\\\"", "--",
	"AKIA", "{\"token\":[", "{\"a\":", "[[", "://a:b/", "x\\", "password='", "%41 ",
	"%41%", "&amp;", "VVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVV ", "{\\\"a\\\":", "[\"a\",",
	"s.a ", "wandb ", "$6$a$", "\\u0041 ", "key:", "a:111:", "[\"token\",\"a1\"],",
	"login a ", "{}{}", "{ \"", "Private-Lines:", ":\\/\\/a:b", "<a key=\"token\" ",
	"<a b=\"c\">", "<key>token</key><string>", "a>", "pass: a1b2c3 ", "session_id=a ",
	"[\"mysql\",\"-pa\",", "[\"-u\",\"a:b\"],", "'--token', 'a", "password:\n",
	"password: |\n", "password: |\n a1\n", "token=\\\n", "name: token\n",
	"61:", "61-62-", "/61626364656667686970717273747576", "\\141",
	"MFRGGZDFMZTWQ2LKNNWG23TPOA", "[\"-p\",\"a1!a1!\",", "token=[", "token={a ",
	"token=Some(\"", "token=a(a(", "'token', 'a1", "set(\"token\", \"a\")",
	" -token ", " -token (", "password is ", "password \"", "password for a to a is ",
	"password to ", "secret of a was ", "PASS a1!a1!a1 ", "password a1!a1!a1 ",
	"a type=Bearer a_a=1 ", "password: expired, ", "password for                 ",
	"tokens:\n- a1\n", "- a1\n", "<token>\n a\n", "token: # a\n", "# :", "token=a -",
	"\"token=", "'token=a ", "tokens=[a ", "token    ",
	"                                =",
	"YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh\n" };

static size_t
work_of(const struct redactor *r, enum redact_as as, const char *unit, size_t n)
{
	struct buf in;

	buf_init(&in, 1 << 22);
	while (in.n < n)
		buf_text(&in, unit);
	size_t work = redact_work(r, as, buf_view(&in));
	buf_fini(&in);
	return work;
}

/* Bytes are looked at many at once: each place among them is tried. */
static void
test_what_looks_random_is_found_wherever_it_stands(void **state)
{
	struct redactor *r = keyed();
	const struct str run = STR("x9Kd02mQ7bLr"
				   "V4sTz81GhWnE");

	(void)state;
	for (size_t before = 0; before < 150; before++)
		for (size_t behind = 0; behind < 70; behind += 23) {
			struct buf in;

			buf_init(&in, 1 << 10);
			for (size_t i = 0; i < before; i++)
				buf_char(&in, '.');
			buf_text(&in, "the secret ");
			buf_str(&in, run);
			for (size_t i = 0; i < behind; i++)
				buf_char(&in, i == 0 ? ' ' : '.');
			struct buf out = redacted(r, REDACT_TEXT, buf_view(&in));
			if (memmem(out.p, out.n, run.p, run.n) != NULL)
				fail_msg(
				    "%zu bytes before it, %zu behind", before, behind);
			buf_fini(&in);
			buf_fini(&out);
		}
	redactor_free(r);
}

static void
test_twice_as_much_is_twice_the_work(void **state)
{
	const size_t size = 100000 / UNIT_LESS;
	struct redactor *r = keyed();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(odd); i++)
		for (int as = REDACT_TEXT; as <= REDACT_URL; as++) {
			size_t once = work_of(r, (enum redact_as)as, odd[i], size);
			size_t twice = work_of(r, (enum redact_as)as, odd[i], 2 * size);

			if (twice > 2 * once + once / 8 + 65536 || twice > 40 * 2 * size)
				fail_msg(
				    "%s as %d: %zu, then %zu", odd[i], as, once, twice);
		}
	redactor_free(r);
}

static void
test_a_million_brackets_and_bytes_that_are_no_text_are_got_through(void **state)
{
	static const char *const units[] = { "[", "{\"a\":", "\xff\xfe",
		"\xc3\x28 password=\x80", "{\"a\":\"" };
	struct redactor *r = keyed();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(units); i++)
		for (int as = REDACT_TEXT; as <= REDACT_URL; as++) {
			struct buf in;

			buf_init(&in, 1 << 24);
			for (int n = 0; n < 1000000 / UNIT_LESS; n++)
				buf_text(&in, units[i]);
			struct buf out = redacted(r, (enum redact_as)as, buf_view(&in));
			assert_true(out.n > 0);
			buf_fini(&in);
			buf_fini(&out);
		}
	redactor_free(r);
}

/* ---- proof */

static void
test_a_rule_that_no_prefilter_lets_through_is_missed(void **state)
{
	struct shapes *s = shapes_new();
	struct prefilter *f = mem_zalloc(sizeof(*f));

	(void)state;
	assert_non_null(shapes_prove(s, f));
	shapes_free(s);
	s = shapes_new();
	shapes_prefilter(s, f);
	assert_null(shapes_prove(s, f));
	shapes_free(s);
	free(f);
}

/* As a service manager does with MemoryDenyWriteExecute=. */
static int
forbid_writable_code(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mmap, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mprotect, 0, 3),
		BPF_STMT(
		    BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { COUNT_OF(filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int
interpreted_differs(void)
{
	if (forbid_writable_code() != 0)
		return 2;
	struct shapes *s = shapes_new();
	if (shapes_are_compiled(s))
		return 3;
	shapes_free(s);
	struct redactor *r = keyed();
	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		struct buf in = spelt(forms[i].in);
		struct buf out = redacted(r, forms[i].as, buf_view(&in));

		if (holds(&out, forms[i].gone) || !holds(&out, forms[i].stays))
			return 4;
		buf_fini(&in);
		buf_fini(&out);
	}
	redactor_free(r);
	return 0;
}

static void
test_where_code_may_not_be_written_patterns_are_interpreted(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(interpreted_differs());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- streams */

static void
test_wherever_it_is_split_a_stream_gives_the_same(void **state)
{
	struct redactor *r = keyed();
	struct buf in;

	(void)state;
	buf_init(&in, 1 << 16);
	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		struct buf text = spelt(forms[i].in);

		buf_str(&in, buf_view(&text));
		buf_char(&in, '\n');
		buf_fini(&text);
	}
	for (int as = REDACT_TEXT; as <= REDACT_URL; as++) {
		struct buf whole =
		    streamed(r, (enum redact_as)as, buf_view(&in), 0, in.n);

		for (size_t at = 0; at < in.n; at += 3) {
			struct buf parts =
			    streamed(r, (enum redact_as)as, buf_view(&in), at, in.n);

			if (!str_eq(buf_view(&whole), buf_view(&parts)))
				fail_msg("as %d, at %zu: %s", as, at, buf_cstr(&parts));
			buf_fini(&parts);
		}
		buf_fini(&whole);
	}
	buf_fini(&in);
	redactor_free(r);
}

static void
test_a_block_without_end_is_one_mark_and_bounded(void **state)
{
	struct redactor *r = keyed();
	struct redact_stream s;
	struct buf out, line;

	(void)state;
	buf_init(&out, 1 << 20);
	buf_init(&line, 100);
	for (int i = 0; i < 64; i++)
		buf_char(&line, 'A');
	buf_char(&line, '\n');
	redact_stream_init(&s, r, REDACT_TEXT);
	redact_stream_feed(&s,
	    STR("one\n-----BEGIN PRIV"
		"ATE KEY-----\n"),
	    &out);
	for (size_t n = 0; n < 4 * STREAM_PEM_MAX; n += line.n) {
		redact_stream_feed(&s, buf_view(&line), &out);
		assert_true(s.held.n <= 2 * STREAM_PEM_MAX);
	}
	redact_stream_feed(&s, STR("two three\n"), &out);
	redact_stream_end(&s, &out);
	assert_true(out.n < 100 && !holds(&out, "AAAA") && holds(&out, "one\n"));
	assert_true(holds(&out, "\ntwo three\n") && holds(&out, "~redacted.pem."));
	redact_stream_fini(&s);
	buf_fini(&out);
	buf_fini(&line);
	redactor_free(r);
}

static void
test_lines_below_a_key_are_held_back_up_to_a_bound(void **state)
{
	struct redactor *r = keyed();
	struct redact_stream s;
	struct buf out;

	(void)state;
	buf_init(&out, 1 << 20);
	redact_stream_init(&s, r, REDACT_TEXT);
	redact_stream_feed(&s, STR("one\npassword: |\n"), &out);
	assert_true(str_eq(buf_view(&out), STR("one\n")));
	redact_stream_feed(&s, STR("  hunter2\n"), &out);
	assert_true(str_eq(buf_view(&out), STR("one\n")));
	redact_stream_feed(&s, STR("two\n"), &out);
	assert_true(!holds(&out, "hunter2") && holds(&out, "~\ntwo\n"));
	redact_stream_feed(&s, STR("password: |\n"), &out);
	for (int n = 0; n < JOIN_LINES; n++)
		redact_stream_feed(&s, STR("  hunter2\n"), &out);
	assert_true(!holds(&out, "hunter2") && s.held.n == 0);
	redact_stream_fini(&s);
	buf_fini(&out);
	redactor_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_a_block_below_a_key_goes_whole_with_a_private_key_in_it),
		cmocka_unit_test(test_a_secret_is_found_in_each_code),
		cmocka_unit_test(test_a_secret_is_found_in_codes_three_deep),
		cmocka_unit_test(test_utf_16_is_searched_and_stays_utf_16),
		cmocka_unit_test(test_base64_is_found_wherever_in_a_run_it_begins),
		cmocka_unit_test(
		    test_secrets_go_from_where_they_stand_and_the_rest_stays),
		cmocka_unit_test(test_a_form_in_base64_is_found_behind_a_slash),
		cmocka_unit_test(test_digits_that_were_cut_in_lines_are_read_as_one),
		cmocka_unit_test(test_all_of_a_long_block_below_its_key_is_the_value),
		cmocka_unit_test(test_what_looks_random_and_is_no_secret_stays),
		cmocka_unit_test(test_what_looks_random_is_found_wherever_it_stands),
		cmocka_unit_test(test_twice_as_much_is_twice_the_work),
		cmocka_unit_test(
		    test_a_million_brackets_and_bytes_that_are_no_text_are_got_through),
		cmocka_unit_test(test_a_rule_that_no_prefilter_lets_through_is_missed),
		cmocka_unit_test(
		    test_where_code_may_not_be_written_patterns_are_interpreted),
		cmocka_unit_test(test_wherever_it_is_split_a_stream_gives_the_same),
		cmocka_unit_test(test_a_block_without_end_is_one_mark_and_bounded),
		cmocka_unit_test(test_lines_below_a_key_are_held_back_up_to_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
