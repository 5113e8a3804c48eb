#include "wire/url.h"

#include <string.h>

#include "wire/chars.h"

#define LABEL_MAX 63

static const char *const error_text[] = {
	[HOST_OK] = "ok",
	[HOST_EMPTY] = "the host is empty",
	[HOST_BYTE] =
	    "a host name has letters, digits, '-', '_', '.'; others in punycode",
	[HOST_LABEL] =
	    "each part of a host name has 1 to 63 characters and no '-' at its ends",
	[HOST_TOO_LONG] = "a host name has at most 253 characters",
	[HOST_NUMBER] =
	    "an IPv4 address is four decimal numbers from 0 to 255 without leading zeros",
	[HOST_BRACKETS] =
	    "brackets hold an IPv6 address without a zone, and nothing else",
	[HOST_PORT] = "a port is a decimal number from 1 to 65535 without leading zeros",
	[HOST_USERINFO] = "credentials must not stand in the target",
	[HOST_SCHEME] = "no scheme but http and https passes, and for https use CONNECT",
	[HOST_TARGET] =
	    "the target must be http://host/path, without '#', '\\' or raw bytes",
};

/* Local by standard or by habit; of two that end alike the longer comes first. */
static const struct str special[] = {
	{ "localhost", 9 },
	{ "local", 5 },
	{ "internal", 8 },
	{ "localdomain", 11 },
	{ "home.arpa", 9 },
	{ "arpa", 4 },
	{ "onion", 5 },
	{ "invalid", 7 },
	{ "alt", 3 },
	{ "corp", 4 },
	{ "lan", 3 },
	{ "home", 4 },
	{ "svc", 3 },
};

const char *
host_error_text(enum host_error e)
{
	return error_text[e];
}

static enum host_error
judge_labels(struct str name)
{
	struct str label;

	while (str_split(&name, '.', &label))
		if (label.n == 0 || label.n > LABEL_MAX || label.p[0] == '-' ||
		    label.p[label.n - 1] == '-')
			return HOST_LABEL;
	return HOST_OK;
}

/* inet_aton() and its heirs read such names as IPv4 addresses (rule A2). */
static bool
ends_in_number(struct str name)
{
	size_t dot;
	struct str last =
	    str_rfind(name, '.', &dot) ? str_sub(name, dot + 1, name.n) : name;
	size_t digits = 0;

	while (digits < last.n && ascii_is_digit(last.p[digits]))
		digits++;
	return digits == last.n || str_eq_nocase(str_sub(last, 0, 2), STR("0x"));
}

static enum host_error
take_literal(struct host *out, struct str text, enum host_error otherwise)
{
	if (!addr_parse(&out->addr, text))
		return otherwise;
	out->is_literal = true;
	addr_text((char *)memset(out->name, 0, sizeof(out->name)), &out->addr);
	out->len = (uint8_t)strlen(out->name);
	return HOST_OK;
}

static void
take_name(struct host *out, struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		out->name[i] = ascii_lower(name.p[i]);
	out->name[name.n] = '\0';
	out->len = (uint8_t)name.n;
}

/* A name or a dotted quad. */
static enum host_error
parse_name(struct host *out, struct str text)
{
	bool has_dot = str_ends(text, STR("."));
	struct str name = str_sub(text, 0, text.n - has_dot);
	enum host_error e;

	if (text.n == 0)
		return HOST_EMPTY;
	if (name.n > HOST_MAX)
		return HOST_TOO_LONG;
	if (chars_span(name.p, name.n, CHAR_HOST) != name.n)
		return HOST_BYTE;
	if ((e = judge_labels(name)) != HOST_OK)
		return e;
	if (ends_in_number(name))
		return has_dot ? HOST_NUMBER : take_literal(out, name, HOST_NUMBER);
	take_name(out, name);
	return HOST_OK;
}

static enum host_error
parse_brackets(struct host *out, struct str text)
{
	struct str inner = str_sub(text, 1, text.n - 2);
	size_t colon;

	if (text.n < 2 || text.p[text.n - 1] != ']' || !str_find(inner, ':', &colon))
		return HOST_BRACKETS;
	return take_literal(out, inner, HOST_BRACKETS);
}

/* The out-parameter is set on success only, so a half-made host reaches no one. */
static enum host_error
publish(struct host *out, const struct host *h, enum host_error e)
{
	if (e == HOST_OK)
		*out = *h;
	return e;
}

enum host_error
host_parse(struct host *out, struct str text)
{
	bool has_brackets = text.n > 0 && text.p[0] == '[';
	struct host h = { .len = 0 };

	return publish(
	    out, &h, has_brackets ? parse_brackets(&h, text) : parse_name(&h, text));
}

enum host_error
host_parse_bare(struct host *out, struct str text)
{
	struct host h = { .len = 0 };
	size_t at;

	if (str_find(text, '[', &at) || str_find(text, ']', &at))
		return HOST_BRACKETS;
	return publish(out, &h,
	    str_find(text, ':', &at) ? take_literal(&h, text, HOST_BYTE)
				     : parse_name(&h, text));
}

enum host_error
host_parse_sni(struct host *out, struct str text)
{
	struct host h = { .len = 0 };
	enum host_error e = parse_name(&h, text);

	if (e == HOST_OK && h.is_literal)
		e = HOST_NUMBER;
	if (e == HOST_OK && str_ends(text, STR(".")))
		e = HOST_LABEL;
	return publish(out, &h, e);
}

