#include "wire/hello.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

/* Bytes with lengths that are filled in when their content is there. */
struct bytes {
	unsigned char p[20000];
	size_t n;
};

static void
put(struct bytes *b, size_t value, size_t bytes)
{
	for (size_t i = bytes; i > 0; i--)
		b->p[b->n++] = (unsigned char)(value >> 8 * (i - 1));
}

static void
put_text(struct bytes *b, struct str s)
{
	memcpy(b->p + b->n, s.p, s.n);
	b->n += s.n;
}

static size_t
open_vector(struct bytes *b, size_t bytes)
{
	put(b, 0, bytes);
	return b->n;
}

static void
close_vector(struct bytes *b, size_t begin, size_t bytes)
{
	size_t end = b->n;

	b->n = begin - bytes;
	put(b, end - begin, bytes);
	b->n = end;
}

static void
put_extension(struct bytes *b, size_t type, struct str body)
{
	put(b, type, 2);
	put(b, body.n, 2);
	put_text(b, body);
}

static void
put_server_name(struct bytes *b, struct str name)
{
	put(b, 0, 2);
	put(b, name.n + 5, 2);
	put(b, name.n + 3, 2);
	put(b, 0, 1);
	put(b, name.n, 2);
	put_text(b, name);
}

/* The message, with these extensions. */
static struct bytes
message_of(const struct bytes *extensions)
{
	struct bytes m = { .n = 0 };

	put(&m, 1, 1);
	size_t begin = open_vector(&m, 3);

	put(&m, 0x0303, 2);
	for (size_t i = 0; i < 32; i++)
		put(&m, i, 1);
	put(&m, 0, 1);
	put(&m, 2, 2);
	put(&m, 0x1301, 2);
	put(&m, 0x0100, 2);
	put(&m, extensions->n, 2);
	put_text(&m, (struct str){ (const char *)extensions->p, extensions->n });
	close_vector(&m, begin, 3);
	return m;
}

/* The message in records of that size. */
static struct bytes
records_of(const struct bytes *m, size_t size)
{
	struct bytes wire = { .n = 0 };

	for (size_t at = 0; at < m->n; at += size) {
		size_t n = m->n - at < size ? m->n - at : size;

		put(&wire, 22, 1);
		put(&wire, 0x0301, 2);
		put(&wire, n, 2);
		put_text(&wire, (struct str){ (const char *)m->p + at, n });
	}
	return wire;
}

static struct bytes
named_hello(void)
{
	struct bytes extensions = { .n = 0 };

	put_server_name(&extensions, STR("A.test"));
	put_extension(&extensions, 16, STR("\0\x0c\x02h2\x08http/1.1"));
	return message_of(&extensions);
}

static enum hello_result
read_in_pieces(const struct bytes *wire, size_t piece, struct hello *out, size_t *used)
{
	static unsigned char message[HELLO_MAX];
	enum hello_result result = HELLO_MORE;
	struct hello_reader r;

	hello_reader_init(&r, message);
	for (*used = 0; *used < wire->n && result == HELLO_MORE;) {
		size_t n = wire->n - *used < piece ? wire->n - *used : piece, took;
		char *copy = mem_alloc(n);

		memcpy(copy, wire->p + *used, n);
		result = hello_read(&r, (struct str){ copy, n }, &took, out);
		free(copy);
		assert_true(took <= n);
		assert_true(result != HELLO_MORE || took == n);
		*used += took;
	}
	return result;
}

static void
assert_read(const char *name, const struct bytes *wire, enum hello_result result)
{
	for (size_t piece = 1; piece < 2 * wire->n; piece *= 3) {
		struct hello h;
		size_t used;

		assert_row(name, read_in_pieces(wire, piece, &h, &used) == result);
		assert_row(name, (result == HELLO_BAD) == (h.error != NULL));
	}
}

static void
test_a_hello_is_read_whatever_it_is_cut_into(void **state)
{
	struct bytes m = named_hello();

	(void)state;
	for (size_t size = (m.n + 63) / 64; size <= m.n; size++) {
		struct bytes wire = records_of(&m, size);
		size_t hello = wire.n, used;
		struct hello h;

		put_text(&wire, STR("\x14\x03\x03")); /* of a record behind it */
		for (size_t piece = 1; piece < 200; piece += 99) {
			assert_int_equal(
			    read_in_pieces(&wire, piece, &h, &used), HELLO_DONE);
			assert_int_equal(used, hello);
			assert_true(h.has_sni);
			assert_string_equal(h.sni.name, "a.test");
			assert_true(h.offers_alpn);
			assert_false(h.has_ech);
		}
	}
}

