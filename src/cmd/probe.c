/*
 * probe.c - what a probe found
 */
#include "cmd/probe.h"

#include <stdio.h>

static void PRINTF_LIKE(3, 0)
    say(struct probe *p, enum probe_result result, const char *fmt, va_list ap)
{
	p->result = result;
	vsnprintf(p->said, sizeof(p->said), fmt, ap);
}

void
probe_good(struct probe *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(p, PROBE_OK, fmt, ap);
	va_end(ap);
}

void
probe_bad(struct probe *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(p, p->row->is_positive ? PROBE_FAIL : PROBE_LEAK, fmt, ap);
	va_end(ap);
}

void
probe_unsure(struct probe *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(p, PROBE_UNSURE, fmt, ap);
	va_end(ap);
}

void
probe_failed(struct probe *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(p, p->row->is_positive ? PROBE_FAIL : PROBE_UNSURE, fmt, ap);
	va_end(ap);
}

bool
probe_row_applies(const struct probe_row *row, const struct probe_plan *plan)
{
	return row->door == DOOR_NONE || plan->door[row->door] != NULL;
}
