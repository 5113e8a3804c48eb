/*
 * unit.h - what every cmocka program begins with
 */
#ifndef WEIR_TESTS_UNIT_H
#define WEIR_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT_OF(table) (sizeof(table) / sizeof(*(table)))

/* A sanitizer makes each step ten times as dear, and finds nothing new in the last ones.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNIT_LESS 20
#else
#define UNIT_LESS 1
#endif

/* assert_true() for a row of a table, named in the failure. */
#define assert_row(name, claim) \
	do { \
		if (!(claim)) \
			fail_msg("%s: %s", (name), #claim); \
	} while (0)

#endif
