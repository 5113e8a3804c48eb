/*
 * script.c - the Lua scripts of the Redis ledger
 */
#include "ledger/script.h"

#include <openssl/sha.h>

#include "ledger/row.h"

static void
print_fields(struct buf *to, const char *name, bool is_text)
{
	buf_fmt(to, "local %s = {\n", name);
	for (size_t kind = 0; kind < ROW_KINDS; kind++) {
		const struct row_shape *shape = &row_shapes[kind];

		buf_fmt(to, "\t%s = {", shape->name);
		for (size_t i = 0; i < shape->nfield; i++)
			if (shape->field[i].is_text == is_text)
				buf_fmt(to, " '%s',", shape->field[i].name);
		buf_text(to, " },\n");
	}
	buf_text(to, "}\n");
}

void
script_print(struct buf *to, enum script which)
{
	buf_fmt(to, "local FORMAT = '%d'\n", ROW_FORMAT);
	print_fields(to, "NUMS", false);
	print_fields(to, "TEXTS", true);
	buf_text(to, script_prelude);
	buf_text(to, script_texts[which]);
}

void
script_sha(char out[static SCRIPT_SHA], struct str text)
{
	static const char hex[] = "0123456789abcdef";
	unsigned char digest[SHA_DIGEST_LENGTH];

	SHA1((const unsigned char *)text.p, text.n,
	    digest); /* it is a name, not a proof */
	for (size_t i = 0; i < sizeof(digest); i++) {
		out[2 * i] = hex[digest[i] >> 4];
		out[2 * i + 1] = hex[digest[i] & 15];
	}
}
