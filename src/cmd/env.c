/*
 * env.c - weir env: prints the variables that make common runtimes use weir
 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/config.h"
#include "cmd/input.h"
#include "cmd/main.h"
#include "cmd/runtime.h"
#include "cmd/usage.h"
#include "conf/settings.h"
#include "net/listener.h"
#include "wire/json.h"

#define TEXT_MAX ((size_t)1 << 20)
#define TOKEN_MAX ((size_t)16384)
#define BUNDLE_MAX ((size_t)8 << 20)
#define PROXY_PORT 3128 /* as weir run and weir forward have it */
#define GATEWAY_PORT 8787

static const char help[] =
    "usage: weir env [-c FILE] [option]...\n"
    "\n"
    "Prints the variables that make common runtimes use weir and trust its CA:\n"
    "  eval \"$(weir env --proxy http://127.0.0.1:3128 --ca /etc/weir/ca.pem)\"\n"
    "\n"
    "  -c, --config FILE      the proxy, the gateway and the CA are where FILE has them\n"
    "      --proxy URL        the proxy, http://HOST:PORT or https://HOST:PORT\n"
    "      --gateway URL      the gateway, so too\n"
    "      --ca FILE          weir's CA, where the sandbox has it (default: with -c,\n"
    "                         that of tls.intercept, or the bundle.pem beside it)\n"
    "      --bundle FILE      public roots and weir's CA, for programs whose one file\n"
    "                         replaces all others (default: that of --ca)\n"
    "      --java-store FILE  the same as PKCS#12, for Java\n"
    "      --no-proxy HOST    a host that is not to be asked for by the proxy\n"
    "      --token-file FILE  prints the token in FILE, too, wherever one is looked for\n"
    "      --format FORMAT    shell (default), docker (an env file), dotenv, json\n"
    "      --help             this text\n"
    "\n"
    "Without -c, --proxy and --gateway: a proxy on 127.0.0.1:3128.\n"
    "\n"
    "Exits 0, 64 when what was asked for names no weir or no token, 66 when a file\n"
    "cannot be read, 78 when the configuration is wrong.\n";

struct env {
	struct runtime told;
	const char *config, *token_file;
	const struct format *format;
	struct settings *settings; /* NULL without -c */
	struct buf out, token, ca; /* ca: the path of that of the configuration */
	struct json_out json;
};

/* ---- forms ---- */

/* Nothing is special between single quotes but those (POSIX 2.2.2). */
static void
put_shell(struct env *e, const char *name, struct str value)
{
	buf_fmt(&e->out, "export %s='", name);
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] == '\'')
			buf_text(&e->out, "'\\''");
		else
			buf_char(&e->out, value.p[i]);
	buf_text(&e->out, "'\n");
}

/* docker run --env-file takes everything behind the first '=' as it is. */
static void
put_docker(struct env *e, const char *name, struct str value)
{
	buf_fmt(&e->out, "%s=%.*s\n", name, STR_ARG(value));
}

static void
put_dotenv(struct env *e, const char *name, struct str value)
{
	buf_fmt(&e->out, "%s=\"", name);
	for (size_t i = 0; i < value.n; i++) {
		if (strchr("\"\\$`", value.p[i]) != NULL)
			buf_char(&e->out, '\\');
		buf_char(&e->out, value.p[i]);
	}
	buf_text(&e->out, "\"\n");
}

static void
put_json(struct env *e, const char *name, struct str value)
{
	json_key(&e->json, name);
	json_str(&e->json, value);
}

static const struct format {
	const char *name;
	void (*put)(struct env *e, const char *name, struct str value);
	bool has_comments;
} formats[] = {
	{ "shell", put_shell, true },
	{ "docker", put_docker, true },
	{ "dotenv", put_dotenv, true },
	{ "json", put_json, false },
};

static const struct format *
format_find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

/* ---- where weir is ---- */

static int
at_parse(struct runtime_at *out, const char *option, const char *text)
{
	struct url url;
	enum host_error err = url_parse(&url, str_of(text));

	if (err == HOST_USERINFO)
		return usage_refuse(
		    "env", "%s takes no password: a token is --token-file FILE", option);
	if (err != HOST_OK || url.query.p != NULL || url.path.n > 1)
		return usage_refuse("env",
		    "%s takes http://HOST:PORT or https://HOST:PORT, and not \"%s\"",
		    option, text);
	*out = (struct runtime_at){ true, url.is_https, url.host, url.port };
	return EXIT_YES;
}

static bool
is_wildcard(const struct addr *a)
{
	static const struct addr v4 = V4(0, 0, 0, 0), v6 = { { 0 } };

	return addr_eq(a, &v4) || addr_eq(a, &v6);
}

static void
at_of_endpoint(struct runtime_at *out, const struct endpoint *e)
{
	*out = (struct runtime_at){ .is_there = true, .port = e->port };
	out->host.is_literal = true;
	out->host.addr = e->addr;
	addr_text(out->host.name, &e->addr);
	out->host.len = (uint8_t)strlen(out->host.name);
}

