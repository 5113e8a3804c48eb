/*
 * home.h - at which hosts those sell whom a price table names
 *
 * A route that carries a key there without a meter spends money that nobody counts.
 */
#ifndef WEIR_METER_HOME_H
#define WEIR_METER_HOME_H

#include "meter/price.h"

/* `host` is canonical.  The provider's name (static), or NULL: nobody of the table's. */
const char *home_of(const struct prices *p, struct str host);

#endif
