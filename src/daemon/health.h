/*
 * health.h - /healthz, /readyz and /metrics, and nothing else
 *
 * On main's loop; answers one request a connection.  Belongs to main.
 */
#ifndef WEIR_DAEMON_HEALTH_H
#define WEIR_DAEMON_HEALTH_H

#include "base/loop.h"

struct health;

/* `unready` says why what is new is not served now (static); NULL: it is. */
struct health *health_new(struct loop *l, const char *(*unready)(void *arg), void *arg);
void health_listen(struct health *h, int fd); /* borrowed */
void health_free(struct health *h);

#endif
