/*
 * shape.c - secrets that are known by what they look like
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "audit/shape.h"
#include "audit/checksum.h"
#include "audit/doubt.h"

#include <assert.h>
#include <pcre2.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define WINDOW 8192       /* a pattern sees no more than this */
#define MATCH_LIMIT 20000 /* far above what any rule needs on a window */
#define TRY_COST 24       /* a try that fails at once, in bytes looked at */
#define LAZY_COST 150     /* where it has something to skip first */
#define SUMMED_MAX 64     /* no token with a checksum is longer */
#define GROUPS (SHAPE_PARTS + 1)

enum alphabet {
	ALPHABET_NONE,
	ALPHABET_DIGIT,
	ALPHABET_B62,
	ALPHABET_U64,
	ALPHABET_S64,
	ALPHABET_AZURE,
};

/* Beside letters and digits. */
static const char *const extras[] = {
	[ALPHABET_B62] = "",
	[ALPHABET_U64] = "_-",
	[ALPHABET_S64] = "+/",
	[ALPHABET_AZURE] = "_-~.",
};

static bool
alphabet_has(enum alphabet a, char c)
{
	if (a == ALPHABET_NONE || c == '\0')
		return false;
	if (a == ALPHABET_DIGIT)
		return ascii_is_digit(c);
	return ascii_is_alnum(c) || strchr(extras[a], c) != NULL;
}

struct rule {
	const char *kind;
	const char *literals; /* separated by blanks */
	size_t back;
	enum alphabet alphabet;
	const char *pattern;
	const char *vector;
};

#define B62 "[A-Za-z0-9]"
#define U64 "[A-Za-z0-9_-]"
#define S64 "[A-Za-z0-9+/]"
#define HEX "[0-9a-f]"
#define SHAPE(kind, literals, back, alphabet, pattern, vector) \
	{ kind, literals, back, ALPHABET_##alphabet, pattern, vector },
static const struct rule rules[] = {
#include "audit/shapes.def"
};
#undef SHAPE
#undef B62
#undef U64
#undef S64
#undef HEX

#define RULES (sizeof(rules) / sizeof(*rules))
#define LITERALS_MAX 320

/* In small letters; each as an alternative of one pattern, which says its number. */
static const struct folded {
	const char *kind;
	const char *pattern;
	const char *vector;
} folded[] = {
#define U64 "[a-z0-9_-]"
#define B32 "[a-z2-7]"
#define HEX "[0-9a-f]"
#define FOLDED(kind, pattern, vector) { kind, pattern, vector },
#include "audit/folded.def"
#undef FOLDED
#undef HEX
#undef B32
#undef U64
};

#define FOLDED_MAX (sizeof(folded) / sizeof(*folded))

struct literal {
	struct str text;
	size_t rule;
	uint32_t head, mask; /* its first four bytes, and which of their bits count */
	bool is_folded;
};

#define NO_LITERAL UINT16_MAX

struct shapes {
	pcre2_code *code[RULES];
	size_t cost[RULES]; /* of a try that fails, in bytes looked at */
	pcre2_code *folded;
	bool is_interpreted; /* the JIT is away, or was caught in a lie */
	/* by their first two bytes, then in the order of the rules */
	struct literal literal[LITERALS_MAX + 1];
	size_t n;
	uint16_t first[65536]; /* the first that begins with two bytes, or NO_LITERAL */
	/* a bit for each two bytes: what begins with them may stand within a match */
	uint64_t within[65536 / 64];
};

/* What pcre2_match writes to: one for each thread, made when first needed. */
struct scratch {
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *stack;
};

static pthread_once_t scratch_once = PTHREAD_ONCE_INIT;
static pthread_key_t scratch_key;

static void
scratch_free(void *arg)
{
	struct scratch *s = arg;

	pcre2_match_data_free(s->data);
	pcre2_match_context_free(s->context);
	pcre2_jit_stack_free(s->stack);
	free(s);
}

static void
scratch_make_key(void)
{
	if (pthread_key_create(&scratch_key, scratch_free) != 0)
		abort();
}

static struct scratch *
scratch_get(void)
{
	pthread_once(&scratch_once, scratch_make_key);

	struct scratch *s = pthread_getspecific(scratch_key);
	if (s != NULL)
		return s;
	s = mem_zalloc(sizeof(*s));
	s->data = pcre2_match_data_create(GROUPS, NULL);
	s->context = pcre2_match_context_create(NULL);
	if (s->data == NULL || s->context == NULL)
		abort();
	pcre2_set_match_limit(s->context, MATCH_LIMIT);
	/* NULL is fine: then patterns run on the machine's stack, or fail and mask. */
	s->stack = pcre2_jit_stack_create((size_t)32 << 10, (size_t)512 << 10, NULL);
	if (s->stack != NULL)
		pcre2_jit_stack_assign(s->context, NULL, s->stack);
	pthread_setspecific(scratch_key, s);
	return s;
}

static bool
is_folded(const struct rule *r)
{
	return strncmp(r->pattern, "(?i)", 4) == 0;
}

/*
 * Bytes, the whole pattern at one place, no \C: the same text always costs the same.  Nor
 * is a byte that must stand somewhere in a match searched for first: that would read
 * thousands of them wherever a literal stands.
 */
static pcre2_code *
compile(const char *pattern, bool *is_jit)
{
	int error;
	size_t at;
	pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
	    PCRE2_ANCHORED | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C |
		PCRE2_NEVER_UTF | PCRE2_NO_START_OPTIMIZE,
	    &error, &at, NULL);

	assert(code != NULL);
	/* it fails where memory may not be writable and executable */
	*is_jit = *is_jit && pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
	return code;
}

