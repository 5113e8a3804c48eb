#include "wire/http.h"

#include <string.h>

#include "wire/chars.h"

#define METHOD_MAX 32

static const char *const error_text[HTTP_ERROR_N] = {
	[HTTP_OK] = "ok",
	[HTTP_START_LINE] =
	    "the first line must be METHOD TARGET HTTP/1.1 (or HTTP/1.1 STATUS PHRASE)",
	[HTTP_VERSION] = "only HTTP/1.1 and HTTP/1.0 are spoken here",
	[HTTP_LINE_END] = "lines must end in CR LF, and nothing else may hold a CR or LF",
	[HTTP_CONTROL] = "a control byte stands in the head; this may be no HTTP at all",
	[HTTP_FIELD] =
	    "a header line must be a name, a colon directly after it, and a value",
	[HTTP_FOLD] =
	    "a header line begins with white space; folded lines must be joined",
	[HTTP_HOST_MISSING] = "HTTP/1.1 requests need a Host header",
	[HTTP_HOST_TWICE] = "there must be one Host header only",
	[HTTP_LENGTH_BAD] = "Content-Length must be a plain decimal number",
	[HTTP_LENGTH_CONFLICT] = "there must be one Content-Length only",
	[HTTP_LENGTH_AND_CODING] = "send Content-Length or Transfer-Encoding, not both",
	[HTTP_CODING_BAD] =
	    "Transfer-Encoding must be once and exactly: chunked, in HTTP/1.1",
	[HTTP_CODING_UNSUPPORTED] =
	    "no transfer coding but chunked is supported; use Content-Encoding",
	[HTTP_EXPECTATION] = "the only expectation that can be met is 100-continue",
	[HTTP_ALIAS] = "a framing header is spelt with an underscore; use the hyphen",
	[HTTP_NOMINATION] =
	    "Connection names a header that must not be removed, or too many",
	[HTTP_METHOD] = "the method must be a word of at most 32 characters",
	[HTTP_TARGET_TOO_LONG] = "the request target is too long",
	[HTTP_HEAD_TOO_LARGE] = "the headers are too large or too many",
	[HTTP_CONNECT_BODY] = "CONNECT must have no body",
};

enum state {
	START,   /* nothing yet */
	SKIP_LF, /* one empty line before a request (RFC 9112 2.2) */
	METHOD_FIRST,
	METHOD,
	TARGET,
	REQUEST_VERSION, /* last word of a request line */
	STATUS_VERSION,  /* first word of a status line */
	STATUS,
	PHRASE,
	START_LF,
	FIELD_FIRST,
	NAME,
	VALUE,
	FIELD_LF,
	END_LF,
	REFUSED,
};

/* One call's view: `at` moves over in.p[0..end), where end is cut by the head's limit. */
struct scan {
	struct http_reader *r;
	const char *p;
	size_t at, end;
};

const char *
http_error_text(enum http_error e)
{
	return error_text[e];
}

void
http_reader_init(
    struct http_reader *r, enum http_kind kind, const struct http_limits *limit)
{
	*r = (struct http_reader){ .kind = kind, .limit = *limit, .state = START };
}

static enum http_result
refuse(struct http_reader *r, enum http_error e, size_t at)
{
	r->state = REFUSED;
	r->error = e;
	r->at = at;
	return HTTP_BAD;
}

/* The byte at s->at has no place here: line ends and controls are named as such. */
static enum http_result
refuse_byte(struct scan *s, enum http_error otherwise)
{
	char c = s->p[s->at];

	if (c == '\n')
		otherwise = HTTP_LINE_END;
	else if (char_is(c, CHAR_CONTROL) && c != '\r' && c != '\t')
		otherwise = HTTP_CONTROL;
	return refuse(s->r, otherwise, s->at);
}

static enum http_result
enter(struct scan *s, enum state state)
{
	s->r->state = (uint8_t)state;
	return HTTP_MORE;
}

/* Moves over that class; false when what began at line_start grew beyond max. */
static bool
span_within(struct scan *s, enum char_class class, size_t max)
{
	size_t begin = s->r->line_start;

	s->at += chars_span(s->p + s->at, s->end - s->at, class);
	if (s->at - begin <= max)
		return true;
	s->at = begin + max;
	return false;
}

static enum http_result
on_start(struct scan *s)
{
	if (s->r->kind == HTTP_RESPONSE)
		return enter(s, STATUS_VERSION);
	if (s->p[s->at] != '\r')
		return enter(s, METHOD_FIRST);
	s->at++;
	return enter(s, SKIP_LF);
}

