/*
 * audit_reader_test.c - what is read of an audit log, and what is found to be wrong in it
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/chain.h"
#include "audit/entry.h"
#include "audit/files.h"
#include "audit/reader.h"
#include "audit/recent.h"
#include "audit/seal.h"
#include "audit/segments.h"
#include "audit/siblings.h"
#include "audit/verify.h"
#include "unit.h"

#define LOG_MAX ((size_t)1 << 26)
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

/* ---- a log made here */

struct made {
	struct buf text;
	struct chain chain;
	unsigned seq, id;
	uint64_t lines;
	const char *name; /* in its checkpoints */
};

static void
made_init(struct made *m, const char *key)
{
	*m = (struct made){ .name = "w" };
	buf_init(&m->text, LOG_MAX);
	chain_init(&m->chain, str_of(key));
}

static void
made_fini(struct made *m)
{
	buf_fini(&m->text);
	chain_fini(&m->chain);
}

static void PRINTF_LIKE(2, 3) put(struct made *m, const char *fmt, ...)
{
	struct buf line;
	va_list ap;

	buf_init(&line, LOG_MAX);
	buf_fmt(&line, "{\"v\":1,\"ts\":\"2031-04-05T06:07:%02u.000000Z\",\"seq\":%u,",
	    m->seq % 60, m->seq + 1);
	va_start(ap, fmt);
	buf_vfmt(&line, fmt, ap);
	va_end(ap);
	chain_seal(&m->chain, buf_view(&line), &m->text);
	buf_fini(&line);
	m->seq++;
	m->lines++;
}

static void
put_event(struct made *m, const char *event)
{
	if (strcmp(event, "start") == 0)
		m->seq = 0;
	put(m, "\"kind\":\"system\",\"phase\":\"final\",\"event\":\"%s\"", event);
}

static void
put_exchange(struct made *m, const char *phase, unsigned id)
{
	put(m,
	    "\"id\":\"exchange%u\",\"kind\":\"http\",\"phase\":\"%s\",\"decision\":"
	    "\"allow\"",
	    id, phase);
}

static void
put_torn(struct made *m, const char *text, bool is_named)
{
	struct chain digest;

	buf_text(&m->text, text);
	buf_char(&m->text, '\n');
	if (!is_named)
		return;
	chain_init(&digest, STR_NONE);
	chain_continue(&digest, str_of(text));
	put(m,
	    "\"kind\":\"system\",\"phase\":\"final\",\"event\":\"torn_line\",\"bytes\":"
	    "\"%zu\","
	    "\"sha256\":\"%s\"",
	    strlen(text), digest.head);
	chain_fini(&digest);
}

/* A run with ten exchanges. */
static void
put_run(struct made *m)
{
	put_event(m, "start");
	for (unsigned i = 0; i < 10; i++)
		put_exchange(m, "final", m->id++);
	put_event(m, "stop");
}

static struct str
line_of(const struct made *m, size_t n)
{
	struct str rest = buf_view(&m->text), line = STR_NONE;

	while (n-- > 0)
		assert_true(str_split(&rest, '\n', &line));
	return line;
}

/* ---- what is found */

static void
on_finding(void *arg, const struct audit_finding *f)
{
	struct buf *to = arg;

	buf_fmt(to, "%s%s%u %s", to->n > 0 ? "; " : "", f->is_note ? "note " : "",
	    (unsigned)f->line, f->what);
	assert_non_null(f->file);
	assert_true(strlen(f->text) > 5);
}

static void
feed(struct audit_verify *v, struct str text, size_t piece)
{
	struct lines lines;
	struct audit_line line;

	lines_init(&lines);
	while (text.n > 0) {
		size_t n = text.n < piece ? text.n : piece;

		memcpy(lines_room(&lines), text.p, n);
		lines_grew(&lines, n);
		text = str_sub(text, n, text.n);
		while (lines_next(&lines, &line))
			audit_verify_line(v, &line);
	}
	if (lines_last(&lines, &line))
		audit_verify_line(v, &line);
	lines_fini(&lines);
}

/* Notes are told where there is nothing worse. */
static const char *
look_at(struct str text, struct audit_verify_options o, struct audit_sums *sums)
{
	static struct buf said;
	struct audit_verify *v;

	buf_init(&said, LOG_MAX);
	o.say = on_finding;
	o.arg = &said;
	v = audit_verify_new(&o);
	audit_verify_file(v, "log");
	feed(v, text, 1000);
	audit_verify_end(v, sums);
	audit_verify_free(v);
	static char copy[1024];
	snprintf(copy, sizeof(copy), "%s", buf_cstr(&said));
	buf_fini(&said);
	return copy;
}

static const char *
look(const struct made *m)
{
	struct audit_sums sums;

	return look_at(buf_view(&m->text), (struct audit_verify_options){ 0 }, &sums);
}

/* ---- lines */

