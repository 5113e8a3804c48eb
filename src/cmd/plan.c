/*
 * plan.c - what weir verify is told to prove
 */
#include "cmd/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/input.h"
#include "cmd/main.h"
#include "cmd/usage.h"
#include "net/interfaces.h"
#include "wire/url.h"

#define ARENA_MAX ((size_t)1 << 20)
#define TOKEN_MAX ((size_t)16384)
#define TIMEOUT_MS 2000
#define HOST_PORT 80 /* in a target's text; it is asked on others, and without one */
#define HOSTS_MAX 8

void
plan_init(struct plan *p)
{
	*p = (struct plan){ .is.timeout_ms = TIMEOUT_MS };
	arena_init(&p->arena, ARENA_MAX);
	buf_init(&p->login, TOKEN_MAX);
	p->login.is_secret = true;
}

void
plan_fini(struct plan *p)
{
	arena_fini(&p->arena);
	buf_fini(&p->login);
}

static int
add(struct plan *p, struct probe_targets *to, struct str text)
{
	struct str kept = arena_str(&p->arena, text);

	if (to->n == PROBE_TARGETS_MAX || kept.p == NULL)
		return usage_refuse(
		    "verify", "at most %d targets of a kind", PROBE_TARGETS_MAX);
	to->p[to->n++] = kept.p;
	return EXIT_YES;
}

/* ---- options ---- */

/* A bare IPv6 address has no port, so that one may go without brackets. */
static bool
canonical(char out[static AUTHORITY_TEXT], struct str text, uint16_t default_port)
{
	struct endpoint bare = { .port = default_port };
	struct host host;
	uint16_t port;

	if (default_port != 0 && addr_parse(&bare.addr, text)) {
		endpoint_text(out, &bare);
		return true;
	}
	if (authority_parse(&host, &port, text, default_port) != HOST_OK)
		return false;
	authority_text(out, &host, port, 0);
	return true;
}

int
plan_target(struct plan *p, enum probe_over over, const char *option, const char *text,
    uint16_t default_port)
{
	char where[AUTHORITY_TEXT];

	if (!canonical(where, str_of(text), default_port))
		return usage_refuse("verify", "%s takes HOST%s, and not \"%s\"", option,
		    default_port == 0 ? ":PORT" : " or HOST:PORT", text);
	return add(p, &p->is.over[over], str_of(where));
}

#define TLS "tls:"

/* True: of the two that there are it was https. */
static bool
take_scheme(struct str *s)
{
	struct str plain = STR("http://"), secure = STR("https://");
	bool is_tls = str_starts(*s, secure);

	if (is_tls || str_starts(*s, plain))
		*s = str_sub(*s, is_tls ? secure.n : plain.n, s->n);
	return is_tls;
}

/* No URL names a SOCKS proxy with TLS: as the listener itself is written. */
static bool
take_tls(struct str *s)
{
	struct str secure = STR(TLS);
	bool is_tls = str_starts(*s, secure);

	if (is_tls)
		*s = str_sub(*s, secure.n, s->n);
	return is_tls;
}

/* How a door with TLS is said. */
static const char *const with_tls[DOOR_N] = {
	[DOOR_PROXY] = ", https://HOST:PORT",
	[DOOR_GATEWAY] = ", https://HOST:PORT",
	[DOOR_SOCKS5] = ", tls:HOST:PORT",
};

static const char *
address_of(const char *door)
{
	return strncmp(door, TLS, sizeof(TLS) - 1) == 0 ? door + sizeof(TLS) - 1 : door;
}

int
plan_door(struct plan *p, enum probe_door door, const char *option, const char *text)
{
	struct str s = str_of(text);
	char where[sizeof(TLS) + AUTHORITY_TEXT] = TLS;
	char *authority = where + sizeof(TLS) - 1;
	bool is_tls;

	if (str_starts(s, STR("unix:"))) {
		p->is.door[door] = arena_str(&p->arena, s).p;
		return EXIT_YES;
	}
	is_tls = door == DOOR_SOCKS5 ? take_tls(&s)
				     : take_scheme(&s) && with_tls[door] != NULL;
	if (s.n > 0 && s.p[s.n - 1] == '/')
		s.n--;
	if (!canonical(authority, s, door == DOOR_DNS ? 53 : 0))
		return usage_refuse("verify",
		    "%s takes HOST:PORT%s or unix:PATH, and not \"%s\"", option,
		    with_tls[door] != NULL ? with_tls[door] : "", text);
	p->is.door[door] = arena_str(&p->arena, str_of(is_tls ? where : authority)).p;
	return EXIT_YES;
}

int
plan_own(struct plan *p, const char *port)
{
	uint16_t n;

	if (!port_parse(&n, str_of(port)))
		return usage_refuse("verify", "--own takes a port, and not \"%s\"", port);
	return add(p, &p->is.own, str_of(port));
}

int
plan_token(struct plan *p, const char *path)
{
	buf_reset(&p->login);
	p->is.user = STR("weir");
	return input_token("verify", path, &p->login, &p->is.token);
}

