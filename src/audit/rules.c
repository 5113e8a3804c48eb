/*
 * rules.c - redact.rules: secrets that only the operator knows the look of
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "audit/rules.h"

#include <assert.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/card.h"
#include "audit/doubt.h"
#include "audit/hits.h"
#include "audit/mark.h"
#include "audit/shape.h"

#define LITERAL_LEAST 3
#define LITERAL_MOST 64
#define REPEAT_MOST 1024  /* times, whatever is repeated */
#define WINDOW 4096       /* a pattern sees no more than this */
#define MATCH_LIMIT 10000 /* a class run through the window needs half of it */
#define HEAP_LIMIT 1024   /* KiB */
#define TRY_COST 256      /* what a try may cost, in bytes looked at */

struct rule {
	const char *kind; /* its name; static */
	struct str literal;
	char *memory; /* of the literal */
	pcre2_code *code;
	size_t group;
};

struct rules {
	struct rule *rule;
	size_t n;
	bool has_cards; /* redact.cards */
	struct prefilter filter;
	pcre2_match_context *context;
};

/* ---- trying */

enum tried { TRIED_NO, TRIED_YES, TRIED_FAILED };

/* What stands before `at` is there for a look-behind only. */
static enum tried
try_rule(const struct rules *all, const struct rule *r, struct str text, size_t at,
    struct hit *hit)
{
	pcre2_match_data *data = pcre2_match_data_create_from_pattern(r->code, NULL);
	struct str window = str_sub(text, 0, at + WINDOW);
	enum tried tried = TRIED_NO;

	if (data == NULL)
		abort();
	int n = pcre2_match(
	    r->code, (PCRE2_SPTR)window.p, window.n, at, 0, data, all->context);
	const size_t *o = pcre2_get_ovector_pointer(data);
	*hit = (struct hit){ .kind = r->kind };
	if (n > (int)r->group && o[2 * r->group] < o[2 * r->group + 1]) {
		hit->from = o[2 * r->group];
		hit->to = o[2 * r->group + 1];
		tried = TRIED_YES;
	} else if (n < 0 && n != PCRE2_ERROR_NOMATCH) {
		tried = TRIED_FAILED;
	}
	pcre2_match_data_free(data);
	return tried;
}

/* Where to go on; a hit is added when there is one. */
static size_t
look_at(
    const struct rules *all, struct str text, size_t at, size_t *work, struct hits *hits)
{
	struct str rest = str_sub(text, at, text.n);
	size_t next = at + 1;

	for (size_t i = 0; i < all->n; i++) {
		const struct rule *r = &all->rule[i];
		struct hit hit;

		if (!str_starts(rest, r->literal))
			continue;
		*work += TRY_COST;
		enum tried tried = try_rule(all, r, text, at, &hit);
		if (tried == TRIED_NO)
			continue;
		if (tried == TRIED_FAILED) {
			doubt_count(DOUBT_ENGINE);
			hit = (struct hit){ .from = at,
				.to = doubt_end(text, at, WINDOW),
				.kind = "doubt" };
		}
		if (!mark_is(str_sub(text, hit.from, hit.to - hit.from)))
			hits_add(hits, hit);
		if (hit.to > next)
			next = hit.to;
	}
	return next;
}

static void
look(const void *arg, struct str text, struct hits *hits)
{
	const struct rules *all = arg;
	size_t work = 0, most = 8 * text.n + ((size_t)64 << 10);

	if (all->has_cards)
		card_find(text, hits);
	struct prefilter_walk walk = prefilter_walk(&all->filter, text);
	for (size_t at = prefilter_next(&walk, 0); at < text.n;
	     at = prefilter_next(&walk, at)) {
		size_t mark = mark_length(str_sub(text, at, text.n));

		if (work > most) {
			doubt_count(DOUBT_BUDGET);
			hits_add(hits,
			    (struct hit){ .from = at, .to = text.n, .kind = "doubt" });
			return;
		}
		at = mark > 0 ? at + mark : look_at(all, text, at, &work, hits);
	}
}

