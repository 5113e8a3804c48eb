/*
 * coded.c - text in a run of base64 or hex digits
 */
#include "audit/coded.h"

/* Both alphabets of RFC 4648: + and -, / and _ are one digit each. */
static unsigned char
digit64(char c)
{
	if (c >= 'a')
		return (unsigned char)(c - 'a' + 26);
	if (c == '_')
		return 63;
	if (c >= 'A')
		return (unsigned char)(c - 'A');
	if (c >= '0')
		return (unsigned char)(c - '0' + 52);
	return c == '/' ? 63 : 62;
}

static unsigned char
digit(enum coded code, char c)
{
	return code == CODED_HEX ? (unsigned char)ascii_hex_value(c) : digit64(c);
}

static bool
is_text(unsigned char c)
{
	return (c >= ' ' && c < 0x7f) || c == '\t' || c == '\n' || c == '\r';
}

/* The bytes that the digits at `at` say, at most three; 0: it ends here. */
static size_t
decode_group(enum coded code, struct str run, size_t at, unsigned char out[static 3])
{
	unsigned group = 0;
	unsigned bits = code == CODED_HEX ? 4 : 6;
	size_t want = code == CODED_HEX ? 2 : 4;
	size_t n = 0;

	for (; n < want && at + n < run.n; n++)
		group = group << bits | digit(code, run.p[at + n]);
	size_t bytes = n * bits / 8;
	group <<= (want - n) * bits;
	for (size_t i = 0; i < bytes; i++)
		out[i] = (unsigned char)(group >> ((want * bits / 8 - 1 - i) * 8));
	return bytes;
}

/* Whether the digit at `at` can begin a byte below 0x80: half of all cannot. */
static bool
may_be_text(enum coded code, char c)
{
	if (code == CODED_HEX)
		return c >= '0' && c <= '7';
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'f');
}

/* What is too short to be text on purpose goes again. */
static void
end_text(struct buf *out, size_t begin)
{
	if (out->n - begin < CODED_TEXT)
		out->n = begin;
	else
		buf_char(out, '\n');
}

static void
take_bytes(struct buf *out, size_t *begin, const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (is_text(bytes[i])) {
			buf_char(out, (char)bytes[i]);
			continue;
		}
		end_text(out, *begin);
		*begin = out->n;
	}
}

bool
coded_texts(enum coded code, struct str run, size_t shift, struct buf *out)
{
	size_t step = code == CODED_HEX ? 2 : 4;
	size_t first = out->n, begin = out->n;
	unsigned char bytes[3];
	bool was_skipped = false;

	for (size_t at = shift; at < run.n; at += step) {
		bool is_between = out->n == begin;

		if (is_between && !may_be_text(code, run.p[at])) {
			was_skipped = true;
			continue;
		}
		if (is_between && was_skipped) /* a text may begin within a group */
			take_bytes(out, &begin, bytes,
			    decode_group(code, run, at - step, bytes));
		was_skipped = false;
		take_bytes(out, &begin, bytes, decode_group(code, run, at, bytes));
	}
	end_text(out, begin);
	return out->n > first;
}
