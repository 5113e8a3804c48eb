/*
 * purse.c - what a text that never ends may cost
 */
#include "audit/purse.h"

#define WORST 75 /* units for each byte that were ever seen, in short lines */
#define REACH_MIN 512
#define WASTED 4 /* times its length: what lines may cost that belong together */

void
purse_init(struct purse *p)
{
	*p = (struct purse){ .left = PURSE_BURST };
}

void
purse_earn(struct purse *p, size_t n)
{
	p->left += n * PURSE_RATE;
}

void
purse_close(struct purse *p)
{
	if (p->left > PURSE_BURST)
		p->left = PURSE_BURST;
}

bool
purse_pay(struct purse *p, size_t work)
{
	if (work + p->owed > p->left)
		return false;
	p->left -= work + p->owed;
	p->paid += work + p->owed;
	p->owed = 0;
	return true;
}

void
purse_owe(struct purse *p, size_t work)
{
	p->owed += work;
}

static void
lengthen(struct purse *p, size_t by)
{
	p->stretch += by;
	if (p->stretch > PURSE_STRETCH_MAX)
		p->stretch = PURSE_STRETCH_MAX;
}

void
purse_spend(struct purse *p, size_t work)
{
	p->stretch = PURSE_STRETCH;
	lengthen(p, (work + p->owed) / PURSE_RATE);
	p->owed = 0;
}

void
purse_waste(struct purse *p, size_t n)
{
	lengthen(p, n * WASTED);
}

size_t
purse_reach(const struct purse *p)
{
	size_t n = (p->left < PURSE_BURST ? p->left : PURSE_BURST) / WORST;

	return n > REACH_MIN ? n : REACH_MIN;
}