/* ---- of the environment ---- */

static void
put_unescaped(struct buf *to, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		int high = i + 2 < s.n ? ascii_hex_value(s.p[i + 1]) : -1;
		int low = i + 2 < s.n ? ascii_hex_value(s.p[i + 2]) : -1;

		if (s.p[i] != '%' || high < 0 || low < 0) {
			buf_char(to, s.p[i]);
			continue;
		}
		buf_char(to, (char)(high << 4 | low));
		i += 2;
	}
}

/* "user:token", as in a URL */
static void
take_login(struct plan *p, struct str login)
{
	struct str user = login, token = STR_NONE;
	size_t colon, n;

	if (str_find(login, ':', &colon)) {
		user = str_sub(login, 0, colon);
		token = str_sub(login, colon + 1, login.n);
	}
	buf_reset(&p->login);
	put_unescaped(&p->login, user);
	n = p->login.n;
	put_unescaped(&p->login, token);
	struct str both = buf_view(&p->login);
	p->is.user = str_sub(both, 0, n);
	p->is.token = str_sub(both, n, both.n);
}

static int
take_variable(struct plan *p, const char *name)
{
	const char *value = getenv(name);
	struct str s = str_of(value);
	struct buf url;
	bool is_tls;
	size_t at;
	int code;

	if (value == NULL || value[0] == '\0' || p->is.door[DOOR_PROXY] != NULL)
		return EXIT_YES;
	is_tls = take_scheme(&s);
	if (str_rfind(s, '@', &at)) {
		if (p->is.token.n == 0)
			take_login(p, str_sub(s, 0, at));
		s = str_sub(s, at + 1, s.n);
	}
	buf_init(&url, TOKEN_MAX);
	buf_fmt(&url, "%s%.*s", is_tls ? "https://" : "", STR_ARG(s));
	code = plan_door(p, DOOR_PROXY, name, buf_cstr(&url));
	buf_fini(&url);
	return code;
}

/* ---- defaults ---- */

/* Those who answer to anybody, so that silence means something. */
static const struct {
	enum probe_over over;
	const char *target;
} ordinary[] = {
	{ OVER_DENY, "example.net:443" },
	{ OVER_DOH, "dns.google:443" },
	{ OVER_DOH, "cloudflare-dns.com:443" },
	{ OVER_DIRECT, "1.1.1.1:80" },
	{ OVER_DIRECT, "1.1.1.1:443" },
	{ OVER_DIRECT, "1.1.1.1:853" },
	{ OVER_DIRECT, "8.8.8.8:443" },
	{ OVER_DIRECT, "8.8.8.8:853" },
	{ OVER_DIRECT, "[2606:4700:4700::1111]:443" },
	{ OVER_DIRECT, "[2606:4700:4700::1111]:853" },
	{ OVER_DIRECT, "[2001:4860:4860::8888]:443" },
	{ OVER_UDP, "1.1.1.1:443" },
	{ OVER_UDP, "8.8.8.8:443" },
	{ OVER_UDP, "162.159.200.1:123" },
	{ OVER_UDP, "216.239.35.0:123" },
	{ OVER_UDP, "[2606:4700:4700::1111]:443" },
	{ OVER_NAMESERVER, "1.1.1.1:53" },
	{ OVER_NAMESERVER, "8.8.8.8:53" },
	{ OVER_NAMESERVER, "9.9.9.9:53" },
	{ OVER_NAMESERVER, "[2606:4700:4700::1111]:53" },
	{ OVER_NAMESERVER, "[2001:4860:4860::8888]:53" },
	{ OVER_METADATA, "169.254.169.254:80" },
	{ OVER_METADATA, "169.254.170.2:80" },
	{ OVER_METADATA, "169.254.170.23:80" },
	{ OVER_METADATA, "100.100.100.200:80" },
	{ OVER_METADATA, "168.63.129.16:80" },
	{ OVER_METADATA, "192.0.0.192:80" },
	{ OVER_METADATA, "[fd00:ec2::254]:80" },
	{ OVER_METADATA, "[fd20:ce::254]:80" },
};

static int
fill_in(struct plan *p)
{
	bool is_said[OVER_N];
	int code = EXIT_YES;

	for (size_t i = 0; i < OVER_N; i++)
		is_said[i] = p->is.over[i].n > 0;
	for (size_t i = 0; i < sizeof(ordinary) / sizeof(ordinary[0]) && code == EXIT_YES;
	     i++)
		if (!is_said[ordinary[i].over])
			code = add(
			    p, &p->is.over[ordinary[i].over], str_of(ordinary[i].target));
	return code;
}

/* Of whatever else a host with a weir on it may run. */
static const uint16_t beside[] = { 22, 80, 443, 2375, 2376, 6443, 8080, 9464, 10250 };

