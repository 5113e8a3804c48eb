/*
 * door_socks.c - the SOCKS5 door: CONNECT by name or address, and a tunnel like any other
 *
 * Who asks is judged before the destination is heard, for a client waits to be told
 * whether its password is good.
 */
#include "proxy/conn.h"
#include "proxy/origin_way.h"

/* RFC 1929 has room for 255 octets: the first of a longer token are the user. */
#define LOGIN_MOST 255

static void
socks_begin(struct hearing *h, const struct snapshot *s)
{
	(void)s;
	*h = (struct hearing){ .at = -1 };
}

static enum heard
not_socks(struct hearing *h, struct exchange *x, const struct socks_read *r)
{
	h->at = (int64_t)(h->used + r->at);
	h->rep = r->rep;
	return door_refused(x, REASON_REQUEST_MALFORMED, r->error);
}

/* A login is wanted where anybody has one; where nobody has, whatever was sent is as good
 * as nothing, and is taken from who offers nothing else. */
static enum heard
take_offer(struct hearing *h, struct exchange *x, struct str in)
{
	bool wants_login = snapshot_has_sessions(x->snapshot) ||
			   x->snapshot->settings->sessions_required;
	struct socks_methods offer;
	struct socks_read r;

	switch (socks_read_methods(&offer, &r, in)) {
	case SOCKS_MORE:
		return HEARD_MORE;
	case SOCKS_BAD:
		return not_socks(h, x, &r);
	case SOCKS_DONE:
		break;
	}
	h->used += r.used;
	if (!offer.has_login && !offer.has_none)
		return door_refused(x,
		    wants_login ? REASON_SESSION_REQUIRED : REASON_REQUEST_MALFORMED,
		    "the client offers neither a password nor to go without one");
	if (!offer.has_login || (offer.has_none && !wants_login)) {
		h->phase = SOCKS_KNOWN;
		return HEARD_WHO;
	}
	h->say = STR(SOCKS_TAKES_LOGIN);
	h->phase = SOCKS_LOGIN;
	return HEARD_MORE;
}

static struct str
joined(struct arena *a, struct str head, struct str tail)
{
	char *p = arena_alloc(a, head.n + tail.n + 1);

	if (p == NULL)
		return STR_NONE;
	memcpy(p, head.p, head.n);
	memcpy(p + head.n, tail.p, tail.n);
	return (struct str){ p, head.n + tail.n };
}

static enum heard
take_login(struct hearing *h, struct exchange *x, struct str in)
{
	struct socks_login login;
	struct socks_read r;

	switch (socks_read_login(&login, &r, in)) {
	case SOCKS_MORE:
		return HEARD_MORE;
	case SOCKS_BAD:
		return not_socks(h, x, &r);
	case SOCKS_DONE:
		break;
	}
	h->used += r.used;
	h->has_login = true;
	h->login.has_user = login.user.n < LOGIN_MOST;
	h->login.user = arena_str(&x->arena, login.user);
	h->login.secret = h->login.has_user
			      ? arena_str(&x->arena, login.password)
			      : joined(&x->arena, login.user, login.password);
	h->phase = SOCKS_KNOWN;
	return HEARD_WHO;
}

/* WHO has nothing against it. */
static enum heard
greet_known(struct hearing *h, struct exchange *x, struct str in)
{
	(void)x, (void)in;
	h->say = h->has_login ? STR(SOCKS_LOGIN_GOOD) : STR(SOCKS_TAKES_NONE);
	h->phase = SOCKS_ASK;
	return HEARD_MORE;
}

static enum heard
take_ask(struct hearing *h, struct exchange *x, struct str in)
{
	struct socks_request ask;
	struct socks_read r;
	char text[ADDR_TEXT];
	const char *why = NULL;
	struct str host;

	switch (socks_read_request(&ask, &r, in)) {
	case SOCKS_MORE:
		return HEARD_MORE;
	case SOCKS_BAD:
		return not_socks(h, x, &r);
	case SOCKS_DONE:
		break;
	}
	host = ask.is_addr ? str_of(addr_text(text, &ask.addr)) : ask.name;
	x->reason = ask_destination(&x->ask, host, ask.port, &why);
	if (x->reason != REASON_NONE)
		return door_refused(x, x->reason, why);
	h->used += r.used;
	return HEARD_ASK;
}

static enum heard (*const phases[])(
    struct hearing *h, struct exchange *x, struct str in) = {
	[SOCKS_OFFER] = take_offer,
	[SOCKS_LOGIN] = take_login,
	[SOCKS_KNOWN] = greet_known,
	[SOCKS_ASK] = take_ask,
};

static enum heard
socks_hear(
    struct hearing *h, struct exchange *x, const struct exchange *outer, struct str in)
{
	enum socks_phase before;
	enum heard heard;

	(void)outer;
	do { /* messages may come together */
		before = h->phase;
		heard = phases[h->phase](h, x, str_sub(in, h->used, in.n));
	} while (heard == HEARD_MORE && h->phase != before);
	return heard;
}

static enum brought
socks_brings(struct auth *out, struct exchange *x)
{
	const struct hearing *h = &x->conn->rq->heard;

	*out = h->login;
	return h->has_login ? BROUGHT_CREDENTIAL : BROUGHT_NOTHING;
}

static uint8_t
reply_of(const struct exchange *x)
{
	const struct hearing *h = &x->conn->rq->heard;

	return h->rep != 0 ? h->rep : (uint8_t)reason_row(x->reason)->socks;
}

/* A reply's number, where there was a request. */
static int
socks_status(const struct exchange *x)
{
	return x->conn->rq->heard.phase == SOCKS_ASK ? reply_of(x) : 0;
}

/* In the words of the message that is due; who does not speak SOCKS would not read one.
 */
static void
socks_refuse(struct buf *out, const struct exchange *x, bool closes, int64_t at)
{
	const struct hearing *h = &x->conn->rq->heard;

	(void)closes, (void)at;
	if (h->phase == SOCKS_ASK)
		socks_put_reply(out, reply_of(x));
	else if (h->phase == SOCKS_LOGIN || h->has_login)
		buf_str(out, STR(SOCKS_LOGIN_BAD));
	else if (h->rep == 0)
		buf_str(out, STR(SOCKS_TAKES_NOTHING));
}

const struct door door_socks = {
	.name = "socks5",
	.kind = RECORD_SOCKS5,
	.is_balanced = true,
	.opened = { SOCKS_OPENED, sizeof(SOCKS_OPENED) - 1 },
	.way = origin_way,
	.inside = &door_http,
	.begin = socks_begin,
	.hear = socks_hear,
	.brings = socks_brings,
	.status = socks_status,
	.may_follow = door_ends,
	.refuse = socks_refuse,
};
