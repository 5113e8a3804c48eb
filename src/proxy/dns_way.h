/*
 * dns_way.h - the way of a question about a name
 *
 * GREET, WHO and RECORD are everybody's; between them a name is admitted and answered,
 * by an address that stands for it or by what the resolver found and the guard let pass.
 * A constant; any thread.
 */
#ifndef WEIR_PROXY_DNS_WAY_H
#define WEIR_PROXY_DNS_WAY_H

#include "proxy/conn.h"

extern const struct stage_row dns_way[]; /* by enum stage */

#endif
