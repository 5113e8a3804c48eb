/*
 * ledger.h - weir ledger: its commands, and what they may be told
 */
#ifndef WEIR_CMD_LEDGER_H
#define WEIR_CMD_LEDGER_H

#include "cmd/books.h"

#define LEDGER_TABLES 16 /* price tables that verify may be given */

struct ledger_asked {
	const char *config, *url;
	const char *issuer, *usd, *why, *id, *per, *provider;
	const char *id_field, *cost_field;
	const char *prices[LEDGER_TABLES];
	size_t nprices;
	int64_t days;       /* forget: how long it stays forgotten; 0: as tokens last */
	usd_nano tolerance; /* reconcile */
	usec from, to;      /* calls reserved in [from, to) */
	bool is_json, is_total, is_public;
	const char *word[4]; /* what stands behind the command */
	int nword;
};

/* Each is handed an open reader; returns the exit code. */
int ledger_sessions(struct books *b, const struct ledger_asked *o);
int ledger_show(struct books *b, const struct ledger_asked *o);
int ledger_export(struct books *b, const struct ledger_asked *o);
int ledger_adjust(struct books *b, const struct ledger_asked *o);
int ledger_forget(struct books *b, const struct ledger_asked *o);
int ledger_backup(struct books *b, const struct ledger_asked *o);
int ledger_verify(struct books *b, const struct ledger_asked *o);
int ledger_reconcile(struct books *b, const struct ledger_asked *o);

#endif
