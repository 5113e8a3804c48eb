/*
 * args.c - an op as the arguments of a script, and a script's answer as a reply
 */
#include "ledger/args.h"

#include <assert.h>
#include <stdio.h>

void
args_init(struct args *a, struct arena *memory)
{
	a->n = 0;
	a->memory = memory;
}

void
args_text(struct args *a, struct str s)
{
	assert(a->n < ARGS_MAX);
	a->text[a->n] = s.n > 0 ? s.p : "";
	a->size[a->n++] = s.n;
}

void
args_num(struct args *a, int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)n);
	args_text(a, arena_str(a->memory, str_of(text)));
}

static void
put_who(struct args *a, const struct op_who *who)
{
	args_num(a, who->is_any);
	args_text(a, who->session);
	args_text(a, who->scope);
	args_text(a, who->jti);
	args_text(a, who->issuer);
	args_text(a, who->tenant);
	args_text(a, who->sid);
	args_text(a, who->sub);
	args_text(a, who->par);
	args_text(a, who->turn);
	args_text(a, who->claims);
	args_num(a, who->gen);
	args_num(a, who->expires);
	args_num(a, who->claim);
	args_num(a, who->turns_concurrent);
	for (size_t i = 0; i < OP_TOMBS; i++)
		args_text(a, who->tomb[i]);
}

static void
put_scopes(struct args *a, const struct ledger_op *op)
{
	args_num(a, (int64_t)op->nscope);
	for (size_t i = 0; i < op->nscope; i++) {
		const struct op_scope *s = &op->scope[i];

		args_text(a, s->key);
		args_num(a, s->window);
		args_num(a, s->cap);
		args_num(a, s->claim);
		args_num(a, s->gen);
		args_num(a, s->max_calls);
		args_num(a, s->max_tokens);
	}
}

static void
put_reserve(struct args *a, const struct ledger_op *op)
{
	args_text(a, op->call);
	put_who(a, &op->who);
	put_scopes(a, op);
	args_num(a, op->want);
	args_num(a, op->floor);
	args_num(a, op->share_ppm);
	args_num(a, op->lease_us);
	args_text(a, op->provider);
	args_text(a, op->model);
	args_text(a, op->prices);
}

static void
put_settle(struct args *a, const struct ledger_op *op)
{
	args_text(a, op->call);
	put_who(a, &op->who);
	put_scopes(a, op);
	args_num(a, op->cost);
	args_num(a, op->input);
	args_num(a, op->cached);
	args_num(a, op->output);
	args_num(a, op->flags);
	args_text(a, op->usage);
	args_text(a, op->prices);
	args_text(a, op->model);
}

static void
put_renew(struct args *a, const struct ledger_op *op)
{
	args_text(a, op->call);
	args_num(a, op->lease_us);
}

static void
put_release(struct args *a, const struct ledger_op *op)
{
	args_text(a, op->call);
	args_text(a, op->who.session);
	args_text(a, op->who.turn);
	args_text(a, op->provider);
	args_text(a, op->model);
}

static void
put_nothing(struct args *a, const struct ledger_op *op)
{
	(void)a, (void)op;
}

static void
put_session(struct args *a, const struct ledger_op *op)
{
	args_text(a, STR("session"));
	put_who(a, &op->who);
}

static void
put_look(struct args *a, const struct ledger_op *op)
{
	args_text(a, STR("look"));
	put_scopes(a, op);
}

static void
put_adjust(struct args *a, const struct ledger_op *op)
{
	args_text(a, STR("adjust"));
	args_text(a, op->call);
	args_text(a, op->who.session);
	put_scopes(a, op);
	args_num(a, op->cost);
	args_text(a, op->usage);
}

static void
put_forget(struct args *a, const struct ledger_op *op)
{
	args_text(a, STR("forget"));
	args_text(a, op->who.tomb[0]);
	args_num(a, op->keep_us);
}

static void
put_revoke(struct args *a, const struct ledger_op *op)
{
	args_text(a, STR("revoke"));
	args_text(a, op->session);
}

static void
put_note_put(struct args *a, const struct ledger_op *op)
{
	args_text(a, STR("note_put"));
	args_text(a, op->note);
	args_text(a, op->session);
	args_text(a, op->text);
	args_num(a, op->number);
	args_num(a, op->until);
}

static void
put_note_get(struct args *a, const struct ledger_op *op)
{
	args_text(a, STR("note_get"));
	args_text(a, op->note);
}

static void
put_note_delete(struct args *a, const struct ledger_op *op)
{
	args_text(a, STR("note_delete"));
	args_text(a, op->note);
}

static void
put_note_add(struct args *a, const struct ledger_op *op)
{
	args_text(a, STR("note_add"));
	args_text(a, op->note);
	args_text(a, op->session);
	args_text(a, op->text);
	args_num(a, op->until);
}

