/*
 * stages.h - the way of a request
 */
#ifndef WEIR_PROXY_STAGES_H
#define WEIR_PROXY_STAGES_H

#include "proxy/conn.h"

extern const struct stage_row stages[]; /* by enum stage */

#endif
