#include "base/str.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"

#define BUF_FIRST 64

static _Noreturn void
out_of_memory(void)
{
	static const char line[] = "weir: out of memory\n";
	ssize_t written = write(STDERR_FILENO, line, sizeof(line) - 1);

	(void)written;        /* there is nobody left to tell */
	_exit(EXIT_SOFTWARE); /* no core: it would hold keys */
}

void *
mem_alloc(size_t n)
{
	void *p = malloc(n > 0 ? n : 1);

	if (p == NULL)
		out_of_memory();
	return p;
}

void *
mem_zalloc(size_t n)
{
	void *p = calloc(1, n > 0 ? n : 1);

	if (p == NULL)
		out_of_memory();
	return p;
}

void *
mem_resize(void *p, size_t n)
{
	void *moved = realloc(p, n > 0 ? n : 1);

	if (moved == NULL)
		out_of_memory();
	return moved;
}

char *
mem_strdup(const char *s)
{
	return str_dup(str_of(s));
}

struct str
str_of(const char *cstr)
{
	return cstr == NULL ? STR_NONE : (struct str){ cstr, strlen(cstr) };
}

bool
str_eq_nocase(struct str a, struct str b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (ascii_lower(a.p[i]) != ascii_lower(b.p[i]))
			return false;
	return true;
}

bool
str_is_any(struct str s, const char *const *words)
{
	for (; s.n > 0 && *words != NULL; words++)
		if (ascii_lower(s.p[0]) == ascii_lower(**words) &&
		    str_eq_nocase(s, str_of(*words)))
			return true;
	return false;
}

bool
str_ends(struct str s, struct str suffix)
{
	return s.n >= suffix.n && str_eq(str_sub(s, s.n - suffix.n, suffix.n), suffix);
}

bool
str_rfind(struct str s, char c, size_t *at)
{
	const char *hit = s.n > 0 ? memrchr(s.p, c, s.n) : NULL;

	if (hit == NULL)
		return false;
	*at = (size_t)(hit - s.p);
	return true;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

struct str
str_trim(struct str s)
{
	while (s.n > 0 && is_blank(s.p[0]))
		s.p++, s.n--;
	while (s.n > 0 && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

bool
str_split(struct str *rest, char sep, struct str *piece)
{
	size_t at;

	if (rest->p == NULL)
		return false;
	if (str_find(*rest, sep, &at)) {
		*piece = str_sub(*rest, 0, at);
		*rest = str_sub(*rest, at + 1, rest->n);
	} else {
		*piece = *rest;
		*rest = STR_NONE;
	}
	return true;
}

bool
str_decimal(struct str s, uint64_t *out)
{
	uint64_t value = 0;

	if (s.n == 0 || (s.n > 1 && s.p[0] == '0'))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (!ascii_is_digit(s.p[i]))
			return false;
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(s.p[i] - '0'), &value))
			return false;
	}
	*out = value;
	return true;
}

struct str
str_digits(char memory[static STR_DIGITS], uint64_t n)
{
	size_t at = STR_DIGITS;

	do
		memory[--at] = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	return (struct str){ memory + at, STR_DIGITS - at };
}

char *
str_dup(struct str s)
{
	char *copy = mem_alloc(s.n + 1);

	if (s.n > 0)
		memcpy(copy, s.p, s.n);
	copy[s.n] = '\0';
	return copy;
}

void
buf_init(struct buf *b, size_t max)
{
	assert(max < SIZE_MAX); /* the NUL of buf_cstr() comes on top */
	*b = (struct buf){ .max = max };
}

static void
wipe(struct buf *b)
{
	if (b->is_secret && b->p != NULL)
		explicit_bzero(b->p, b->cap);
}

void
buf_fini(struct buf *b)
{
	wipe(b);
	free(b->p);
	*b = (struct buf){ .max = b->max, .is_secret = b->is_secret };
}

void
buf_reset(struct buf *b)
{
	b->n = 0;
	b->is_over = false;
}

/* Not realloc(), which leaves what it copied. */
static char *
moved(struct buf *b, size_t cap)
{
	char *p = mem_alloc(cap);

	if (b->n > 0)
		memcpy(p, b->p, b->n);
	wipe(b);
	free(b->p);
	return p;
}

static bool
grow(struct buf *b, size_t n)
{
	size_t first = b->max < BUF_FIRST ? b->max + 1 : BUF_FIRST;
	size_t cap = b->cap > 0 ? b->cap : first;

	if (n > b->max - b->n)
		return false;
	while (cap < b->n + n + 1)
		cap = cap > b->max / 2 ? b->max + 1 : cap * 2;
	b->p = b->is_secret ? moved(b, cap) : mem_resize(b->p, cap);
	b->cap = cap;
	return true;
}

/*
 * Room for n more and a NUL; false when that crosses max.  A record is put
 * together of a hundred pieces: what fits already is not worth a call.
 */
static inline bool
make_room(struct buf *b, size_t n)
{
	return n < b->cap - b->n || grow(b, n);
}

void
buf_add(struct buf *b, const void *p, size_t n)
{
	if (n == 0)
		return;
	if (!make_room(b, n)) {
		b->is_over = true;
		return;
	}
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

void
buf_str(struct buf *b, struct str s)
{
	buf_add(b, s.p, s.n);
}

void
buf_text(struct buf *b, const char *cstr)
{
	buf_str(b, str_of(cstr));
}

void
buf_char(struct buf *b, char c)
{
	if (!make_room(b, 1))
		b->is_over = true;
	else
		b->p[b->n++] = c;
}

void
buf_fmt(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vfmt(b, fmt, ap);
	va_end(ap);
}

const char *
plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

void
buf_vfmt(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0 || !make_room(b, (size_t)n)) {
		b->is_over = true;
		return;
	}
	vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
	b->n += (size_t)n;
}

void
buf_drop(struct buf *b, size_t n)
{
	assert(n <= b->n);
	if (n > 0 && n < b->n)
		memmove(b->p, b->p + n, b->n - n);
	b->n -= n;
}

char *
buf_room(struct buf *b, size_t n)
{
	return make_room(b, n) ? b->p + b->n : NULL;
}

void
buf_grew(struct buf *b, size_t n)
{
	assert(b->n + n < b->cap);
	b->n += n;
}

struct str
buf_view(const struct buf *b)
{
	return b->p == NULL ? STR("") : (struct str){ b->p, b->n };
}

const char *
buf_cstr(struct buf *b)
{
	if (b->p == NULL)
		return "";
	b->p[b->n] = '\0';
	return b->p;
}
