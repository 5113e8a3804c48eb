/*
 * err.h - codes for what may fail: 0 is success, every code is negative
 */
#ifndef WEIR_BASE_ERR_H
#define WEIR_BASE_ERR_H

enum err_ordinal {
	ERR_NONE,
#define ERR(name, text) ERR_ORDINAL_##name,
#include "base/err.def"
#undef ERR
};

enum err {
	OK = 0,
#define ERR(name, text) ERR_##name = -ERR_ORDINAL_##name,
#include "base/err.def"
#undef ERR
};

const char *err_text(int code); /* static; "ok" for 0 */

#endif
