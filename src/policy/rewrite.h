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

#define REWRITE_KEY_MAX 64 /* decoded; no key that anybody looks for is near it */

/* A sentence, for the client too. */
const char *rewrite_why(enum rewrite what);

/* Takes the next key off a query, in `text` as origins read it; empty when it is longer.
 * False: there is none. */
bool rewrite_next_key(
    struct str *query, char text[static REWRITE_KEY_MAX], struct str *key) MUST_CHECK;

/* The query without such keys; nothing else changes.  What is left may be empty. */
void rewrite_strip_query(struct buf *out, struct str query);

#endif
