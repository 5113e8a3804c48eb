#include "meter/call.h"

#include <assert.h>

#include "base/glob.h"

bool
call_fail(struct call *c, enum call_error error, const char *why, size_t at)
{
	if (c->error != CALL_OK) /* the first is the one to mend */
		return false;
	c->error = error;
	c->why = why;
	c->error_at = at;
	return false;
}

bool
call_names(struct call *c, struct str model, enum named_role role, size_t at)
{
	if (model.n == 0)
		return call_fail(c, CALL_MALFORMED, "a model has no name", at);
	for (size_t i = 0; i < c->nmodel; i++)
		if (c->model[i].role == role && role == NAMED_MENTION &&
		    str_eq(c->model[i].name, model))
			return true;
	if (c->nmodel == CALL_MODELS)
		return call_fail(c, CALL_TOO_LARGE, "too many models are named", at);
	c->model[c->nmodel++] = (struct named){ .name = model, .role = role };
	return true;
}

bool
call_refers(struct call *c, enum reference_kind kind, struct str id, size_t at)
{
	if (id.n == 0)
		return call_fail(c, CALL_MALFORMED, "an object has no id", at);
	if (c->nreference == CALL_REFERENCES)
		return call_fail(c, CALL_TOO_LARGE, "too many objects are named", at);
	c->reference[c->nreference++] = (struct reference){ kind, id };
	return true;
}

bool
call_limits(struct call *c, uint64_t limit, const char *name, size_t at, size_t n)
{
	if (c->has_limit && c->limit != limit)
		return call_fail(c, CALL_AMBIGUOUS, "two output limits that differ", at);
	if (c->nlimit == CALL_LIMITS)
		return call_fail(c, CALL_AMBIGUOUS, "too many output limits", at);
	c->has_limit = true;
	c->limit = limit;
	c->limit_name = name;
	c->limit_at[c->nlimit].at = at;
	c->limit_at[c->nlimit++].n = n;
	return true;
}

struct hosted *
call_hosts(struct call *c, struct str name, struct piece *piece)
{
	struct hosted **end = &c->hosted;
	struct hosted *h = arena_zalloc(c->arena, sizeof(*h));

	if (h == NULL) {
		call_fail(c, CALL_TOO_LARGE, "too many hosted tools",
		    piece != NULL ? piece->begin : 0);
		return NULL;
	}
	if (c->hosted_last != NULL)
		end = &c->hosted_last->next;
	*end = c->hosted_last = h;
	h->name = h->type = name;
	h->piece = piece;
	return h;
}

bool
named_runs(const struct named *n)
{
	return n->tool == NULL || !n->tool->is_stripped;
}

const struct named *
call_beyond(const struct call *c, const struct str *allowed, size_t n)
{
	for (size_t i = 0; i < c->nmodel; i++) {
		size_t at = 0;

		while (at < n && !glob_fits(allowed[at], c->model[i].name))
			at++;
		if (at == n && named_runs(&c->model[i]))
			return &c->model[i];
	}
	return NULL;
}

static struct str
digits(struct call *c, uint64_t n)
{
	char memory[STR_DIGITS];

	return arena_str(c->arena, str_digits(memory, n));
}

static bool
is_left_empty(const struct piece *object)
{
	return object->child == NULL || piece_is_out(object);
}

static void
put_limit(struct call *c, struct str number)
{
	struct buf b;

	buf_init(&b, 256);
	buf_text(&b, c->limit_hole.before);
	buf_str(&b, number);
	buf_text(&b, c->limit_hole.after);
	if (!is_left_empty(c->limit_hole.object != NULL ? c->limit_hole.object : c->root))
		buf_char(&b, ',');
	splices_add(&c->edits, c->limit_hole.at, 0, arena_str(c->arena, buf_view(&b)));
	buf_fini(&b);
}

void
call_clamp(struct call *c, uint64_t to)
{
	struct str number = digits(c, to);

	assert(!c->has_limit || to <= c->limit); /* never raised */
	for (size_t i = 0; i < c->nlimit; i++)
		splices_add(&c->edits, c->limit_at[i].at, c->limit_at[i].n, number);
	if (c->nlimit == 0)
		put_limit(c, number);
	if (number.p == NULL) /* the arena is full: nothing may be sent */
		c->edits.is_over = true;
}

static bool
is_one_of(struct str key, const char *const *list)
{
	for (; *list != NULL; list++)
		if (str_eq(key, str_of(*list)))
			return true;
	return false;
}

bool
call_members(const struct call *c, const char *const *counted, const char *const *ignored,
    struct buf *to)
{
	const char *between = "";

	buf_char(to, '{');
	for (const struct piece *p = c->root->child; p != NULL; p = p->next) {
		if (is_one_of(p->key, ignored))
			continue;
		if (!is_one_of(p->key, counted))
			return false;
		buf_text(to, between);
		buf_str(to, str_sub(c->body, p->begin, p->end - p->begin));
		between = ",";
	}
	buf_char(to, '}');
	return !to->is_over;
}

bool
call_body(struct call *c, struct buf *to)
{
	return splices_apply(&c->edits, c->body, to);
}
