/*
 * sieve.c - what must not leave, looked for in a request that is about to
 */
#include "proxy/sieve.h"

#include <string.h>

/* Under `dlp` a body is looked at by so much, and so much of that again with the next: a
 * secret and the name before it are shorter. */
#define PIECE ((size_t)64 * 1024)
#define AGAIN ((size_t)8 * 1024)
#define BODY_MAX ((size_t)4 << 20) /* what one read brings, beside a piece */

void
sieve_init(struct sieve *s, const struct redactor *redactor, const struct known *known,
    enum dlp dlp)
{
	*s = (struct sieve){ .redactor = redactor, .known = known, .dlp = dlp };
	buf_init(&s->body, BODY_MAX);
}

void
sieve_fini(struct sieve *s)
{
	buf_fini(&s->body);
}

void
sieve_change(struct sieve *s, const struct redactor *redactor, const struct known *known,
    enum dlp dlp)
{
	s->redactor = redactor;
	s->known = known;
	s->dlp = dlp;
}

bool
sieve_looks(const struct sieve *s)
{
	return s->dlp != DLP_NONE || known_has_any(s->known);
}

/* ---- looking */

static void
found(struct sieve *s, const char *kind, bool is_caught)
{
	if (s->kind == NULL || (is_caught && !s->is_caught))
		s->kind = kind;
	s->is_caught |= is_caught;
}

static void
on_told(void *arg, size_t from, size_t to, const char *kind, const char *why)
{
	struct sieve *s = arg;

	(void)from, (void)to, (void)why;
	found(s, kind, s->dlp == DLP_BLOCK);
}

bool
sieve_holds(const struct known *known, struct str text)
{
	struct spans spans = { 0 };
	bool holds;

	known_find(known, KNOWN_IN_TEXT, text, &spans);
	holds = spans.n > 0;
	spans_fini(&spans);
	return holds;
}

/* What reaches the end of a text that is not whole may be the beginning of another word.
 */
static void
look_held(struct sieve *s, struct str text, bool is_end)
{
	struct spans spans = { 0 };

	known_find(s->known, KNOWN_IN_TEXT, text, &spans);
	for (size_t i = 0; i < spans.n; i++)
		if (is_end || spans.span[i].to < text.n)
			found(s, SIEVE_HELD, true);
	spans_fini(&spans);
}

static void
look_shapes(struct sieve *s, enum redact_as as, struct str text)
{
	if (s->dlp != DLP_NONE && !s->is_caught && text.n > 0)
		redact_explain(s->redactor, as, text, on_told, s);
}

/* ---- the head */

/* "POST /path?query HTTP/1.1" */
static struct str
target_of(struct str line)
{
	struct str method;

	(void)str_split(&line, ' ', &method);
	return str_sub(line, 0, line.n > 9 ? line.n - 9 : 0);
}

bool
sieve_head(struct sieve *s, struct str head)
{
	struct str fields = head, line;

	(void)str_split(&fields, '\n', &line);
	look_held(s, head, true);
	look_shapes(s, REDACT_URL, target_of(str_trim(line)));
	look_shapes(s, REDACT_HEADER, fields);
	return !s->is_caught;
}

/* ---- the body */

bool
sieve_coded(struct sieve *s)
{
	if (s->dlp != DLP_NONE)
		found(s, SIEVE_CODED, s->dlp == DLP_BLOCK);
	return !s->is_caught;
}

/* How much of the text's end could be the beginning of a secret: as it is, or with the
 * escapes that are there. */
static size_t
open_end(const struct sieve *s, struct str text)
{
	size_t at = text.n > AGAIN ? text.n - AGAIN : 0;

	if (s->known == NULL)
		return 0;
	while (at < text.n && strchr("%\\&", text.p[at]) == NULL)
		at++;
	return text.n - at + known_open(s->known, str_sub(text, 0, at));
}

static void
look_body(struct sieve *s, struct str all, bool is_end)
{
	size_t open = is_end ? 0 : open_end(s, all);

	look_held(s, all, is_end);
	look_shapes(s, REDACT_TEXT, all);
	if (!is_end && s->dlp != DLP_NONE && open < AGAIN)
		open = AGAIN;
	s->clear = open < all.n ? all.n - open : 0;
}

void
sieve_add(struct sieve *s, struct str in)
{
	buf_str(&s->body, in);
}

bool
sieve_look(struct sieve *s, bool is_end)
{
	if (s->body.n == 0)
		return true;
	if (s->body.is_over)
		found(s, SIEVE_DOUBT, true);
	else if (is_end || s->dlp == DLP_NONE || s->body.n >= PIECE)
		look_body(s, buf_view(&s->body), is_end);
	return !s->is_caught;
}

void
sieve_pass(struct sieve *s)
{
	s->clear = s->body.n;
}

struct str
sieve_ready(const struct sieve *s)
{
	return str_sub(buf_view(&s->body), 0, s->clear);
}

void
sieve_gone(struct sieve *s)
{
	buf_drop(&s->body, s->clear);
	s->clear = 0;
}
