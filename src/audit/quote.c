/*
 * quote.c - outside text into a record
 */
#include "audit/quote.h"

#include "base/utf8.h"
#include "wire/chars.h"

#define SCRATCH_MAX \
	((size_t)4 << 20) /* redacted text; a target or a field is far smaller */

#define BEHIND 1024 /* of what is cut off: a secret may reach into it */

void
quoter_init(struct quoter *q, const struct redactor *r, struct buf *to)
{
	json_out_init(&q->json, to);
	q->redactor = r;
	buf_init(&q->scratch, SCRATCH_MAX);
}

void
quoter_fini(struct quoter *q)
{
	buf_fini(&q->scratch);
}

/* One character that cannot stand as it is; returns how many bytes it was. */
static size_t
put_special(struct buf *to, struct str rest)
{
	uint32_t code = (unsigned char)rest.p[0];
	size_t n = utf8_char(rest, &code);

	if (code == '"' || code == '\\')
		buf_fmt(to, "\\%c", (int)code);
	else if (n == 0 || utf8_is_control(code))
		buf_fmt(
		    to, "\\u%04x", n == 0 ? (unsigned)(unsigned char)rest.p[0] : code);
	else
		buf_add(to, rest.p, n);
	return n > 0 ? n : 1;
}

/* How many bytes at the front stand as they are; JSON would let DEL stand, a terminal
 * should not. */
static size_t
plain_span(struct str text)
{
	size_t n = 0;

	while (n < text.n && char_is(text.p[n], CHAR_PLAIN) && text.p[n] != 0x7f)
		n++;
	return n;
}

static void
put_escaped(struct buf *to, struct str text)
{
	while (text.n > 0) {
		size_t plain = plain_span(text);

		buf_add(to, text.p, plain);
		if (plain < text.n)
			plain += put_special(to, str_sub(text, plain, text.n));
		text = str_sub(text, plain, text.n);
	}
}

/* As utf8_cut(), for text that need not be UTF-8: at most three bytes are taken back. */
static struct str
cut(struct str text, size_t cap)
{
	size_t n = cap;

	while (n > 0 && n + 3 > cap && ((unsigned char)text.p[n] & 0xc0) == 0x80)
		n--;
	return str_sub(text, 0, n);
}

static struct str
redacted(struct quoter *q, enum redact_as as, struct str text, size_t cap)
{
	if (q->redactor == NULL)
		return text;
	buf_reset(&q->scratch);
	redact_part(q->redactor, as, text, cap + BEHIND, &q->scratch);
	return buf_view(&q->scratch);
}

void
quote(struct quoter *q, enum redact_as as, struct str text, size_t cap)
{
	struct buf *to = q->json.to;

	text = redacted(q, as, text, cap);
	json_raw(&q->json, STR("\""));
	if (text.n <= cap) {
		put_escaped(to, text);
	} else {
		put_escaped(to, cut(text, cap));
		buf_str(to, STR("\xe2\x80\xa6")); /* U+2026 */
	}
	buf_char(to, '"');
}

void
quote_member(
    struct quoter *q, const char *key, enum redact_as as, struct str text, size_t cap)
{
	if (text.n == 0)
		return;
	json_key(&q->json, key);
	quote(q, as, text, cap);
}

void
quote_number(struct quoter *q, const char *key, uint64_t n)
{
	char digits[STR_DIGITS];

	json_key(&q->json, key);
	json_raw(&q->json, str_digits(digits, n));
}

void
quote_name(struct quoter *q, const char *key, const char *own)
{
	if (own == NULL)
		return;
	json_key(&q->json, key);
	json_text(&q->json, own);
}
