/*
 * args.h - an op as the arguments of a script, and a script's answer as a reply
 *
 * The order is that in which the scripts read them (redis.lua and the others).
 */
#ifndef WEIR_LEDGER_ARGS_H
#define WEIR_LEDGER_ARGS_H

#include "ledger/op.h"
#include "ledger/script.h"

#define ARGS_MAX 1200 /* forget: a page of keys */

struct args {
	size_t n;
	const char *text[ARGS_MAX];
	size_t size[ARGS_MAX];
	struct arena *memory; /* of the numbers */
};

void args_init(struct args *a, struct arena *memory);
void args_text(struct args *a, struct str s);
void args_num(struct args *a, int64_t n);

enum script args_script(enum op_kind kind);
/* What the script reads beyond what all of them read first. */
void args_op(struct args *a, const struct ledger_op *op);

/* An answer's elements, one by one; NULL or no number: *is_bad. */
struct answer {
	size_t n, at;
	struct str (*element)(const void *from, size_t i); /* p NULL: none */
	const void *from;
	bool is_bad;
};

/*
 * Fills op->reply, its texts copied into the op; `id` is the store's.  False: this is no
 * answer of a script of ours.
 */
bool args_reply(struct ledger_op *op, struct answer *a, struct str *id);

#endif
