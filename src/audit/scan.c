/*
 * scan.c - finds secrets in one piece of text
 */
#include "audit/scan.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "audit/coded.h"
#include "audit/doubt.h"
#include "audit/element.h"
#include "audit/look.h"
#include "audit/mark.h"
#include "audit/random.h"
#include "audit/value.h"

#define LOOK_COST 4  /* where anything may stand */
#define EYE_COST 2   /* each that looks there */
#define LINE_COST 12 /* the first place of a line */
#define UNDO_COST \
	20 /* a code is undone, and what it says is searched, whatever its length ... */
#define STEP_COST 6  /* ... and each character that is written in it */
#define GLANCED 32   /* it costs less where nothing stands */
#define TEXT_COST 64 /* what a code says is searched, whatever its length */
#define BLANKS_MAX 64

static const char why_shape[] = "its own shape";
static const char why_code[] = "what it says when decoded";
static const char why_random[] = "it looks random, and a word before it speaks of it";
static const char why_budget[] = "the line costs too much to be judged";
static const char why_dense[] = "the line has too many secrets to be judged";

void
scan_init(struct scan *s, const struct shapes *shapes, const struct prefilter *filter,
    struct buf *said, struct spans *spans)
{
	*s = (struct scan){
		.shapes = shapes,
		.filter = filter,
		.said = said,
		.spans = spans,
		.spent_max = SIZE_MAX,
		.stride = 1,
	};
}

/* A set is short: a call of strchr() would cost more. */
static inline bool
has_byte(const char *set, char c)
{
	while (*set != '\0' && *set != c)
		set++;
	return *set != '\0';
}

/* ---- lines, and what each may cost */

static void
begin_line(struct piece *p, size_t at)
{
	size_t n, end = p->whole.n;

	if (str_find(str_sub(p->whole, at, p->whole.n), '\n', &n))
		end = at + n;
	p->line = str_rfind(str_sub(p->whole, p->text.n, at - p->text.n), '\n', &n)
		      ? p->text.n + n + 1
		      : p->text.n;
	p->text = str_sub(p->whole, 0, end);
	p->marks = p->scan->spans->n;
	piece_budget(p->scan, p->base + p->line, end - p->line);
}

/* Nearly always nothing is to be given up. */
static inline bool
goes_on(const struct piece *p)
{
	return !piece_is_costly(p->scan) && p->scan->spans->n - p->marks <= SCAN_MARKS;
}

/*
 * Asked as soon as something was looked at, so that what stands in other lines does not
 * matter.  A line that costs too much is masked whole, since what would be left of it
 * might cost as much again; of one with too many secrets what is behind `at` is.  Where
 * to go on.
 */
static size_t
give_up(struct piece *p, size_t at)
{
	bool is_costly = piece_is_costly(p->scan);
	bool is_dense = at + 1 < p->text.n &&
			scan_is_dense(p->scan->spans->n - p->marks, p->text.n - p->line);

	if (!is_costly && !is_dense)
		return at;
	doubt_count(DOUBT_BUDGET);
	piece_mask(p, "doubt", is_costly ? why_budget : why_dense,
	    is_costly ? p->line : at + 1, p->text.n, SPAN_PLAIN);
	return at > p->text.n ? at : p->text.n;
}

/* ---- codes within the text */

/* Empty, for what a code says around which so many were undone. */
static struct buf *
room(struct scan *s, size_t max)
{
	struct buf *said = &s->said[s->depth];

	buf_reset(said);
	said->max = max;
	return said;
}

/* What is in it is searched, as a text of its own. */
static void
scan_said(struct scan *s, const struct buf *said, enum scan_as as, struct spans *found)
{
	struct spans *outer = s->spans;

	s->spans = found;
	s->depth++;
	scan_text(s, buf_view(said), 0, as);
	s->depth--;
	s->spans = outer;
}

/*
 * The text that `raw`, at `at` of the piece, says in a code is searched too; unless that
 * would cost too much: who sees that the line is costly masks it whole.
 */
