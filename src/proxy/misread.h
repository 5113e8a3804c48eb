/*
 * misread.h - what a model call that cannot be understood is refused with
 */
#ifndef WEIR_PROXY_MISREAD_H
#define WEIR_PROXY_MISREAD_H

#include "meter/call.h"
#include "policy/verdict.h"

enum reason misread(enum call_error error);

#endif
