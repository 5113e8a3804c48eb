/*
 * dns_query.c - one question of a client, read strictly, and weir's answer to it
 */
#include "wire/dns_query.h"

#include <stdio.h>

#include "wire/chars.h"

enum { HEADER_LEN = 12, LABEL_MAX = 63, NAME_MAX = 255, OPT_LEN = 11 };
enum { QR = 0x8000, OPCODE = 0x7800, TC = 0x0200, RD = 0x0100, RA = 0x0080 };
enum { CLASS_IN = 1, TYPE_OPT = 41, TYPE_TKEY = 249 };
enum { OPTION_COOKIE = 10, OPTION_EDE = 15 };

static unsigned
number(struct str s, size_t at)
{
	return (unsigned)(uint8_t)s.p[at] << 8 | (uint8_t)s.p[at + 1];
}

static bool
bad(struct dns_query *q, enum dns_rcode rcode, const char *error)
{
	q->rcode = rcode;
	q->error = error;
	return false;
}

/* ---- the question */

/* Is it a byte of a host's label?  A dot in one must not make two of it. */
static bool
is_plain(struct str label)
{
	for (size_t i = 0; i < label.n; i++)
		if (label.p[i] == '.' || !char_is(label.p[i], CHAR_HOST))
			return false;
	return true;
}

static void
add_label(struct buf *name, struct str label)
{
	if (name->n > 0)
		buf_char(name, '.');
	buf_str(name, label);
}

/* Labels without compression, up to the root; *at moves past them.  False: it is none. */
static bool
take_labels(struct str in, size_t *at, struct buf *name, bool *is_odd)
{
	size_t begin = *at, n;

	while (*at < in.n && (n = (uint8_t)in.p[*at]) != 0) {
		struct str label = str_sub(in, *at + 1, n);
		if (n > LABEL_MAX || label.n < n || *at + 1 + n - begin >= NAME_MAX)
			return false;
		*is_odd |= !is_plain(label);
		add_label(name, label);
		*at += 1 + n;
	}
	return (*at)++ < in.n;
}

static bool
take_name(struct dns_query *q, struct str in, size_t *at)
{
	struct buf name;
	bool is_odd = false, is_name;

	buf_init(&name, NAME_MAX + 1);
	is_name = take_labels(in, at, &name, &is_odd);
	q->is_host = is_name && !is_odd &&
		     host_parse(&q->host, buf_view(&name)) == HOST_OK &&
		     !q->host.is_literal;
	buf_fini(&name);
	return is_name;
}

static bool
take_question(struct dns_query *q, struct str in, size_t *at)
{
	size_t begin = *at;

	if (!take_name(q, in, at) || in.n < *at + 4)
		return bad(
		    q, DNS_RCODE_FORMERR, "the question is no name, type and class");
	q->type = (uint16_t)number(in, *at);
	*at += 4;
	q->question = str_sub(in, begin, *at - begin);
	return true;
}

/* ---- EDNS */

/* RFC 7873 4: 8 bytes of the client's, or those and 8 to 32 of a server's. */
static bool
is_cookie(size_t n)
{
	return n == 8 || (n >= 16 && n <= 40);
}

static bool
are_options(struct str in)
{
	while (in.n > 0) {
		size_t n;
		if (in.n < 4 || in.n - 4 < (n = number(in, 2)))
			return false;
		if (number(in, 0) == OPTION_COOKIE && !is_cookie(n))
			return false;
		in = str_sub(in, 4 + n, in.n);
	}
	return true;
}

/* The one record that may follow the question. */
static bool
take_opt(struct dns_query *q, struct str in)
{
	if (in.n < OPT_LEN || in.p[0] != 0 || number(in, 1) != TYPE_OPT ||
	    in.n - OPT_LEN != number(in, OPT_LEN - 2) ||
	    !are_options(str_sub(in, OPT_LEN, in.n)))
		return bad(q, DNS_RCODE_FORMERR,
		    "what follows the question is not one well-formed OPT record");
	q->has_opt = true;
	q->room = (uint16_t)number(in, 3);
	if (in.p[6] != 0)
		return bad(q, DNS_RCODE_BADVERS, "the version of EDNS is not 0");
	return true;
}

static bool
take_rest(struct dns_query *q, struct str in, size_t at)
{
	unsigned additional = number(in, 10);
	struct str rest = str_sub(in, at, in.n);

	q->room = DNS_UDP_MIN;
	if (additional > 1)
		return bad(q, DNS_RCODE_FORMERR, "more than one record follows");
	if (additional == 1)
		return take_opt(q, rest);
	return rest.n == 0 || bad(q, DNS_RCODE_FORMERR, "bytes follow the question");
}

/* ---- what can be asked */

