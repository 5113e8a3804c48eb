/*
 * log.h - what the operator reads
 *
 *	log_warn("dial failed", "host", host, "err", err_text(err));
 *
 * A constant message, then pairs of key and text; text is escaped, never
 * trusted.  One line to stderr for each call, as text or JSON.  Before a line
 * is written the filter sees it: the redactor's place, so that no secret
 * reaches a log.  Any thread.  The journal (audit) is a different thing.
 */
#ifndef WEIR_BASE_LOG_H
#define WEIR_BASE_LOG_H

#include "base/str.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

void log_setup(enum log_level level, enum log_format format);
/* Rewrites each value in place, from any thread; set once, before threads start. */
void log_filter(void (*fn)(struct buf *value, void *arg), void *arg);
bool log_wants(enum log_level level);
void log_write(enum log_level level, const char *message, ...) __attribute__((sentinel));

#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__, (char *)NULL)
#define log_warn(...) log_write(LOG_WARN, __VA_ARGS__, (char *)NULL)
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__, (char *)NULL)
#define log_debug(...) \
	do { \
		if (log_wants(LOG_DEBUG)) \
			log_write(LOG_DEBUG, __VA_ARGS__, (char *)NULL); \
	} while (0)

/* A number as text for a log pair; lives as long as the enclosing block. */
#define NUM(n) log_number((char[24]){ 0 }, (n))
const char *log_number(char out[static 24], int64_t n);

#endif