static void
test_a_line_that_is_too_long_is_counted_and_not_kept(void **state)
{
	struct lines l;
	struct audit_line line;
	size_t most = 0;

	(void)state;
	lines_init(&l);
	for (int i = 0; i < 1024; i++) { /* 64 MiB */
		memset(lines_room(&l), 'x', LINES_PIECE);
		lines_grew(&l, LINES_PIECE);
		assert_false(lines_next(&l, &line));
		most = l.held.cap > most ? l.held.cap : most;
	}
	memcpy(lines_room(&l), "\nb\nc", 4);
	lines_grew(&l, 4);
	assert_true(lines_next(&l, &line));
	assert_true(
	    line.is_too_long && line.bytes == 1024 * LINES_PIECE && line.text.n == 0);
	assert_true(lines_next(&l, &line));
	assert_true(line.number == 2 && str_eq(line.text, STR("b")) && line.is_ended);
	assert_false(lines_next(&l, &line));
	assert_true(lines_last(&l, &line));
	assert_true(line.number == 3 && str_eq(line.text, STR("c")) && !line.is_ended);
	assert_false(lines_last(&l, &line));
	assert_true(most < (size_t)1 << 20);
	lines_fini(&l);
}

static void
test_lines_are_the_same_in_pieces_of_any_size(void **state)
{
	struct made m;

	(void)state;
	made_init(&m, "");
	put_run(&m);
	for (size_t piece = 1; piece < 300; piece += 7) {
		struct audit_sums sums;
		struct audit_verify_options o = { .say = on_finding };
		struct buf said;

		buf_init(&said, LOG_MAX);
		o.arg = &said;
		struct audit_verify *v = audit_verify_new(&o);
		audit_verify_file(v, "log");
		feed(v, buf_view(&m.text), piece);
		audit_verify_end(v, &sums);
		audit_verify_free(v);
		assert_int_equal(sums.lines, 12);
		assert_int_equal(said.n, 0);
		buf_fini(&said);
	}
	made_fini(&m);
}

/* ---- fields */

static void
test_fields_are_read_and_what_is_no_field_is_ignored(void **state)
{
	static const char text[] =
	    "{\"v\":1,\"ts\":\"2031-04-05T06:07:08.000000Z\",\"id\":\"a\",\"seq\":7,"
	    "\"kind\":\"http\",\"phase\":\"final\",\"session\":{\"tenant\":\"t\",\"sid\":"
	    "\"s\"},"
	    "\"target\":{\"host\":\"h.example\",\"port\":443,\"path\":7},"
	    "\"bytes\":{\"up\":1,\"down\":-2},\"ms\":{\"total\":9},"
	    "\"usd\":{\"charged\":\"0.000000001\"},\"news\":[{}],\"status\":\"200\"}";
	struct arena a;
	struct entry e;

	(void)state;
	arena_init(&a, ENTRY_MEMORY);
	assert_null(entry_read(&e, str_of(text), &a));
	assert_true(str_eq(e.tenant, STR("t")) && str_eq(e.sid, STR("s")));
	assert_true(e.port == 443 && e.up == 1 && e.ms == 9 && e.charged == 1);
	assert_int_equal(e.down, ENTRY_NONE);
	assert_int_equal(e.status, ENTRY_NONE); /* text where a number should be */
	assert_int_equal(e.path.n, 0);
	assert_non_null(entry_read(&e, STR("{\"a\":{\"b\":1,\"b\":2}}"), &a));
	assert_non_null(entry_read(&e, STR("[]"), &a));
	assert_non_null(entry_read(&e, STR("{\"a\":\"\xff\"}"), &a));
	arena_fini(&a);
}

static void
test_only_what_ends_in_prev_or_mac_is_whole(void **state)
{
	static const struct {
		const char *name, *text;
		bool is_whole;
	} rows[] = {
		{ "prev", "{\"a\":1,\"prev\":\"" ZEROS "\"}", true },
		{ "both", "{\"a\":1,\"prev\":\"" ZEROS "\",\"mac\":\"" ZEROS "\"}",
		    true },
		{ "mac alone", "{\"a\":1,\"mac\":\"" ZEROS "\"}", false },
		{ "no brace", "{\"a\":1,\"prev\":\"" ZEROS "\"", false },
		{ "more behind", "{\"a\":1,\"prev\":\"" ZEROS "\"} ", false },
		{ "deeper", "{\"a\":{\"b\":1,\"prev\":\"" ZEROS "\"}}", false },
		{ "nothing", "", false },
	};
	struct seal s;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_row(rows[i].name,
		    seal_read(&s, str_of(rows[i].text)) == rows[i].is_whole);
}

static void
test_what_was_seen_lately_is_known_again(void **state)
{
	struct recent r;
	char text[32];

	(void)state;
	recent_init(&r);
	for (unsigned i = 0; i < 3 * RECENT_LEAST; i++) {
		snprintf(text, sizeof(text), "%u", i);
		if (recent_add(&r, str_of(text)))
			fail_msg("%s was not there", text);
	}
	assert_true(recent_add(&r, STR("1500000")));
	assert_true(recent_add(&r, STR("1100000")));
	recent_fini(&r);
}

/* ---- the chain */

