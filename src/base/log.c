#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"

#define VALUE_READ \
	65536 /* what the filter sees of one value; longer ones are not shown at all */
#define VALUE_SHOWN 1024
#define LINE_MAX_BYTES 262144 /* never reached: a value is at most 6 KiB when escaped */

static const char *const level_name[] = { "error", "warn", "info", "debug" };

static _Atomic enum log_level max_level = LOG_INFO;
static _Atomic enum log_format line_format = LOG_TEXT;
static void (*filter_fn)(struct buf *value, void *arg);
static void *filter_arg;

void
log_setup(enum log_level level, enum log_format format)
{
	atomic_store_explicit(&max_level, level, memory_order_relaxed);
	atomic_store_explicit(&line_format, format, memory_order_relaxed);
}

void
log_filter(void (*fn)(struct buf *value, void *arg), void *arg)
{
	filter_fn = fn;
	filter_arg = arg;
}

bool
log_wants(enum log_level level)
{
	return level <= atomic_load_explicit(&max_level, memory_order_relaxed);
}

const char *
log_number(char out[static 24], int64_t n)
{
	snprintf(out, 24, "%" PRId64, n);
	return out;
}

static bool
needs_backslash(char c)
{
	return c != '\0' && strchr("\"\\", c) != NULL;
}

/* A piece that cannot be shown as it is; its character, or U+FFFD when it is none. */
static void
escape(struct buf *line, enum log_format format, struct str bytes, uint32_t code)
{
	if (needs_backslash(bytes.p[0])) {
		buf_char(line, '\\');
		buf_str(line, bytes);
	} else if (format == LOG_JSON) {
		buf_fmt(line, "\\u%04x", code);
	} else {
		for (size_t i = 0; i < bytes.n; i++)
			buf_fmt(line, "\\x%02x", (uint8_t)bytes.p[i]);
	}
}

/* The value between quotes; what is no UTF-8 is \xNN, in JSON U+FFFD. */
static void
add_quoted(struct buf *line, enum log_format format, struct str value)
{
	buf_text(line, "\"");
	while (value.n > 0) {
		uint32_t code = 0xfffd;
		size_t n = utf8_char(value, &code);
		struct str piece = str_sub(value, 0, n > 0 ? n : 1);

		if (n == 0)
			escape(line, format, piece, 0xfffd);
		else if (needs_backslash(piece.p[0]) || utf8_is_control(code))
			escape(line, format, piece, code);
		else
			buf_str(line, piece);
		value = str_sub(value, piece.n, value.n);
	}
	buf_text(line, "\"");
}

/* Words of these characters need no quotes in text. */
static bool
is_plain(struct str value)
{
	for (size_t i = 0; i < value.n; i++) {
		char c = value.p[i];

		if (c <= ' ' || c >= 0x7f || c == '=' || needs_backslash(c))
			return false;
	}
	return value.n > 0;
}

static void
add_value(struct buf *line, enum log_format format, struct str value)
{
	if (format == LOG_TEXT && is_plain(value))
		buf_str(line, value);
	else
		add_quoted(line, format, value);
}

static void
add_time(struct buf *line)
{
	time_t now = time(NULL);
	struct tm tm;
	char text[32];

	gmtime_r(&now, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	buf_text(line, text);
}

static void
begin_line(
    struct buf *line, enum log_format format, enum log_level level, const char *message)
{
	if (format == LOG_TEXT) {
		add_time(line);
		buf_fmt(line, " %s %s", level_name[level], message);
		return;
	}
	buf_text(line, "{\"ts\":\"");
	add_time(line);
	buf_fmt(line, "\",\"level\":\"%s\",\"msg\":", level_name[level]);
	add_quoted(line, format, str_of(message));
}

/* The filter rewrites the whole value in `scratch`: half a secret is not recognised. */
static void
add_pair(struct buf *line, enum log_format format, const char *key, const char *text,
    struct buf *scratch)
{
	buf_reset(scratch);
	buf_text(scratch, text);
	if (filter_fn != NULL && !scratch->is_over)
		filter_fn(scratch, filter_arg);
	if (scratch->is_over) {
		buf_reset(scratch);
		buf_text(scratch, "(too long to show)");
	}
	if (format == LOG_TEXT) {
		buf_fmt(line, " %s=", key);
	} else {
		buf_char(line, ',');
		add_quoted(line, format, str_of(key));
		buf_char(line, ':');
	}
	add_value(line, format, utf8_cut(buf_view(scratch), VALUE_SHOWN));
}

static void
write_line(struct str line)
{
	while (write(STDERR_FILENO, line.p, line.n) < 0 && errno == EINTR)
		;
}

void
log_write(enum log_level level, const char *message, ...)
{
	enum log_format format = atomic_load_explicit(&line_format, memory_order_relaxed);
	struct buf line, scratch;
	const char *key, *text;
	va_list ap;

	if (!log_wants(level))
		return;
	buf_init(&line, LINE_MAX_BYTES);
	buf_init(&scratch, VALUE_READ);
	begin_line(&line, format, level, message);
	va_start(ap, message);
	while ((key = va_arg(ap, const char *)) != NULL) {
		text = va_arg(ap, const char *);
		add_pair(&line, format, key, text, &scratch);
	}
	va_end(ap);
	buf_text(&line, format == LOG_JSON ? "}\n" : "\n");
	write_line(buf_view(&line));
	buf_fini(&scratch);
	buf_fini(&line);
}
