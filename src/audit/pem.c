/*
 * pem.c - private keys that are written as a block of lines
 */
#include "audit/pem.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define LABEL_MAX 64
#define FULL_LINE 60   /* a body's line is 64, 70 or 76 long, its last one shorter */
#define SHORT_LINES 32 /* in a row: these are words, and no key */
#define RUN_MIN 16     /* in a block that is one line: less may be a word */

static const char begin[] = "-----BEGIN ";
static const char putty[] = "Private-Lines:";

static bool
is_base64(char c)
{
	return ascii_is_alnum(c) || c == '+' || c == '/' || c == '=';
}

/* Behind "-----BEGIN ... PRIVATE KEY ...-----" at `at`, else 0; behind KEY where the
 * dashes are not whole: what stands before them may be a secret of another kind. */
static size_t
label_end(struct str text, size_t at)
{
	static const char key[] = "PRIVATE KEY", dashes[] = "-----";
	struct str rest = str_sub(text, at + sizeof(begin) - 1, LABEL_MAX);
	size_t n;

	if (!str_starts(str_sub(text, at, text.n), STR(begin)))
		return 0;
	if (str_find(rest, '\n', &n))
		rest.n = n;
	if (!str_find(rest, '-', &n))
		return 0;
	const char *word = memmem(rest.p, n, key, sizeof(key) - 1);
	if (word == NULL)
		return 0;
	if (str_starts(str_sub(rest, n, rest.n), STR(dashes)))
		return at + sizeof(begin) - 1 + n + sizeof(dashes) - 1;
	return (size_t)(word - text.p) + sizeof(key) - 1;
}

bool
pem_begins(struct str text, size_t at)
{
	return label_end(text, at) != 0 ||
	       str_starts(str_sub(text, at, text.n), STR(putty));
}

/*
 * Two bytes that stand in each of the words, and that few other texts have together: all
 * bytes are looked at for both at once.
 */
#define BEGIN_PAIR 5 /* BE of -----BEGIN */
#define PUTTY_PAIR 7 /* -L of Private-Lines: */

static bool
is_pair(const char *p)
{
	return (p[0] == 'B' && p[1] == 'E') || (p[0] == '-' && p[1] == 'L');
}

#ifdef __SSE2__
/* All bits of each of the 16 places from p on at which one stands; 17 bytes are read. */
static __m128i
pairs_at(const char *p)
{
	__m128i one = _mm_loadu_si128((const __m128i *)(const void *)p);
	__m128i two = _mm_loadu_si128((const __m128i *)(const void *)(p + 1));
	__m128i be = _mm_and_si128(_mm_cmpeq_epi8(one, _mm_set1_epi8('B')),
	    _mm_cmpeq_epi8(two, _mm_set1_epi8('E')));
	__m128i dash_l = _mm_and_si128(_mm_cmpeq_epi8(one, _mm_set1_epi8('-')),
	    _mm_cmpeq_epi8(two, _mm_set1_epi8('L')));

	return _mm_or_si128(be, dash_l);
}

/* Of the 64 places from p on; 65 bytes are read. */
static bool
has_pairs(const char *p)
{
	__m128i half = _mm_or_si128(pairs_at(p), pairs_at(p + 16));
	__m128i rest = _mm_or_si128(pairs_at(p + 32), pairs_at(p + 48));

	return _mm_movemask_epi8(_mm_or_si128(half, rest)) != 0;
}

static size_t
next_pair(struct str text, size_t at)
{
	unsigned bits;

	while (at + 65 <= text.n && !has_pairs(text.p + at))
		at += 64;
	for (; at + 17 <= text.n; at += 16)
		if ((bits = (unsigned)_mm_movemask_epi8(pairs_at(text.p + at))) != 0)
			return at + (size_t)__builtin_ctz(bits);
	while (at + 2 <= text.n && !is_pair(text.p + at))
		at++;
	return at + 2 <= text.n ? at : text.n;
}
#else
static size_t
next_pair(struct str text, size_t at)
{
	while (at + 2 <= text.n && !is_pair(text.p + at))
		at++;
	return at + 2 <= text.n ? at : text.n;
}
#endif

bool
pem_find(struct str text, size_t from, size_t *at)
{
	for (size_t i = next_pair(text, from); i < text.n; i = next_pair(text, i + 1)) {
		size_t before = text.p[i] == 'B' ? BEGIN_PAIR : PUTTY_PAIR;

		if (i < from + before || !pem_begins(text, i - before))
			continue;
		*at = i - before;
		return true;
	}
	return false;
}

static bool
is_label_byte(char c)
{
	return (c >= 'A' && c <= 'Z') || ascii_is_digit(c) || c == ' ';
}

/*
 * Behind the dashes of "-----END ...-----" at `at`; 0: it is not there.  What is no label
 * (RFC 7468 3) may be a secret of another kind: only END is of the block then.
 */
static size_t
end_line(struct str text, size_t at)
{
	static const char end[] = "-----END", dashes[] = "-----";
	struct str rest = str_sub(text, at, LABEL_MAX + 16);
	size_t n = sizeof(end) - 1;

	if (!str_starts(rest, STR(end)))
		return 0;
	while (n < rest.n && is_label_byte(rest.p[n]))
		n++;
	if (!str_starts(str_sub(rest, n, rest.n), STR(dashes)))
		return at + sizeof(end) - 1;
	return at + n + sizeof(dashes) - 1;
}