static enum http_result
on_skip_lf(struct scan *s)
{
	if (s->p[s->at] != '\n')
		return refuse(s->r, HTTP_LINE_END, s->at);
	s->r->line_start = ++s->at;
	return enter(s, METHOD_FIRST);
}

static enum http_result
on_method_first(struct scan *s)
{
	if (s->p[s->at] == '\r')
		return refuse(s->r, HTTP_LINE_END, s->at);
	if (!char_is(s->p[s->at], CHAR_TOKEN))
		return refuse_byte(s, HTTP_START_LINE);
	return enter(s, METHOD);
}

static enum http_result
on_method(struct scan *s)
{
	if (!span_within(s, CHAR_TOKEN, METHOD_MAX))
		return refuse(s->r, HTTP_METHOD, s->at);
	if (s->at == s->end)
		return HTTP_MORE;
	if (s->p[s->at] == ' ') {
		s->r->line_start = ++s->at;
		return enter(s, TARGET);
	}
	return refuse_byte(s,
	    s->p[s->at] == '\r' || s->p[s->at] == '\t' ? HTTP_START_LINE : HTTP_METHOD);
}

static enum http_result
on_target(struct scan *s)
{
	size_t begin = s->r->line_start;

	if (!span_within(s, CHAR_TARGET, s->r->limit.target))
		return refuse(s->r, HTTP_TARGET_TOO_LONG, s->at);
	if (s->at == s->end)
		return HTTP_MORE;
	if (s->p[s->at] != ' ' || s->at == begin)
		return refuse_byte(s, HTTP_START_LINE);
	s->r->line_start = ++s->at;
	return enter(s, REQUEST_VERSION);
}

/* "HTTP/d.d" from line_start to `after`; only 1.0 and 1.1 pass. */
static enum http_result
on_version(struct scan *s, char after, enum state next)
{
	static const char shape[] = "HTTP/d.d";
	const char *word = s->p + s->r->line_start;

	for (; s->at < s->end; s->at++) {
		size_t i = s->at - s->r->line_start;
		char c = s->p[s->at];

		if (i == sizeof(shape) - 1) {
			if (c != after)
				return refuse_byte(s, HTTP_START_LINE);
			if (word[5] != '1' || word[7] > '1')
				return refuse(s->r, HTTP_VERSION, s->r->line_start);
			s->r->line_start = ++s->at;
			return enter(s, next);
		}
		if (shape[i] == 'd' ? !ascii_is_digit(c) : c != shape[i])
			return refuse_byte(s, HTTP_START_LINE);
	}
	return HTTP_MORE;
}

/* 100 to 999 and a space; servers that end the line right there are understood. */
static enum http_result
on_status(struct scan *s)
{
	for (; s->at < s->end; s->at++) {
		size_t i = s->at - s->r->line_start;
		char c = s->p[s->at];

		if (i < 3) {
			if (!ascii_is_digit(c) || (i == 0 && c == '0'))
				return refuse_byte(s, HTTP_START_LINE);
			continue;
		}
		if (c != ' ' && c != '\r')
			return refuse_byte(s, HTTP_START_LINE);
		s->r->line_start = ++s->at;
		return enter(s, c == ' ' ? PHRASE : START_LF);
	}
	return HTTP_MORE;
}

/* A status phrase or a field value: up to the CR. */
static enum http_result
on_text(struct scan *s, enum state next)
{
	if (!span_within(s, CHAR_VALUE, s->r->limit.field))
		return refuse(s->r, HTTP_HEAD_TOO_LARGE, s->at);
	if (s->at == s->end)
		return HTTP_MORE;
	if (s->p[s->at] != '\r')
		return refuse_byte(s, HTTP_CONTROL);
	s->at++;
	return enter(s, next);
}

static enum http_result
on_lf(struct scan *s)
{
	if (s->p[s->at] != '\n')
		return refuse(s->r, HTTP_LINE_END, s->at - 1);
	s->r->line_start = ++s->at;
	return enter(s, FIELD_FIRST);
}

static enum http_result
on_field_first(struct scan *s)
{
	char c = s->p[s->at];

	if (c == '\r') {
		s->at++;
		return enter(s, END_LF);
	}
	if (c == ' ' || c == '\t')
		return refuse(s->r, HTTP_FOLD, s->at);
	if (!char_is(c, CHAR_TOKEN))
		return refuse_byte(s, HTTP_FIELD);
	if (s->r->nfield == s->r->limit.fields)
		return refuse(s->r, HTTP_HEAD_TOO_LARGE, s->at);
	s->r->nfield++;
	return enter(s, NAME);
}

