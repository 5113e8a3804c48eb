/*
 * version.c - which weir this is, and on what it runs
 *
 * A library that is not the one weir was compiled with is the first thing to
 * know about a fault, so both versions stand beside each other.
 */
#include "cmd/version.h"

#include <ares.h>
#include <brotli/decode.h>
#include <event2/event.h>
#include <libpsl.h>
#include <openssl/crypto.h>
#include <openssl/opensslv.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <yaml.h>
#include <zlib.h>
#include <zstd.h>

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)

static const char *
openssl_running(void)
{
	return OpenSSL_version(OPENSSL_VERSION_STRING);
}

static const char *
cares_running(void)
{
	return ares_version(NULL);
}

static const char *
pcre2_running(void)
{
	static char version[64]; /* "10.42 2022-12-11" */

	pcre2_config(PCRE2_CONFIG_VERSION, version);
	return version;
}

static const char *
brotli_running(void)
{
	static char version[32]; /* 0xMMMmmmppp */
	uint32_t v = BrotliDecoderVersion();

	snprintf(
	    version, sizeof(version), "%u.%u.%u", v >> 24, v >> 12 & 0xfff, v & 0xfff);
	return version;
}

/* It has no function that tells. */
static const char *
jwt_running(void)
{
	return "unknown";
}

static const struct {
	const char *name, *compiled;
	const char *(*running)(void);
} libraries[] = {
	{ "libevent", LIBEVENT_VERSION, event_get_version },
	{ "OpenSSL", OPENSSL_VERSION_STR, openssl_running },
	{ "c-ares", ARES_VERSION_STR, cares_running },
	{ "PCRE2", TEXT_OF(PCRE2_MAJOR) "." TEXT_OF(PCRE2_MINOR), pcre2_running },
	{ "libyaml", YAML_COMPILED, yaml_get_version_string },
	{ "libjwt", JWT_COMPILED, jwt_running },
	{ "libpsl", PSL_VERSION, psl_get_version },
	{ "zlib", ZLIB_VERSION, zlibVersion },
	{ "brotli", BROTLI_COMPILED, brotli_running },
	{ "zstd", ZSTD_VERSION_STRING, ZSTD_versionString },
};

static bool
has_pcre2_jit(void)
{
	uint32_t is_there = 0;

	return pcre2_config(PCRE2_CONFIG_JIT, &is_there) == 0 && is_there == 1;
}

void
version_print(struct buf *to)
{
	buf_fmt(to, "weir %s\nfeatures: connect http%s\n", PACKAGE_VERSION,
	    has_pcre2_jit() ? " pcre2-jit" : "");
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		buf_fmt(to, "%-9s compiled %-8s running %s\n", libraries[i].name,
		    libraries[i].compiled, libraries[i].running());
}
