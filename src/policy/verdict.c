/*
 * verdict.c - the reasons as a table, and the trace
 */
#include "policy/verdict.h"

static const struct reason_row rows[REASON_N] = {
	[REASON_NONE] = { "ok", 200, 200, TYPE_POLICY, CLASS_TERMINAL, NULL, 0,
	    "Allowed." },
#define REASON(id, name, status, codex, type, class, proxy_error, socks, text) \
	[REASON_##id] = { name, status, codex, TYPE_##type, CLASS_##class, proxy_error, \
		socks, text },
#include "policy/reasons.def"
#undef REASON
};

const struct reason_row *
reason_row(enum reason r)
{
	return &rows[r < REASON_N ? r : REASON_INTERNAL];
}

enum reason
reason_find(struct str name)
{
	for (enum reason r = REASON_NONE + 1; r < REASON_N; r++)
		if (str_eq(name, str_of(rows[r].name)))
			return r;
	return REASON_NONE;
}

const char *
reason_type_name(enum reason_type t)
{
	static const char *const name[] = {
		[TYPE_MALFORMED] = "malformed",
		[TYPE_SESSION] = "session",
		[TYPE_POLICY] = "policy",
		[TYPE_BUDGET] = "budget",
		[TYPE_LIMIT] = "limit",
		[TYPE_UPSTREAM] = "upstream",
		[TYPE_UNAVAILABLE] = "unavailable",
	};

	return name[t];
}

const char *
reason_class_name(enum reason_class c)
{
	static const char *const name[] = {
		[CLASS_TERMINAL] = "terminal",
		[CLASS_EXHAUSTED] = "exhausted",
		[CLASS_CANCELLED] = "cancelled",
		[CLASS_RETRYABLE] = "retryable",
		[CLASS_PERMANENT] = "permanent",
	};

	return name[c];
}

static bool
trace_grow(struct trace *t)
{
	size_t cap = t->cap == 0 ? 16 : t->cap * 2;
	struct trace_line *line = arena_alloc(t->arena, cap * sizeof(*line));

	if (line == NULL)
		return false;
	for (size_t i = 0; i < t->n; i++)
		line[i] = t->line[i];
	t->line = line;
	t->cap = cap;
	return true;
}

void
trace_add(struct trace *t, const char *stage, const char *layer, const struct rule *rule,
    const char *verdict, const char *why)
{
	if (t == NULL || (t->n == t->cap && !trace_grow(t)))
		return;
	t->line[t->n++] = (struct trace_line){ stage, layer, rule, verdict, why };
}
