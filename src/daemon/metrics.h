/*
 * metrics.h - count.def as Prometheus text (exposition format 0.0.4)
 */
#ifndef WEIR_DAEMON_METRICS_H
#define WEIR_DAEMON_METRICS_H

#include "base/str.h"

void metrics_print(struct buf *to);

#endif
