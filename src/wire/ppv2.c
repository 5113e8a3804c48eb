/*
 * ppv2.c - what a balancer says before a connection: whose it is
 */
#include "wire/ppv2.h"

#include <string.h>

#define COMMAND_AT 12
#define FAMILY_AT 13
#define LENGTH_AT 14
#define BLOCK_AT 16

#define LOCAL 0x20
#define PROXY 0x21

#define TLV_HEAD 3
#define TLV_CRC32C 3
#define CRC32C_SIZE 4

static const char signature[] = "\r\n\r\n\0\r\nQUIT\n";

static const struct family {
	uint8_t octet;
	size_t address, block; /* octets: of one address, of all before the TLVs */
} families[] = {
	{ 0x11, 4, 12 },
	{ 0x21, 16, 36 },
};

static uint8_t
octet(struct str in, size_t at)
{
	return (uint8_t)in.p[at];
}

static uint16_t
pair(struct str in, size_t at)
{
	return (uint16_t)(octet(in, at) << 8 | octet(in, at + 1));
}

static enum ppv2_result
bad(struct ppv2 *out, size_t at, const char *error)
{
	out->at = at;
	out->error = error;
	return PPV2_BAD;
}

static enum ppv2_result
more(struct ppv2 *out, struct str in, size_t all)
{
	out->want = all - in.n;
	return PPV2_MORE;
}

static const struct family *
family_of(uint8_t which)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (families[i].octet == which)
			return &families[i];
	return NULL;
}

/* RFC 3720 B.4: Castagnoli's polynomial, reflected. */
static uint32_t
crc32c(uint32_t crc, uint8_t byte)
{
	crc ^= byte;
	for (int i = 0; i < 8; i++)
		crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78U : 0);
	return crc;
}

/* Of the whole header, its own four octets taken for zero (2.2.3). */
static bool
is_sum(struct str header, size_t at)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < header.n; i++)
		crc = crc32c(crc, i - at < CRC32C_SIZE ? 0 : octet(header, i));
	return (crc ^ UINT32_MAX) ==
	       ((uint32_t)pair(header, at) << 16 | pair(header, at + 2));
}

static enum ppv2_result
read_tlvs(struct ppv2 *out, struct str header, size_t at)
{
	while (at < header.n) {
		size_t left = header.n - at, value = at + TLV_HEAD;
		size_t n = left < TLV_HEAD ? 0 : pair(header, at + 1);

		if (left < TLV_HEAD || left - TLV_HEAD < n)
			return bad(out, at, "a TLV is longer than the PROXY header");
		if (octet(header, at) == TLV_CRC32C &&
		    (n != CRC32C_SIZE || !is_sum(header, value)))
			return bad(out, at, "the PROXY header's checksum is wrong");
		at = value + n;
	}
	out->used = header.n;
	return PPV2_DONE;
}

static void
take_source(struct endpoint *out, const struct family *f, struct str header)
{
	static const struct addr v4 = V4(0, 0, 0, 0);

	out->addr = v4;
	memcpy(out->addr.b + sizeof(out->addr.b) - f->address, header.p + BLOCK_AT,
	    f->address);
	out->port = pair(header, BLOCK_AT + 2 * f->address);
}

static bool
is_nobody(const struct addr *a)
{
	static const struct addr v4 = V4(0, 0, 0, 0), v6 = { { 0 } };

	return addr_eq(a, &v4) || addr_eq(a, &v6);
}

static enum ppv2_result
read_proxied(struct ppv2 *out, const struct family *f, struct str header)
{
	take_source(&out->source, f, header);
	if (is_nobody(&out->source.addr))
		return bad(out, BLOCK_AT, "the PROXY header's source is no address");
	return read_tlvs(out, header, BLOCK_AT + f->block);
}

static enum ppv2_result
read_beginning(struct ppv2 *out, struct str in)
{
	for (size_t i = 0; i < COMMAND_AT && i < in.n; i++)
		if (in.p[i] != signature[i])
			return bad(out, i,
			    str_starts(in, STR("PROXY "))
				? "the PROXY header is of version 1"
				: "there is no PROXY header");
	if (in.n > COMMAND_AT && octet(in, COMMAND_AT) != LOCAL &&
	    octet(in, COMMAND_AT) != PROXY)
		return bad(out, COMMAND_AT,
		    "the PROXY header's version and command are neither PROXY nor LOCAL "
		    "of version 2");
	if (in.n > FAMILY_AT && octet(in, COMMAND_AT) == PROXY &&
	    family_of(octet(in, FAMILY_AT)) == NULL)
		return bad(
		    out, FAMILY_AT, "the PROXY header is of no TCP over IPv4 or IPv6");
	return PPV2_DONE;
}

enum ppv2_result
ppv2_read(struct ppv2 *out, struct str in)
{
	const struct family *f;
	size_t n;

	*out = (struct ppv2){ .is_local = false };
	if (read_beginning(out, in) == PPV2_BAD)
		return PPV2_BAD;
	if (in.n < BLOCK_AT)
		return more(out, in, BLOCK_AT);
	n = BLOCK_AT + pair(in, LENGTH_AT);
	f = family_of(octet(in, FAMILY_AT));
	out->is_local = octet(in, COMMAND_AT) == LOCAL;
	if (n > PPV2_MAX)
		return bad(out, LENGTH_AT, "the PROXY header is longer than 536 octets");
	if (!out->is_local && n < BLOCK_AT + f->block)
		return bad(out, LENGTH_AT, "the PROXY header is too short for addresses");
	if (in.n < n)
		return more(out, in, n);
	out->used = n;
	return out->is_local ? PPV2_DONE : read_proxied(out, f, str_sub(in, 0, n));
}