static void
test_a_log_as_weir_writes_it_is_in_order(void **state)
{
	struct made m;
	struct audit_sums sums;

	(void)state;
	made_init(&m, "");
	put_run(&m);
	put_torn(&m, "{\"v\":1,\"ts\":\"20", true);
	put_run(&m);
	assert_string_equal(
	    look_at(buf_view(&m.text), (struct audit_verify_options){ 0 }, &sums), "");
	assert_true(sums.runs == 2 && sums.torn == 1 && sums.final == 20);
	assert_string_equal(sums.head, m.chain.head);
	assert_string_equal(sums.first, "2031-04-05T06:07:00.000000Z");
	made_fini(&m);
}

static void
test_each_changed_byte_is_found(void **state)
{
	struct made m;
	struct audit_sums sums;

	(void)state;
	made_init(&m, "");
	put_event(&m, "start");
	put_torn(&m, "{\"v\":1,\"ts", true);
	put_exchange(&m, "final", 1);
	const struct audit_verify_options o = { .head = m.chain.head };
	assert_string_equal(look_at(buf_view(&m.text), o, &sums), "");
	for (size_t i = 0; i < m.text.n; i += UNIT_LESS)
		for (unsigned bit = 0; bit < 8; bit++) {
			m.text.p[i] = (char)(m.text.p[i] ^ (1 << bit));
			look_at(buf_view(&m.text), o, &sums);
			if (sums.findings == 0 && i + 1 < m.text.n)
				fail_msg("bit %u of byte %zu", bit, i);
			m.text.p[i] = (char)(m.text.p[i] ^ (1 << bit));
		}
	made_fini(&m);
}

/* Line n goes, comes a second time, or changes places with the next one. */
static void
tamper(struct buf *to, const struct made *m, size_t n, char how)
{
	size_t last = (size_t)m->lines;

	buf_init(to, LOG_MAX);
	for (size_t i = 1; i <= last; i++) {
		size_t which = how == 's' && i == n       ? n + 1
			       : how == 's' && i == n + 1 ? n
							  : i;

		for (int times = i != n || how == 's' ? 1
				 : how == 'd'         ? 0
						      : 2;
		     times > 0; times--) {
			buf_str(to, line_of(m, which));
			buf_char(to, '\n');
		}
	}
}

static void
test_a_line_removed_added_or_moved_is_found_at_its_place(void **state)
{
	struct made m;
	struct audit_sums sums;

	(void)state;
	made_init(&m, "");
	put_run(&m);
	const struct audit_verify_options o = { .from_start = true,
		.head = m.chain.head };
	for (size_t n = 1; n < m.lines; n++)
		for (const char *how = "das"; *how != '\0'; how++) {
			struct buf text;
			char place[32];

			tamper(&text, &m, n, *how);
			const char *said = look_at(buf_view(&text), o, &sums);
			snprintf(place, sizeof(place), "%zu %s", *how == 'a' ? n + 1 : n,
			    n == 1 && *how != 'a' ? "start" : "chain");
			if (strstr(said, place) == NULL)
				fail_msg("%c at %zu: %s", *how, n, said);
			buf_fini(&text);
		}
	made_fini(&m);
}

static void
test_a_cut_tail_is_found_by_a_head(void **state)
{
	struct made m;
	struct audit_sums sums;
	struct audit_verify_options o = { 0 };

	(void)state;
	made_init(&m, "");
	put_run(&m);
	char early[CHAIN_HEX];
	memcpy(early, m.chain.head, sizeof(early));
	put_run(&m);
	o.head = early;
	assert_string_equal(look_at(buf_view(&m.text), o, &sums), "");
	assert_int_equal(sums.behind_head, 12);
	o.head = m.chain.head;
	struct str cut = buf_view(&m.text);
	cut.n -= line_of(&m, 24).n + 1;
	assert_string_equal(look_at(cut, o, &sums), "0 head");
	cut = buf_view(&m.text);
	cut.n -= 3; /* as a weir that died leaves it */
	assert_string_equal(look_at(cut, o, &sums), "note 24 torn_line; 0 head");
	cut.n += 2; /* only its LF is not there: all was said */
	assert_string_equal(look_at(cut, o, &sums), "");
	o.head = ZEROS;
	assert_string_equal(look_at(STR_NONE, o, &sums), "");
	made_fini(&m);
}

static void
test_a_log_that_begins_in_the_middle_is_said_to(void **state)
{
	struct made m;
	struct audit_sums sums;

	(void)state;
	made_init(&m, "");
	put_run(&m);
	struct str rest = buf_view(&m.text);
	rest = str_sub(rest, line_of(&m, 1).n + 1, rest.n);
	assert_string_equal(
	    look_at(rest, (struct audit_verify_options){ 0 }, &sums), "note 1 start");
	assert_string_equal(
	    look_at(rest, (struct audit_verify_options){ .from_start = true }, &sums),
	    "1 start");
	made_fini(&m);
}

static void
test_what_a_torn_line_record_does_not_name_is_found(void **state)
{
	struct made m;

	(void)state;
	made_init(&m, "");
	put_event(&m, "start");
	put_torn(&m, "{\"v\":1,\"ts", false); /* 2 */
	put_exchange(&m, "final", 1);
	put_torn(&m, "{\"v\":1,\"added\":\"by hand\"}", false); /* 4 */
	put_torn(&m, "{\"v\":1,\"ts", true);                    /* 5, named in 6 */
	buf_text(&m.text, "no record\n");                       /* 7 */
	assert_string_equal(look(&m), "2 torn_line; 4 torn_line; 7 torn_line");
	made_fini(&m);

	made_init(&m, "");
	put_event(&m, "start");
	put(&m, "\"kind\":\"system\",\"phase\":\"final\",\"event\":\"torn_line\","
		"\"bytes\":\"5\","
		"\"sha256\":\"" ZEROS "\"");
	assert_string_equal(look(&m), "2 torn_line");
	made_fini(&m);
}