/* The first; a Unix socket is where weir forward hands it on from. */
static int
at_of_listeners(
    struct runtime_at *out, const struct texts *at, uint16_t port, const char *option)
{
	struct listen_at first;
	struct endpoint forwarded = { V4(127, 0, 0, 1), port };

	if (out->is_there || at->n == 0 || !listen_at_parse(&first, str_of(at->p[0])))
		return EXIT_YES;
	if (!first.is_unix && is_wildcard(&first.endpoint.addr))
		return usage_refuse("env",
		    "%s is every address of weir's: say with %s URL which one the "
		    "sandbox sees",
		    at->p[0], option);
	at_of_endpoint(out, first.is_unix ? &forwarded : &first.endpoint);
	out->is_tls = first.is_tls;
	return EXIT_YES;
}

static void
take_provider(struct runtime *r, const struct provider *p)
{
	if (p->kind == PROVIDER_ANTHROPIC && r->anthropic == NULL)
		r->anthropic = p->path;
	else if (p->kind == PROVIDER_OPENAI && r->openai == NULL)
		r->openai = p->path;
	else if (p->kind == PROVIDER_GEMINI && r->gemini == NULL)
		r->gemini = p->path;
}

/* What sandboxes trust while one CA takes another's place (weir ca rotate). */
static const char bundle_name[] = "bundle.pem";

static void
put_beside(struct buf *to, const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	if (slash != NULL)
		buf_add(to, path, (size_t)(slash + 1 - path));
	buf_text(to, name);
}

/* Only a bundle that has this very certificate is this CA's. */
static bool
is_bundle_of(const char *path, const struct secret *cert)
{
	struct buf text;
	bool has = false;

	buf_init(&text, BUNDLE_MAX);
	if (access(path, R_OK) == 0 && input_read("env", path, &text))
		has = memmem(text.p, text.n, cert->bytes, cert->n) != NULL;
	buf_fini(&text);
	return has;
}

/* tls.intercept.cert, or the bundle it is in, as programs in any directory find it. */
static void
take_ca(struct env *e)
{
	const struct secret *cert = &e->settings->tls_intercept_cert;
	char here[PATH_MAX];
	struct buf bundle;

	if (e->told.ca != NULL || cert->path == NULL)
		return;
	if (cert->path[0] != '/' && getcwd(here, sizeof(here)) != NULL)
		buf_fmt(&e->ca, "%s/", here);
	buf_text(&e->ca, cert->path);
	buf_init(&bundle, PATH_MAX);
	put_beside(&bundle, buf_cstr(&e->ca), bundle_name);
	if (is_bundle_of(buf_cstr(&bundle), cert)) {
		buf_reset(&e->ca);
		buf_str(&e->ca, buf_view(&bundle));
	}
	buf_fini(&bundle);
	e->told.ca = buf_cstr(&e->ca);
}

static int
take_settings(struct env *e)
{
	static const char *const certificate[] = { "tls.intercept.cert", NULL };
	int code = config_load(&e->settings, e->config,
	    e->told.ca != NULL ? config_no_secrets : certificate);

	if (code != EXIT_YES)
		return code;
	take_ca(e);
	for (size_t i = 0; i < e->settings->gateway_providers.n; i++)
		take_provider(&e->told, &e->settings->gateway_providers.p[i]);
	code = at_of_listeners(
	    &e->told.proxy, &e->settings->listen_proxy, PROXY_PORT, "--proxy");
	return code != EXIT_YES
		   ? code
		   : at_of_listeners(&e->told.gateway, &e->settings->listen_gateway,
			 GATEWAY_PORT, "--gateway");
}

static int
take_place(struct env *e)
{
	static const struct endpoint laptop = { V4(127, 0, 0, 1), PROXY_PORT };

	if (e->config != NULL)
		return take_settings(e);
	e->told.anthropic = "/anthropic";
	e->told.openai = "/openai";
	e->told.gemini = "/gemini";
	if (!e->told.proxy.is_there && !e->told.gateway.is_there)
		at_of_endpoint(&e->told.proxy, &laptop);
	return EXIT_YES;
}

static int
take_token(struct env *e)
{
	if (e->token_file == NULL)
		return EXIT_YES;
	return input_token("env", e->token_file, &e->token, &e->told.token);
}

/* ---- what would go wrong without a word ---- */

static size_t
count_certificates(struct str text)
{
	struct str begin = STR("-----BEGIN CERTIFICATE"), line;
	size_t n = 0;

	while (str_split(&text, '\n', &line))
		n += str_starts(line, begin);
	return n;
}

/* The file may well be elsewhere: where it is here, it is looked at. */
static void
check_bundle(const struct runtime *r)
{
	struct buf text;

	if (r->ca == NULL || r->bundle != NULL || access(r->ca, R_OK) != 0)
		return;
	buf_init(&text, BUNDLE_MAX);
	if (input_read("env", r->ca, &text) && count_certificates(buf_view(&text)) == 1)
		fprintf(stderr,
		    "weir env: %s is one certificate, and SSL_CERT_FILE replaces the "
		    "system's: hosts that weir does not intercept will not be trusted. "
		    "Give a file of public roots and it with --bundle.\n",
		    r->ca);
	buf_fini(&text);
}