static void
test_a_hello_may_be_as_large_as_a_record_and_no_larger(void **state)
{
	struct bytes extensions = { .n = 0 }, wire;
	struct bytes m = message_of(&extensions);

	(void)state;
	put(&extensions, 21, 2);
	put(&extensions, HELLO_MAX - m.n - 4, 2);
	extensions.n += HELLO_MAX - m.n - 4;
	m = message_of(&extensions);
	assert_int_equal(m.n, HELLO_MAX);
	wire = records_of(&m, 16384);
	assert_read("16 KiB", &wire, HELLO_DONE);
	m.p[3]++;
	wire = records_of(&m, 8192);
	assert_read("one more", &wire, HELLO_BAD);
}

static void
test_a_record_that_is_not_the_hello_is_refused(void **state)
{
	static const struct {
		const char *name;
		size_t at; /* offset in the first record's header */
		unsigned char byte;
		bool is_not_tls;
	} cases[] = {
		{ "alert", 0, 21, true },
		{ "HTTP", 0, 'G', true },
		{ "SSLv2", 0, 0x80, true },
		{ "DTLS", 1, 0xfe, false },
		{ "SSL 3", 2, 0, false },
		{ "version 3.4", 2, 4, false },
		{ "ServerHello", 5, 2, false },
	};
	struct bytes m = named_hello();
	const struct bytes good = records_of(&m, m.n);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct bytes wire = good;
		struct hello h;
		size_t used;

		wire.p[cases[i].at] = cases[i].byte;
		assert_read(cases[i].name, &wire, HELLO_BAD);
		assert_int_equal(read_in_pieces(&wire, 1, &h, &used), HELLO_BAD);
		assert_row(cases[i].name, h.is_not_tls == cases[i].is_not_tls);
		assert_row(cases[i].name, used <= 9); /* no more is waited for */
	}
}

static void
test_what_stands_beside_the_hello_is_refused(void **state)
{
	struct bytes m = named_hello(), wire;

	(void)state;
	wire = records_of(&m, m.n / 65);
	assert_read("65 records", &wire, HELLO_BAD);

	wire = records_of(&m, 20);
	wire.p[25] = 21;
	assert_read("alert between", &wire, HELLO_BAD);

	wire = records_of(&m, m.n);
	wire.p[3] = 0x40, wire.p[4] = 1;
	assert_read("record over 16 KiB", &wire, HELLO_BAD);
	wire.p[3] = wire.p[4] = 0;
	assert_read("empty record", &wire, HELLO_BAD);

	m.p[m.n++] = 1; /* of a second message */
	wire = records_of(&m, m.n);
	assert_read("second message", &wire, HELLO_BAD);
}

static void
test_each_length_must_fit_exactly(void **state)
{
	struct bytes m = named_hello(), wire;

	(void)state;
	for (size_t at = 4; at < m.n; at++) {
		/* cut off there, with the message's own length right */
		struct bytes cut = m;
		struct hello h;
		size_t used;

		cut.n = at;
		close_vector(&cut, 4, 3);
		wire = records_of(&cut, cut.n);
		if (at ==
		    4 + 2 + 32 + 1 + 4 + 2) /* just where TLS 1.2 has no extensions */
			assert_int_equal(
			    read_in_pieces(&wire, wire.n, &h, &used), HELLO_DONE);
		else
			assert_read("cut", &wire, HELLO_BAD);
	}
	m.p[m.n++] = 0;
	close_vector(&m, 4, 3);
	wire = records_of(&m, m.n);
	assert_read("one byte behind the extensions", &wire, HELLO_BAD);
}

static void
test_the_fixed_part_must_be_well_formed(void **state)
{
	static const struct {
		const char *name;
		size_t at;
		unsigned char byte;
	} cases[] = {
		{ "version", 4, 2 },
		{ "session id of 33 bytes", 38, 33 },
		{ "no cipher suites", 40, 0 },
		{ "odd cipher suites", 40, 1 },
		{ "no compression", 43, 0 },
		{ "no null compression", 44, 1 },
	};
	const struct bytes good = named_hello();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct bytes m = good, wire;

		m.p[cases[i].at] = cases[i].byte;
		wire = records_of(&m, m.n);
		assert_read(cases[i].name, &wire, HELLO_BAD);
	}
}

