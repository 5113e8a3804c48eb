/*
 * dns_fuzz.c - an answer yields addresses for the name that was asked, or none
 *
 * First byte: bit 0 AAAA or A.  The name asked is a.test.
 */
#include "wire/dns.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_answer answer;
	struct host asked;

	if (size < 1 || host_parse(&asked, STR("a.test")) != HOST_OK)
		return 0;

	enum dns_type type = data[0] & 1 ? DNS_AAAA : DNS_A;
	enum dns_result result = dns_read_answer(
	    &answer, (struct str){ (const char *)data + 1, size - 1 }, &asked, type);

	assert((result == DNS_OK) == (answer.count > 0));
	assert(answer.count <= DNS_ADDRS_MAX && answer.chain <= DNS_CHAIN_MAX);
	assert(answer.canonical.len > 0 && !answer.canonical.is_literal);
	for (size_t i = 0; i < answer.count; i++)
		assert(type == DNS_AAAA || addr_is_v4(&answer.addr[i]));
	return 0;
}
