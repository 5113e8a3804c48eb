#include "base/err.h"

#include <stddef.h>

static const char *const text[] = {
	"ok",
#define ERR(name, words) words,
#include "base/err.def"
#undef ERR
};

const char *
err_text(int code)
{
	if (code > 0 || code <= -(int)(sizeof(text) / sizeof(*text)))
		return "unknown error";
	return text[-code];
}
