/*
 * auth.c - what Authorization and Proxy-Authorization say
 */
#include "wire/auth.h"

static int
digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* RFC 4648 4; what does not fill a byte must be zero.  p is NULL when it is none. */
static struct str
base64_read(struct str text, struct arena *a)
{
	size_t n = text.n - str_ends(text, STR("=")) - str_ends(text, STR("=="));
	unsigned char *out = arena_alloc(a, text.n / 4 * 3 + 1);
	size_t used = 0;
	uint32_t bits = 0;

	if (text.n == 0 || text.n % 4 != 0 || out == NULL)
		return STR_NONE;
	for (size_t i = 0; i < n; i++) {
		int d = digit(text.p[i]);
		if (d < 0)
			return STR_NONE;
		bits = (bits << 6 | (uint32_t)d) & 0xffffff;
		if (i % 4 != 0)
			out[used++] = (unsigned char)(bits >> (6 - 2 * (i % 4)) & 0xff);
	}
	if ((n % 4 == 2 && (bits & 15) != 0) || (n % 4 == 3 && (bits & 3) != 0))
		return STR_NONE;
	return (struct str){ (char *)out, used };
}

static bool
read_basic(struct auth *out, struct str value, struct arena *a)
{
	struct str both = base64_read(value, a);
	size_t colon;

	if (both.p == NULL || !str_find(both, ':', &colon))
		return false;
	out->has_user = true;
	out->user = str_sub(both, 0, colon);
	out->secret = str_sub(both, colon + 1, both.n);
	return true;
}

/* token68 of RFC 9110 11.2 */
static bool
read_bearer(struct auth *out, struct str value, struct arena *a)
{
	(void)a;
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] <= ' ' || value.p[i] >= 0x7f || value.p[i] == ',')
			return false;
	*out = (struct auth){ .secret = value };
	return value.n > 0;
}

static const struct {
	const char *scheme;
	bool (*read)(struct auth *out, struct str value, struct arena *a);
} schemes[] = {
	{ "basic", read_basic },
	{ "bearer", read_bearer },
};

bool
auth_read(struct auth *out, struct str value, struct arena *a)
{
	struct str scheme;

	if (value.n > AUTH_MAX || !str_split(&value, ' ', &scheme))
		return false;
	value = str_trim(value);
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (str_eq_nocase(scheme, str_of(schemes[i].scheme)))
			return schemes[i].read(out, value, a);
	return false;
}