static void
undo(struct piece *p, size_t at, size_t n, enum span_code code)
{
	struct scan *s = p->scan;
	struct str raw = str_sub(p->whole, at, n);
	struct spans found = { 0 };

	if (s->depth == SCAN_DEPTH)
		return;
	s->work += 2 * n + UNDO_COST;
	if (piece_is_costly(s))
		return;
	struct buf *plain = room(s, 4 * n + 16);
	s->work += span_decode(raw, code, plain) * STEP_COST;
	scan_said(s, plain, p->as == SCAN_URL ? SCAN_URL : SCAN_TEXT, &found);
	spans_map(s->spans, &found, buf_view(plain), raw, p->base + at, code);
	spans_fini(&found);
}

static inline bool
ends_word(char c)
{
	static const bool ends[256] = {
		['"'] = true,
		['\''] = true,
		['`'] = true,
		['<'] = true,
		['>'] = true,
		[0x7f] = true,
	};

	return (unsigned char)c <= ' ' || ends[(unsigned char)c];
}

/* The word around `at`, up to blanks and quotes. */
static void
undo_word(struct piece *p, size_t at, enum span_code code)
{
	size_t from = at, to = at;

	if (at < p->undone[code])
		return;
	while (
	    from > p->undone[code] && from > p->line && !ends_word(p->text.p[from - 1]))
		from--;
	while (to < p->text.n && !ends_word(p->text.p[to]))
		to++;
	p->undone[code] = to;
	undo(p, from, to - from, code);
}

/* %XX: worth a second look unless it stands for a blank or a letter beyond ASCII. */
static size_t
look_percent(struct piece *p, size_t at)
{
	struct str hex = str_sub(p->text, at + 1, 2);

	if (str_starts(str_sub(p->text, at + 1, 3), STR("u00")))
		undo_word(p, at, SPAN_PERCENT); /* as JavaScript's escape() writes it */
	if (hex.n == 2 && ascii_is_hex(hex.p[0]) && ascii_is_hex(hex.p[1]) &&
	    hex.p[0] >= '2' && hex.p[0] <= '7' && memcmp(hex.p, "20", 2) != 0)
		undo_word(p, at, SPAN_PERCENT);
	return 0;
}

/* \x41, \101 */
static bool
is_byte_escape(struct str rest)
{
	if (rest.n < 4)
		return false;
	if (rest.p[1] == 'x')
		return ascii_is_hex(rest.p[2]) && ascii_is_hex(rest.p[3]);
	return has_byte("01", rest.p[1]) && has_byte("01234567", rest.p[2]) &&
	       has_byte("01234567", rest.p[3]);
}

/* \u0041, \u{41} and those */
static size_t
look_escape(struct piece *p, size_t at)
{
	struct str rest = str_sub(p->text, at, 4);

	if (p->as != SCAN_JSON &&
	    (str_starts(rest, STR("\\u00")) || str_starts(rest, STR("\\u{")) ||
		is_byte_escape(rest)))
		undo_word(p, at, SPAN_JSON);
	return 0;
}

/* &quot; and the like: the whole line, since such a quote may hold blanks. */
static size_t
look_entity(struct piece *p, size_t at)
{
	if (at < p->undone[SPAN_HTML] ||
	    !span_begins(str_sub(p->text, at, p->text.n), SPAN_HTML))
		return 0;
	p->undone[SPAN_HTML] = p->text.n;
	undo(p, p->line, p->text.n - p->line, SPAN_HTML);
	return 0;
}

/* {\"a\": ...: JSON as it stands in a string, up to where the string ends. */
static size_t
look_escaped_document(struct piece *p, size_t at)
{
	size_t end = at + 1;

	if (at < p->undone[SPAN_JSON])
		return 0;
	while (end < p->text.n && p->text.p[end] != '"' && p->text.p[end] != '\n')
		end += p->text.p[end] == '\\' && end + 1 < p->text.n ? 2 : 1;
	p->undone[SPAN_JSON] = end;
	p->scan->work += end - at;
	undo(p, at, end - at, SPAN_JSON);
	return 0;
}

