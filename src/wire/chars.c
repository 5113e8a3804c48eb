#include "wire/chars.h"

#define IN(c, from, to) ((c) >= (from) && (c) <= (to))
#define ALNUM(c) (IN(c, 'a', 'z') || IN(c, 'A', 'Z') || IN(c, '0', '9'))
#define TOKEN(c) \
	(ALNUM(c) || (c) == '!' || IN(c, '#', '\'') || (c) == '*' || (c) == '+' || \
	    (c) == '-' || (c) == '.' || (c) == '^' || (c) == '_' || (c) == '`' || \
	    (c) == '|' || (c) == '~')
#define CONTROL(c) ((c) < 0x20 || (c) == 0x7f)
#define HOST(c) (ALNUM(c) || (c) == '-' || (c) == '_' || (c) == '.')
#define PLAIN(c) (IN(c, 0x20, 0x7f) && (c) != '"' && (c) != '\\')

#define C1(c) \
	((TOKEN(c) ? CHAR_TOKEN : 0) | (!CONTROL(c) || (c) == '\t' ? CHAR_VALUE : 0) | \
	    (IN(c, 0x21, 0x7e) ? CHAR_TARGET : 0) | (HOST(c) ? CHAR_HOST : 0) | \
	    (PLAIN(c) ? CHAR_PLAIN : 0) | \
	    (HOST(c) || (c) == '~' ? CHAR_UNRESERVED : 0) | \
	    (CONTROL(c) ? CHAR_CONTROL : 0))
#define C4(c) C1(c), C1((c) + 1), C1((c) + 2), C1((c) + 3)
#define C16(c) C4(c), C4((c) + 4), C4((c) + 8), C4((c) + 12)
#define C64(c) C16(c), C16((c) + 16), C16((c) + 32), C16((c) + 48)

const uint8_t char_classes[256] = { C64(0), C64(64), C64(128), C64(192) };