void
rules_find(const struct rules *r, bool is_json, struct str text, struct spans *spans)
{
	struct hits hits = { 0 };
	struct span_place place = { 0 };

	if (r == NULL || (r->n == 0 && !r->has_cards))
		return;
	hits_find(&hits, text, look, r);
	for (size_t i = 0; i < hits.n; i++) {
		struct span s = { .from = hits.p[i].from,
			.to = hits.p[i].to,
			.kind = hits.p[i].kind,
			.why = hits.p[i].kind == card_kind ? "it is a card's number"
							   : "a rule of redact.rules" };
		if (is_json)
			span_take_number(text, &place, &s);
		spans_add(spans, s);
	}
	hits_fini(&hits);
}

/* ---- loading: what a pattern may be */

struct load {
	const struct settings *s;
	const struct redact_rule *row;
	const struct node *node; /* the rule's */
	struct report *rep;
	bool is_fine;
};

static void PRINTF_LIKE(5, 6) refuse(struct load *l, const char *key, const char *code,
    const char *hint, const char *fmt, ...)
{
	const struct node *at = node_get(l->node, key);
	va_list ap;

	l->is_fine = false;
	va_start(ap, fmt);
	report_vadd(l->rep, SEVERITY_ERROR, (at != NULL ? at : l->node)->mark,
	    l->s->tree->source, code, hint, fmt, ap);
	va_end(ap);
}

/* The caret is at the byte of the pattern, where it is written on one line as it is. */
static void PRINTF_LIKE(5, 6) refuse_at(
    struct load *l, size_t at, const char *code, const char *hint, const char *fmt, ...)
{
	const struct node *n = node_get(l->node, "pattern");
	struct mark mark = n->mark;
	va_list ap;

	l->is_fine = false;
	if (n->to - n->from == n->text.n + (n->is_quoted ? 2 : 0))
		mark.column += (unsigned)at + (n->is_quoted ? 1 : 0);
	va_start(ap, fmt);
	report_vadd(
	    l->rep, SEVERITY_ERROR, mark, l->s->tree->source, code, hint, fmt, ap);
	va_end(ap);
}

/* A walk over a pattern: what it begins with, and what it must not have. */
struct walk {
	struct load *l;
	struct str pattern;
	size_t at;
	struct buf *literal;
	size_t depth;     /* of groups */
	bool is_open;     /* what follows still belongs to the literal */
	bool is_either;   /* there is a | outside of all groups */
	bool is_repeated; /* a quantifier was just read: ? and + only modify it */
};

static const char *const forbidden_groups[] = { "(*", "(?R", "(?&", "(?P>", "(?P=", "(?+",
	"(?C", "(?(", "(?#", "(?-1", "(?-2", "(?-3", "(?-4", "(?-5", "(?-6", "(?-7",
	"(?-8", "(?-9", "(?0", "(?1", "(?2", "(?3", "(?4", "(?5", "(?6", "(?7", "(?8",
	"(?9", "(?x", "(?^" };

static struct str
rest_of(const struct walk *w)
{
	return str_sub(w->pattern, w->at, w->pattern.n);
}

static void
forbid(const struct walk *w, size_t n)
{
	refuse_at(w->l, w->at, "rule_forbidden",
	    "classes, groups, alternatives, look-arounds and bounded repeats are there",
	    "\"%.*s\" has no place in a rule's pattern", (int)n, w->pattern.p + w->at);
}

static void
walk_group(struct walk *w)
{
	for (size_t i = 0; i < sizeof(forbidden_groups) / sizeof(*forbidden_groups); i++)
		if (str_starts(rest_of(w), str_of(forbidden_groups[i])))
			forbid(w, strlen(forbidden_groups[i]));
	w->is_open = false;
	w->depth++;
	w->at++;
	if (str_starts(rest_of(w), STR("?")))
		w->at++;
}

