#include "wire/dns.h"

#include <string.h>

#include "wire/chars.h"

#define HEADER_LEN 12
#define CLASS_IN 1
#define TYPE_CNAME 5
#define RCODE_NXDOMAIN 3
#define WIRE_NAME_MAX 255
/* No name has more addresses, and each record is read again for each step of the chain.
 */
#define RECORDS_MAX 1024

/* Reads move `at` forward; one that does not fit sets is_bad and yields zeros. */
struct reader {
	const unsigned char *p;
	size_t n, at;
	bool is_bad;
};

struct name {
	char text[WIRE_NAME_MAX + 1]; /* lower case, with dots between labels */
	size_t n;
	bool is_odd; /* holds a byte that no host name has, so it equals no host */
};

struct record {
	struct name owner;
	unsigned type, class;
	uint32_t ttl;
	size_t data, length; /* data: offset in the message */
};

static uint32_t
take_number(struct reader *r, size_t bytes)
{
	uint32_t n = 0;

	if (r->n - r->at < bytes) {
		r->is_bad = true;
		r->at = r->n;
		return 0;
	}
	while (bytes-- > 0)
		n = n << 8 | r->p[r->at++];
	return n;
}

static void
add_label(struct name *out, const unsigned char *p, size_t n)
{
	if (out->n > 0)
		out->text[out->n++] = '.';
	for (size_t i = 0; i < n; i++) {
		char c = (char)p[i];

		/* a dot inside a label must not make two labels of it (rule D1) */
		out->is_odd |= c == '.' || !char_is(c, CHAR_HOST);
		out->text[out->n++] = ascii_lower(c);
	}
}

/* One length byte and what it announces; false at the root and when the name is bad. */
static bool
take_label(struct reader *r, struct name *out, size_t *wire)
{
	size_t n = take_number(r, 1);

	*wire += n + 1;
	if (n > 63 || *wire > WIRE_NAME_MAX || r->n - r->at < n)
		r->is_bad = true;
	if (n == 0 || r->is_bad)
		return false;
	add_label(out, r->p + r->at, n);
	r->at += n;
	return true;
}

/* A compression pointer may only lead to before the labels it stands behind. */
static void
follow_pointer(struct reader *r, size_t *begin)
{
	size_t to = take_number(r, 2) & 0x3fff;

	if (to < HEADER_LEN || to >= *begin)
		r->is_bad = true;
	else
		r->at = *begin = to;
}

/* Labels and pointers up to the root; r->at is behind the name's own bytes afterwards. */
static void
take_name(struct reader *r, struct name *out)
{
	size_t begin = r->at, after = 0, wire = 0;

	out->n = 0;
	out->is_odd = false;
	do {
		while (!r->is_bad && r->at < r->n && r->p[r->at] >= 0xc0) {
			if (after == 0)
				after = r->at + 2;
			follow_pointer(r, &begin);
		}
	} while (!r->is_bad && take_label(r, out, &wire));
	if (after != 0 && !r->is_bad)
		r->at = after;
}

static bool
name_is(const struct name *name, const struct host *host)
{
	return !name->is_odd &&
	       str_eq((struct str){ name->text, name->n }, host_str(host));
}

static void
take_record(struct reader *r, struct record *out)
{
	take_name(r, &out->owner);
	out->type = take_number(r, 2);
	out->class = take_number(r, 2);
	out->ttl = take_number(r, 4);
	out->length = take_number(r, 2);
	out->data = r->at;
	if (r->n - r->at < out->length)
		r->is_bad = true;
	else
		r->at += out->length;
}

/* What one walk over the answer section finds for one owner. */
struct step {
	bool has_alias;
	struct host alias;
	size_t addresses;
};

static bool
read_alias(struct step *s, const struct reader *r, const struct record *record)
{
	struct reader data = { r->p, r->n, record->data, false };
	struct name target;

	if (s->has_alias) /* two of them lead to two places */
		return false;
	take_name(&data, &target);
	s->has_alias = true;
	return !data.is_bad && data.at == record->data + record->length &&
	       !target.is_odd &&
	       host_parse(&s->alias, (struct str){ target.text, target.n }) == HOST_OK &&
	       !s->alias.is_literal;
}

