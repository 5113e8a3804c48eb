/*
 * str.h - text as a slice, text that grows, and memory that never comes back NULL
 *
 * A `struct str` is borrowed bytes with a length: no NUL at the end, NULs may be
 * inside.  A `struct buf` owns what it holds, grows up to a limit its user set,
 * and remembers when that limit was crossed instead of cutting text in silence.
 *
 * Small allocations end the process when they fail (a supervisor restarts it, and
 * a proxy that is down lets nothing out); whatever a peer sizes is capped first.
 */
#ifndef WEIR_BASE_STR_H
#define WEIR_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

/* Memory: never NULL; the process ends with a line on stderr instead. */
void *mem_alloc(size_t n) __attribute__((malloc));
void *mem_zalloc(size_t n) __attribute__((malloc)); /* all zero */
void *mem_resize(void *p, size_t n);
char *mem_strdup(const char *s);

struct str {
	const char *p;
	size_t n;
};

#define STR(literal) ((struct str){ (literal), sizeof(literal) - 1 })
#define STR_NONE ((struct str){ NULL, 0 })
#define STR_ARG(s) (int)(s).n, (s).p /* for "%.*s" */

/* Small ones stand here whole: parsers call them for each byte. */

static inline char
ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static inline char
ascii_upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - ('a' - 'A')) : c;
}

static inline bool
ascii_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool
ascii_is_alnum(char c)
{
	return ascii_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* -1 when it is none */
static inline int
ascii_hex_value(char c)
{
	if (ascii_is_digit(c))
		return c - '0';
	c = ascii_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static inline bool
ascii_is_hex(char c)
{
	return ascii_hex_value(c) >= 0;
}

/* At most n bytes from `from` on, clipped to s. */
static inline struct str
str_sub(struct str s, size_t from, size_t n)
{
	if (s.p == NULL)
		return s;
	if (from > s.n)
		from = s.n;
	if (n > s.n - from)
		n = s.n - from;
	return (struct str){ s.p + from, n };
}

static inline bool
str_eq(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* Copies it to where there is room for it. */
static inline void
str_put(char *to, struct str s)
{
	if (s.n >
	    0) /* an empty one may be nowhere, of which memcpy() takes not even nothing */
		memcpy(to, s.p, s.n);
}

static inline bool
str_starts(struct str s, struct str prefix)
{
	return s.n >= prefix.n && str_eq(str_sub(s, 0, prefix.n), prefix);
}

/* The first; *at only when true. */
static inline bool
str_find(struct str s, char c, size_t *at)
{
	const char *hit = s.n > 0 ? (const char *)memchr(s.p, c, s.n) : NULL;

	if (hit == NULL)
		return false;
	*at = (size_t)(hit - s.p);
	return true;
}

struct str str_of(const char *cstr);                     /* NULL is the empty slice */
bool str_eq_nocase(struct str a, struct str b);          /* ASCII only */
bool str_is_any(struct str s, const char *const *words); /* the same; NULL ends them */
bool str_ends(struct str s, struct str suffix);
bool str_rfind(struct str s, char c, size_t *at);
struct str str_trim(struct str s); /* SP and HTAB, both ends */
/* The next piece up to `sep`; *rest moves past it.  False: *rest was used up (p NULL). */
bool str_split(struct str *rest, char sep, struct str *piece);
/* Plain decimal: digits only, no sign, no leading zero unless "0", fits in 64 bits. */
bool str_decimal(struct str s, uint64_t *out);
#define STR_DIGITS 20 /* of the largest number; no NUL */
/* Plain decimal, in `memory`: where printf() would be seen in a profile. */
struct str str_digits(char memory[static STR_DIGITS], uint64_t n);
char *str_dup(struct str s); /* owned, NUL-terminated copy */

struct buf {
	char *p;
	size_t n, cap;
	size_t max;     /* never holds more than this */
	bool is_over;   /* something did not fit; it was left out whole */
	bool is_secret; /* set after buf_init(): wiped before its memory goes */
};

void buf_init(struct buf *b, size_t max); /* allocates nothing yet */
void buf_fini(struct buf *b);             /* frees; the buf may be used again (empty) */
void buf_reset(struct buf *b);            /* empty, keeps its memory, clears is_over */
void buf_add(struct buf *b, const void *p, size_t n);
void buf_str(struct buf *b, struct str s);
void buf_text(struct buf *b, const char *cstr);
void buf_char(struct buf *b, char c);
void buf_fmt(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_vfmt(struct buf *b, const char *fmt, va_list ap);
const char *plural(uint64_t n); /* what a noun behind the number ends with: "s" or "" */
void buf_drop(struct buf *b, size_t n); /* forget the first n bytes */
/* Room for n more bytes to write into, or NULL beyond max; then buf_grew(b, used). */
char *buf_room(struct buf *b, size_t n);
void buf_grew(struct buf *b, size_t n);
struct str buf_view(const struct buf *b); /* good until the next change */
const char *buf_cstr(struct buf *b);      /* NUL-terminated view, the NUL not counted */

#endif