static bool
is_answerable(struct dns_query *q)
{
	if (number(q->question, q->question.n - 2) != CLASS_IN)
		return bad(q, DNS_RCODE_REFUSED, "the class is not IN");
	if (q->type == TYPE_OPT || (q->type >= TYPE_TKEY && q->type <= 255))
		return bad(q, DNS_RCODE_NOTIMP, "the type is a question about questions");
	return true;
}

static bool
take_header(struct dns_query *q, struct str in)
{
	if (q->flags & OPCODE)
		return bad(q, DNS_RCODE_NOTIMP, "the operation is no query");
	if (number(in, 4) != 1)
		return bad(q, DNS_RCODE_FORMERR, "it is not one question");
	if (number(in, 6) != 0 || number(in, 8) != 0)
		return bad(q, DNS_RCODE_FORMERR, "a question has no answers");
	return true;
}

enum dns_query_result
dns_query_read(struct dns_query *out, struct str in)
{
	size_t at = HEADER_LEN;

	*out = (struct dns_query){ .error = "it is no query" };
	if (in.n < HEADER_LEN)
		return DNS_QUERY_DROP;
	out->id = (uint16_t)number(in, 0);
	out->flags = (uint16_t)number(in, 2);
	if (out->flags & QR)
		return DNS_QUERY_DROP;
	out->error = NULL;
	return take_header(out, in) && take_question(out, in, &at) &&
		       take_rest(out, in, at) && is_answerable(out)
		   ? DNS_QUERY_OK
		   : DNS_QUERY_BAD;
}

/* ---- the answer */

static void
put(struct buf *out, unsigned n)
{
	buf_char(out, (char)(n >> 8));
	buf_char(out, (char)n);
}

static void
put_header(struct buf *out, const struct dns_query *q, const struct dns_reply *r,
    size_t answers, bool is_cut)
{
	put(out, q->id);
	put(out, QR | RA | (q->flags & (OPCODE | RD)) | (is_cut ? TC : 0) |
		     ((unsigned)r->rcode & 0xf));
	put(out, q->question.n > 0);
	put(out, (unsigned)answers);
	put(out, 0);
	put(out, q->has_opt);
}

/* The owner is the question's name, by a pointer to it. */
static void
put_address(
    struct buf *out, const struct dns_query *q, const struct addr *a, uint32_t ttl)
{
	size_t n = q->type == DNS_A ? 4 : 16;

	put(out, 0xc000 | HEADER_LEN);
	put(out, q->type);
	put(out, CLASS_IN);
	put(out, ttl >> 16);
	put(out, ttl & 0xffff);
	put(out, (unsigned)n);
	buf_str(out, (struct str){ (const char *)a->b + sizeof(a->b) - n, n });
}

static void
put_opt(struct buf *out, const struct dns_query *q, const struct dns_reply *r)
{
	if (!q->has_opt)
		return;
	buf_char(out, 0);
	put(out, TYPE_OPT);
	put(out, DNS_UDP_MAX);
	put(out, (unsigned)r->rcode >> 4 << 8);
	put(out, 0);
	put(out, r->ede == DNS_EDE_NONE ? 0 : 6);
	if (r->ede == DNS_EDE_NONE)
		return;
	put(out, OPTION_EDE);
	put(out, 2);
	put(out, r->ede);
}

static bool
is_asked(const struct dns_query *q, const struct addr *a)
{
	return q->type == (addr_is_v4(a) ? DNS_A : DNS_AAAA);
}

static size_t
count_asked(const struct dns_query *q, const struct dns_reply *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->naddr; i++)
		n += is_asked(q, &r->addr[i]);
	return n;
}

void
dns_reply_put(struct buf *out, const struct dns_query *q, const struct dns_reply *r)
{
	size_t n = count_asked(q, r), record = 12 + (q->type == DNS_A ? 4 : 16);
	bool is_cut = HEADER_LEN + q->question.n + n * record + OPT_LEN + 6 > r->room;

	put_header(out, q, r, is_cut ? 0 : n, is_cut);
	buf_str(out, q->question);
	for (size_t i = 0; i < r->naddr && !is_cut; i++)
		if (is_asked(q, &r->addr[i]))
			put_address(out, q, &r->addr[i], r->ttl);
	put_opt(out, q, r);
}

const char *
dns_type_text(char out[static DNS_TYPE_TEXT], uint16_t type)
{
	static const struct {
		uint16_t type;
		const char *name;
	} known[] = { { DNS_A, "A" }, { 2, "NS" }, { 5, "CNAME" }, { 6, "SOA" },
		{ 12, "PTR" }, { 15, "MX" }, { 16, "TXT" }, { DNS_AAAA, "AAAA" },
		{ 33, "SRV" }, { 35, "NAPTR" }, { 43, "DS" }, { 64, "SVCB" },
		{ 65, "HTTPS" }, { 252, "AXFR" }, { 255, "ANY" }, { 257, "CAA" } };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].type == type)
			return known[i].name;
	snprintf(out, DNS_TYPE_TEXT, "TYPE%u", type);
	return out;
}