static void
test_a_line_begun_in_a_file_that_was_moved_may_stand_there(void **state)
{
	struct audit_verify_options o = { .say = on_finding };
	struct audit_sums sums;
	struct buf said;
	struct made m;

	(void)state;
	buf_init(&said, LOG_MAX);
	o.arg = &said;
	made_init(&m, "");
	put_run(&m);
	size_t end = m.text.n;
	put_run(&m);
	for (size_t begun = 0; begun < 40; begun += 13) {
		struct audit_verify *v = audit_verify_new(&o);

		audit_verify_file(v, "old");
		feed(v, str_sub(buf_view(&m.text), 0, end + begun), 1000);
		audit_verify_file(v, "new");
		feed(v, str_sub(buf_view(&m.text), end, m.text.n), 1000);
		audit_verify_end(v, &sums);
		audit_verify_free(v);
		assert_int_equal(sums.torn, begun > 0);
	}
	assert_string_equal(buf_cstr(&said), "");
	buf_fini(&said);
	made_fini(&m);
}

static void
test_a_line_without_its_mac_or_with_another_is_not_authentic(void **state)
{
	struct made m, forged;
	struct audit_sums sums;
	const struct audit_verify_options o = { .key = STR("key") };

	(void)state;
	made_init(&m, "key");
	put_run(&m);
	assert_string_equal(look_at(buf_view(&m.text), o, &sums), "");
	made_init(&forged, "guess");
	put_event(&forged, "start");
	assert_string_equal(look_at(buf_view(&forged.text), o, &sums), "0 mac");
	assert_string_equal(look(&forged), "");
	made_fini(&forged);
	made_init(&forged, "");
	put_event(&forged, "start");
	assert_string_equal(look_at(buf_view(&forged.text), o, &sums), "0 mac");
	made_fini(&forged);
	made_fini(&m);
}

/* 12 lines of a weir that had no key, then of one that has. */
static void
test_what_is_older_than_the_key_is_found_unless_its_head_was_kept(void **state)
{
	struct made m;
	struct audit_sums sums;
	struct audit_verify_options o = { .key = STR("key") };
	char head[CHAIN_HEX];

	(void)state;
	made_init(&m, "");
	put_run(&m);
	memcpy(head, m.chain.head, sizeof(head));
	hmac_init(&m.chain.mac, STR("key"));
	put_run(&m);
	assert_string_equal(look_at(buf_view(&m.text), o, &sums), "13 mac");
	o.head = head;
	assert_string_equal(look_at(buf_view(&m.text), o, &sums), "note 13 mac");
	o.head = m.chain.head; /* which anybody's beginning may have come before */
	assert_string_equal(look_at(buf_view(&m.text), o, &sums), "13 mac");
	hmac_fini(&m.chain.mac);
	put_run(&m);
	o.head = head;
	assert_string_equal(
	    look_at(str_sub(buf_view(&m.text), 0, (size_t)(line_of(&m, 26).p - m.text.p)),
		o, &sums),
	    "note 13 mac; 25 mac");
	made_fini(&m);
}

