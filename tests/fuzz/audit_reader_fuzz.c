/*
 * audit_reader_fuzz.c - any bytes may stand in an audit log; and a changed one is found
 *
 * The input is a log, and is looked at in pieces.  It is also what goes into the records
 * of a log that is made here: nothing is found in that, until one byte of it is changed,
 * where the input's first three bytes say.
 */
#include <assert.h>
#include <string.h>

#include "audit/chain.h"
#include "audit/verify.h"
#include "wire/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
count(void *arg, const struct audit_finding *f)
{
	assert(f->text != NULL && f->what != NULL);
	*(unsigned *)arg += !f->is_note;
}

static unsigned
look_at(struct str text, size_t piece, const char *head, uint64_t *lines)
{
	unsigned found = 0;
	struct audit_verify_options o = { .head = head, .say = count, .arg = &found };
	struct audit_verify *v = audit_verify_new(&o);
	struct audit_sums sums;
	struct audit_line line;
	struct lines in;

	lines_init(&in);
	audit_verify_file(v, "log");
	for (; text.n > 0; text = str_sub(text, piece, text.n)) {
		struct str now = str_sub(text, 0, piece);

		memcpy(lines_room(&in), now.p, now.n);
		lines_grew(&in, now.n);
		while (lines_next(&in, &line))
			audit_verify_line(v, &line);
	}
	if (lines_last(&in, &line))
		audit_verify_line(v, &line);
	audit_verify_end(v, &sums);
	audit_verify_free(v);
	lines_fini(&in);
	assert(found == sums.findings);
	*lines = sums.lines;
	return found;
}

/* A record for each line of the text. */
static void
make_log(struct str text, struct chain *chain, struct buf *out)
{
	struct buf body;
	struct str line;
	unsigned seq = 0;

	buf_init(&body, 16 << 20);
	while (str_split(&text, '\n', &line)) {
		struct json_out j;

		buf_reset(&body);
		buf_fmt(&body, "{\"v\":1,\"seq\":%u,\"kind\":\"http\",\"text\":", ++seq);
		json_out_init(&j, &body);
		json_str(&j, str_sub(line, 0, 10000));
		chain_seal(chain, buf_view(&body), out);
	}
	buf_fini(&body);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct chain chain;
	struct buf log;
	struct str in;
	uint64_t a, b;
	unsigned whole, pieces;

	if (size < 4)
		return 0;
	in = (struct str){ (const char *)data + 3, size - 3 };
	whole = look_at(in, in.n < LINES_PIECE ? in.n : LINES_PIECE, NULL, &a);
	pieces = look_at(in, data[0] % 64 + 1, NULL, &b);
	assert(whole == pieces && a == b);

	chain_init(&chain, STR_NONE);
	buf_init(&log, 64 << 20);
	make_log(in, &chain, &log);
	size_t at = ((size_t)data[0] << 8 | data[1]) % log.n;
	char xor = (char)(data[2] | (data[2] == 0));

	whole = look_at(buf_view(&log), 4096, chain.head, &a);
	assert(whole == 0);
	log.p[at] = (char)(log.p[at] ^ xor);
	whole = look_at(buf_view(&log), 4096, chain.head, &a);
	assert(whole > 0 || at + 1 == log.n); /* the last LF says nothing */
	buf_fini(&log);
	chain_fini(&chain);
	return 0;
}