/* (?:PATTERN(*:0)|PATTERN(*:1)...) */
static pcre2_code *
compile_folded(bool *is_jit)
{
	pcre2_code *code;
	struct buf all;

	buf_init(&all, 1 << 16);
	for (size_t i = 0; i < FOLDED_MAX; i++)
		buf_fmt(&all, "%s%s(*:%zu)", i == 0 ? "(?:" : "|", folded[i].pattern, i);
	buf_char(&all, ')');
	code = compile(buf_cstr(&all), is_jit);
	buf_fini(&all);
	return code;
}

static uint32_t
head_of(const char *p)
{
	uint32_t head;

	memcpy(&head, p, sizeof(head));
	return head;
}

/* In any case: the bit that tells small letters from capitals does not count. */
static struct literal
literal_of(struct str text, size_t rule)
{
	struct literal l = {
		.text = text, .rule = rule, .is_folded = is_folded(&rules[rule])
	};
	unsigned char head[4] = { 0 }, mask[4] = { 0 };

	assert(text.n > 1);
	for (size_t i = 0; i < text.n && i < 4; i++) {
		mask[i] = l.is_folded ? 0xdf : 0xff;
		head[i] = (unsigned char)text.p[i] & mask[i];
	}
	l.head = head_of((const char *)head);
	l.mask = head_of((const char *)mask);
	return l;
}

static int
by_pair(const void *a, const void *b)
{
	const struct literal *x = a;
	const struct literal *y = b;
	unsigned i = prefilter_pair(x->text.p), k = prefilter_pair(y->text.p);

	if (i != k)
		return i < k ? -1 : 1;
	return x->rule < y->rule ? -1 : x->rule > y->rule;
}

static void
collect(struct shapes *s, size_t rule)
{
	struct str rest = str_of(rules[rule].literals);
	struct str text;

	while (str_split(&rest, ' ', &text)) {
		assert(s->n < LITERALS_MAX);
		s->literal[s->n++] = literal_of(text, rule);
	}
}

/* Whether two literals are found at the same two bytes. */
static bool
is_paired(const struct shapes *s, size_t i, size_t k)
{
	return prefilter_pair(s->literal[i].text.p) ==
	       prefilter_pair(s->literal[k].text.p);
}