/* ---- a block in one line: "-----BEGIN...-----\nMIIE...\n-----END...-----" */

/* What stands for a newline there: blanks, \n, \r, \\n, and a string's joints. */
static size_t
skip_breaks(struct str line, size_t at)
{
	for (;;) {
		size_t from = at;

		while (at < line.n && strchr(" \t\r\\", line.p[at]) != NULL &&
		       line.p[at] != '\0')
			at++;
		if (at > from && line.p[at - 1] == '\\' && at < line.n &&
		    (line.p[at] == 'n' || line.p[at] == 'r'))
			at++;
		if (at == from)
			return at;
	}
}

/* A field of its head, "Proc-Type: 4,ENCRYPTED": up to what stands for a newline. */
static size_t
skip_field(struct str line, size_t at)
{
	size_t end = at;

	while (end < line.n && (ascii_is_alnum(line.p[end]) || line.p[end] == '-'))
		end++;
	if (end == at || end + 1 >= line.n || line.p[end] != ':' ||
	    line.p[end + 1] != ' ')
		return at;
	end += 2;
	while (end < line.n && line.p[end] != '\\' && line.p[end] != ' ' &&
	       line.p[end] != '"')
		end++;
	return end;
}

static size_t
inline_end(struct str line, size_t at)
{
	size_t last = at; /* behind what is surely the key's */

	for (;;) {
		at = skip_breaks(line, at);
		size_t end = end_line(line, at);
		if (end != 0)
			return end;
		if ((end = skip_field(line, at)) > at) {
			at = last = end;
			continue;
		}
		while (end < line.n && is_base64(line.p[end]))
			end++;
		if (end - at < RUN_MIN && !(end > at && line.p[at] == '='))
			break;
		at = last = end;
	}
	/* the last line of a key whose END is missing may be short */
	size_t tail = at;
	while (tail < line.n && is_base64(line.p[tail]))
		tail++;
	return tail > at && (tail == line.n || line.p[tail - 1] == '=') ? tail : last;
}

/* ---- line by line */

static struct str
bare(struct str line)
{
	while (line.n > 0 && strchr(" \t\r\"',\\", line.p[line.n - 1]) != NULL &&
	       line.p[line.n - 1] != '\0')
		line.n--;
	while (line.n > 0 && strchr(" \t>|#\"'", line.p[0]) != NULL && line.p[0] != '\0')
		line = str_sub(line, 1, line.n);
	return line;
}

static bool
is_field(struct str line)
{
	size_t colon;

	if (!str_find(line, ':', &colon) || colon == 0 || colon > 40)
		return false;
	for (size_t i = 0; i < colon; i++)
		if (!ascii_is_alnum(line.p[i]) && line.p[i] != '-')
			return false;
	return colon + 1 == line.n || line.p[colon + 1] == ' ';
}

static bool
is_body(struct str line)
{
	for (size_t i = 0; i < line.n; i++)
		if (!is_base64(line.p[i]))
			return false;
	return line.n > 0;
}

enum pem_line
pem_first(struct pem *p, struct str line, size_t *end)
{
	size_t at = label_end(line, 0);

	*p = (struct pem){ 0 };
	*end = line.n;
	if (at == 0)
		return PEM_MORE; /* PuTTY's */
	if (bare(str_sub(line, at, line.n)).n == 0) {
		*end = at;
		return PEM_MORE;
	}
	*end = inline_end(line, at);
	return PEM_DONE;
}

enum pem_line
pem_next(struct pem *p, struct str line, size_t *end)
{
	struct str body = bare(line);

	*end = body.n > 0 ? (size_t)(body.p - line.p) + body.n : 0;
	if (body.n == 0)
		return p->in_body && p->short_lines == 0 ? PEM_NOT : PEM_MORE;
	if (str_starts(body, STR("-----END"))) {
		*end = end_line(line, (size_t)(body.p - line.p));
		return PEM_DONE;
	}
	if (!p->in_body && is_field(body))
		return PEM_MORE;
	p->short_lines = body.n < FULL_LINE ? p->short_lines + 1 : 0;
	if (!is_body(body) || p->short_lines > SHORT_LINES)
		return PEM_NOT;
	p->in_body = true;
	return PEM_MORE;
}

size_t
pem_end(struct str text, size_t at, size_t line_end)
{
	struct str rest = str_sub(text, at, text.n);
	struct pem pem;
	size_t from = 0, last = 0;

	for (bool is_first = true;; is_first = false) {
		size_t n = is_first ? line_end - at : rest.n - from, end;
		bool has_next = is_first
				    ? line_end < text.n
				    : str_find(str_sub(rest, from, rest.n), '\n', &n);
		struct str line = str_sub(rest, from, n);
		enum pem_line is =
		    is_first ? pem_first(&pem, line, &end) : pem_next(&pem, line, &end);

		if (is != PEM_NOT && end > 0)
			last = from + end;
		if (is != PEM_MORE || !has_next)
			return at + last;
		from += n + 1;
	}
}
