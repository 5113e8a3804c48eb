/*
 * slow.h - texts that were made to cost much, and a search for more of them
 *
 * A text is a unit, repeated.  What it costs is the processor's time for each byte of a
 * stream, the least of some rounds, since what else the machine does only adds to it.
 */
#ifndef WEIR_BENCH_SLOW_H
#define WEIR_BENCH_SLOW_H

#include "audit/stream.h"

double slow_now_ns(void); /* of this thread's time on a processor */
/* Nanoseconds for each byte of a stream, and, unless it is NULL, the units of work that
 * its purse paid (purse.h). */
double slow_cost(const struct redactor *r, enum redact_as as, struct str text, int rounds,
    double *units);

struct worst {
	double ns;
	const char *form;
	char what[64];
};

void slow_try(
    const struct redactor *r, struct str unit, const char *what, struct worst *worst);
void slow_try_made_up(const struct redactor *r, struct worst *worst);
void slow_try_file(const struct redactor *r, const char *path, struct worst *worst);

/*
 * For so many seconds of the processor's time: units are changed and put together, and
 * the slowest are changed again.  It begins with what was made up and the files; the
 * slowest of each form that cost more than `limit` nanoseconds for each byte are written
 * to files in `directory`.
 */
void slow_search(const struct redactor *r, unsigned seconds, double limit,
    const char *directory, char *const *files, int nfiles);

#endif
