/*
 * verify_print.h - what weir verify found: a table for eyes, or JSON
 */
#ifndef WEIR_CMD_VERIFY_PRINT_H
#define WEIR_CMD_VERIFY_PRINT_H

#include "cmd/probe.h"

struct verify_sum {
	size_t ok, leaks, failed, unsure;
};

struct verify_sum verify_count(const struct probe *p, size_t n);
void verify_print(struct buf *to, const struct probe *p, size_t n);
void verify_print_json(struct buf *to, const struct probe *p, size_t n, bool holds);

#endif
