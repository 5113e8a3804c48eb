/*
 * probe.h - what weir verify tries, one row for each kind of thing
 *
 * A positive probe must get through, and by weir; a negative one must not, or must be
 * refused by weir.  Rows are grown over the plan's targets into probes, each of which
 * runs in a thread of its own and writes only to itself.
 */
#ifndef WEIR_CMD_PROBE_H
#define WEIR_CMD_PROBE_H

#include "base/loop.h"
#include "wire/url.h"

/* The plan is to be had for each of a list, or once. */
enum probe_over {
	OVER_ONCE,
	OVER_ALLOW,      /* "HOST:PORT" that policy allows over https */
	OVER_DENY,       /* "HOST:PORT" that it does not */
	OVER_DOH,        /* the same, of public resolvers that speak HTTPS */
	OVER_DIRECT,     /* "ADDRESS:PORT", TCP */
	OVER_UDP,        /* the same, UDP */
	OVER_NAMESERVER, /* "ADDRESS:53" that are not weir's */
	OVER_RESOLVER,   /* those of this system */
	OVER_METADATA,   /* "ADDRESS:80" */
	OVER_HOST,       /* the same, of who made the sandbox's network */
	OVER_BESIDE,     /* other ports of those, and of the hosts of weir's doors */
	OVER_N
};

enum probe_door {
	DOOR_NONE,
	DOOR_PROXY,
	DOOR_SOCKS5,
	DOOR_GATEWAY,
	DOOR_DNS,
	DOOR_TRANSPARENT,
	DOOR_N
};

#define PROBE_TARGETS_MAX 128

struct probe_targets {
	const char *p[PROBE_TARGETS_MAX];
	size_t n;
};

/* What is to be proved; read only once probes run. */
struct probe_plan {
	const char *door[DOOR_N]; /* as talk_open() has them; NULL: there is none */
	struct probe_targets over[OVER_N];
	struct probe_targets own; /* ports of loopback that are the sandbox's own */
	struct str user, token;   /* empty: none */
	msec timeout_ms;
};

enum probe_result {
	PROBE_UNSURE, /* it could not be tried, or its end says nothing */
	PROBE_OK,
	PROBE_FAIL, /* positive: it did not get through */
	PROBE_LEAK, /* negative: it did */
};

struct probe {
	const struct probe_row *row;
	const struct probe_plan *plan;
	const char *target; /* NULL: once */
	enum probe_result result;
	char said[192]; /* what was seen */
	const char
	    *mend;       /* what to do, where more is known than the row knows; or NULL */
	char policy[65]; /* the digest of the one that weir says is in force, or "" */
};

struct probe_row {
	const char *id;
	const char *proves;
	const char *mend; /* what to do when it does not hold */
	enum probe_door door;
	enum probe_over over;
	bool is_positive;
	void (*run)(struct probe *p);
};

struct probe_rows {
	const struct probe_row *p;
	size_t n;
};

/* By weir's doors; past them; inside the sandbox's own network; of the sandbox itself. */
extern const struct probe_rows probe_doors, probe_ways, probe_locals, probe_sandboxes;

/* What a probe found, in a sentence: good where it went as it should, bad otherwise. */
void probe_good(struct probe *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
void probe_bad(struct probe *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
void probe_unsure(struct probe *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A door itself failed: bad for what is to pass it, and of the rest it says nothing. */
void probe_failed(struct probe *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The target as it is shown, or NULL: what is pinged has no port. */
const char *probe_target(const struct probe *p, char text[static HOST_MAX + 1]);

/* Does the row's probe belong to the plan, and over what? */
bool probe_row_applies(const struct probe_row *row, const struct probe_plan *plan);

#endif