static const struct {
	enum script script;
	void (*put)(struct args *, const struct ledger_op *);
} of_kind[OP_KINDS] = {
	[OP_RESERVE] = { SCRIPT_RESERVE, put_reserve },
	[OP_SESSION] = { SCRIPT_SMALL, put_session },
	[OP_SETTLE] = { SCRIPT_SETTLE, put_settle },
	[OP_LOOK] = { SCRIPT_SMALL, put_look },
	[OP_RENEW] = { SCRIPT_RENEW, put_renew },
	[OP_RELEASE] = { SCRIPT_RELEASE, put_release },
	[OP_SWEEP] = { SCRIPT_SWEEP, put_nothing },
	[OP_ADJUST] = { SCRIPT_SMALL, put_adjust },
	[OP_FORGET] = { SCRIPT_SMALL, put_forget },
	[OP_REVOKE] = { SCRIPT_SMALL, put_revoke },
	[OP_NOTE_PUT] = { SCRIPT_SMALL, put_note_put },
	[OP_NOTE_GET] = { SCRIPT_SMALL, put_note_get },
	[OP_NOTE_DELETE] = { SCRIPT_SMALL, put_note_delete },
	[OP_NOTE_ADD] = { SCRIPT_SMALL, put_note_add },
};

enum script
args_script(enum op_kind kind)
{
	return of_kind[kind].script;
}

void
args_op(struct args *a, const struct ledger_op *op)
{
	of_kind[op->kind].put(a, op);
}

/* ---- answers */

static const char *const names[LEDGER_ANSWERS] = {
#define ANSWER(name, text) [LEDGER_##name] = #name,
#include "ledger/answers.def"
#undef ANSWER
};

static struct str
take_text(struct answer *a)
{
	struct str s = a->at < a->n ? a->element(a->from, a->at++) : STR_NONE;

	if (s.p == NULL)
		a->is_bad = true;
	return s;
}

static int64_t
take_num(struct answer *a)
{
	struct str s = take_text(a);
	bool is_negative = s.n > 0 && s.p[0] == '-';
	uint64_t n = 0;

	if (!str_decimal(str_sub(s, is_negative, s.n), &n) || n > INT64_MAX)
		a->is_bad = true;
	return is_negative ? -(int64_t)n : (int64_t)n;
}

static size_t
take_count(struct answer *a, size_t each, size_t max)
{
	int64_t n = take_num(a);

	if (n < 0 || (uint64_t)n > each * max || (uint64_t)n % each != 0) {
		a->is_bad = true;
		return 0;
	}
	return (size_t)n / each;
}

static enum ledger_answer
take_name(struct answer *a)
{
	struct str s = take_text(a);

	for (size_t i = 0; i < LEDGER_ANSWERS; i++)
		if (str_eq(s, str_of(names[i])))
			return (enum ledger_answer)i;
	a->is_bad = true;
	return LEDGER_AWAY;
}

static void
take_note(struct ledger_op *op, struct answer *a)
{
	struct ledger_note *note = &op->reply.note;
	struct str parts = op_text(op, take_text(a));

	note->text = op_text(op, take_text(a));
	note->number = take_num(a);
	note->until = take_num(a);
	if (!key_next(&parts, &note->issuer) || !key_next(&parts, &note->tenant) ||
	    !key_next(&parts, &note->sid))
		a->is_bad = true;
}

bool
args_reply(struct ledger_op *op, struct answer *a, struct str *id)
{
	struct ledger_reply *r = &op->reply;
	size_t nnote;

	*r = (struct ledger_reply){ .answer = take_name(a) };
	*id = STR_NONE;
	if (a->is_bad || r->answer == LEDGER_AWAY || r->answer == LEDGER_ROLLED_BACK)
		return !a->is_bad;
	*id = take_text(a);
	r->revision = take_num(a);
	r->now = take_num(a);
	r->granted = take_num(a);
	r->charged = take_num(a);
	r->flags = (unsigned)take_num(a);
	r->is_repeat = take_num(a) != 0;
	r->refused = (size_t)take_num(a);
	r->is_in_flight = take_num(a) != 0;
	r->first_use = take_num(a);
	r->gen = take_num(a);
	r->claims = op_text(op, take_text(a));
	op->number = take_num(a);
	r->nkin = take_count(a, 3, LEDGER_ANCESTORS);
	r->nroom = take_count(a, 5, LEDGER_SCOPES);
	nnote = take_count(a, 4, 1);
	for (size_t i = 0; i < r->nkin; i++) {
		r->kin[i].sid = op_text(op, take_text(a));
		r->kin[i].claims = op_text(op, take_text(a));
		r->kin[i].first_use = take_num(a);
	}
	for (size_t i = 0; i < r->nroom; i++) {
		r->room[i].cap = take_num(a);
		r->room[i].spent = take_num(a);
		r->room[i].reserved = take_num(a);
		r->room[i].calls = take_num(a);
		r->room[i].tokens = take_num(a);
	}
	if (nnote > 0)
		take_note(op, a);
	return !a->is_bad && r->refused < LEDGER_SCOPES;
}
