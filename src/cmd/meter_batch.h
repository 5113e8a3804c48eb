/*
 * meter_batch.h - weir meter --batch: recorded calls as JSON lines in, a line out for
 * each
 *
 * A line has `id` (echoed), `family`, `request` {method, path, headers, and one of body,
 * body_raw, body_b64, frames}, `response` {status, headers, and one of body, sse,
 * body_b64, chunks_b64, frames} or null for a question whether it may run, its own
 * `prices`, `policy` and `state`.
 */
#ifndef WEIR_CMD_METER_BATCH_H
#define WEIR_CMD_METER_BATCH_H

#include "cmd/metered.h"

/* `common`: prices for lines that have none of their own; may be NULL.  Returns the exit
 * code: 78 when some line could not be asked. */
int meter_batch_run(const struct prices *common, yyyymmdd day);

#endif