/* JSON in the middle of a line. */
static size_t
look_document(struct piece *p, size_t at)
{
	struct str rest =
	    str_sub(p->scan->depth > 0 ? p->whole : p->text, at + 1, BLANKS_MAX);
	size_t n = 0;

	while (n < rest.n && has_byte(" \t\r\n", rest.p[n]))
		n++;
	if (n == rest.n)
		return 0;
	if (rest.p[n] == '\\' && n + 1 < rest.n && rest.p[n + 1] != 'u')
		return look_escaped_document(p, at);
	if (rest.p[n] == '"' || (p->text.p[at] == '[' && has_byte("{[", rest.p[n])))
		return piece_document(p, at, NULL);
	return 0;
}

/* ---- runs of base64, base32 and hex digits, and what looks like a key */

#define FILL_MOST 6 /* what fills up the last digits: of base32 */

/* Where a run has been seen to hold a secret: the rest of it says no less. */
static void
mask_run(struct piece *p, struct spans *found, struct str plain, size_t from, size_t to)
{
	for (int n = 0; n < FILL_MOST && to < p->whole.n && p->whole.p[to] == '='; n++)
		to++;
	spans_cover(p->scan->spans, found, plain,
	    (struct span){ .from = p->base + from, .to = p->base + to, .why = why_code });
}

/* What the digits of [from, to) say.  True: it was masked, or the line will be. */
static bool
decode_digits(struct piece *p, size_t from, size_t to, struct str digits, enum coded code,
    size_t shift)
{
	struct scan *s = p->scan;
	struct spans found = { 0 };

	s->work += digits.n / 2 + TEXT_COST / 4; /* many at once */
	if (piece_is_costly(s))
		return true;
	struct buf *plain = room(s, digits.n + CODED_MORE);
	if (!coded_texts(code, digits, shift, plain))
		return false;
	s->work += TEXT_COST;
	scan_said(s, plain, SCAN_TEXT, &found);
	bool is_found = found.n > 0;
	mask_run(p, &found, buf_view(plain), from, to);
	spans_fini(&found);
	return is_found;
}

/* The same wherever they begin. */
static bool
decode_shifts(struct piece *p, size_t from, size_t to, struct str digits, enum coded code)
{
	if (p->scan->depth == SCAN_DEPTH || digits.n < CODED_MIN)
		return false;
	for (size_t shift = 0; shift < coded_shifts(code); shift++)
		if (piece_is_costly(p->scan) ||
		    decode_digits(p, from, to, digits, code, shift))
			return true;
	return false;
}

static bool
decode_run(struct piece *p, size_t from, size_t to, enum coded code)
{
	return decode_shifts(p, from, to, str_sub(p->whole, from, to - from), code);
}

static bool
is_hex_run(struct str run)
{
	for (size_t i = 0; i < run.n; i++)
		if (!ascii_is_hex(run.p[i]))
			return false;
	return true;
}

/* /a/HEX/b is one run of base64 digits, and what is between its slashes is none. */
static bool
decode_stretches(struct piece *p, size_t from, size_t to, enum coded code)
{
	bool is_found = false;
	size_t at = from, end;

	while (coded_stretch(code, p->whole, to, &at, &end)) {
		is_found |= decode_run(p, at, end, code);
		at = end;
	}
	return is_found;
}

/* Where the pairs of hex digits end that begin at `at`, with `mark` between each two. */
static size_t
pairs_end(struct str text, size_t at, char mark)
{
	while (at + 2 <= text.n && ascii_is_hex(text.p[at]) &&
	       ascii_is_hex(text.p[at + 1])) {
		at += 2;
		if (at == text.n || text.p[at] != mark)
			return at;
		at++;
	}
	return at > 0 ? at - 1 : 0;
}

#define PAIRS_MIN (CODED_MIN / 2 * 3 - 1) /* bytes of so many digits */

/* 41:42:43..., 41-42-43...: what the pairs around the mark at `at` say; where they end,
 * or 0: there are too few. */
