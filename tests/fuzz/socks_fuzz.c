/*
 * socks_fuzz.c - a message is read the same with whatever comes behind it
 *
 * First byte: which of the three messages the rest is.
 */
#include "wire/socks.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
is_inside(struct str part, struct str in)
{
	return part.n == 0 || (part.p >= in.p && part.p + part.n <= in.p + in.n);
}

static enum socks_result
read_one(uint8_t which, struct socks_read *r, struct str in)
{
	struct socks_methods methods;
	struct socks_login login;
	struct socks_request request;
	enum socks_result result;

	switch (which % 3) {
	case 0:
		return socks_read_methods(&methods, r, in);
	case 1:
		result = socks_read_login(&login, r, in);
		assert(result != SOCKS_DONE ||
		       (is_inside(login.user, in) && is_inside(login.password, in)));
		return result;
	}
	result = socks_read_request(&request, r, in);
	assert(result != SOCKS_DONE || request.is_addr || is_inside(request.name, in));
	return result;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = { (const char *)data + 1, size - 1 };
	struct socks_read whole, part;
	enum socks_result result;

	if (size < 1)
		return 0;
	result = read_one(data[0], &whole, in);
	for (size_t n = 0; n <= in.n; n++) {
		enum socks_result early = read_one(data[0], &part, str_sub(in, 0, n));
		if (early == SOCKS_MORE)
			continue;
		assert(early == result);
		assert(
		    result != SOCKS_DONE || (part.used == whole.used && n >= part.used));
		assert(result != SOCKS_BAD ||
		       (part.at == whole.at && part.rep == whole.rep));
	}
	assert(result != SOCKS_DONE || whole.used <= in.n);
	assert(result != SOCKS_BAD || (whole.at < in.n && whole.error != NULL));
	return 0;
}
