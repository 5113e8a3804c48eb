/*
 * interfaces.h - where this machine stands: its addresses and what is on-link
 *
 * Reads the kernel's list now; owned arrays, freed with interfaces_fini().
 */
#ifndef WEIR_NET_INTERFACES_H
#define WEIR_NET_INTERFACES_H

#include "base/addr.h"

struct interfaces {
	struct addr *own;
	struct prefix *onlink;
	size_t nown, nonlink;
};

int interfaces_read(struct interfaces *out) MUST_CHECK; /* 0 or ERR_IO */
void interfaces_fini(struct interfaces *i);
bool interfaces_eq(const struct interfaces *a, const struct interfaces *b);

#endif
