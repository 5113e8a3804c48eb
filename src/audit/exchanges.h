/*
 * exchanges.h - which exchanges of a log were begun and never ended, or ended twice
 *
 * Bounded: EXCHANGES_OPEN of them at once; a second end is known as far back as
 * recent.h remembers.  One thread.
 */
#ifndef WEIR_AUDIT_EXCHANGES_H
#define WEIR_AUDIT_EXCHANGES_H

#include "audit/recent.h"
#include "base/map.h"

#define EXCHANGES_OPEN ((size_t)1 << 18)

/* One that has an `open` record and no `final` one. */
struct open_exchange {
	uint64_t run, line, order;
	const char *file; /* borrowed */
	bool is_told;
};

struct exchanges {
	struct map open; /* by id */
	struct recent ended;
	uint64_t order;
};

void exchanges_init(struct exchanges *x);
void exchanges_fini(struct exchanges *x);
/* False: there are too many to follow this one. */
bool exchanges_open(struct exchanges *x, struct str id, const struct open_exchange *at);
/* False: it had ended. */
bool exchanges_end(struct exchanges *x, struct str id);
/* What is open of runs up to this one, oldest first, each told once. */
void exchanges_each(struct exchanges *x, uint64_t run,
    void (*fn)(void *arg, struct str id, const struct open_exchange *o), void *arg);

#endif