static void
test_what_is_no_json_is_found_and_the_rest_is_looked_at(void **state)
{
	struct made m;
	struct audit_sums sums;

	(void)state;
	made_init(&m, "");
	put_event(&m, "start");
	put(&m, "\"a\":1,\"a\":2");                               /* 2 */
	put(&m, "\"a\":\"\xff\"");                                /* 3 */
	put(&m, "\"a\":");                                        /* 4 */
	buf_add(&m.text, "\0\n", 2);                              /* 5 */
	put(&m, "\"kind\":\"http\",\"phase\":\"final\",\"v\":1"); /* 6 */
	for (int i = 0; i < 300; i++)
		buf_text(&m.text, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[");
	buf_char(&m.text, '\n'); /* 7 */
	struct buf deep;
	buf_init(&deep, LOG_MAX);
	for (int i = 0; i < 10000; i++)
		buf_text(&deep, "[");
	put(&m, "\"a\":%s", buf_cstr(&deep)); /* 8 */
	buf_reset(&deep);
	for (int i = 0; i < 150000; i++)
		buf_text(&deep, "x");
	put(&m, "\"a\":\"%s%s\"", buf_cstr(&deep), buf_cstr(&deep)); /* 9 */
	buf_fini(&deep);
	const char *said =
	    look_at(buf_view(&m.text), (struct audit_verify_options){ 0 }, &sums);
	assert_string_equal(said, "2 json; 3 json; 4 json; 5 torn_line; 6 json; "
				  "7 torn_line; 8 json; 9 too_long");
	assert_int_equal(sums.lines, 9);
	made_fini(&m);
}

/* ---- exchanges and runs */

static void
test_an_open_without_a_final_is_found_when_its_run_is_over(void **state)
{
	struct made m;
	struct audit_sums sums;

	(void)state;
	made_init(&m, "");
	put_event(&m, "start");
	put_exchange(&m, "open", 1); /* 2 */
	put_exchange(&m, "open", 2); /* 3 */
	put_exchange(&m, "final", 2);
	look_at(buf_view(&m.text), (struct audit_verify_options){ 0 }, &sums);
	assert_true(sums.findings == 0 && sums.still_open == 1); /* it goes on */
	m.seq = 0; /* died; what was lost is said before the next start */
	put_exchange(&m, "final", 1);
	put(&m, "\"kind\":\"system\",\"phase\":\"final\",\"event\":\"start\"");
	put_exchange(&m, "progress", 7); /* whose open is elsewhere */
	put_exchange(&m, "final", 8);
	put_exchange(&m, "final", 7);
	assert_string_equal(look(&m), "");
	put_exchange(&m, "open", 9); /* 10 */
	put_event(&m, "stop");
	assert_string_equal(look(&m), "10 final");
	made_fini(&m);
}

static void
test_two_finals_of_one_exchange_are_found(void **state)
{
	struct made m;

	(void)state;
	made_init(&m, "");
	put_event(&m, "start");
	put_exchange(&m, "final", 1);
	put_exchange(&m, "open", 2);
	put_exchange(&m, "final", 2);
	put_exchange(&m, "final", 1); /* 5 */
	put_exchange(&m, "final", 2); /* 6 */
	assert_string_equal(look(&m), "5 final; 6 final");
	made_fini(&m);
}

static void
test_numbers_that_are_missing_in_a_run_are_a_note(void **state)
{
	struct made m;

	(void)state;
	made_init(&m, "");
	put_event(&m, "start");
	m.seq += 3;
	put_exchange(&m, "final", 1000);
	put_event(&m, "stop"); /* 3 */
	put_run(&m);
	assert_string_equal(look(&m), "note 3 seq");
	made_fini(&m);
}

/* ---- checkpoints */

static void
sign(const char *message, char text[static 96], EVP_PKEY *key)
{
	unsigned char sig[64];
	size_t n = sizeof(sig);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	assert_int_equal(EVP_DigestSignInit(ctx, NULL, NULL, NULL, key), 1);
	assert_int_equal(
	    EVP_DigestSign(ctx, sig, &n, (const unsigned char *)message, strlen(message)),
	    1);
	EVP_MD_CTX_free(ctx);
	EVP_EncodeBlock((unsigned char *)text, sig, (int)n);
}

static void
key_id(EVP_PKEY *key, char out[static 17])
{
	unsigned char *der = NULL, digest[32];
	int n = i2d_PUBKEY(key, &der);

	EVP_Digest(der, (size_t)n, digest, NULL, EVP_sha256(), NULL);
	for (int i = 0; i < 8; i++)
		snprintf(out + 2 * i, 3, "%02x", digest[i]);
	OPENSSL_free(der);
}

static struct vouch_key *
public_key(EVP_PKEY *key)
{
	BIO *out = BIO_new(BIO_s_mem());
	char *text;

	assert_int_equal(PEM_write_bio_PUBKEY(out, key), 1);
	long n = BIO_get_mem_data(out, &text);
	struct vouch_key *k = vouch_key_new((struct str){ text, (size_t)n });
	BIO_free(out);
	return k;
}

/* Its line in an anchor file goes to `anchor`. */
static void
put_checkpoint(struct made *m, uint64_t lines, EVP_PKEY *key, struct buf *anchor)
{
	char message[512], sig[96], id[17], head[CHAIN_HEX];

	memcpy(head, m->chain.head, sizeof(head));
	snprintf(message, sizeof(message),
	    "weir-checkpoint-v1\n%s\n2031-04-05T06:07:%02u.000000Z\n%llu\n%s\n", m->name,
	    m->seq % 60, (unsigned long long)lines, head);
	sign(message, sig, key);
	key_id(key, id);
	buf_fmt(anchor,
	    "{\"v\":1,\"name\":\"%s\",\"ts\":\"2031-04-05T06:07:%02u.000000Z\",\"lines\":"
	    "\"%llu\","
	    "\"head\":\"%s\",\"key\":\"%s\",\"sig\":\"%s\"}\n",
	    m->name, m->seq % 60, (unsigned long long)lines, head, id, sig);
	put(m,
	    "\"kind\":\"system\",\"phase\":\"final\",\"event\":\"checkpoint\",\"name\":"
	    "\"%s\","
	    "\"lines\":\"%llu\",\"head\":\"%s\",\"key\":\"%s\",\"sig\":\"%s\"",
	    m->name, (unsigned long long)lines, head, id, sig);
}

static void
read_anchors(struct anchors *a, struct str text)
{
	struct arena memory;
	struct str line;
	uint64_t number = 0;

	anchors_init(a);
	arena_init(&memory, ENTRY_MEMORY);
	while (str_split(&text, '\n', &line) && line.n > 0) {
		const char *error;
		const struct vouch v = vouch_read(json_parse(line, &memory, &error));

		assert_null(anchors_add(a, &v, ++number));
	}
	arena_fini(&memory);
}

struct signed_log {
	struct made m;
	struct buf anchor;
	EVP_PKEY *key;
	struct vouch_key *public;
	struct anchors anchors;
	size_t cut; /* where the last run begins */
};

static void
signed_init(struct signed_log *s)
{
	made_init(&s->m, "");
	buf_init(&s->anchor, LOG_MAX);
	s->key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	s->public = public_key(s->key);
	for (int i = 0; i < 3; i++) {
		s->cut = s->m.text.n;
		put_run(&s->m);
		put_checkpoint(&s->m, s->m.lines, s->key, &s->anchor);
	}
	read_anchors(&s->anchors, buf_view(&s->anchor));
}

static void
signed_fini(struct signed_log *s)
{
	made_fini(&s->m);
	buf_fini(&s->anchor);
	EVP_PKEY_free(s->key);
	vouch_key_free(s->public);
	anchors_fini(&s->anchors);
}

static struct audit_verify_options
by_anchors(struct signed_log *s)
{
	return (struct audit_verify_options){
		.signer = s->public, .anchors = &s->anchors, .anchor_file = "anchors"
	};
}

static void
test_checkpoints_that_are_signed_and_anchored_are_in_order(void **state)
{
	struct signed_log s;
	struct audit_sums sums;

	(void)state;
	signed_init(&s);
	assert_string_equal(look_at(buf_view(&s.m.text), by_anchors(&s), &sums), "");
	assert_true(sums.checkpoints == 3 && sums.is_signed == 3);
	signed_fini(&s);
}

static void
test_a_cut_tail_is_found_by_an_anchor(void **state)
{
	struct signed_log s;
	struct audit_sums sums;

	(void)state;
	signed_init(&s);
	assert_string_equal(
	    look_at(str_sub(buf_view(&s.m.text), 0, s.cut), by_anchors(&s), &sums),
	    "3 anchor");
	signed_fini(&s);
}

static void
test_anchors_of_what_is_not_here_any_more_are_a_note(void **state)
{
	struct signed_log s;
	struct audit_sums sums;

	(void)state;
	signed_init(&s);
	assert_string_equal(look_at(str_sub(buf_view(&s.m.text), s.cut, s.m.text.n),
				by_anchors(&s), &sums),
	    "note 1 start; note 0 anchor");
	signed_fini(&s);
}

static void
test_a_log_made_anew_fits_no_signature_and_no_anchor(void **state)
{
	struct signed_log s, other;
	struct audit_sums sums;

	(void)state;
	signed_init(&s);
	signed_init(&other); /* its own key */
	struct audit_verify_options o = by_anchors(&s);
	const char *said = look_at(buf_view(&other.m.text), o, &sums);
	assert_non_null(strstr(said, "0 signature"));
	assert_int_equal(sums.is_signed, 0);
	signed_fini(&other);
	signed_fini(&s);
}

static void
test_a_log_made_anew_without_checkpoints_is_vouched_for_by_nobody(void **state)
{
	struct signed_log s;
	struct audit_sums sums;
	struct made m;

	(void)state;
	signed_init(&s);
	made_init(&m, "");
	put_run(&m);
	struct audit_verify_options o = { .signer = s.public };
	assert_string_equal(look_at(buf_view(&m.text), o, &sums), "0 signature");
	made_fini(&m);

	put_run(&s.m); /* what came since the last checkpoint */
	assert_string_equal(look_at(buf_view(&s.m.text), o, &sums), "note 51 signature");
	assert_true(sums.is_signed == 3 && sums.findings == 0);
	signed_fini(&s);
}

static void
test_a_checkpoint_counts_what_is_missing(void **state)
{
	struct made m;
	struct buf anchor;
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");

	(void)state;
	made_init(&m, "");
	buf_init(&anchor, LOG_MAX);
	put_run(&m);
	put_checkpoint(&m, 10, key, &anchor); /* 13: a weir that knew only ten, so far */
	put_checkpoint(&m, 11, key, &anchor);
	assert_string_equal(look(&m), "note 13 checkpoint");
	put_checkpoint(&m, 20, key, &anchor); /* 15 */
	put_checkpoint(&m, 20, key, &anchor); /* 16 */
	assert_string_equal(look(&m), "note 13 checkpoint; 15 checkpoint; 16 checkpoint");
	made_fini(&m);
	buf_fini(&anchor);
	EVP_PKEY_free(key);
}

static void
test_checkpoints_before_the_first_that_is_signed_need_a_head_that_was_kept(void **state)
{
	struct signed_log s;
	struct audit_sums sums;
	struct made m;
	struct buf anchor;
	char head[CHAIN_HEX];

	(void)state;
	signed_init(&s);
	made_init(&m, "");
	buf_init(&anchor, LOG_MAX);
	EVP_PKEY *old = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	put_run(&m);
	put_checkpoint(&m, m.lines, old, &anchor);
	memcpy(head, m.chain.head, sizeof(head));
	put_run(&m);
	put_checkpoint(&m, m.lines, s.key, &anchor); /* 26 */
	struct audit_verify_options o = { .signer = s.public };
	assert_string_equal(look_at(buf_view(&m.text), o, &sums), "26 signature");
	o.head = head;
	assert_string_equal(look_at(buf_view(&m.text), o, &sums), "note 26 signature");
	put_checkpoint(&m, m.lines, old, &anchor);
	assert_string_equal(look_at(buf_view(&m.text), o, &sums),
	    "note 26 signature; 27 signature; note 27 signature");
	EVP_PKEY_free(old);
	buf_fini(&anchor);
	made_fini(&m);
	signed_fini(&s);
}

static void
test_a_checkpoint_by_another_name_is_of_another_weir(void **state)
{
	struct made m;
	struct buf anchor;
	struct audit_sums sums;
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");

	(void)state;
	made_init(&m, "");
	buf_init(&anchor, LOG_MAX);
	put_run(&m);
	put_checkpoint(&m, m.lines, key, &anchor);
	m.name = "other";
	put_run(&m);
	put_checkpoint(
	    &m, m.lines, key, &anchor); /* 26: a name may change with a start */
	assert_string_equal(look(&m), "note 26 name");
	struct audit_verify_options o = { .name = "other" };
	assert_string_equal(look_at(buf_view(&m.text), o, &sums), "note 26 name");
	o.name = "w";
	assert_string_equal(look_at(buf_view(&m.text), o, &sums), "note 26 name; 0 name");
	m.name = "w";
	put_checkpoint(&m, m.lines, key, &anchor);
	assert_string_equal(look(&m), "note 26 name; 27 name");
	made_fini(&m);
	buf_fini(&anchor);
	EVP_PKEY_free(key);
}

static void
test_a_checkpoint_says_how_much_is_older_than_the_first_line(void **state)
{
	struct signed_log s;
	struct audit_sums sums;
	struct audit_verify_options o = { .signer = NULL };

	(void)state;
	signed_init(&s);
	look_at(buf_view(&s.m.text), o, &sums);
	assert_true(sums.is_from_start && sums.older == 0);
	look_at(str_sub(buf_view(&s.m.text), s.cut, s.m.text.n), o, &sums);
	assert_true(!sums.is_from_start && sums.older == 26);
	signed_fini(&s);
}

/* ---- files */

static char directory[] = "/tmp/weir-reader-XXXXXX";

static const char *
path_of(const char *name)
{
	static char text[8][256];
	static unsigned n;
	char *to = text[n++ % 8];

	snprintf(to, sizeof(text[0]), "%s/%s", directory, name);
	return to;
}

static void
write_file(const char *name, struct str text)
{
	FILE *f = fopen(path_of(name), "wb");

	assert_non_null(f);
	if (text.n > 0)
		assert_int_equal(fwrite(text.p, 1, text.n, f), text.n);
	fclose(f);
}

static void
assert_files(const char *path, const char *expected)
{
	struct audit_files f;
	struct buf names;

	buf_init(&names, LOG_MAX);
	assert_true(audit_files_find(&f, path));
	for (size_t i = 0; i < f.n; i++)
		buf_fmt(&names, "%s%s", i > 0 ? " " : "", strrchr(f.path[i], '/') + 1);
	assert_string_equal(buf_cstr(&names), expected);
	buf_fini(&names);
	audit_files_free(&f);
}

static void
remove_all(const char *const *name)
{
	for (; *name != NULL; name++)
		unlink(path_of(*name));
}

static void
test_files_stand_in_the_order_of_their_chain(void **state)
{
	static const char *const names[] = { "log.z", "log.1", "log.gz", "log-a", "log",
		NULL };
	struct made m;

	(void)state;
	made_init(&m, "");
	write_file("log.gz", STR("\x1f\x8b no log"));
	for (const char *const *name = names; *name != NULL; name++) {
		if (strcmp(*name, "log.gz") == 0)
			continue;
		put_run(&m);
		write_file(*name, buf_view(&m.text));
		buf_reset(&m.text);
	}
	assert_files(path_of("log"), "log.z log.1 log-a log");
	unlink(path_of("log"));
	assert_files(path_of("log"), "log.z log.1 log-a");
	write_file("log", STR_NONE);
	assert_files(path_of("log"), "log.z log.1 log-a log");
	char *after = audit_files_after(path_of("log"), m.chain.head);
	assert_null(after);
	remove_all(names);
	struct audit_files f;
	assert_false(audit_files_find(&f, path_of("log")));
	assert_int_equal(errno, ENOENT);
	made_fini(&m);
}

static void
test_a_file_that_is_moved_replaces_none(void **state)
{
	static const char *const names[] = { "log", "log.1", NULL };

	(void)state;
	write_file("log", STR("new"));
	write_file("log.1", STR("old"));
	assert_int_equal(segments_move(path_of("log"), path_of("log.1")), EEXIST);
	assert_int_equal(access(path_of("log"), F_OK), 0);
	unlink(path_of("log.1"));
	assert_int_equal(segments_move(path_of("log"), path_of("log.1")), 0);
	assert_int_equal(segments_move(path_of("log"), path_of("log.1")), ENOENT);
	remove_all(names);
}

/* A window on it that begins at a brace shows what looks like a record. */
static void
test_the_last_record_is_whole_however_long_it_is(void **state)
{
	static const char *const names[] = { "log", NULL };
	static const char end[] = ",\"prev\":\"" ZEROS "\"}";
	struct buf text, read;
	struct str line;
	struct seal s;

	(void)state;
	buf_init(&text, LOG_MAX);
	buf_init(&read, SIBLING_ROOM);
	buf_text(&text, "{\"a\":");
	while (text.n < 32768)
		buf_char(&text, '{');
	buf_text(&text, end);
	write_file("log", buf_view(&text));
	int fd = open(path_of("log"), O_RDONLY);
	assert_true(sibling_last(fd, (off_t)text.n, &read, &line, &s));
	assert_int_equal(line.n, text.n);
	close(fd);
	remove_all(names);
	buf_fini(&read);
	buf_fini(&text);
}

static void
test_a_reader_goes_over_all_files_and_past_what_is_not_there(void **state)
{
	static const char *const names[] = { "a", "b", NULL };
	char *paths[] = { str_dup(str_of(path_of("a"))), str_dup(str_of(path_of("gone"))),
		str_dup(str_of(path_of("b"))) };
	struct audit_reader r;
	struct audit_line line;
	struct buf seen;
	enum audit_read what;

	(void)state;
	write_file("a", STR("1\n2"));
	write_file("b", STR("\n4\n"));
	buf_init(&seen, 1000);
	const struct audit_files files = { .path = paths, .n = 3, .own = -1 };
	audit_reader_init(&r, &files);
	while ((what = audit_reader_next(&r, &line)) != AUDIT_END)
		if (what == AUDIT_LINE)
			buf_fmt(&seen, "[%u %.*s]", (unsigned)line.number,
			    STR_ARG(line.text));
		else
			buf_text(&seen, what == AUDIT_FILE ? "file" : "failed");
	assert_int_equal(audit_reader_next(&r, &line), AUDIT_END);
	audit_reader_fini(&r);
	assert_string_equal(buf_cstr(&seen), "file[1 1][2 2]failedfile[1 ][2 4]");
	buf_fini(&seen);
	for (size_t i = 0; i < COUNT_OF(paths); i++)
		free(paths[i]);
	remove_all(names);
}

static int
make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) == NULL;
}

