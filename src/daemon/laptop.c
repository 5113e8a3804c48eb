/*
 * laptop.c - the policy of a weir without a configuration file
 */
#include "daemon/laptop.h"

#include "policy/quickstart.h"

static void
put_quoted(struct buf *to, const char *s)
{
	buf_char(to, '"');
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			buf_char(to, '\\');
		if ((unsigned char)*s < ' ')
			buf_fmt(to, "\\x%02x", (unsigned)*s);
		else
			buf_char(to, *s);
	}
	buf_char(to, '"');
}

static void
put_rule(struct buf *to, size_t i, const char *host, const char *protocol)
{
	buf_fmt(to, "  - name: allow-%zu-%s\n    host: ", i + 1, protocol);
	put_quoted(to, host);
	buf_fmt(to, "\n    protocol: %s\n", protocol);
}

/* quickstart.yaml ends with its `allow` list. */
void
laptop_policy(struct buf *to, const char *const *allow, size_t n)
{
	buf_add(to, quickstart_yaml, quickstart_yaml_n);
	for (size_t i = 0; i < n; i++) {
		put_rule(to, i, allow[i], "https");
		put_rule(to, i, allow[i], "http");
	}
}
