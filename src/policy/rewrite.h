/*
 * rewrite.h - fields and query keys that make an origin see another request
 *
 * The table is fields.def.  Pure; any thread.
 */
#ifndef WEIR_POLICY_REWRITE_H
#define WEIR_POLICY_REWRITE_H

#include "wire/http.h"

enum rewrite { REWRITES_NOTHING, REWRITES_METHOD, REWRITES_PATH };

enum rewrite rewrite_field(struct str name);
/* Are the names one to CGI, which knows neither case nor '-' from '_'? */
bool rewrite_is_same_name(struct str a, struct str b);

/* The first thing in a request that rewrites it; head and query.p may be NULL. */
enum rewrite rewrite_find(const struct http_head *head, struct str query);

/* The query without such keys; nothing else changes.  What is left may be empty. */
void rewrite_strip_query(struct buf *out, struct str query);

#endif
