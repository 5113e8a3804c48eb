/*
 * scrub.c - a provider's answer without the credential that was sent to it
 */
#include "proxy/scrub.h"

#include <assert.h>
#include <string.h>

#define SECRET_LEAST 8
#define HELD_MAX ((size_t)32 << 20) /* more than a piece and a secret can be */

static struct buf *
new_form(struct scrub *s, size_t most)
{
	struct buf *b = &s->form[s->nform];

	assert(s->nform < SCRUB_FORMS);
	s->nform++;
	buf_init(b, most);
	b->is_secret = true;
	return b;
}

static void
add_plain(struct scrub *s, struct str secret)
{
	buf_str(new_form(s, secret.n), secret);
}

static void
add_hex(struct scrub *s, struct str secret, const char *digits)
{
	struct buf *b = new_form(s, secret.n * 2);

	for (size_t i = 0; i < secret.n; i++) {
		unsigned char c = (unsigned char)secret.p[i];
		buf_char(b, digits[c >> 4]);
		buf_char(b, digits[c & 15]);
	}
}

/*
 * Behind `skip` bytes of something else the first characters also say what came
 * before, and the last ones what follows: these are left out.
 */
static void
add_base64(struct scrub *s, struct str secret, size_t skip, const char *last)
{
	static const char plain[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	size_t first = (skip * 8 + 5) / 6, bits = (skip + secret.n) * 8;
	struct buf *b = new_form(s, secret.n * 2);

	for (size_t at = first; at * 6 + 6 <= bits; at++) {
		unsigned value = 0;
		for (size_t i = at * 6; i < at * 6 + 6; i++) {
			unsigned char c = (unsigned char)secret.p[i / 8 - skip];
			value = value << 1 | ((unsigned)c >> (7 - i % 8) & 1u);
		}
		buf_char(b, value < 62 ? plain[value] : last[value - 62]);
	}
}

/* What writers of URLs, of JSON (plain, PHP's, and those who think of HTML) and of HTML
 * put instead of single characters. */
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
};

static void
put_escaped(struct buf *to, const struct escaping *e, char c)
{
	buf_text(to, e->before);
	switch (e->as) {
	case ITSELF:
		buf_char(to, c);
		break;
	case UPPER_HEX:
		buf_fmt(to, "%02X", c);
		break;
	case LOWER_HEX:
		buf_fmt(to, "%02x", c);
		break;
	case DECIMAL:
		buf_fmt(to, "%d", c);
		break;
	}
	buf_text(to, e->behind);
}

static bool
is_escaped(const struct escaping *e, char c)
{
	return e->of != NULL ? strchr(e->of, c) != NULL
			     : !ascii_is_alnum(c) && strchr("-._~", c) == NULL;
}

/* A secret in which nothing needs that escaping is there already. */
static void
add_escaped(struct scrub *s, struct str secret, const struct escaping *e)
{
	struct buf *b = new_form(s, secret.n * 6);

	for (size_t i = 0; i < secret.n; i++)
		if (is_escaped(e, secret.p[i]))
			put_escaped(b, e, secret.p[i]);
		else
			buf_char(b, secret.p[i]);
	for (size_t i = 0; i + 1 < s->nform; i++)
		if (str_eq(buf_view(&s->form[i]), buf_view(b))) {
			buf_fini(b);
			s->nform--;
			return;
		}
}

void
scrub_init(struct scrub *s, struct str secret)
{
	*s = (struct scrub){ .nform = 0 };
	buf_init(&s->held, HELD_MAX);
	if (secret.n < SECRET_LEAST)
		return;
	add_plain(s, secret);
	add_hex(s, secret, "0123456789abcdef");
	add_hex(s, secret, "0123456789ABCDEF");
	for (size_t skip = 0; skip < 3; skip++) {
		add_base64(s, secret, skip, "+/");
		add_base64(s, secret, skip, "-_");
	}
	for (size_t i = 0; i < sizeof(escapings) / sizeof(*escapings); i++)
		add_escaped(s, secret, &escapings[i]);
}

void
scrub_fini(struct scrub *s)
{
	for (size_t i = 0; i < s->nform; i++)
		buf_fini(&s->form[i]);
	s->nform = 0;
	buf_fini(&s->held);
}

void
scrub_text(const struct scrub *s, char *text, size_t n)
{
	for (size_t i = 0; i < s->nform; i++) {
		char *at = text;
		while ((at = memmem(at, n - (size_t)(at - text), s->form[i].p,
			    s->form[i].n)) != NULL)
			memset(at, '*', s->form[i].n);
	}
}

/* How much of the end could be the beginning of a form. */
static size_t
open_end(const struct scrub *s, struct str text)
{
	size_t most = 0;

	for (size_t i = 0; i < s->nform; i++) {
		size_t n = s->form[i].n - 1 < text.n ? s->form[i].n - 1 : text.n;
		for (; n > most; n--)
			if (memcmp(text.p + text.n - n, s->form[i].p, n) == 0)
				most = n;
	}
	return most;
}

void
scrub_feed(struct scrub *s, struct str in, struct buf *to)
{
	struct str all;
	size_t open;

	if (s->nform == 0 || in.n == 0) {
		buf_str(to, in);
		return;
	}
	buf_str(&s->held, in);
	scrub_text(s, s->held.p, s->held.n);
	all = buf_view(&s->held);
	open = open_end(s, all);
	buf_str(to, str_sub(all, 0, all.n - open));
	buf_drop(&s->held, all.n - open);
}

void
scrub_end(struct scrub *s, struct buf *to)
{
	buf_str(to, buf_view(&s->held));
	buf_reset(&s->held);
}
