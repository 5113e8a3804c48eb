#include "wire/body.h"

#include "wire/chars.h"

#define DIGITS_MAX 16
#define EXT_LINE_MAX (4 * 1024)
#define EXT_MAX (16 * 1024)
#define TRAILER_MAX (8 * 1024)

/* Where in chunked-body (RFC 9112 7.1) the next byte stands. */
enum state {
	BAD,
	SIZE_FIRST,
	SIZE,
	EXT_SPACE, /* white space that only a ';' makes legal */
	EXT,       /* after ';' */
	EXT_NAME,
	EXT_NAME_SPACE,
	EXT_EQUALS,
	EXT_VALUE,
	EXT_QUOTED,
	EXT_ESCAPE,
	EXT_QUOTED_END,
	SIZE_LF,
	DATA,
	DATA_CR,
	DATA_LF,
	TRAILER,
	TRAILER_NAME,
	TRAILER_VALUE,
	TRAILER_LF,
	END_LF,
	DONE,
};

enum class {
	CONTROL = 0, /* never right */
	HEX = 1,
	LETTER = 2, /* the rest of a token */
	SPACE = 4,
	SEMICOLON = 8,
	EQUALS = 16,
	QUOTE = 32,
	BACKSLASH = 64,
	COLON = 128,
	OTHER = 256, /* the rest of a value */
	CR = 512,
	LF = 1024,
	TOKEN = HEX | LETTER,
	QUOTED = TOKEN | SPACE | SEMICOLON | EQUALS | COLON | OTHER,
	VALUE = QUOTED | QUOTE | BACKSLASH,
};

/* RFC 9112 7.1; what is not listed is refused. */
static const struct {
	uint8_t from, to;
	uint16_t class;
} moves[] = {
	{ SIZE_FIRST, SIZE, HEX },
	{ SIZE, SIZE, HEX },
	{ SIZE, SIZE_LF, CR },
	{ SIZE, EXT, SEMICOLON },
	{ SIZE, EXT_SPACE, SPACE },
	{ SIZE_LF, DATA, LF },
	{ DATA_CR, DATA_LF, CR },
	{ DATA_LF, SIZE_FIRST, LF },

	{ EXT_SPACE, EXT_SPACE, SPACE },
	{ EXT_SPACE, EXT, SEMICOLON },
	{ EXT, EXT, SPACE },
	{ EXT, EXT_NAME, TOKEN },
	{ EXT_NAME, EXT_NAME, TOKEN },
	{ EXT_NAME, EXT_NAME_SPACE, SPACE },
	{ EXT_NAME, EXT, SEMICOLON },
	{ EXT_NAME, EXT_EQUALS, EQUALS },
	{ EXT_NAME, SIZE_LF, CR },
	{ EXT_NAME_SPACE, EXT_NAME_SPACE, SPACE },
	{ EXT_NAME_SPACE, EXT, SEMICOLON },
	{ EXT_NAME_SPACE, EXT_EQUALS, EQUALS },
	{ EXT_EQUALS, EXT_EQUALS, SPACE },
	{ EXT_EQUALS, EXT_VALUE, TOKEN },
	{ EXT_EQUALS, EXT_QUOTED, QUOTE },
	{ EXT_VALUE, EXT_VALUE, TOKEN },
	{ EXT_VALUE, EXT_SPACE, SPACE },
	{ EXT_VALUE, EXT, SEMICOLON },
	{ EXT_VALUE, SIZE_LF, CR },
	{ EXT_QUOTED, EXT_QUOTED, QUOTED },
	{ EXT_QUOTED, EXT_ESCAPE, BACKSLASH },
	{ EXT_QUOTED, EXT_QUOTED_END, QUOTE },
	{ EXT_ESCAPE, EXT_QUOTED, VALUE },
	{ EXT_QUOTED_END, EXT_SPACE, SPACE },
	{ EXT_QUOTED_END, EXT, SEMICOLON },
	{ EXT_QUOTED_END, SIZE_LF, CR },

	{ TRAILER, TRAILER_NAME, TOKEN },
	{ TRAILER, END_LF, CR },
	{ TRAILER_NAME, TRAILER_NAME, TOKEN },
	{ TRAILER_NAME, TRAILER_VALUE, COLON },
	{ TRAILER_VALUE, TRAILER_VALUE, VALUE },
	{ TRAILER_VALUE, TRAILER_LF, CR },
	{ TRAILER_LF, TRAILER, LF },
	{ END_LF, DONE, LF },
};

