/*
 * batch.h - weir explain --batch: JSON lines in, one JSON line out for each
 *
 * A line has `id` (echoed), `via`, `method`, `target` or `target_b64` or `host_b64`
 * and `port`, `answers`, and its own `policy` and `settings`, or stands on the
 * scene given (NULL: the laptop's).  What is no JSON is denied as malformed; what cannot
 * be asked (a policy that does not load, a key nobody knows) is {"id","error":[...]}.
 */
#ifndef WEIR_CMD_BATCH_H
#define WEIR_CMD_BATCH_H

#include "cmd/scene.h"

/* Returns the exit code: 78 when some line could not be asked. */
int batch_run(const struct scene *scene);

#endif