static void
set_first(struct shapes *s, char first, char second, size_t i)
{
	unsigned pair = prefilter_pair((char[2]){ first, second });
	uint16_t *at = &s->first[pair];

	assert(*at == NO_LITERAL || is_paired(s, *at, i)); /* in any case of letters */
	*at = (uint16_t)i;
	if (rules[s->literal[i].rule].back > 0)
		s->within[pair / 64] |= (uint64_t)1 << pair % 64;
}

static bool
may_be_within(const struct shapes *s, const char *p)
{
	unsigned pair = prefilter_pair(p);

	return (s->within[pair / 64] >> pair % 64 & 1) != 0;
}

static void
index_literals(struct shapes *s)
{
	memset(s->first, 0xff, sizeof(s->first));
	for (size_t i = s->n; i-- > 0;) {
		const struct literal *l = &s->literal[i];
		char a = l->text.p[0], b = l->text.p[1];

		set_first(s, a, b, i);
		if (!l->is_folded)
			continue;
		set_first(s, ascii_upper(a), b, i);
		set_first(s, a, ascii_upper(b), i);
		set_first(s, ascii_upper(a), ascii_upper(b), i);
	}
}

/* {0,64}?: what follows it is tried at each place. */
static bool
is_lazy(const char *pattern)
{
	return strstr(pattern, "}?") != NULL;
}

struct shapes *
shapes_new(void)
{
	struct shapes *s = mem_zalloc(sizeof(*s));
	bool is_jit = true;

	for (size_t i = 0; i < RULES; i++) {
		s->code[i] = compile(rules[i].pattern, &is_jit);
		s->cost[i] = is_lazy(rules[i].pattern) ? LAZY_COST : TRY_COST;
		collect(s, i);
	}
	s->folded = compile_folded(&is_jit);
	s->is_interpreted = !is_jit;
	qsort(s->literal, s->n, sizeof(*s->literal), by_pair);
	index_literals(s);
	return s;
}

void
shapes_free(struct shapes *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < RULES; i++)
		pcre2_code_free(s->code[i]);
	pcre2_code_free(s->folded);
	free(s);
}

void
shapes_prefilter(const struct shapes *s, struct prefilter *f)
{
	for (size_t i = 0; i < s->n; i++)
		prefilter_add(f, s->literal[i].text, s->literal[i].is_folded);
}

/*
 * The byte before `at` is the end of an escape, not a neighbour: the n of \n,
 * the hex digits of %2F and backslash-u, the m that ends a terminal's colour, the ~
 * that ends a mark (whoever wrote it: a forged one hides nothing behind it).
 */
static bool
follows_escape(struct str text, size_t at)
{
	const char *p = text.p + at;

	if (at >= 2 && p[-2] == '\\' && strchr("bfnrt", p[-1]) != NULL)
		return true;
	if (at >= 3 && p[-3] == '%' && ascii_is_hex(p[-2]) && ascii_is_hex(p[-1]))
		return true;
	if (at >= 6 && p[-6] == '\\' && p[-5] == 'u' && memchr(p - 4, '\n', 4) == NULL)
		return true;
	if (p[-1] == '~')
		return true;
	if (p[-1] != 'm')
		return false;
	for (size_t back = 2; back <= at && back <= 10; back++) {
		char c = p[-(ptrdiff_t)back];

		if (c == '\033' || c == '\n') /* a line is judged alone */
			return c == '\033';
	}
	return false;
}

/* Before base64 a slash may be a path's, and a plus a blank's: they are no neighbours. */
static bool
begins_clean(struct str text, size_t at, enum alphabet a)
{
	enum alphabet before = a == ALPHABET_S64 ? ALPHABET_B62 : a;

	return at == 0 || !alphabet_has(before, text.p[at - 1]) ||
	       follows_escape(text, at);
}