/* Up to its ']', which does not end it when it comes first. */
static void
walk_class(struct walk *w)
{
	w->is_open = false;
	w->at++;
	if (str_starts(rest_of(w), STR("^")))
		w->at++;
	if (str_starts(rest_of(w), STR("]")))
		w->at++;
	while (w->at < w->pattern.n && w->pattern.p[w->at] != ']') {
		struct str rest = rest_of(w);
		size_t end;

		if (rest.p[0] == '\\')
			w->at++;
		else if (str_starts(rest, STR("[:")) && str_find(rest, ']', &end))
			w->at += end;
		w->at++;
	}
	w->at++;
}

static void
walk_escape(struct walk *w)
{
	char c = w->at + 1 < w->pattern.n ? w->pattern.p[w->at + 1] : '\0';

	if (c != '\0' && strchr("QEgkKCRX", c) != NULL)
		forbid(w, 2);
	if (w->is_open && !ascii_is_alnum(c) && c != '\0')
		buf_char(w->literal, c);
	else
		w->is_open = false;
	w->at += 2;
}

/* The repeat that stands here: how long it is, 0 when it is none, and its bounds. */
static size_t
repeat_at(struct str rest, uint64_t *least, uint64_t *most)
{
	size_t end, comma;

	if (!str_starts(rest, STR("{")) || !str_find(rest, '}', &end))
		return 0;
	struct str inner = str_sub(rest, 1, end - 1);
	struct str low = inner, high = inner;
	if (str_find(inner, ',', &comma)) {
		low = str_sub(inner, 0, comma);
		high = str_sub(inner, comma + 1, inner.n);
	}
	*least = 0;
	*most = UINT64_MAX;
	if ((low.n > 0 && !str_decimal(low, least)) ||
	    (high.n > 0 && !str_decimal(high, most)) || inner.n == 0 ||
	    low.n + high.n == 0)
		return 0;
	return end + 1;
}

static void
walk_repeat(struct walk *w, size_t n, uint64_t least, uint64_t most)
{
	if (most > REPEAT_MOST)
		refuse_at(w->l, w->at, "rule_unbounded",
		    "give each repeat an upper bound: {20,200}",
		    "\"%.*s\" repeats more than %d times",
		    STR_ARG(str_sub(w->pattern, w->at, n)), REPEAT_MOST);
	if (w->is_open && least == 0 && w->literal->n > 0)
		w->literal->n--; /* it may be missing */
	w->is_open = false;
	w->is_repeated = true;
	w->at += n;
}

static void
walk_one(struct walk *w)
{
	char c = w->pattern.p[w->at];
	bool was_repeated = w->is_repeated;
	uint64_t least, most;
	size_t n;

	w->is_repeated = false;
	if (c == '\\') {
		walk_escape(w);
	} else if (c == '[') {
		walk_class(w);
	} else if (c == '(') {
		walk_group(w);
	} else if (was_repeated && (c == '?' || c == '+')) {
		w->at++;
	} else if (c == '?') {
		walk_repeat(w, 1, 0, 1);
	} else if (c == '*' || c == '+') {
		walk_repeat(w, 1, c == '+', UINT64_MAX);
	} else if ((n = repeat_at(rest_of(w), &least, &most)) > 0) {
		walk_repeat(w, n, least, most);
	} else {
		if (strchr(".^$|)", c) != NULL)
			w->is_open = false;
		w->depth -= c == ')' && w->depth > 0;
		w->is_either |= c == '|' && w->depth == 0;
		if (w->is_open)
			buf_char(w->literal, c);
		w->at++;
	}
}

/* What to do about a pattern without a literal. */
static const char *
literal_hint(const struct walk *w)
{
	if (w->is_either)
		return "what stands beside | begins otherwise: put it in a group behind "
		       "what all begin with, acme-(?:a|b), or say that under literal";
	if (str_starts(w->pattern, STR("(")))
		return "a group or an option such as (?i) at the beginning leaves "
		       "nothing that all begin with, byte for byte: say it under "
		       "literal";
	return "begin the pattern with plain characters, or say what all begin with "
	       "under literal";
}

