/*
 * facts.c - the names of what facts are made of
 */
#include "policy/facts.h"

const char *
protocol_name(enum protocol p)
{
	switch (p) {
	case PROTOCOL_HTTP:
		return "http";
	case PROTOCOL_HTTPS:
		return "https";
	case PROTOCOL_TCP:
		return "tcp";
	}
	return "?";
}

const char *
assurance_name(enum assurance a)
{
	static const char *const name[] = {
		[ASSURE_NAME] = "name",
		[ASSURE_ADDRESS] = "address",
		[ASSURE_SNI] = "sni",
		[ASSURE_ORIGIN] = "origin",
		[ASSURE_HOST] = "host",
	};

	return name[a];
}