static bool
is_door(const struct plan *p, const char *where)
{
	for (size_t i = 0; i < DOOR_N; i++)
		if (p->is.door[i] != NULL &&
		    strcmp(address_of(p->is.door[i]), where) == 0)
			return true;
	return false;
}

static bool
is_loopback(const struct host *h)
{
	return h->is_literal ? h->name[0] == ':' || strncmp(h->name, "127.", 4) == 0
			     : strcmp(h->name, "localhost") == 0;
}

static bool
has_target(const struct probe_targets *t, const char *where)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->p[i], where) == 0)
			return true;
	return false;
}

/* On loopback the sockets are listed, and need not be guessed. */
static int
take_beside(struct plan *p, const char *at)
{
	char where[AUTHORITY_TEXT];
	struct host host;
	uint16_t port;
	int code = EXIT_YES;

	if (at == NULL ||
	    authority_parse(&host, &port, str_of(address_of(at)), 0) != HOST_OK ||
	    is_loopback(&host))
		return EXIT_YES;
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]) && code == EXIT_YES;
	     i++) {
		authority_text(where, &host, beside[i], 0);
		if (!is_door(p, where) && !has_target(&p->is.over[OVER_BESIDE], where))
			code = add(p, &p->is.over[OVER_BESIDE], str_of(where));
	}
	return code;
}

/* No engine's: loopback, link-local */
static const struct prefix no_network[] = {
	V4_PREFIX(127, 0, 0, 0, 8),
	V4_PREFIX(169, 254, 0, 0, 16),
	{ { { [15] = 1 } }, 128 },
	{ { { 0xfe, 0x80 } }, 10 },
};

static bool
is_own(const struct interfaces *i, const struct addr *a)
{
	for (size_t k = 0; k < i->nown; k++)
		if (addr_eq(&i->own[k], a))
			return true;
	return false;
}

/* Engines and hypervisors give a network's first address to the machine they are on. */
static bool
first_of(struct endpoint *out, const struct prefix *network)
{
	*out = (struct endpoint){ .addr = network->addr, .port = HOST_PORT };
	out->addr.b[15] |= 1;
	return network->len < 127 &&
	       !prefixes_have(no_network, sizeof(no_network) / sizeof(no_network[0]),
		   &network->addr);
}

static int
find_hosts(struct plan *p)
{
	struct interfaces here;
	struct endpoint first;
	char where[ENDPOINT_TEXT];
	int code = EXIT_YES;

	if (interfaces_read(&here) != 0)
		return EXIT_YES;
	for (size_t i = 0;
	     i < here.nonlink && p->is.over[OVER_HOST].n < HOSTS_MAX && code == EXIT_YES;
	     i++)
		if (first_of(&first, &here.onlink[i]) && !is_own(&here, &first.addr))
			code = add(p, &p->is.over[OVER_HOST],
			    str_of(endpoint_text(where, &first)));
	interfaces_fini(&here);
	return code;
}

static int
take_hosts(struct plan *p)
{
	const struct probe_targets *hosts = &p->is.over[OVER_HOST];
	int code = hosts->n == 0 ? find_hosts(p) : EXIT_YES;

	for (size_t i = 0; i < hosts->n && code == EXIT_YES; i++)
		code = take_beside(p, hosts->p[i]);
	return code;
}

static int
take_resolvers(struct plan *p)
{
	char line[512], text[128], where[ENDPOINT_TEXT];
	struct endpoint server = { .port = 53 };
	FILE *f = fopen("/etc/resolv.conf", "re");
	int code = EXIT_YES;

	if (f == NULL)
		return EXIT_YES;
	while (code == EXIT_YES && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "nameserver %127s", text) == 1 &&
		    addr_parse(&server.addr, str_of(text)))
			code = add(p, &p->is.over[OVER_RESOLVER],
			    str_of(endpoint_text(where, &server)));
	fclose(f);
	return code;
}

static bool
has_door(const struct plan *p)
{
	for (size_t i = 0; i < DOOR_N; i++)
		if (p->is.door[i] != NULL)
			return true;
	return false;
}

int
plan_complete(struct plan *p)
{
	int code = EXIT_YES;

	if (!has_door(p) && (code = take_variable(p, "https_proxy")) == EXIT_YES)
		code = take_variable(p, "HTTPS_PROXY");
	if (code == EXIT_YES && !has_door(p))
		return usage_refuse("verify",
		    "which doors has this sandbox? --proxy, --gateway, --socks5, "
		    "--dns, --transparent, or https_proxy in the environment");
	if (code == EXIT_YES && p->is.over[OVER_ALLOW].n == 0)
		return usage_refuse("verify",
		    "--allow HOST is missing: a boundary that lets nothing in or out "
		    "looks tight, too");
	for (size_t i = 0; i < DOOR_N && code == EXIT_YES; i++)
		code = take_beside(p, p->is.door[i]);
	if (code == EXIT_YES && (code = take_hosts(p)) == EXIT_YES)
		code = fill_in(p);
	return code == EXIT_YES ? take_resolvers(p) : code;
}