/* What to do where the literal is too short: static. */
static const char *
walk_pattern(struct load *l, struct buf *literal)
{
	struct walk w = { .l = l,
		.pattern = str_of(l->row->pattern),
		.literal = literal,
		.is_open = true };

	while (w.at < w.pattern.n)
		walk_one(&w);
	if (w.is_either) /* another beginning may be as good */
		buf_reset(literal);
	return literal_hint(&w);
}

static void
find_literal(struct load *l, struct rule *r)
{
	struct buf literal;

	buf_init(&literal, 1024);
	const char *hint = walk_pattern(l, &literal);
	if (l->row->literal != NULL) {
		buf_reset(&literal);
		buf_text(&literal, l->row->literal);
	}
	if (literal.n < LITERAL_LEAST)
		refuse(l, "pattern", "rule_literal", hint,
		    "the rule %s has no literal of %d bytes or more", l->row->name,
		    LITERAL_LEAST);
	r->memory = str_dup(str_sub(buf_view(&literal), 0, LITERAL_MOST));
	r->literal = str_of(r->memory);
	buf_fini(&literal);
}

/* Bytes, the whole pattern at one place; interpreted, so that a limit is a limit. */
static void
compile(struct load *l, struct rule *r)
{
	struct str pattern = str_of(l->row->pattern);
	PCRE2_UCHAR why[128];
	uint32_t groups = 0;
	size_t at;
	int error;

	r->code = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n,
	    PCRE2_ANCHORED | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C |
		PCRE2_NEVER_UTF | PCRE2_NO_START_OPTIMIZE,
	    &error, &at, NULL);
	if (r->code == NULL) {
		pcre2_get_error_message(error, why, sizeof(why));
		refuse_at(l, at, "rule_pattern", NULL, "%s", (const char *)why);
		return;
	}
	pcre2_pattern_info(r->code, PCRE2_INFO_CAPTURECOUNT, &groups);
	r->group = (size_t)l->row->group;
	if (r->group > groups)
		refuse(l, "group", "rule_group", NULL,
		    "the pattern of %s has %u groups, and none is number %zu",
		    l->row->name, groups, r->group);
}

static bool
is_true_of(const struct rules *one, const char *text)
{
	struct hits hits = { 0 };
	bool is_true;

	hits_find(&hits, str_of(text), look, one);
	is_true = hits.n > 0 && hits.p[0].kind == one->rule[0].kind;
	hits_fini(&hits);
	return is_true;
}

static void
check_examples(struct load *l, const struct rules *one)
{
	const struct texts *yes = &l->row->examples, *no = &l->row->counterexamples;

	if (yes->n == 0)
		refuse(l, "examples", "rule_example",
		    "give one at least, made up and of the right form",
		    "the rule %s has no example", l->row->name);
	for (size_t i = 0; i < yes->n; i++)
		if (!is_true_of(one, yes->p[i]))
			refuse(l, "examples", "rule_example",
			    "a match begins with the literal, byte for byte",
			    "the rule %s does not find its example number %zu",
			    l->row->name, i + 1);
	for (size_t i = 0; i < no->n; i++)
		if (is_true_of(one, no->p[i]))
			refuse(l, "counterexamples", "rule_counterexample", NULL,
			    "the rule %s finds its counterexample number %zu",
			    l->row->name, i + 1);
}

static bool
is_slow_on(const struct rules *one, struct str begin, struct str again)
{
	struct buf text;
	struct hit hit;
	bool is_slow;

	buf_init(&text, 2 * WINDOW);
	buf_str(&text, begin);
	while (again.n > 0 && text.n + again.n < WINDOW)
		buf_str(&text, again);
	buf_char(&text, '\0');
	is_slow = try_rule(one, &one->rule[0], buf_view(&text), 0, &hit) == TRIED_FAILED;
	buf_fini(&text);
	return is_slow;
}

