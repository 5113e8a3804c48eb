/*
 * known_fuzz.c - a held secret, in any encoding and among any bytes, never survives
 */
#include <assert.h>
#include <string.h>

#include "audit/guise.h"
#include "audit/mark.h"
#include "audit/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct trial {
	const struct redactor *r;
	struct str before, behind;
};

static void
put_all_percent(struct buf *to, struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		buf_fmt(to, "%%%02x", (unsigned)(unsigned char)s.p[i]);
}

/* A byte that is not in the form; -1: all are. */
static int
other_byte(struct str form)
{
	int c = 255;

	while (c >= 0 && memchr(form.p, c, form.n) != NULL)
		c--;
	return c;
}

/* Somebody's secret is the word redacted: marks do not count. */
static bool
has_form(struct str text, struct str form)
{
	int other = other_byte(form);
	struct buf b;

	if (other < 0)
		return false;
	buf_init(&b, text.n);
	for (size_t at = 0; at < text.n;) {
		size_t mark = mark_length(str_sub(text, at, text.n));
		buf_char(&b, mark > 0 ? (char)other : text.p[at]);
		at += mark > 0 ? mark : 1;
	}
	bool has = b.n > 0 && memmem(b.p, b.n, form.p, form.n) != NULL;
	buf_fini(&b);
	return has;
}

static void
never_survives(const struct trial *t, enum redact_as as, struct str form)
{
	struct buf in, out, again;

	buf_init(&in, 1 << 22);
	buf_init(&out, 1 << 26);
	buf_init(&again, 1 << 26);
	buf_str(&in, t->before);
	buf_str(&in, form);
	buf_str(&in, t->behind);
	redact(t->r, as, buf_view(&in), &out);
	assert(!has_form(buf_view(&out), form));
	redact(t->r, as, buf_view(&out), &again);
	assert(str_eq(buf_view(&out), buf_view(&again)));
	buf_fini(&in);
	buf_fini(&out);
	buf_fini(&again);
}

static void
try_form(struct str form, enum guise guise, void *arg)
{
	struct buf percent;

	(void)guise;
	for (int as = REDACT_TEXT; as <= REDACT_URL; as++)
		never_survives(arg, (enum redact_as)as, form);
	buf_init(&percent, 1 << 22);
	put_all_percent(&percent, form);
	never_survives(arg, REDACT_URL, buf_view(&percent));
	buf_fini(&percent);
}

/* The first byte says how long the secret is that follows, the second where what is left
 * is divided into what stands before it and behind it. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct redactor *r;
	struct str all = { (const char *)data, size };

	if (r == NULL)
		r = redactor_new(STR("a key"), "k1");
	if (size < 2 + SECRET_LEAST)
		return 0;
	struct str secret = str_sub(all, 2, SECRET_LEAST + data[0] % 64);
	struct str rest = str_sub(all, 2 + secret.n, size);
	size_t before = rest.n == 0 ? 0 : data[1] % (rest.n + 1);
	struct known *known = known_new(&secret, 1);
	struct trial t = { r, str_sub(rest, 0, before), str_sub(rest, before, rest.n) };

	known_share(known);
	guises(secret, try_form, &t);
	known_free(known);
	return 0;
}
