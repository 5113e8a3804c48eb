/*
 * url_fuzz.c - whatever is taken as a host reads back as the same host
 */
#include "wire/url.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
assert_canonical(const struct host *h, uint16_t port)
{
	char text[AUTHORITY_TEXT];
	struct host again;
	uint16_t same;

	assert(h->len > 0 && h->len <= HOST_MAX && h->name[h->len] == '\0');
	assert(host_parse_bare(&again, host_str(h)) == HOST_OK && host_eq(h, &again));
	authority_text(text, h, port, 0);
	assert(authority_parse(&again, &same, str_of(text), 0) == HOST_OK);
	assert(host_eq(h, &again) && same == port);
	assert(again.is_literal == h->is_literal && addr_eq(&again.addr, &h->addr));
	assert(!h->is_literal || !host_is_special(h));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = { (const char *)data, size };
	struct host h;
	struct url u;
	uint16_t port;

	if (host_parse(&h, in) == HOST_OK)
		assert_canonical(&h, 1);
	if (host_parse_bare(&h, in) == HOST_OK)
		assert_canonical(&h, 443);
	if (host_parse_sni(&h, in) == HOST_OK) {
		assert_canonical(&h, 65535);
		assert(!h.is_literal && h.len == size);
	}
	if (authority_parse(&h, &port, in, 0) == HOST_OK)
		assert_canonical(&h, port);
	if (url_parse(&u, in) == HOST_OK) {
		assert_canonical(&u.host, u.port);
		assert(u.path.n == 0 || u.path.p[0] == '/');
		(void)path_is_canonical(u.path);
	}
	(void)path_is_canonical(in);
	(void)host_special_suffix(in);
	return 0;
}