static int
remove_directory(void **state)
{
	(void)state;
	return rmdir(directory);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_line_that_is_too_long_is_counted_and_not_kept),
		cmocka_unit_test(test_lines_are_the_same_in_pieces_of_any_size),
		cmocka_unit_test(test_fields_are_read_and_what_is_no_field_is_ignored),
		cmocka_unit_test(test_only_what_ends_in_prev_or_mac_is_whole),
		cmocka_unit_test(test_what_was_seen_lately_is_known_again),
		cmocka_unit_test(test_a_log_as_weir_writes_it_is_in_order),
		cmocka_unit_test(test_each_changed_byte_is_found),
		cmocka_unit_test(
		    test_a_line_removed_added_or_moved_is_found_at_its_place),
		cmocka_unit_test(test_a_cut_tail_is_found_by_a_head),
		cmocka_unit_test(test_a_log_that_begins_in_the_middle_is_said_to),
		cmocka_unit_test(test_what_a_torn_line_record_does_not_name_is_found),
		cmocka_unit_test(
		    test_a_line_begun_in_a_file_that_was_moved_may_stand_there),
		cmocka_unit_test(
		    test_a_line_without_its_mac_or_with_another_is_not_authentic),
		cmocka_unit_test(
		    test_what_is_older_than_the_key_is_found_unless_its_head_was_kept),
		cmocka_unit_test(
		    test_checkpoints_before_the_first_that_is_signed_need_a_head_that_was_kept),
		cmocka_unit_test(test_a_checkpoint_by_another_name_is_of_another_weir),
		cmocka_unit_test(
		    test_a_checkpoint_says_how_much_is_older_than_the_first_line),
		cmocka_unit_test(test_what_is_no_json_is_found_and_the_rest_is_looked_at),
		cmocka_unit_test(
		    test_an_open_without_a_final_is_found_when_its_run_is_over),
		cmocka_unit_test(test_two_finals_of_one_exchange_are_found),
		cmocka_unit_test(test_numbers_that_are_missing_in_a_run_are_a_note),
		cmocka_unit_test(
		    test_checkpoints_that_are_signed_and_anchored_are_in_order),
		cmocka_unit_test(test_a_cut_tail_is_found_by_an_anchor),
		cmocka_unit_test(test_anchors_of_what_is_not_here_any_more_are_a_note),
		cmocka_unit_test(test_a_log_made_anew_fits_no_signature_and_no_anchor),
		cmocka_unit_test(
		    test_a_log_made_anew_without_checkpoints_is_vouched_for_by_nobody),
		cmocka_unit_test(test_a_checkpoint_counts_what_is_missing),
		cmocka_unit_test(test_files_stand_in_the_order_of_their_chain),
		cmocka_unit_test(test_a_file_that_is_moved_replaces_none),
		cmocka_unit_test(test_the_last_record_is_whole_however_long_it_is),
		cmocka_unit_test(
		    test_a_reader_goes_over_all_files_and_past_what_is_not_there),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
