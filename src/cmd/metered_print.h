/*
 * metered_print.h - what the meter says of one call, as JSON
 */
#ifndef WEIR_CMD_METERED_PRINT_H
#define WEIR_CMD_METERED_PRINT_H

#include "cmd/metered.h"

/* What `weir meter` says of one call, as JSON; `id` is JSON text, p NULL: none. */
void metered_print(const struct metered *m, const struct terms *t, struct str id,
    const struct metered *each, size_t neach, struct buf *to);

#endif