static bool
read_address(struct dns_answer *out, const struct reader *r, const struct record *record)
{
	static const struct addr mapped = V4(0, 0, 0, 0);
	size_t want = record->type == DNS_A ? 4 : 16;
	struct addr *a = &out->addr[out->count];

	if (record->length != want)
		return false;
	if (out->count == DNS_ADDRS_MAX) {
		out->dropped++;
		return true;
	}
	*a = mapped;
	memcpy(a->b + sizeof(a->b) - want, r->p + record->data, want);
	out->count++;
	return true;
}

static void
lower_ttl(struct dns_answer *out, uint32_t ttl)
{
	if (ttl > INT32_MAX) /* RFC 2181 8 */
		ttl = 0;
	if (ttl < out->ttl)
		out->ttl = ttl;
}

static bool
read_record(struct dns_answer *out, struct step *s, const struct reader *r,
    const struct record *record, enum dns_type type)
{
	if (record->class != CLASS_IN ||
	    (record->type != type && record->type != TYPE_CNAME))
		return true;
	if (!name_is(&record->owner, &out->canonical))
		return true;
	lower_ttl(out, record->ttl);
	if (record->type == TYPE_CNAME)
		return read_alias(s, r, record);
	s->addresses++;
	return read_address(out, r, record);
}

/* All records of out->canonical; an alias beside addresses is two answers in one (RFC
 * 1034 3.6.2). */
static bool
walk_answers(struct dns_answer *out, struct step *s, struct reader r, size_t records,
    enum dns_type type)
{
	struct record record;

	*s = (struct step){ .has_alias = false };
	for (size_t i = 0; i < records; i++) {
		take_record(&r, &record);
		if (r.is_bad || !read_record(out, s, &r, &record, type))
			return false;
	}
	return !s->has_alias || s->addresses == 0;
}

static enum dns_result
follow_chain(struct dns_answer *out, struct reader r, size_t records, enum dns_type type)
{
	struct step s;

	for (;;) {
		if (!walk_answers(out, &s, r, records, type))
			return DNS_BAD;
		if (!s.has_alias)
			return out->count > 0 ? DNS_OK : DNS_NODATA;
		if (out->chain == DNS_CHAIN_MAX) /* a loop ends here too */
			return DNS_SERVFAIL;
		out->canonical = s.alias;
		out->chain++;
	}
}

/* One question, and the one that was asked; the case of its letters may differ. */
static bool
take_question(struct reader *r, const struct host *asked, enum dns_type type)
{
	struct name name;

	take_name(r, &name);
	return take_number(r, 2) == type && take_number(r, 2) == CLASS_IN && !r->is_bad &&
	       name_is(&name, asked);
}

static enum dns_result
read_answer(struct dns_answer *out, struct reader *r, enum dns_type type)
{
	enum { QR = 0x8000, OPCODE = 0x7800, TRUNCATED = 0x0200, RCODE = 0x000f };
	unsigned id = take_number(r, 2), flags = take_number(r, 2);
	unsigned questions = take_number(r, 2), answers = take_number(r, 2);

	(void)id; /* the resolver matched it */
	(void)take_number(r, 4);
	if (r->is_bad || (flags & (QR | OPCODE | TRUNCATED)) != QR)
		return DNS_BAD;
	/* servers that could not read the question leave it out */
	if (questions == 0 && (flags & RCODE) != 0 && (flags & RCODE) != RCODE_NXDOMAIN)
		return DNS_SERVFAIL;
	if (questions != 1 || !take_question(r, &out->canonical, type))
		return DNS_BAD;
	if ((flags & RCODE) != 0)
		return (flags & RCODE) == RCODE_NXDOMAIN ? DNS_NXDOMAIN : DNS_SERVFAIL;
	if (answers > RECORDS_MAX)
		return DNS_BAD;
	return follow_chain(out, *r, answers, type);
}

enum dns_result
dns_read_answer(struct dns_answer *out, struct str message, const struct host *asked,
    enum dns_type type)
{
	struct reader r = { (const unsigned char *)message.p, message.n, 0, false };
	enum dns_result result;

	*out = (struct dns_answer){ .ttl = UINT32_MAX, .canonical = *asked };
	result = read_answer(out, &r, type);
	if (result != DNS_OK)
		out->count = out->dropped = 0;
	if (out->ttl == UINT32_MAX)
		out->ttl = 0;
	return result;
}
