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

/* assert_true() for a row of a table, named in the failure. */
#define assert_row(name, claim) \
	do { \
		if (!(claim)) \
			fail_msg("%s: %s", (name), #claim); \
	} while (0)

#endif
