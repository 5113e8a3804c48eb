/*
 * door_transparent.c - the door of who was led here: the name is in the first bytes
 *
 * The address a client chose counts for nothing but for its port: weir looks up the name
 * that the SNI or the Host says and dials its own answer.  Two clients need say nothing:
 * one that was given an address for a name by the DNS door, and one whose address a tcp
 * rule lists; in their protocols the server may speak first.
 */
#include "proxy/conn.h"
#include "proxy/glimpse.h"
#include "proxy/origin_way.h"

static enum heard
ask_for(struct exchange *x, struct str host)
{
	const char *why = NULL;

	x->reason = ask_destination(&x->ask, host, x->conn->to.port, &why);
	return x->reason == REASON_NONE ? HEARD_ASK : door_refused(x, x->reason, why);
}

static enum heard
ask_for_address(struct exchange *x)
{
	char text[ADDR_TEXT];

	return ask_for(x, str_of(addr_text(text, &x->conn->to.addr)));
}

/* ---- without a byte */

/* The DNS door told this client that the address is a name. */
static bool
has_name(const struct exchange *x, char name[static NAMES_NAME_MAX + 1])
{
	const struct conn *c = x->conn;
	char text[ADDR_TEXT];

	return c->e->names != NULL && names_find(c->e->names, str_of(conn_share(c, text)),
					  &c->to.addr, name, loop_now(c->e->loop));
}

static bool
is_of_pool(const struct exchange *x)
{
	return x->conn->e->names != NULL &&
	       prefix_has(&x->snapshot->settings->dns_door_pool4, &x->conn->to.addr);
}

/* Nothing of it would be looked at: what is refused here is asked again with its name. */
static bool
is_opaque(struct exchange *x)
{
	bool is_tcp =
	    ask_for_address(x) == HEARD_ASK && exchange_admit(x) && x->admitted.is_tcp;

	if (is_tcp)
		return true;
	x->reason = REASON_NONE;
	x->error = NULL;
	x->verdict = (struct verdict){ 0 };
	x->admitted = (struct admitted){ 0 };
	return false;
}

/* ---- by the first bytes */

static bool
begin_hello(struct hearing *h, struct exchange *x)
{
	unsigned char *message = arena_alloc(&x->arena, HELLO_MAX);

	if (message != NULL)
		hello_reader_init(&h->hello, message);
	return message != NULL;
}

static enum heard
hear_hello(struct hearing *h, struct exchange *x, struct str in)
{
	struct hello hello;
	size_t used;

	if (h->fed == 0 && !begin_hello(h, x))
		return door_refused(x, REASON_OVERLOADED, "there is no room for a hello");
	in = str_sub(in, h->fed, in.n);
	h->fed += in.n;
	switch (hello_read(&h->hello, in, &used, &hello)) {
	case HELLO_MORE:
		return HEARD_MORE;
	case HELLO_BAD:
		return door_refused(x, REASON_TLS_MALFORMED, hello.error);
	case HELLO_DONE:
		break;
	}
	return hello.has_sni ? ask_for(x, host_str(&hello.sni)) : ask_for_address(x);
}

/* A port in it is none of its business: it is where the client was going. */
static enum heard
ask_for_field(struct exchange *x, struct str field)
{
	struct host host;
	uint16_t port;

	if (host_parse(&host, field) != HOST_OK &&
	    authority_parse(&host, &port, field, x->conn->to.port) != HOST_OK)
		return ask_for(x, field); /* which says what is wrong with it */
	return ask_for(x, host_str(&host));
}

/* The request itself is judged inside the tunnel, and its Host is held to that name. */
static enum heard
hear_request(struct hearing *h, struct exchange *x, struct str in)
{
	enum heard heard = door_read_head(h, x, in);
	struct str host = x->head->host;

	if (heard != HEARD_ASK)
		return heard;
	h->used = 0;
	exchange_forget_head(x);
	return host.p != NULL ? ask_for_field(x, host) : ask_for_address(x);
}

static bool
may_be_http(struct str in)
{
	size_t at;

	return in.p[0] >= 'A' && in.p[0] <= 'Z' &&
	       (!str_find(in, '\n', &at) || glimpse_is_http(in));
}

static enum heard
hear_first(struct hearing *h, struct exchange *x, struct str in)
{
	if (in.n == 0)
		return HEARD_MORE;
	if (glimpse_is_tls(in))
		return hear_hello(h, x, in);
	if (may_be_http(in))
		return hear_request(h, x, in);
	return ask_for_address(x); /* neither: only a rule for the address could help */
}

/* Once, before a byte is waited for. */
static enum heard
look(struct hearing *h, struct exchange *x)
{
	char name[NAMES_NAME_MAX + 1];

	if (has_name(x, name))
		return ask_for(x, str_of(name));
	if (is_of_pool(x)) /* and stands for nothing: no byte will say more */
		return ask_for_address(x);
	h->is_nameless = !is_opaque(x);
	return h->is_nameless ? HEARD_MORE : HEARD_ASK;
}

static enum heard
transparent_hear(
    struct hearing *h, struct exchange *x, const struct exchange *outer, struct str in)
{
	enum heard heard = HEARD_MORE;

	(void)outer;
	if (!h->is_halfway) /* what may be asked depends on who it is */
		return HEARD_WHO;
	if (!h->is_nameless)
		heard = look(h, x);
	return heard == HEARD_MORE ? hear_first(h, x, in) : heard;
}

/* In the language it speaks, if that is known. */
static void
transparent_refuse(struct buf *out, const struct exchange *x, bool closes, int64_t at)
{
	const struct request *rq = x->conn->rq;
	struct str first = rq != NULL ? buf_view(&rq->in) : STR_NONE;

	if (glimpse_is_tls(first))
		buf_str(out, glimpse_alert(x->reason));
	else if (glimpse_is_http(first))
		door_http.refuse(out, x, closes, at);
}

/* Its reason's, where it could be told. */
static int
transparent_status(const struct exchange *x)
{
	const struct request *rq = x->conn->rq;

	return rq != NULL && glimpse_is_http(buf_view(&rq->in))
		   ? reason_row(x->reason)->status
		   : 0;
}

const struct door door_transparent = {
	.name = "transparent",
	.kind = RECORD_TRANSPARENT,
	.way = origin_way,
	.inside = &door_http,
	.is_eager = true,
	.begin = door_begin,
	.hear = transparent_hear,
	.brings = door_brings_nothing, /* identity is the address's */
	.status = transparent_status,
	.may_follow = door_ends,
	.refuse = transparent_refuse,
};