static enum class class_of(char c) { static const struct { char c; uint16_t class; }
marks[] = {
	{ '\r', CR },
	{ '\n', LF },
	{ ' ', SPACE },
	{ '\t', SPACE },
	{ ';', SEMICOLON },
	{ '=', EQUALS },
	{ '"', QUOTE },
	{ '\\', BACKSLASH },
	{ ':', COLON },
};

if (ascii_is_hex(c))
	return HEX;
if (char_is(c, CHAR_TOKEN))
	return LETTER;
for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
	if (c == marks[i].c)
		return marks[i].class;
return char_is(c, CHAR_VALUE) ? OTHER : CONTROL;
}

static enum state
next_state(enum state from, char c)
{
	enum class class = class_of(c);

	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
		if (moves[i].from == from && (moves[i].class & class) != 0)
			return moves[i].to;
	return BAD;
}

void
body_reader_init(struct body_reader *r, const struct http_head *head)
{
	*r = (struct body_reader){ .framing = head->framing, .state = SIZE_FIRST };
	if (head->framing == HTTP_LENGTH)
		r->left = head->length;
}

/* 1-16 digits, and no more than fits a signed 64-bit number (rule F5). */
static bool
add_digit(struct body_reader *r, char c)
{
	if (r->digits == DIGITS_MAX || r->left > INT64_MAX >> 4)
		return false;
	r->digits++;
	r->left = r->left << 4 | (uint64_t)ascii_hex_value(c);
	return true;
}

static bool
count_ext(struct body_reader *r)
{
	return ++r->line <= EXT_LINE_MAX && ++r->ext <= EXT_MAX;
}

/* What entering a state by this byte does beside moving there; false refuses the byte. */
static bool
enter(struct body_reader *r, enum state state, char c)
{
	if (state >= EXT_SPACE && state <= EXT_QUOTED_END)
		return count_ext(r);
	if (r->state >= TRAILER && ++r->trailer > TRAILER_MAX)
		return false;
	if (state == SIZE)
		return add_digit(r, c);
	if (state == SIZE_FIRST)
		r->left = r->line = r->digits = 0;
	return state != BAD;
}

static bool
take_byte(struct body_reader *r, char c)
{
	enum state state = next_state(r->state, c);

	if (state == DATA && r->left == 0) /* the last chunk has no data */
		state = TRAILER;
	if (!enter(r, state, c)) {
		r->state = BAD;
		return false;
	}
	r->state = (uint8_t)state;
	return true;
}

/* Payload from in.p[at]; there is some left. */
static enum body_result
give(struct body_reader *r, struct str in, size_t at, size_t *used, struct str *data)
{
	*data = str_sub(in, at, r->left < in.n ? (size_t)r->left : in.n);
	r->left -= data->n;
	r->at += data->n;
	*used = at + data->n;
	return data->n > 0 ? BODY_DATA : BODY_MORE;
}

static enum body_result
read_chunked(struct body_reader *r, struct str in, size_t *used, struct str *data)
{
	for (size_t i = 0; i < in.n && r->state != DONE; i++) {
		if (r->state == DATA) {
			enum body_result result = give(r, in, i, used, data);

			if (r->left == 0)
				r->state = DATA_CR;
			return result;
		}
		*used = i;
		if (!take_byte(r, in.p[i]))
			return BODY_BAD;
		r->at++;
		*used = i + 1;
	}
	return r->state == DONE ? BODY_DONE : r->state == BAD ? BODY_BAD : BODY_MORE;
}

enum body_result
body_read(struct body_reader *r, struct str in, size_t *used, struct str *data)
{
	*used = 0;
	*data = STR_NONE;
	switch (r->framing) {
	case HTTP_NO_BODY:
		return BODY_DONE;
	case HTTP_LENGTH:
		return r->left == 0 ? BODY_DONE : give(r, in, 0, used, data);
	case HTTP_CHUNKED:
		return read_chunked(r, in, used, data);
	case HTTP_UNTIL_CLOSE:
		r->left = in.n;
		return give(r, in, 0, used, data);
	}
	return BODY_BAD;
}

bool
body_may_end(const struct body_reader *r)
{
	switch (r->framing) {
	case HTTP_NO_BODY:
		return true;
	case HTTP_LENGTH:
		return r->left == 0;
	case HTTP_CHUNKED:
		return r->state == DONE;
	case HTTP_UNTIL_CLOSE:
		return true;
	}
	return false;
}

size_t
body_chunk_head(char out[static BODY_CHUNK_HEAD], size_t n)
{
	static const char hex[] = "0123456789abcdef";
	size_t len = 1;

	while (len < sizeof(n) * 2 && n >> (4 * len) != 0)
		len++;
	for (size_t i = len; i > 0; i--, n >>= 4)
		out[i - 1] = hex[n & 15];
	out[len] = '\r';
	out[len + 1] = '\n';
	return len + 2;
}