static size_t
look_pairs(struct piece *p, size_t at)
{
	struct str text = p->text;
	char mark = text.p[at];
	struct buf digits;

	if (at < p->line + 2 || p->scan->depth == SCAN_DEPTH)
		return 0;
	size_t from = at - 2, to = pairs_end(text, from, mark);
	if (to < from + PAIRS_MIN)
		return 0;
	buf_init(&digits, to - from);
	digits.is_secret = true;
	for (size_t i = from; i < to; i += 3)
		buf_add(&digits, text.p + i, 2);
	(void)decode_digits(p, from, to, buf_view(&digits), CODED_HEX, 0);
	buf_fini(&digits);
	return to;
}

/* A glance, where marks are many: two more must follow at the same distance. */
static inline bool
may_be_pairs(struct str text, size_t at)
{
	return at + PAIRS_MIN <= text.n + 2 && text.p[at + 3] == text.p[at] &&
	       text.p[at + 6] == text.p[at];
}

static bool
decode_pairs(struct piece *p, size_t from, size_t to)
{
	const char *text = p->whole.p;
	size_t marks = p->scan->spans->n, end;

	for (size_t at = from + 2; at + 3 < to; at++)
		if (text[at] == '-' && may_be_pairs(p->text, at) &&
		    (end = look_pairs(p, at)) > 0)
			at = end;
	return p->scan->spans->n > marks;
}

/* True: something in it was masked. */
static bool
decode_all(struct piece *p, size_t from, size_t to)
{
	if (is_hex_run(str_sub(p->whole, from, to - from)))
		return decode_run(p, from, to, CODED_HEX);
	bool is_found = decode_stretches(p, from, to, CODED_HEX);
	is_found |= decode_stretches(p, from, to, CODED_BASE32);
	is_found |= decode_stretches(p, from, to, CODED_BASE32_SMALL);
	is_found |= decode_pairs(p, from, to);
	return is_found | decode_run(p, from, to, CODED_BASE64);
}

static void
look_run(struct piece *p, size_t from, size_t to)
{
	if (decode_all(p, from, to))
		return;
	size_t line = from > RANDOM_BEFORE ? from - RANDOM_BEFORE : 0;
	struct str before = str_sub(p->whole, line, from - line);
	size_t newline;
	if (str_rfind(before, '\n', &newline))
		line += newline + 1;
	if (random_is_secret(str_sub(p->whole, line, to - line), from - line, to - line,
		&p->scan->work))
		piece_mask(p, "generic", why_random, from, to, SPAN_PLAIN);
}

void
scan_digits(struct scan *s, struct str text, size_t from, size_t to)
{
	struct piece p = { .scan = s, .whole = text, .text = text, .as = SCAN_TEXT };
	struct buf digits;

	piece_budget(s, from, to - from);
	buf_init(&digits, to - from);
	digits.is_secret = true;
	for (size_t at = from, n; at < to; at += n + 1) {
		for (n = 0; at + n < to && coded_is_digit(text.p[at + n]);)
			n++;
		buf_add(&digits, text.p + at, n);
	}
	bool is_hex = is_hex_run(buf_view(&digits));
	(void)decode_shifts(
	    &p, from, to, buf_view(&digits), is_hex ? CODED_HEX : CODED_BASE64);
	if (piece_is_costly(s))
		piece_mask(&p, "doubt", why_budget, from, to, SPAN_PLAIN);
	buf_fini(&digits);
}

#define RUN_WINDOW 64

/* A bit for each of the RUN_WINDOW bytes at p: is it a digit of a run. */
#ifdef __SSE2__
static uint64_t
run_bytes(const char *p)
{
	uint64_t bits = 0;

	for (int i = 0; i < RUN_WINDOW; i += 16) {
		__m128i c = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
		__m128i small = _mm_or_si128(c, _mm_set1_epi8(0x20));
		/* signed comparisons: what is beyond ASCII is below all of them */
		__m128i is = _mm_or_si128(
		    _mm_and_si128(_mm_cmpgt_epi8(small, _mm_set1_epi8('a' - 1)),
			_mm_cmplt_epi8(small, _mm_set1_epi8('z' + 1))),
		    _mm_and_si128(_mm_cmpgt_epi8(c, _mm_set1_epi8('/' - 1)),
			_mm_cmplt_epi8(c, _mm_set1_epi8('9' + 1))));
		is = _mm_or_si128(is, _mm_cmpeq_epi8(c, _mm_set1_epi8('_')));
		is = _mm_or_si128(is, _mm_cmpeq_epi8(c, _mm_set1_epi8('+')));
		is = _mm_or_si128(is, _mm_cmpeq_epi8(c, _mm_set1_epi8('-')));
		bits |= (uint64_t)(unsigned)_mm_movemask_epi8(is) << i;
	}
	return bits;
}
#else
static uint64_t
run_bytes(const char *p)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < RUN_WINDOW; i++)
		bits |= (uint64_t)coded_is_digit(p[i]) << i;
	return bits;
}
#endif

