/*
 * text.c - lines, and characters that try not to be seen
 */
#include "conf/text.h"

#include <string.h>

#include "base/utf8.h"

/* Sorted. */
static const struct {
	uint32_t first, last;
} invisible[] = {
	{ 0x00, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, /* soft hyphen */
	{ 0x61c, 0x61c }, { 0x200b, 0x200f },           /* zero width, direction marks */
	{ 0x2028, 0x202e }, /* line breaks, direction overrides */
	{ 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
	{ 0xe0000, 0xe0fff }, /* tags */
};

bool
text_next(struct str *rest, uint32_t *c)
{
	size_t n = utf8_char(*rest, c);

	if (n == 0)
		*c = (unsigned char)rest->p[0];
	*rest = str_sub(*rest, n == 0 ? 1 : n, rest->n);
	return n > 0;
}

struct str
text_line(struct str text, size_t line)
{
	struct str rest = text;

	for (size_t at = 1; rest.n > 0; at++) {
		const char *end = memchr(rest.p, '\n', rest.n);
		size_t n = end == NULL ? rest.n : (size_t)(end - rest.p);
		if (at == line)
			return str_sub(
			    rest, 0, n > 0 && rest.p[n - 1] == '\r' ? n - 1 : n);
		rest = str_sub(rest, end == NULL ? n : n + 1, rest.n);
	}
	return STR("");
}

/* YAML 1.2 5.1, less the line breaks that editors and libyaml count differently. */
static bool
may_stand_in_a_file(uint32_t c, struct str rest)
{
	if (c == '\r')
		return rest.n > 0 && rest.p[0] == '\n';
	if (c < 0x20)
		return c == '\t' || c == '\n';
	return !(c >= 0x7f && c < 0xa0) && c != 0x2028 && c != 0x2029 && c != 0xfeff &&
	       c != 0xfffe && c != 0xffff;
}

enum text_fault
text_check(struct str text, size_t *line, size_t *column, uint32_t *c)
{
	struct str rest = text;

	*line = *column = 1;
	while (rest.n > 0) {
		if (!text_next(&rest, c))
			return TEXT_NOT_UTF8;
		if (!may_stand_in_a_file(*c, rest))
			return TEXT_CONTROL;
		*column = *c == '\n' ? 1 : *column + 1;
		*line += *c == '\n';
	}
	return TEXT_OK;
}

/* Would it move the cursor, turn the text round or not be seen at all? */
static bool
is_invisible(uint32_t c)
{
	for (size_t i = 0; i < sizeof(invisible) / sizeof(invisible[0]); i++)
		if (c <= invisible[i].last)
			return c >= invisible[i].first;
	return false;
}

size_t
text_show(struct buf *to, struct str character, uint32_t c, bool is_valid)
{
	size_t before = to->n;

	if (is_valid && !is_invisible(c)) {
		buf_str(to, character);
		return 1;
	}
	buf_fmt(to,
	    c < 0x100     ? "\\x%02x"
	    : c < 0x10000 ? "\\u%04x"
			  : "\\U%08x",
	    (unsigned)c);
	return to->n - before;
}

void
text_quote(struct buf *to, const char *text)
{
	if (text == NULL) {
		buf_text(to, "null");
		return;
	}
	buf_char(to, '"');
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			buf_char(to, '\\');
		buf_char(to, *text);
	}
	buf_char(to, '"');
}

struct str
listener_address(struct str text)
{
	struct str secure = STR("tls:");

	return str_starts(text, secure) ? str_sub(text, secure.n, text.n) : text;
}
