/*
 * objects.c - what a provider keeps, and which session may name it
 */
#include "proxy/objects.h"

#include "ledger/key.h"
#include "proxy/identity.h"

#define NAME_MAX_BYTES ((size_t)512)
#define TEXT_MAX_BYTES ((size_t)1024)

/* ---- the text of a note: its fields, each with its length in front */

static void
put_number(struct buf *to, uint64_t number)
{
	char digits[STR_DIGITS];

	key_put(to, str_digits(digits, number));
}

void
object_print(struct buf *to, const struct object_note *o)
{
	key_put(to, o->model);
	put_number(to, o->is_plain);
	key_put(to, o->call);
	key_put(to, o->request);
	put_number(to, (uint64_t)o->day);
	put_number(to, o->tier);
}

static bool
next_number(struct str *rest, uint64_t max, uint64_t *out)
{
	struct str text;

	return key_next(rest, &text) && str_decimal(text, out) && *out <= max;
}

bool
object_parse(struct object_note *out, struct str text)
{
	struct object_note o = { .tokens = 0 };
	uint64_t is_plain, day, tier;

	if (!key_next(&text, &o.model) || !next_number(&text, 1, &is_plain) ||
	    !key_next(&text, &o.call) || !key_next(&text, &o.request) ||
	    !next_number(&text, 99991231, &day) ||
	    !next_number(&text, TIER_N - 1, &tier) || text.n > 0)
		return false;
	o.is_plain = is_plain != 0;
	o.day = (yyyymmdd)day;
	o.tier = (enum tier)tier;
	*out = o;
	return true;
}

/* ---- the store */

static void
put_name(struct buf *to, const char *provider, struct str id)
{
	buf_init(to, NAME_MAX_BYTES);
	key_put(to, str_of(provider));
	buf_str(to, id);
}

void
object_put(struct engine *e, const struct grant *g, const char *provider, struct str id,
    const struct object_note *o)
{
	struct ledger_note note = { .kind = LEDGER_NOTE_OBJECT,
		.issuer = g->issuer,
		.tenant = g->tenant,
		.sid = g->sid,
		.number = o->tokens,
		.until = clock_wall_us() + OBJECT_LIFE };
	struct buf name, text;

	put_name(&name, provider, id);
	buf_init(&text, TEXT_MAX_BYTES);
	object_print(&text, o);
	note.name = buf_view(&name);
	note.text = buf_view(&text);
	if (!name.is_over && !text.is_over) /* what is not noted is nobody's */
		(void)ledger_note_put_start(e->ledger, e->loop, &note, NULL, NULL);
	buf_fini(&name);
	buf_fini(&text);
}

struct ledger_op *
object_find_start(
    struct engine *e, const char *provider, struct str id, ledger_done *done, void *arg)
{
	struct ledger_note note = { .kind = LEDGER_NOTE_OBJECT };
	struct ledger_op *op;
	struct buf name;

	put_name(&name, provider, id);
	note.name = name.is_over ? STR_NONE : buf_view(&name);
	op = ledger_note_get_start(e->ledger, e->loop, &note, done, arg);
	buf_fini(&name);
	return op;
}

static bool
is_of(const struct ledger_note *n, const struct grant *g)
{
	return g->sid.n > 0 && str_eq(n->sid, g->sid) && str_eq(n->tenant, g->tenant) &&
	       str_eq(n->issuer, g->issuer);
}

static bool
keep(struct arena *a, struct str *s)
{
	if (s->n == 0)
		return true;
	*s = arena_str(a, *s);
	return s->p != NULL;
}

/* An unknown one and another session's look the same: which there are is not told. */
enum reason
object_read(struct object_note *out, const struct ledger_reply *r, const struct grant *g,
    struct arena *a)
{
	/* INVALID: longer than any id that was noted */
	if (r->answer == LEDGER_UNKNOWN || r->answer == LEDGER_INVALID)
		return REASON_OBJECT_NOT_OWNED;
	if (r->answer != LEDGER_OK)
		return identity_refusal(r->answer);
	if (!is_of(&r->note, g) || !object_parse(out, r->note.text))
		return REASON_OBJECT_NOT_OWNED;
	out->tokens = r->note.number;
	return keep(a, &out->model) && keep(a, &out->call) && keep(a, &out->request)
		   ? REASON_NONE
		   : REASON_OVERLOADED;
}