/* Where the secret begins whose literal stands at `at`. */
static size_t
walk_back(struct str text, size_t at, const struct rule *r)
{
	size_t from = at;

	while (at - from < r->back && from > 0 &&
	       alphabet_has(r->alphabet, text.p[from - 1]) && !follows_escape(text, from))
		from--;
	return from;
}

static void
doubt(struct str text, size_t from, struct shape_hit *hit)
{
	size_t to = doubt_end(text, from, WINDOW);

	doubt_count(DOUBT_ENGINE);
	*hit = (struct shape_hit){ .kind = "doubt", .end = to, .n = 1 };
	hit->part[0].from = from;
	hit->part[0].to = to;
}

/* A format that grew, or a token longer than the window: all of its run goes. */
static size_t
swallow(struct str text, size_t to, enum alphabet a)
{
	while (to < text.n && alphabet_has(a, text.p[to]))
		to++;
	return to;
}

static void
take_parts(const struct rule *r, struct str text, size_t from, const size_t *o, int n,
    struct shape_hit *hit)
{
	*hit = (struct shape_hit){ .kind = r->kind, .end = from + o[1] };
	for (int i = 1; i < n; i++) {
		if (o[2 * i] == PCRE2_UNSET)
			continue;
		hit->part[hit->n].from = from + o[2 * i];
		hit->part[hit->n].to = from + o[2 * i + 1];
		hit->n++;
	}
	if (hit->n > 0)
		return;
	hit->n = 1;
	if (text.p[hit->end - 1] != '=') /* which fills up the last digits of base64 */
		hit->end = swallow(text, hit->end, r->alphabet);
	hit->part[0].from = from;
	hit->part[0].to = hit->end;
}

static int
match(const struct shapes *s, const pcre2_code *code, struct str window,
    struct scratch *scratch)
{
	if (s->is_interpreted)
		return pcre2_match(code, (PCRE2_SPTR)window.p, window.n, 0, PCRE2_NO_JIT,
		    scratch->data, scratch->context);
	return pcre2_jit_match(
	    code, (PCRE2_SPTR)window.p, window.n, 0, 0, scratch->data, scratch->context);
}

/* Glued to something else, it is told by its checksum. */
static bool
is_summed(const struct rule *r, struct str text, size_t from)
{
	return r->alphabet == ALPHABET_B62 &&
	       (strcmp(r->kind, "github") == 0 || strcmp(r->kind, "npm") == 0) &&
	       checksum_is_right(str_sub(text, from, SUMMED_MAX));
}

static bool
try_rule(const struct shapes *s, size_t rule, struct str text, size_t at,
    struct shape_hit *hit, size_t *work)
{
	const struct rule *r = &rules[rule];
	size_t from = walk_back(text, at, r);
	if (!begins_clean(text, from, r->alphabet) && !is_summed(r, text, from))
		return false;

	struct scratch *scratch = scratch_get();
	int n = match(s, s->code[rule], str_sub(text, from, WINDOW), scratch);
	*work += s->cost[rule];
	if (n == PCRE2_ERROR_NOMATCH)
		return false;
	if (n < 0)
		doubt(text, from, hit);
	else
		take_parts(
		    r, text, from, pcre2_get_ovector_pointer(scratch->data), n, hit);
	*work += hit->end - from;
	return true;
}

static bool
stands_here(struct str rest, const struct literal *l)
{
	if (rest.n < l->text.n)
		return false;
	if (rest.n >= sizeof(uint32_t) && (head_of(rest.p) & l->mask) != l->head)
		return false; /* tells nearly all of them apart */
	struct str text = str_sub(rest, 0, l->text.n);
	return l->is_folded ? str_eq_nocase(text, l->text) : str_eq(text, l->text);
}

