/*
 * purse.h - what a text that never ends may cost
 *
 * Each line and each document has a budget of its own (piece.h), and it suffices for a
 * few secrets however short the line is: a text of nothing but such lines would cost ten
 * times what others do.  So each byte that is given out as it came earns a little, up to
 * a burst, and what is looked at and marked is paid from that.  When the purse cannot
 * pay, what could not be paid is masked with what follows it, unseen: a stretch that is
 * long enough to bring the average back under the bound.
 *
 * Lines are paid one by one, in order, so that it does not matter how the text is cut;
 * and what is given out costs no more when it comes again, so that it passes again.
 */
#ifndef WEIR_AUDIT_PURSE_H
#define WEIR_AUDIT_PURSE_H

#include <stdbool.h>
#include <stddef.h>

/* In units of work for each byte; one is about two nanoseconds (piece.h). */
#define PURSE_RATE ((size_t)6)
#define PURSE_BURST (PURSE_RATE * ((size_t)112 << 10))
#define PURSE_STRETCH ((size_t)16 << 10) /* masked at least */
#define PURSE_STRETCH_MAX ((size_t)1 << 20)

struct purse {
	size_t left;
	size_t paid;    /* in all; the bench asks */
	size_t owed;    /* of what was looked at in vain: paid with what is paid next */
	size_t stretch; /* it could not pay: so much is masked, at least; else 0 */
};

void purse_init(struct purse *p); /* full */
/* Of what is paid next, or lies before it: a line may cost what it earns, however long it
 * is. */
void purse_earn(struct purse *p, size_t n);
void purse_close(struct purse *p); /* a line is paid: no more than a burst is kept */
bool purse_pay(
    struct purse *p, size_t work); /* false: it cannot, and keeps what it has */
/* It was looked at in vain, and is looked at again with what follows it. */
void purse_owe(struct purse *p, size_t work);
/* It could not pay `work`: how much is to be masked. */
void purse_spend(struct purse *p, size_t work);
/* So many bytes more were looked at, and go unpaid. */
void purse_waste(struct purse *p, size_t n);
/* How many bytes may be looked at before it is asked again, whatever they are. */
size_t purse_reach(const struct purse *p);

#endif