static enum http_result
on_name(struct scan *s)
{
	if (!span_within(s, CHAR_TOKEN, s->r->limit.field))
		return refuse(s->r, HTTP_HEAD_TOO_LARGE, s->at);
	if (s->at == s->end)
		return HTTP_MORE;
	if (s->p[s->at] != ':')
		return refuse_byte(s, HTTP_FIELD);
	s->at++;
	return enter(s, VALUE);
}

static enum http_result
on_end_lf(struct scan *s)
{
	if (s->p[s->at] != '\n')
		return refuse(s->r, HTTP_LINE_END, s->at - 1);
	s->at++;
	return HTTP_DONE;
}

/* One state's stretch of bytes; there is at least one. */
static enum http_result
step(struct scan *s)
{
	switch ((enum state)s->r->state) {
	case START:
		return on_start(s);
	case SKIP_LF:
		return on_skip_lf(s);
	case METHOD_FIRST:
		return on_method_first(s);
	case METHOD:
		return on_method(s);
	case TARGET:
		return on_target(s);
	case REQUEST_VERSION:
		return on_version(s, '\r', START_LF);
	case STATUS_VERSION:
		return on_version(s, ' ', STATUS);
	case STATUS:
		return on_status(s);
	case PHRASE:
		return on_text(s, START_LF);
	case START_LF:
	case FIELD_LF:
		return on_lf(s);
	case FIELD_FIRST:
		return on_field_first(s);
	case NAME:
		return on_name(s);
	case VALUE:
		return on_text(s, FIELD_LF);
	case END_LF:
		return on_end_lf(s);
	case REFUSED:
		break;
	}
	return HTTP_BAD;
}

/* Takes the next line of a head that was scanned, so its CR is there. */
static struct str
take_line(struct str *rest)
{
	const char *cr = memchr(rest->p, '\r', rest->n);
	struct str line = { rest->p, (size_t)(cr - rest->p) };

	*rest = str_sub(*rest, line.n + 2, rest->n);
	return line;
}

static struct str
take_word(struct str *line)
{
	struct str word = STR_NONE;

	(void)str_split(line, ' ', &word);
	return word;
}

static void
split_start(struct http_head *h, struct str line)
{
	struct str version;

	if (h->kind == HTTP_REQUEST) {
		h->method = take_word(&line);
		h->target = take_word(&line);
		version = line;
	} else {
		version = take_word(&line);
		struct str status = take_word(&line);

		for (size_t i = 0; i < status.n; i++)
			h->status = h->status * 10 + (status.p[i] - '0');
		h->phrase = line;
	}
	h->minor = version.p[version.n - 1] - '0';
}

static void
split_fields(struct http_head *h, struct str rest)
{
	for (size_t i = 0; i < h->nfield; i++) {
		struct str line = take_line(&rest);
		size_t colon = 0;

		(void)str_find(line, ':', &colon);
		h->field[i] = (struct http_field){
			.name = { line.p, colon },
			.value = str_trim(str_sub(line, colon + 1, line.n)),
		};
	}
}

/* The grammar holds: cut it into slices and judge what they mean together. */
static enum http_result
finish(struct http_reader *r, struct str head, struct arena *a, struct http_head *out)
{
	size_t array = (r->nfield > 0 ? r->nfield : 1) * sizeof(struct http_field);
	struct http_head h = { .kind = r->kind, .nfield = r->nfield };
	struct str rest = head;
	enum http_error e;

	if (rest.p[0] == '\r')
		rest = str_sub(rest, 2, rest.n);
	if ((h.field = arena_alloc(a, array)) == NULL)
		return refuse(r, HTTP_HEAD_TOO_LARGE, head.n);
	split_start(&h, take_line(&rest));
	split_fields(&h, rest);
	if ((e = head_settle(&h)) != HTTP_OK)
		return refuse(r, e, head.n);
	*out = h;
	return HTTP_DONE;
}

enum http_result
http_read(struct http_reader *r, struct str in, struct arena *a, struct http_head *out,
    size_t *used)
{
	size_t end = in.n < r->limit.head ? in.n : r->limit.head;
	struct scan s = { .r = r, .p = in.p, .at = r->seen, .end = end };
	enum http_result result = r->state == REFUSED ? HTTP_BAD : HTTP_MORE;

	while (result == HTTP_MORE && s.at < s.end)
		result = step(&s);
	r->seen = s.at;
	if (result == HTTP_DONE) {
		*used = s.at;
		return finish(r, str_sub(in, 0, s.at), a, out);
	}
	if (result == HTTP_MORE && s.at == r->limit.head)
		return refuse(r, HTTP_HEAD_TOO_LARGE, s.at);
	return result;
}
