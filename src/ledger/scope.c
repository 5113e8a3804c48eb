/*
 * scope.c - is there room: the rules of one reservation, without a store
 */
#include "ledger/scope.h"

#define PPM 1000000

bool
scope_remember(struct row_scope *row, usd_nano claim, int64_t gen)
{
	bool is_newer = gen > row->gen;

	if (claim == LEDGER_NO_CLAIM || gen < row->gen ||
	    (!is_newer && claim >= row->claim))
		return false;
	row->claim = claim;
	row->gen = gen;
	return true;
}

usd_nano
scope_cap(const struct row_scope *row, const struct op_scope *asked)
{
	usd_nano cap = asked->cap;

	if (row->gen >= 0 && row->claim < cap)
		cap = row->claim;
	if (asked->claim != LEDGER_NO_CLAIM && asked->claim < cap)
		cap = asked->claim; /* an older token, poorer than the newest */
	return cap;
}

static bool
is_limited(const struct row_scope *row, const struct op_scope *asked)
{
	return (asked->max_calls > 0 && row->calls >= asked->max_calls) ||
	       (asked->max_tokens > 0 && row->tokens >= asked->max_tokens);
}

/* A cap of nothing means no calls, not even those that cost nothing. */
static bool
is_short(usd_nano room, usd_nano floor, usd_nano cap)
{
	return cap <= 0 || room < floor;
}

/* `room` is not less than the floor. */
static usd_nano
grant(const struct ledger_op *op, usd_nano room)
{
	usd_nano share = (usd_nano)((__int128)room * op->share_ppm / PPM);

	if (share < op->floor)
		share = op->floor;
	return op->want < share ? op->want : share;
}

struct ruling
scope_rule(const struct ledger_op *op, const struct row_scope *rows, const usd_nano *caps)
{
	struct ruling ruling = { .answer = LEDGER_OK, .is_in_flight = true };
	usd_nano least = LEDGER_MONEY_MAX;

	for (size_t i = 0; i < op->nscope; i++) {
		struct ledger_room room = { .cap = caps[i],
			.spent = rows[i].spent,
			.reserved = rows[i].reserved };
		struct ledger_room idle = { .cap = caps[i], .spent = rows[i].spent };
		enum ledger_answer no = LEDGER_OK;

		if (is_limited(&rows[i], &op->scope[i]))
			no = LEDGER_LIMIT;
		else if (is_short(ledger_left(&room), op->floor, caps[i]))
			no = LEDGER_EXHAUSTED;
		if (no == LEDGER_LIMIT ||
		    is_short(ledger_left(&idle), op->floor, caps[i]))
			ruling.is_in_flight = false;
		if (no != LEDGER_OK && ruling.answer == LEDGER_OK) {
			ruling.answer = no;
			ruling.refused = i;
		}
		if (ledger_left(&room) < least)
			least = ledger_left(&room);
	}
	if (ruling.answer != LEDGER_OK)
		return ruling;
	ruling.is_in_flight = false;
	ruling.granted = grant(op, least);
	return ruling;
}

void
scope_hold(struct row_scope *row, usd_nano amount)
{
	row->reserved += amount; /* fits: spent + reserved is at most a cap */
	row->calls++;
}

static int64_t
sum_up_to(int64_t a, int64_t b, int64_t max)
{
	__int128 sum = (__int128)a + b;

	if (sum < 0)
		return 0;
	return sum > max ? max : (int64_t)sum;
}

void
scope_charge(struct row_scope *row, usd_nano held, usd_nano charged, int64_t tokens)
{
	row->reserved = sum_up_to(row->reserved, -held, LEDGER_MONEY_MAX);
	row->spent = sum_up_to(row->spent, charged, LEDGER_MONEY_MAX);
	row->tokens = sum_up_to(row->tokens, tokens, LEDGER_MONEY_MAX);
}