/* ---- saying it ---- */

static void
on_told(void *arg, const char *name, struct str value)
{
	struct env *e = arg;

	e->format->put(e, name, value);
}

static void
put_listeners(struct env *e)
{
	const struct texts *at;
	const char *key;

	for (size_t i = 0; (at = settings_listeners(e->settings, i, &key)) != NULL; i++)
		for (size_t k = 0; k < at->n; k++)
			buf_fmt(&e->out, "# %s: %s\n", key, at->p[k]);
}

static void
print(struct env *e)
{
	if (e->settings != NULL && e->format->has_comments)
		put_listeners(e);
	json_out_init(&e->json, &e->out);
	if (!e->format->has_comments)
		json_open(&e->json, '{');
	runtime_each(&e->told, on_told, e);
	if (!e->format->has_comments) {
		json_close(&e->json, '}');
		buf_char(&e->out, '\n');
	}
	fwrite(e->out.p, 1, e->out.n, stdout);
}

static int
run(struct env *e)
{
	int code;

	buf_init(&e->out, TEXT_MAX);
	buf_init(&e->token, TOKEN_MAX);
	buf_init(&e->ca, PATH_MAX);
	e->out.is_secret = true;
	if ((code = take_place(e)) == EXIT_YES && (code = take_token(e)) == EXIT_YES) {
		check_bundle(&e->told);
		print(e);
	}
	buf_fini(&e->out);
	buf_fini(&e->token);
	buf_fini(&e->ca);
	settings_free(e->settings);
	return code;
}

/* ---- what was asked for ---- */

/* A file's path, as programs in any directory find it. */
static int
take_path(const char **out, const char *option, const char *path, const char *never)
{
	for (const char *p = path; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f || strchr(never, *p) != NULL)
			return usage_refuse("env",
			    "%s: the path has a character no variable can bring", option);
	if (path[0] != '/')
		return usage_refuse(
		    "env", "%s takes a path from /, and not \"%s\"", option, path);
	*out = path;
	return EXIT_YES;
}

static int
take_direct(struct runtime *r, const char *host)
{
	for (const char *p = host; *p != '\0'; p++)
		if (!ascii_is_alnum(*p) && strchr(".-_:/*", *p) == NULL)
			return usage_refuse(
			    "env", "--no-proxy takes one host, and not \"%s\"", host);
	if (host[0] == '\0' || r->ndirect == RUNTIME_HOSTS_MAX)
		return usage_refuse(
		    "env", "--no-proxy takes a host, %d at most", RUNTIME_HOSTS_MAX);
	r->direct[r->ndirect++] = host;
	return EXIT_YES;
}

static const struct option options[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "proxy", required_argument, NULL, 'p' },
	{ "gateway", required_argument, NULL, 'g' },
	{ "ca", required_argument, NULL, 'a' },
	{ "bundle", required_argument, NULL, 'b' },
	{ "java-store", required_argument, NULL, 'j' },
	{ "no-proxy", required_argument, NULL, 'n' },
	{ "token-file", required_argument, NULL, 't' },
	{ "format", required_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static int
take_option(struct env *e, int opt, char *const *argv)
{
	struct runtime *r = &e->told;

	switch (opt) {
	case 'c':
		e->config = optarg;
		return EXIT_YES;
	case 'p':
		return at_parse(&r->proxy, "--proxy", optarg);
	case 'g':
		return at_parse(&r->gateway, "--gateway", optarg);
	case 'a':
		return take_path(&r->ca, "--ca", optarg, "");
	case 'b':
		return take_path(&r->bundle, "--bundle", optarg, "");
	case 'j': /* Java splits its options at spaces */
		return take_path(&r->java, "--java-store", optarg, " '\"");
	case 'n':
		return take_direct(r, optarg);
	case 't':
		e->token_file = optarg;
		return EXIT_YES;
	case 'f':
		if ((e->format = format_find(optarg)) == NULL)
			return usage_refuse("env",
			    "--format takes shell, docker, dotenv or json, and not "
			    "\"%s\"",
			    optarg);
		return EXIT_YES;
	default:
		return usage_refuse_option("env", options, argv, opt);
	}
}

int
cmd_env(int argc, char **argv)
{
	struct env e = { .format = &formats[0] };
	int opt, code = EXIT_YES;

	opterr = 0;
	while (code == EXIT_YES &&
	       (opt = getopt_long(argc, argv, ":c:h", options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(help, stdout);
			return EXIT_YES;
		}
		code = take_option(&e, opt, argv);
	}
	if (code == EXIT_YES && optind < argc)
		return usage_refuse("env", "\"%s\" is no option", argv[optind]);
	return code == EXIT_YES ? run(&e) : code;
}