enum host_error
authority_parse(struct host *out, uint16_t *port, struct str text, uint16_t default_port)
{
	size_t from = 0, colon;
	struct str rest;
	uint16_t parsed = default_port;
	enum host_error e;

	if (str_find(text, '@', &colon))
		return HOST_USERINFO;
	if (text.n > 0 && text.p[0] == '[' && !str_find(text, ']', &from))
		return HOST_BRACKETS;
	rest = str_sub(text, from, text.n);
	if (str_find(rest, ':', &colon)) {
		if (!port_parse(&parsed, str_sub(rest, colon + 1, rest.n)))
			return HOST_PORT;
		text = str_sub(text, 0, from + colon);
	}
	if ((e = host_parse(out, text)) != HOST_OK)
		return e;
	if (parsed == 0)
		return HOST_PORT;
	*port = parsed;
	return HOST_OK;
}

struct str
host_str(const struct host *h)
{
	return (struct str){ h->name, h->len };
}

bool
host_eq(const struct host *a, const struct host *b)
{
	return a->is_literal == b->is_literal && str_eq(host_str(a), host_str(b));
}

char *
authority_text(char out[static AUTHORITY_TEXT], const struct host *h, uint16_t port,
    uint16_t default_port)
{
	bool has_brackets = h->is_literal && !addr_is_v4(&h->addr);
	char memory[STR_DIGITS];
	struct str digits;
	size_t n = 0;

	if (has_brackets)
		out[n++] = '[';
	memcpy(out + n, h->name, h->len);
	n += h->len;
	if (has_brackets)
		out[n++] = ']';
	if (port != 0 && port != default_port) {
		out[n++] = ':';
		digits = str_digits(memory, port);
		memcpy(out + n, digits.p, digits.n);
		n += digits.n;
	}
	out[n] = '\0';
	return out;
}

const char *
host_special_suffix(struct str name)
{
	size_t dot;

	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
		struct str suffix = special[i];

		if (str_ends(name, suffix) &&
		    (name.n == suffix.n || name.p[name.n - suffix.n - 1] == '.'))
			return suffix.p;
	}
	return str_find(name, '.', &dot) ? NULL : "";
}

bool
host_is_special(const struct host *h)
{
	return !h->is_literal && host_special_suffix(host_str(h)) != NULL;
}

/* Moves past the scheme; the rest begins with the authority. */
static enum host_error
take_scheme(struct url *u, struct str *text)
{
	static const char after[] = "://";
	size_t colon;
	struct str scheme;

	if (!str_find(*text, ':', &colon) ||
	    !str_starts(str_sub(*text, colon, text->n), STR(after)))
		return HOST_TARGET;
	scheme = str_sub(*text, 0, colon);
	u->is_https = str_eq_nocase(scheme, STR("https"));
	if (!u->is_https && !str_eq_nocase(scheme, STR("http")))
		return ascii_is_alnum(scheme.n > 0 ? scheme.p[0] : '/') ? HOST_SCHEME
									: HOST_TARGET;
	*text = str_sub(*text, colon + sizeof(after) - 1, text->n);
	return HOST_OK;
}

enum host_error
url_parse(struct url *out, struct str text)
{
	struct url u = { .is_https = false };
	size_t at = 0;
	enum host_error e;

	if (chars_span(text.p, text.n, CHAR_TARGET) != text.n ||
	    str_find(text, '#', &at) || str_find(text, '\\', &at))
		return HOST_TARGET;
	if ((e = take_scheme(&u, &text)) != HOST_OK)
		return e;
	while (at < text.n && text.p[at] != '/' && text.p[at] != '?')
		at++;
	if ((e = authority_parse(&u.host, &u.port, str_sub(text, 0, at),
		 u.is_https ? 443 : 80)) != HOST_OK)
		return e;
	u.has_port = text.p[at - 1] != ']' && memchr(text.p, ':', at) != NULL;
	u.path = str_sub(text, at, text.n);
	if (str_find(u.path, '?', &at)) {
		u.query = str_sub(u.path, at + 1, u.path.n);
		u.path = str_sub(u.path, 0, at);
	}
	*out = u;
	return HOST_OK;
}

/* "%41": what it encodes must need encoding and must not be a separator in disguise. */
static bool
is_clean_escape(struct str path, size_t at)
{
	struct str escape = str_sub(path, at, 3);
	int c;

	if (escape.n < 3 || !ascii_is_hex(escape.p[1]) || !ascii_is_hex(escape.p[2]))
		return false;
	c = ascii_hex_value(escape.p[1]) * 16 + ascii_hex_value(escape.p[2]);
	return !char_is((char)c, CHAR_UNRESERVED) && c != 0 && strchr("/\\%", c) == NULL;
}

static bool
is_clean_segment(struct str segment)
{
	for (size_t i = 0; i < segment.n; i++)
		if (!char_is(segment.p[i], CHAR_TARGET) || segment.p[i] == ';' ||
		    segment.p[i] == '\\' ||
		    (segment.p[i] == '%' && !is_clean_escape(segment, i)))
			return false;
	return !str_eq(segment, STR(".")) && !str_eq(segment, STR(".."));
}

bool
path_is_canonical(struct str path)
{
	struct str rest = str_sub(path, 1, path.n), segment;

	if (path.n == 0)
		return true;
	if (path.p[0] != '/')
		return false;
	while (str_split(&rest, '/', &segment))
		if (!is_clean_segment(segment) || (segment.n == 0 && rest.p != NULL))
			return false;
	return true;
}