/* The same for those from `at` on; what is behind the text's end is no digit. */
static inline uint64_t
run_bytes_within(struct str text, size_t at)
{
	char last[RUN_WINDOW] = { 0 };

	if (text.n - at >= RUN_WINDOW)
		return run_bytes(text.p + at);
	memcpy(last, text.p + at, text.n - at);
	return run_bytes(last);
}

/* A bit for each place where RANDOM_MIN bits begin that are all set. */
static uint64_t
runs_in(uint64_t bits)
{
	_Static_assert(RANDOM_MIN == 20, "sixteen and four");

	bits &= bits >> 1;
	bits &= bits >> 2;
	bits &= bits >> 4;
	bits &= bits >> 8;
	return bits & bits >> 4;
}

/* How many bits are set at either end. */
static inline size_t
set_first(uint64_t bits)
{
	return bits == UINT64_MAX ? RUN_WINDOW : (size_t)__builtin_ctzll(~bits);
}

static inline size_t
set_last(uint64_t bits)
{
	return bits == UINT64_MAX ? RUN_WINDOW : (size_t)__builtin_clzll(~bits);
}

/* The first place at or behind `at` where RANDOM_MIN digits stand, or the text's end. */
static size_t
next_run(struct str text, size_t at)
{
	size_t before = 0; /* digits that the last window ends with */

	if (text.n < RANDOM_MIN)
		return text.n;
	for (; at < text.n; at += RUN_WINDOW) {
		uint64_t bits = run_bytes_within(text, at), runs = runs_in(bits);

		if (before + set_first(bits) >= RANDOM_MIN)
			return at - before;
		if (runs != 0)
			return at + (size_t)__builtin_ctzll(runs);
		before = set_last(bits);
	}
	return text.n;
}

/* Whether [from, to) touches what was masked already; *i moves along. */
static bool
is_masked(const struct spans *spans, size_t *i, size_t from, size_t to)
{
	while (*i < spans->n && spans->span[*i].to <= from)
		++*i;
	return *i < spans->n && spans->span[*i].from < to;
}

static void
scan_runs(struct piece *p, size_t first)
{
	struct str text = p->whole;
	struct spans *spans = p->scan->spans;
	struct spans known = { 0 };
	size_t i = 0, to;

	if (spans->n > first)
		known =
		    (struct spans){ .span = spans->span + first, .n = spans->n - first };
	spans_merge(&known);
	spans->n = first + known.n;
	p->text.n = 0;
	for (size_t from = next_run(text, 0); from < text.n; from = next_run(text, to)) {
		to = from + RANDOM_MIN;
		while (to < text.n && coded_is_digit(text.p[to]))
			to++;
		if (known.n > 0)
			known.span = spans->span + first; /* it may have moved */
		if (from >= p->text.n)
			begin_line(p, from);
		if (p->scan->is_over)
			return;
		if (is_masked(&known, &i, p->base + from, p->base + to))
			continue;
		look_run(p, from, to);
		if (!goes_on(p))
			to = give_up(p, to);
	}
}

/* ---- one walk */

static size_t
look_mark(struct piece *p, size_t at)
{
	size_t n = mark_length(str_sub(p->text, at, p->text.n));

	return n > 0 ? at + n : 0;
}

/*
 * Where another may begin whose first letters the one before took for its own digits,
 * since a slash is one: fm2_.../sntryu_...
 */
static size_t
behind_shape(struct str text, size_t from, size_t to)
{
	size_t slash;

	if (to < text.n && has_byte("_-.", text.p[to]) &&
	    str_rfind(str_sub(text, from, to - from), '/', &slash) && slash > 0)
		return from + slash;
	return to;
}

