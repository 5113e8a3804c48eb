/*
 * guise.c - the ways in which one secret is written
 */
#include "audit/guise.h"

#include <string.h>

static void
put_hex(struct buf *to, struct str secret, const char *digits)
{
	for (size_t i = 0; i < secret.n; i++) {
		unsigned char c = (unsigned char)secret.p[i];
		buf_char(to, digits[c >> 4]);
		buf_char(to, digits[c & 15]);
	}
}

/*
 * Behind `skip` bytes of something else the first characters also say what came
 * before, and the last ones what follows: these are left out.
 */
static void
put_base64(struct buf *to, struct str secret, size_t skip, const char *last)
{
	static const char plain[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	size_t first = (skip * 8 + 5) / 6, bits = (skip + secret.n) * 8;

	for (size_t at = first; at * 6 + 6 <= bits; at++) {
		unsigned value = 0;
		for (size_t i = at * 6; i < at * 6 + 6; i++) {
			unsigned char c = (unsigned char)secret.p[i / 8 - skip];
			value = value << 1 | ((unsigned)c >> (7 - i % 8) & 1u);
		}
		buf_char(to, value < 62 ? plain[value] : last[value - 62]);
	}
}

static const char all[] = "";

/* What writers of URLs, of JSON (plain, PHP's, and those who think of HTML) and of HTML
 * put instead of single characters; of URLs in URLs; and who escapes each of them. */
static const struct escaping {
	const char *of; /* these; NULL: all that a URL does not take as they are */
	const char *before;
	enum { ITSELF, UPPER_HEX, LOWER_HEX, DECIMAL } as;
	const char *behind;
} escapings[] = {
	{ NULL, "%", UPPER_HEX, "" },
	{ NULL, "%", LOWER_HEX, "" },
	{ "\"\\", "\\", ITSELF, "" },
	{ "\"\\/", "\\", ITSELF, "" },
	{ "<>&='+", "\\u00", LOWER_HEX, "" },
	{ "<>&='+", "\\u00", UPPER_HEX, "" },
	{ "<>&=\"'/`", "&#x", UPPER_HEX, ";" },
	{ "<>&=\"'/`", "&#", DECIMAL, ";" },
	{ NULL, "%25", UPPER_HEX, "" },
	{ NULL, "%25", LOWER_HEX, "" },
	{ all, "%", UPPER_HEX, "" },
	{ all, "%", LOWER_HEX, "" },
	{ all, "\\u00", UPPER_HEX, "" },
	{ all, "\\u00", LOWER_HEX, "" },
};

static void
put_escape(struct buf *to, const struct escaping *e, char c)
{
	unsigned char byte = (unsigned char)c;

	buf_text(to, e->before);
	switch (e->as) {
	case ITSELF:
		buf_char(to, c);
		break;
	case UPPER_HEX:
		buf_fmt(to, "%02X", byte);
		break;
	case LOWER_HEX:
		buf_fmt(to, "%02x", byte);
		break;
	case DECIMAL:
		buf_fmt(to, "%d", byte);
		break;
	}
	buf_text(to, e->behind);
}

static bool
is_escaped(const struct escaping *e, char c)
{
	if (e->of == all)
		return true;
	if (e->of != NULL)
		return c != '\0' && strchr(e->of, c) != NULL;
	return !ascii_is_alnum(c) && (c == '\0' || strchr("-._~", c) == NULL);
}

static void
put_escaped(struct buf *to, struct str secret, const struct escaping *e)
{
	for (size_t i = 0; i < secret.n; i++)
		if (is_escaped(e, secret.p[i]))
			put_escape(to, e, secret.p[i]);
		else
			buf_char(to, secret.p[i]);
}

static void
hand_over(struct buf *form, enum guise guise, guise_take *take, void *arg)
{
	take(buf_view(form), guise, arg);
	buf_reset(form);
}

void
guises(struct str secret, guise_take *take, void *arg)
{
	struct buf form;

	take(secret, GUISE_PLAIN, arg);
	buf_init(&form, secret.n * 6 + 16);
	form.is_secret = true;
	put_hex(&form, secret, "0123456789abcdef");
	hand_over(&form, GUISE_HEX, take, arg);
	put_hex(&form, secret, "0123456789ABCDEF");
	hand_over(&form, GUISE_HEX, take, arg);
	for (size_t skip = 0; skip < 3; skip++) {
		put_base64(&form, secret, skip, "+/");
		hand_over(&form, GUISE_BASE64, take, arg);
		put_base64(&form, secret, skip, "-_");
		hand_over(&form, GUISE_BASE64, take, arg);
	}
	for (size_t i = 0; i < sizeof(escapings) / sizeof(*escapings); i++) {
		put_escaped(&form, secret, &escapings[i]);
		hand_over(&form, GUISE_ESCAPED, take, arg);
	}
	buf_fini(&form);
}
