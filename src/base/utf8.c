#include "base/utf8.h"

/* RFC 3629 4: what a first byte may be, how long its character is, and its least code. */
static const struct {
	uint8_t mask, lead;
	size_t n;
	uint32_t min;
} forms[] = {
	{ 0x80, 0x00, 1, 0 },
	{ 0xe0, 0xc0, 2, 0x80 },
	{ 0xf0, 0xe0, 3, 0x800 },
	{ 0xf8, 0xf0, 4, 0x10000 },
};

static const struct {
	uint32_t first, last;
} controls[] = {
	{ 0x00, 0x1f }, { 0x7f, 0x9f }, { 0x061c, 0x061c }, /* Arabic letter mark */
	{ 0x200e, 0x200f },                                 /* direction marks */
	{ 0x2028, 0x202e }, /* line and paragraph separators, embeddings, overrides */
	{ 0x2066, 0x2069 }, /* isolates */
	{ 0xfeff, 0xfeff }, /* byte order mark */
};

static bool
is_scalar(uint32_t code)
{
	return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

static size_t
decode(struct str s, size_t n, uint8_t lead_bits, uint32_t *code)
{
	*code = (uint8_t)s.p[0] & lead_bits;
	for (size_t i = 1; i < n; i++) {
		if (i >= s.n || ((uint8_t)s.p[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | ((uint8_t)s.p[i] & 0x3f);
	}
	return n;
}

size_t
utf8_char(struct str s, uint32_t *code)
{
	if (s.n == 0)
		return 0;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (((uint8_t)s.p[0] & forms[i].mask) != forms[i].lead)
			continue;
		if (decode(s, forms[i].n, (uint8_t)~forms[i].mask, code) == 0)
			return 0;
		return *code >= forms[i].min && is_scalar(*code) ? forms[i].n : 0;
	}
	return 0;
}

size_t
utf8_put(char out[static 4], uint32_t code)
{
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	for (size_t i = length; i > 1; i--, code >>= 6)
		out[i - 1] = (char)(0x80 | (code & 0x3f));
	out[0] = (char)(lead[length] | code);
	return length;
}

bool
utf8_is_valid(struct str s)
{
	uint32_t code;

	while (s.n > 0) {
		size_t n = utf8_char(s, &code);

		if (n == 0)
			return false;
		s = str_sub(s, n, s.n);
	}
	return true;
}

struct str
utf8_cut(struct str s, size_t n)
{
	if (n >= s.n)
		return s;
	for (size_t back = 0; back < 3 && n > 0 && ((uint8_t)s.p[n] & 0xc0) == 0x80;
	     back++)
		n--;
	return str_sub(s, 0, n);
}

bool
utf8_is_control(uint32_t code)
{
	for (size_t i = 0; i < sizeof(controls) / sizeof(*controls); i++)
		if (code >= controls[i].first && code <= controls[i].last)
			return true;
	return false;
}