bool
shapes_match(const struct shapes *s, struct str text, size_t at, struct shape_hit *hit,
    size_t *work)
{
	struct str rest = str_sub(text, at, text.n);
	size_t first = rest.n > 1 ? s->first[prefilter_pair(rest.p)] : NO_LITERAL;

	if (first == NO_LITERAL)
		return false;
	for (size_t i = first; i < s->n && is_paired(s, first, i); i++)
		if (stands_here(rest, &s->literal[i]) &&
		    try_rule(s, s->literal[i].rule, text, at, hit, work))
			return true;
	return false;
}

/* ---- in a host's name */

static const char *
folded_kind(const struct scratch *scratch)
{
	uint64_t row = FOLDED_MAX;
	const char *mark = (const char *)pcre2_get_mark(scratch->data);

	(void)str_decimal(str_of(mark), &row);
	assert(row < FOLDED_MAX);
	return folded[row].kind;
}

bool
shapes_match_folded(
    const struct shapes *s, struct str host, size_t at, struct shape_hit *hit)
{
	struct scratch *scratch = scratch_get();
	int n = match(s, s->folded, str_sub(host, at, host.n), scratch);

	if (n == PCRE2_ERROR_NOMATCH)
		return false;
	if (n < 0) {
		doubt(host, at, hit);
		return true;
	}
	*hit = (struct shape_hit){ .kind = folded_kind(scratch), .n = 1 };
	hit->part[0].from = at;
	hit->part[0].to = hit->end = at + pcre2_get_ovector_pointer(scratch->data)[1];
	return true;
}

const char *
shapes_kind(const struct shapes *s, struct str value)
{
	struct shape_hit hit;
	size_t work = 0;
	size_t last = value.n < 96 ? value.n : 96;

	for (size_t at = 0; at + 1 < last; at++)
		if ((at == 0 || may_be_within(s, value.p + at)) &&
		    shapes_match(s, value, at, &hit, &work) && hit.n == 1 &&
		    hit.part[0].from == 0 && hit.part[0].to == value.n)
			return hit.kind;
	return NULL;
}

const char *
shape_kind_at(size_t row)
{
	return row < RULES ? rules[row].kind : NULL;
}

/* ---- proof: each rule finds what it was written for */

#define VECTOR_MAX 512
#define FILLS_MAX 16