static void
test_the_server_name_is_one_plain_name(void **state)
{
	static const struct {
		const char *name;
		struct str body;
	} cases[] = {
		{ "empty extension", { "", 0 } },
		{ "empty list", { "\0\0", 2 } },
		{ "empty name", { "\0\x03\0\0\0", 5 } },
		{ "good", { "\0\x06\0\0\x03"
			    "a.b",
			      8 } },
		{ "list shorter", { "\0\x05\0\0\x03"
				    "a.b",
				      8 } },
		{ "list longer", { "\0\x07\0\0\x03"
				   "a.b",
				     8 } },
		{ "name longer", { "\0\x06\0\0\x04"
				   "a.b",
				     8 } },
		{ "name shorter", { "\0\x06\0\0\x02"
				    "a.b",
				      8 } },
		{ "other type", { "\0\x06\x01\0\x03"
				  "a.b",
				    8 } },
		{ "two names", { "\0\x0c\0\0\x03"
				 "a.b\0\0\x03"
				 "a.b",
				   14 } },
		{ "name and other type", { "\0\x0c\0\0\x03"
					   "a.b\x01\0\x03"
					   "a.b",
					     14 } },
		{ "NUL", { "\0\x07\0\0\x04"
			   "a.b\0",
			     9 } },
		{ "dot", { "\0\x07\0\0\x04"
			   "a.b.",
			     9 } },
		{ "literal", { "\0\x0a\0\0\x07"
			       "1.2.3.4",
				 12 } },
		{ "hex", { "\0\x06\0\0\x03"
			   "0x1",
			     8 } },
		{ "port", { "\0\x08\0\0\x05"
			    "a.b:1",
			      10 } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		bool is_good = strcmp(cases[i].name, "good") == 0;
		struct bytes extensions = { .n = 0 }, m, wire;

		put_extension(&extensions, 0, cases[i].body);
		m = message_of(&extensions);
		wire = records_of(&m, m.n);
		assert_read(cases[i].name, &wire, is_good ? HELLO_DONE : HELLO_BAD);
	}
}

static void
test_an_extension_stands_once(void **state)
{
	static const size_t types[] = { 0x0023, 0x1a1a, 0xff01, 0xffff };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(types); i++) {
		struct bytes extensions = { .n = 0 }, m, wire;

		put_extension(&extensions, types[i], STR(""));
		put_extension(&extensions, 5, STR("x"));
		m = message_of(&extensions);
		wire = records_of(&m, m.n);
		assert_read("once", &wire, HELLO_DONE);
		put_extension(&extensions, types[i], STR("x"));
		m = message_of(&extensions);
		wire = records_of(&m, m.n);
		assert_read("twice", &wire, HELLO_BAD);
	}
}

static void
test_every_code_point_of_ech_is_seen(void **state)
{
	static const struct {
		size_t type;
		bool is_ech;
	} cases[] = {
		{ 0xfe07, false },
		{ 0xfe08, true },
		{ 0xfe0a, true },
		{ 0xfe0d, true },
		{ 0xfe0e, false },
		{ 0xffce, true },
		{ 0x002b, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct bytes extensions = { .n = 0 }, m, wire;
		struct hello h = { .has_ech = false };
		size_t used;

		put_extension(&extensions, cases[i].type, STR("x"));
		m = message_of(&extensions);
		wire = records_of(&m, m.n);
		assert_int_equal(read_in_pieces(&wire, wire.n, &h, &used), HELLO_DONE);
		assert_int_equal(h.has_ech, cases[i].is_ech);
		assert_false(h.has_sni);
	}
}

#define RETRY_RANDOM \
	"\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91" \
	"\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c"

static void
test_a_retry_request_is_known_by_its_random(void **state)
{
	struct bytes m = { .n = 0 };

	(void)state;
	put(&m, 2, 1);
	put(&m, 40, 3);
	put(&m, 0x0303, 2);
	put_text(&m, STR(RETRY_RANDOM));
	put(&m, 0, 6);
	for (size_t size = 1; size <= m.n; size++) {
		struct bytes wire = records_of(&m, size);
		struct str in = { (const char *)wire.p, 0 };
		size_t full = 38 + (38 + size - 1) / size * 5;

		for (; in.n < full; in.n++)
			assert_int_equal(hello_is_retry(in), RETRY_MORE);
		assert_int_equal(hello_is_retry(in), RETRY_YES);
	}
	m.p[20] ^= 1;
	struct bytes wire = records_of(&m, m.n);

	assert_int_equal(
	    hello_is_retry((struct str){ (const char *)wire.p, wire.n }), RETRY_NO);
	assert_int_equal(hello_is_retry(STR("")), RETRY_MORE);
	assert_int_equal(hello_is_retry(STR("\x15")), RETRY_NO);
	assert_int_equal(hello_is_retry(STR("HTTP/1.1 400 Bad")), RETRY_NO);
	assert_int_equal(hello_is_retry(STR("\x16\x03\x03\0\0")), RETRY_NO);
	assert_int_equal(hello_is_retry(STR("\x16\x03\x03\0\x01\x0b")), RETRY_NO);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_hello_is_read_whatever_it_is_cut_into),
		cmocka_unit_test(test_a_hello_may_be_as_large_as_a_record_and_no_larger),
		cmocka_unit_test(test_a_record_that_is_not_the_hello_is_refused),
		cmocka_unit_test(test_what_stands_beside_the_hello_is_refused),
		cmocka_unit_test(test_each_length_must_fit_exactly),
		cmocka_unit_test(test_the_fixed_part_must_be_well_formed),
		cmocka_unit_test(test_the_server_name_is_one_plain_name),
		cmocka_unit_test(test_an_extension_stands_once),
		cmocka_unit_test(test_every_code_point_of_ech_is_seen),
		cmocka_unit_test(test_a_retry_request_is_known_by_its_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
