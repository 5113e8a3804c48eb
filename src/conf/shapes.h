/*
 * shapes.h - what values of weir.yaml become in struct settings
 */
#ifndef WEIR_CONF_SHAPES_H
#define WEIR_CONF_SHAPES_H

#include "base/addr.h"
#include "conf/secret.h"

enum errors_for { ERRORS_PUBLIC, ERRORS_DEVELOPER };
enum on_failure { ON_FAILURE_REFUSE, ON_FAILURE_DROP };

struct texts {
	char **p;
	size_t n;
};

struct prefixes {
	struct prefix *p;
	size_t n;
};

#define HOST_ANSWERS_MAX 16

struct host_answers {
	char *name;
	struct addr *addr;
	size_t naddr;
	struct mark mark;
};

struct hosts {
	struct host_answers *p;
	size_t n;
};

#endif