static const struct {
	const char *name, *alphabet;
} fills[] = {
	{ "b62", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" },
	{ "u64", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" },
	{ "s64", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" },
	{ "let", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" },
	{ "hex", "0123456789abcdef" },
	{ "dig", "0123456789" },
	{ "up", "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" },
	{ "low", "abcdefghijklmnopqrstuvwxyz0123456789" },
	{ "b32", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" },
	{ "b32l", "abcdefghijklmnopqrstuvwxyz234567" },
};

/* A rule's vector with one of its literals in it. */
#define LEAD PREFILTER_BLOCK /* so that it is tried at each place of a block */

struct vector {
	char text[VECTOR_MAX];
	size_t n;
	size_t literal; /* where it stands */
	size_t nfill;
	struct {
		size_t from, to;
	} fill[FILLS_MAX];
};

static void
vector_add(struct vector *v, char c)
{
	assert(v->n < VECTOR_MAX);
	v->text[v->n++] = c;
}

static void
vector_add_all(struct vector *v, struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		vector_add(v, s.p[i]);
}

/* "b62*36" */
static void
vector_fill(struct vector *v, struct str spec)
{
	struct str name = STR_NONE;
	const char *alphabet = NULL;
	uint64_t n = 0;
	bool is_spec = str_split(&spec, '*', &name) && str_decimal(spec, &n);

	for (size_t i = 0; i < sizeof(fills) / sizeof(*fills); i++)
		if (str_eq(name, str_of(fills[i].name)))
			alphabet = fills[i].alphabet;
	assert(is_spec && alphabet != NULL && v->nfill < FILLS_MAX);
	v->fill[v->nfill].from = v->n;
	/* digits and letters of both cases from the first few on */
	for (size_t i = 0; i < n; i++)
		vector_add(v, alphabet[(i * 23 + 5) % strlen(alphabet)]);
	v->fill[v->nfill++].to = v->n;
}

static struct vector
vector_make(const char *vector, struct str literal)
{
	struct vector v = { .n = 0 };
	struct str rest = str_of(vector);
	bool has_literal = literal.n == 0;
	size_t end;

	vector_add(&v, '(');
	while (rest.n > 0) {
		if (rest.p[0] == '@' && !has_literal) {
			v.literal = v.n;
			vector_add_all(&v, literal);
			has_literal = true;
		} else if (rest.p[0] == '<' && str_find(rest, '>', &end)) {
			vector_fill(&v, str_sub(rest, 1, end - 1));
			rest = str_sub(rest, end, rest.n);
		} else {
			vector_add(&v, rest.p[0]);
		}
		rest = str_sub(rest, 1, rest.n);
	}
	vector_add(&v, ')');
	return v;
}

static bool
is_covered(const struct shape_hit *hit, size_t from, size_t to)
{
	for (size_t i = 0; i < hit->n; i++)
		if (hit->part[i].from <= from && to <= hit->part[i].to)
			return true;
	return false;
}

static bool
finds_vector(const struct shapes *s, const struct literal *l, const struct vector *v)
{
	struct str text = { v->text, v->n };
	struct shape_hit hit;
	size_t work = 0;

	if (!stands_here(str_sub(text, v->literal, v->n), l) ||
	    !try_rule(s, l->rule, text, v->literal, &hit, &work) ||
	    strcmp(hit.kind, "doubt") == 0)
		return false;
	for (size_t i = 0; i < v->nfill; i++)
		if (!is_covered(&hit, v->fill[i].from, v->fill[i].to))
			return false;
	return true;
}

/* Wherever the search began, and whatever stands before. */
static bool
is_let_through(const struct prefilter *f, const struct vector *v)
{
	char text[2 * LEAD + VECTOR_MAX];
	size_t literal = LEAD + v->literal;

	memset(text, ' ', sizeof(text));
	memcpy(text + LEAD, v->text, v->n);
	for (size_t from = literal - LEAD; from <= literal; from++) {
		struct prefilter_walk walk =
		    prefilter_walk(f, (struct str){ text, LEAD + v->n + LEAD });
		size_t at = prefilter_next(&walk, from);

		while (at < literal)
			at = prefilter_next(&walk, at + 1);
		if (at != literal)
			return false;
	}
	return true;
}

/* Each as its own kind, and wholly. */
static bool
finds_folded(const struct shapes *s, const struct folded *row)
{
	struct vector v = vector_make(row->vector, STR_NONE);
	struct shape_hit hit;

	return shapes_match_folded(s, (struct str){ v.text, v.n }, 1, &hit) &&
	       strcmp(hit.kind, row->kind) == 0 && hit.end == v.n - 1;
}

/* The first pattern whose vector is missed, or NULL. */
static const char *
first_missed(const struct shapes *s, const struct prefilter *f)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct literal *l = &s->literal[i];
		struct vector v = vector_make(rules[l->rule].vector, l->text);

		if (!is_let_through(f, &v) || !finds_vector(s, l, &v))
			return rules[l->rule].pattern;
	}
	for (size_t i = 0; i < FOLDED_MAX; i++)
		if (!finds_folded(s, &folded[i]))
			return folded[i].pattern;
	return NULL;
}

const char *
shapes_prove(struct shapes *s, const struct prefilter *f)
{
	const char *missed;

	if (!s->is_interpreted && (missed = first_missed(s, f)) != NULL) {
		log_warn("patterns are interpreted: compiled, one does not find what it "
			 "is for",
		    "pattern", missed);
		s->is_interpreted = true;
	}
	if (s->is_interpreted)
		return first_missed(s, f);
	s->is_interpreted = true;
	missed = first_missed(s, f);
	s->is_interpreted = false;
	return missed;
}

bool
shapes_are_compiled(const struct shapes *s)
{
	return !s->is_interpreted;
}