/* Texts that begin well, go on for long, and fail late: of what its examples are made. */
static bool
is_slow(const struct rules *one, struct str example)
{
	struct str literal = one->rule[0].literal;
	size_t at = 0;

	while (at < example.n && !str_starts(str_sub(example, at, example.n), literal))
		at++;
	struct str token = str_sub(example, at, example.n);
	for (size_t i = literal.n; i <= token.n; i++) {
		struct str begin = str_sub(token, 0, i);
		if (is_slow_on(one, begin, str_sub(token, i > 0 ? i - 1 : 0, 1)) ||
		    is_slow_on(one, begin, str_sub(token, i > 1 ? i - 2 : 0, 2)) ||
		    is_slow_on(one, begin, token))
			return true;
	}
	return false;
}

static void
check_cost(struct load *l, const struct rules *one)
{
	for (size_t i = 0; i < l->row->examples.n; i++)
		if (is_slow(one, str_of(l->row->examples.p[i]))) {
			refuse(l, "pattern", "rule_slow",
			    "let no repeat stand in a repeat, nor two that take the same "
			    "bytes side by side",
			    "the rule %s costs too much on a text like its example "
			    "number %zu",
			    l->row->name, i + 1);
			return;
		}
}

static void
name_rule(struct load *l, struct rule *r)
{
	for (const struct redact_rule *at = l->s->redact_rules.p; at < l->row; at++)
		if (strcmp(at->name, l->row->name) == 0)
			refuse(l, "name", "rule_name", NULL, "there are two rules %s",
			    l->row->name);
	r->kind = mark_add_kind(str_of(l->row->name));
	if (r->kind == NULL)
		refuse(l, "name", "rule_name", "take another name",
		    "%s is a kind that weir has, or one too many since it began",
		    l->row->name);
}

static void
rule_fini(struct rule *r)
{
	pcre2_code_free(r->code);
	free(r->memory);
}

/* ---- loading: all of them */

static struct rules *
rules_new(size_t most)
{
	struct rules *all = mem_zalloc(sizeof(*all));

	all->rule = mem_zalloc((most + 1) * sizeof(*all->rule));
	all->context = pcre2_match_context_create(NULL);
	if (all->context == NULL)
		abort();
	pcre2_set_match_limit(all->context, MATCH_LIMIT);
	pcre2_set_heap_limit(all->context, HEAP_LIMIT);
	prefilter_add(&all->filter, STR("~r"), false); /* a mark */
	return all;
}

static void
add_rule(struct rules *all, struct rule r)
{
	all->rule[all->n++] = r;
	prefilter_add(&all->filter, r.literal, false);
}

/* Judged as it will be used, by itself. */
static bool
load_one(struct load *l, struct rule *r)
{
	struct rules *one;

	*r = (struct rule){ 0 };
	name_rule(l, r);
	find_literal(l, r);
	compile(l, r);
	if (!l->is_fine)
		return false;
	one = rules_new(1);
	add_rule(one, *r);
	check_examples(l, one);
	check_cost(l, one);
	one->n = 0; /* it is the caller's */
	rules_free(one);
	return l->is_fine;
}

static const struct node *
rule_node(const struct settings *s, size_t i)
{
	const struct node *n = node_get(node_get(s->tree->root, "redact"), "rules");

	for (n = n->child; i > 0; i--)
		n = n->next;
	return n;
}

struct rules *
rules_load(const struct settings *s, struct report *rep)
{
	struct rules *all = rules_new(s->redact_rules.n);

	all->has_cards = s->redact_cards;
	for (size_t i = 0; i < s->redact_rules.n; i++) {
		struct load l = { s, &s->redact_rules.p[i], rule_node(s, i), rep, true };
		struct rule r;

		if (load_one(&l, &r))
			add_rule(all, r);
		else
			rule_fini(&r);
	}
	return all;
}

void
rules_free(struct rules *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->n; i++)
		rule_fini(&r->rule[i]);
	pcre2_match_context_free(r->context);
	free(r->rule);
	free(r);
}