/* Whether a line's last bytes are looked at depends on what follows: when nothing is
 * there, it costs nothing. */
static bool
is_last(const struct piece *p, size_t at)
{
	return at + PREFILTER_READS > p->text.n;
}

static void
count_look(struct piece *p, size_t at)
{
	if (is_last(p, at))
		return;
	if (p->scan->work == 0)
		p->scan->work = LINE_COST;
	p->scan->work += LOOK_COST;
}

static size_t
look_shape(struct piece *p, size_t at)
{
	struct shape_hit hit;

	count_look(p, at);
	if (!shapes_match(p->scan->shapes, p->text, at, &hit, &p->scan->work))
		return 0;
	if (strcmp(hit.kind, "authorization") == 0 &&
	    look_is_scheme_alone(p, at, hit.part[0].from))
		return hit.part[0].from;
	for (size_t i = 0; i < hit.n; i++)
		if (!value_is_harmless(str_sub(
			p->text, hit.part[i].from, hit.part[i].to - hit.part[i].from)))
			piece_mask(p, hit.kind, why_shape, hit.part[i].from,
			    hit.part[i].to,
			    p->as == SCAN_URL ? SPAN_PERCENT : SPAN_PLAIN);
	return behind_shape(p->text, at, hit.end);
}

/* What a colon may stand in; times of day are not looked at twice. */
static size_t
look_colon(struct piece *p, size_t at)
{
	char second = at + 1 < p->text.n ? p->text.p[at + 1] : '\0';
	size_t next = 0;

	if (second == '/')
		next = look_userinfo(p, at);
	else if (look_may_be_port(p->text, at))
		next = look_pgpass(p, at);
	if (next == 0 && may_be_pairs(p->text, at))
		next = look_pairs(p, at);
	if (next > 0)
		return next;
	return look_may_be_key(p, at) ? look_key(p, at) : 0;
}

static inline size_t
look_equals(struct piece *p, size_t at)
{
	return look_may_be_key(p, at) ? look_key(p, at) : 0;
}

static const struct look {
	const char *literal;
	size_t (*look)(struct piece *p, size_t at); /* where to go on, or 0: not here */
} looks[] = {
	{ "~r", look_mark },
	{ "-----BEGIN ", look_pem },
	{ "Private-Lines:", look_pem },
	{ "--", look_option },
	{ " -pass", look_long_option },
	{ "\", \"", look_pair },
	{ "', '", look_pair },
	{ "password", look_netrc },
	{ "password", look_told },
	{ "Password", look_told },
	{ "secret", look_told },
	{ "PASS", look_told },
	{ "=", look_equals },
	{ ":", look_colon },
	{ "{", look_document },
	{ "[", look_document },
	{ "%", look_percent },
	{ ">", look_element },
	{ "\\u", look_escape },
	{ "\\x", look_escape },
	{ "\\0", look_escape },
	{ "\\1", look_escape },
	{ "\\/", look_escaped_userinfo },
	{ "&", look_entity },
};

/* What else the looks are for that begin with the same two bytes: four are told apart. */
static const char *const likewise[] = { "passphrase", "passcode", " -Pass", " -Token",
	" -token", " -Secret", " -secret", " -Api", " -api", " -Cred", " -cred",
	" -Client", " -client", " -Access", " -access", " -Auth", " -auth", " -storepass",
	" -keypass", "\",\"", "','", "\", b", "', b" };

#define LOOKS (sizeof(looks) / sizeof(looks[0]))
_Static_assert(LOOKS <= 32, "a bit each");

void
scan_prefilter(struct prefilter *f)
{
	name_ends(f->name_ends);
	for (size_t i = 0; i < LOOKS; i++) {
		prefilter_add(f, str_of(looks[i].literal), false);
		f->looks[(unsigned char)looks[i].literal[0]] |= (uint32_t)1 << i;
	}
	for (size_t i = 0; i < sizeof(likewise) / sizeof(likewise[0]); i++)
		prefilter_add(f, str_of(likewise[i]), false);
}

