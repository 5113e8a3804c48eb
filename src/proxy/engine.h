/*
 * engine.h - what a worker lends to its connections
 */
#ifndef WEIR_PROXY_ENGINE_H
#define WEIR_PROXY_ENGINE_H

#include "audit/journal.h"
#include "ledger/ledger.h"
#include "net/mint.h"
#include "net/relay.h"
#include "net/resolver.h"
#include "net/tls.h"
#include "net/tls_server.h"
#include "proxy/origin.h"
#include "proxy/snapshot.h"
#include "proxy/trail.h"
#include "state/coined.h"
#include "state/limits.h"
#include "state/names.h"
#include "state/session.h"
#include "state/sums.h"
#include "state/tokens.h"
#include "state/uploads.h"
#include "state/writers.h"

#define SCRATCH ((size_t)64 * 1024)

struct engine {
	struct loop *loop;
	struct resolver *resolver;
	struct pipes *pipes;
	struct origins origins;
	struct origins providers;      /* the gateway's, of the present configuration */
	struct chores *chores;         /* steps of handshakes */
	struct tls_client *tls;        /* towards origins; NULL: there are none */
	struct tls_server *tls_server; /* towards clients, in place of origins */
	struct mint *mint;             /* shared: the certificates for that */
	struct journal *journal;       /* shared by all workers */
	struct limits *limits;         /* shared by all workers */
	struct sessions *sessions;     /* shared by all workers */
	struct tokens *tokens;     /* shared: token -> struct grant, by its snapshot */
	struct sums *sums;         /* shared by all workers */
	struct uploads *uploads;   /* shared by all workers */
	struct coined *coined;     /* shared by all workers */
	struct writers *writers;   /* shared by all workers */
	struct names *names;       /* shared by all workers; NULL: none are given */
	struct ledger *ledger;     /* shared; NULL: nobody has a session here */
	struct snapshot *snapshot; /* what new exchanges are judged by */
	char *scratch;             /* SCRATCH bytes, good until the callback returns */
	struct buf text; /* heads and records are put together here; empty between uses */
	struct trail trail; /* of exchanges that last */
	struct list conns;  /* all connections of this worker */
	size_t nconns;
	size_t most; /* connections there were since memory was last given back */
	bool is_draining;
	bool says_refusals; /* the laptop: a log line with the rule to paste for each */
	void (*emptied)(void *arg); /* draining and the last connection is gone */
	void *emptied_arg;
};

#endif
