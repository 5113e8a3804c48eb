/*
 * audit.h - weir audit: its commands, and what they may be told
 */
#ifndef WEIR_CMD_AUDIT_H
#define WEIR_CMD_AUDIT_H

#include "audit/entry.h"
#include "audit/files.h"
#include "conf/settings.h"

#define AUDIT_TIME 28 /* a ts, and its NUL */

enum audit_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct audit_asked {
	const char *config;
	bool is_json;
	char since[AUDIT_TIME], until[AUDIT_TIME]; /* as a ts; empty: not said */
	/* verify */
	const char *key, *public_key, *anchor, *head;
	bool from_start;
	/* tail; NULL: any */
	bool follows;
	uint64_t n;
	bool has_n;
	const char *session, *host, *reason, *decision, *kind, *phase;
	enum audit_color color;
	/* stats */
	const char *by;
	uint64_t top; /* 0: all */

	char *const *file; /* what stands behind the command */
	size_t nfile;
};

/* The log that was asked for. */
struct audit_log {
	struct settings *settings; /* NULL: files were named, and no configuration */
	const char *path; /* where weir writes it; NULL: several files were named */
	struct audit_files files; /* oldest first; none: it is not there (yet) */
};

/* Each returns the exit code. */
int audit_verify(struct audit_log *log, const struct audit_asked *o);
int audit_tail(struct audit_log *log, const struct audit_asked *o);
int audit_stats(struct audit_log *log, const struct audit_asked *o);

#endif