/* No more than two bytes: where it stands it is looked at, whatever follows it. */
static bool
is_short(const struct look *l)
{
	return l->literal[1] == '\0' || l->literal[2] == '\0';
}

/* Of a look at a line's last bytes only what does not depend on what follows the line:
 * `sure`; `work` is what the line cost before it. */
static void
count_last(struct piece *p, size_t work, size_t sure)
{
	if (p->scan->work - work - sure >= GLANCED)
		return;
	p->scan->work = work;
	if (sure == 0)
		return;
	if (work == 0)
		p->scan->work = LINE_COST;
	p->scan->work += LOOK_COST + sure;
}

/* *sure grows by what each cost that is asked whatever follows the line. */
static size_t
look_in_table(struct piece *p, size_t at, size_t *sure)
{
	unsigned left = p->scan->filter->looks[(unsigned char)p->text.p[at]];
	char second = at + 1 < p->text.n ? p->text.p[at + 1] : '\0';
	size_t next;

	for (; left != 0; left &= left - 1) {
		const struct look *l = &looks[__builtin_ctz(left)];
		size_t before = p->scan->work;

		if (l->literal[1] != '\0' && l->literal[1] != second)
			continue;
		p->scan->work += EYE_COST;
		if ((next = l->look(p, at)) > at)
			return next;
		if (is_short(l))
			*sure += p->scan->work - before;
	}
	return 0;
}

/* Nearly all are one of two bytes: a call through the table would take longer. */
static size_t
look_around(struct piece *p, size_t at, size_t *sure)
{
	size_t next, before = p->scan->work;
	char c = p->text.p[at];

	if (c != '=' && c != ':')
		return look_in_table(p, at, sure);
	p->scan->work += EYE_COST;
	next = c == '=' ? look_equals(p, at) : look_colon(p, at);
	*sure = p->scan->work - before;
	return next;
}

/* What stands at `at`, and where to go on. */
static size_t
look(struct piece *p, size_t at)
{
	size_t next, work = p->scan->work, sure = 0;

	count_look(p, at);
	/* no shape's literal is one byte long */
	if (prefilter_groups(p->scan->filter, p->whole, at) != PREFILTER_ONE &&
	    (next = look_shape(p, at)) > at)
		return next;
	if ((next = look_around(p, at, &sure)) > at)
		return next;
	if (is_last(p, at))
		count_last(p, work, sure);
	return at + 1;
}

/* JSON's own escapes are undone for all of a string at once. */
static bool
is_undone_whole(struct piece *p)
{
	if (p->as != SCAN_JSON || p->scan->depth == SCAN_DEPTH || p->whole.n == 0 ||
	    memchr(p->whole.p, '\\', p->whole.n) == NULL)
		return false;
	piece_budget(p->scan, p->base, p->whole.n);
	undo(p, 0, p->whole.n, SPAN_JSON);
	if (piece_is_costly(p->scan)) {
		doubt_count(DOUBT_BUDGET);
		piece_mask(p, "doubt", why_budget, 0, p->whole.n, SPAN_PLAIN);
	}
	return true;
}

/* From the walk to that for runs, or back, unless the text is within something. */
static void
change_lane(struct scan *s, int by)
{
	if (s->depth > 0 || s->is_bound)
		return;
	piece_done(s);
	s->lane = (enum cost_lane)((int)s->lane + by);
}

void
scan_text(struct scan *s, struct str text, size_t base, enum scan_as as)
{
	struct piece p = {
		.scan = s, .whole = text, .text = { text.p, 0 }, .base = base, .as = as
	};
	size_t first = s->spans->n;

	if (is_undone_whole(&p))
		return;
	struct prefilter_walk walk = prefilter_walk(s->filter, text);
	size_t at = prefilter_next(&walk, 0);
	while (at < text.n) {
		if (at >= p.text.n)
			begin_line(&p, at);
		if (s->is_over)
			return;
		at = look(&p, at);
		if (!goes_on(&p))
			at = give_up(&p, at);
		at = prefilter_next(&walk, at);
	}
	change_lane(s, 1);
	scan_runs(&p, first);
	change_lane(s, -1);
}
