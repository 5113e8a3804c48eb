/*
 * socks.c - SOCKS5: the three messages of a client, and what answers them
 */
#include "wire/socks.h"

enum { SOCKS5 = 5, LOGIN = 1, CONNECT = 1 };
enum { METHOD_NONE = 0, METHOD_LOGIN = 2 };
enum { TYPE_V4 = 1, TYPE_NAME = 3, TYPE_V6 = 4 };

static uint8_t
octet(struct str in, size_t at)
{
	return (uint8_t)in.p[at];
}

static enum socks_result
bad(struct socks_read *r, size_t at, uint8_t rep, const char *error)
{
	*r = (struct socks_read){ .at = at, .rep = rep, .error = error };
	return SOCKS_BAD;
}

static enum socks_result
done(struct socks_read *r, size_t used)
{
	*r = (struct socks_read){ .used = used };
	return SOCKS_DONE;
}

/* Text behind its length, at *at, which moves past it.  False: it is not all there. */
static bool
take_text(struct str in, size_t *at, struct str *out)
{
	size_t n;

	if (in.n <= *at)
		return false;
	n = octet(in, *at);
	*out = str_sub(in, *at + 1, n);
	*at += 1 + n;
	return in.n >= *at;
}

enum socks_result
socks_read_methods(struct socks_methods *out, struct socks_read *r, struct str in)
{
	struct str offers;
	size_t at = 1, unused;

	if (in.n == 0)
		return SOCKS_MORE;
	if (octet(in, 0) != SOCKS5)
		return bad(r, 0, SOCKS_REP_FAILURE, "this door speaks SOCKS version 5");
	if (!take_text(in, &at, &offers))
		return SOCKS_MORE;
	out->has_none = str_find(offers, METHOD_NONE, &unused);
	out->has_login = str_find(offers, METHOD_LOGIN, &unused);
	return done(r, at);
}

enum socks_result
socks_read_login(struct socks_login *out, struct socks_read *r, struct str in)
{
	size_t at = 1;

	if (in.n == 0)
		return SOCKS_MORE;
	if (octet(in, 0) != LOGIN)
		return bad(r, 0, SOCKS_REP_FAILURE, "a user and a password are wanted");
	if (!take_text(in, &at, &out->user) || !take_text(in, &at, &out->password))
		return SOCKS_MORE;
	return done(r, at);
}

static const struct {
	uint8_t right, rep;
	const char *error;
} beginning[] = {
	{ SOCKS5, SOCKS_REP_FAILURE, "the request is not of SOCKS version 5" },
	{ CONNECT, SOCKS_REP_COMMAND, "the only command here is CONNECT" },
	{ 0, SOCKS_REP_FAILURE, "the reserved octet is not 0" },
};

#define TYPE_AT (sizeof(beginning) / sizeof(*beginning))

/* An address of n octets, and the port.  False: it is not all there. */
static bool
take_addr(struct socks_request *out, struct str in, size_t *at, size_t n)
{
	static const struct addr v4 = V4(0, 0, 0, 0);

	if (in.n < *at + n)
		return false;
	out->is_addr = true;
	out->addr = v4;
	memcpy(out->addr.b + sizeof(out->addr.b) - n, in.p + *at, n);
	*at += n;
	return true;
}

static bool
take_destination(struct socks_request *out, struct str in, size_t *at)
{
	switch (octet(in, TYPE_AT)) {
	case TYPE_V4:
		return take_addr(out, in, at, 4);
	case TYPE_V6:
		return take_addr(out, in, at, 16);
	case TYPE_NAME:
		return take_text(in, at, &out->name);
	}
	return false;
}

static bool
is_type(uint8_t type)
{
	return type == TYPE_V4 || type == TYPE_NAME || type == TYPE_V6;
}

enum socks_result
socks_read_request(struct socks_request *out, struct socks_read *r, struct str in)
{
	size_t at = TYPE_AT + 1;

	for (size_t i = 0; i < TYPE_AT && i < in.n; i++)
		if (octet(in, i) != beginning[i].right)
			return bad(r, i, beginning[i].rep, beginning[i].error);
	if (in.n <= TYPE_AT)
		return SOCKS_MORE;
	if (!is_type(octet(in, TYPE_AT)))
		return bad(r, TYPE_AT, SOCKS_REP_TYPE,
		    "the destination is neither a name nor an IPv4 or IPv6 address");
	*out = (struct socks_request){ .is_addr = false };
	if (!take_destination(out, in, &at) || in.n < at + 2)
		return SOCKS_MORE;
	out->port = (uint16_t)(octet(in, at) << 8 | octet(in, at + 1));
	return done(r, at + 2);
}

void
socks_put_reply(struct buf *out, uint8_t rep)
{
	struct str opened = { SOCKS_OPENED, sizeof(SOCKS_OPENED) - 1 };

	buf_char(out, opened.p[0]);
	buf_char(out, (char)rep);
	buf_str(out, str_sub(opened, 2, opened.n));
}
