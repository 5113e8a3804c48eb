/*
 * runtime.c - what a program's runtime is told of weir
 *
 * What doc/CLIENTS.md names was measured; the others are as their programs' manuals have
 * them.  ALL_PROXY is none of them, for some libraries send even https requests to such a
 * proxy in clear.
 */
#include "cmd/runtime.h"

#define VALUE_MAX ((size_t)65536)

static void
put_at(struct buf *to, const struct runtime_at *at)
{
	char text[AUTHORITY_TEXT];

	buf_text(to, authority_text(text, &at->host, at->port, 0));
}

static const char *
scheme_of(const struct runtime_at *at)
{
	return at->is_tls ? "https://" : "http://";
}

/* As RFC 3986 2.1 has it: whatever is not unreserved. */
static void
put_escaped(struct buf *to, struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (ascii_is_alnum(s.p[i]) || strchr("-._~", s.p[i]) != NULL)
			buf_char(to, s.p[i]);
		else
			buf_fmt(to, "%%%02X", (unsigned char)s.p[i]);
}

/* ---- values: nothing is put where a variable has none ---- */

static void
put_proxy(const struct runtime *r, struct buf *to)
{
	if (!r->proxy.is_there)
		return;
	buf_text(to, scheme_of(&r->proxy));
	if (r->token.n > 0) {
		buf_text(to, "weir:");
		put_escaped(to, r->token);
		buf_char(to, '@');
	}
	put_at(to, &r->proxy);
}

/* The gateway is weir itself, which a proxy of weir does not lead to. */
static void
put_direct(const struct runtime *r, struct buf *to)
{
	if (!r->proxy.is_there)
		return;
	buf_text(to, "localhost,127.0.0.1,::1");
	if (r->gateway.is_there)
		buf_fmt(to, ",%s", r->gateway.host.name);
	for (size_t i = 0; i < r->ndirect; i++)
		buf_fmt(to, ",%s", r->direct[i]);
}

static void
put_yes(const struct runtime *r, struct buf *to)
{
	if (r->proxy.is_there)
		buf_char(to, '1');
}

static void
put_ca(const struct runtime *r, struct buf *to)
{
	if (r->ca != NULL)
		buf_text(to, r->ca);
}

static void
put_bundle(const struct runtime *r, struct buf *to)
{
	const char *file = r->bundle != NULL ? r->bundle : r->ca;

	if (file != NULL)
		buf_text(to, file);
}

/* For a proxy whose own certificate is to be verified. */
static void
put_proxy_bundle(const struct runtime *r, struct buf *to)
{
	if (r->proxy.is_there && r->proxy.is_tls)
		put_bundle(r, to);
}

static void
put_base(const struct runtime *r, struct buf *to, const char *path, const char *version)
{
	if (path == NULL || !r->gateway.is_there)
		return;
	buf_text(to, scheme_of(&r->gateway));
	put_at(to, &r->gateway);
	buf_fmt(to, "%s%s", path, version);
}

static void
put_anthropic(const struct runtime *r, struct buf *to)
{
	put_base(r, to, r->anthropic, "");
}

static void
put_openai(const struct runtime *r, struct buf *to)
{
	put_base(r, to, r->openai, "/v1");
}

static void
put_gemini(const struct runtime *r, struct buf *to)
{
	put_base(r, to, r->gemini, "");
}

/* Only where the calls go to weir: a session's token is nobody else's to see. */
static void
put_key(const struct runtime *r, struct buf *to, const char *path)
{
	if (path != NULL && r->gateway.is_there)
		buf_str(to, r->token);
}

static void
put_anthropic_key(const struct runtime *r, struct buf *to)
{
	put_key(r, to, r->anthropic);
}

static void
put_openai_key(const struct runtime *r, struct buf *to)
{
	put_key(r, to, r->openai);
}

static void
put_gemini_key(const struct runtime *r, struct buf *to)
{
	put_key(r, to, r->gemini);
}

/* Java has its own spelling of a suffix: *.example.com */
static void
put_java_direct(const struct runtime *r, struct buf *to)
{
	buf_text(to, " -Dhttp.nonProxyHosts=localhost|127.*|[::1]");
	if (r->gateway.is_there)
		buf_fmt(to, "|%s", r->gateway.host.name);
	for (size_t i = 0; i < r->ndirect; i++)
		buf_fmt(to, "|%s%s", r->direct[i][0] == '.' ? "*" : "", r->direct[i]);
}

/* It reads no other variables; and without the last but one it sends no password. */
static void
put_java(const struct runtime *r, struct buf *to)
{
	const char *host = r->proxy.host.name;
	unsigned port = r->proxy.port;

	if (r->proxy.is_there && !r->proxy.is_tls) { /* it knows no other */
		buf_fmt(to, "-Dhttp.proxyHost=%s -Dhttp.proxyPort=%u", host, port);
		buf_fmt(to, " -Dhttps.proxyHost=%s -Dhttps.proxyPort=%u", host, port);
		put_java_direct(r, to);
		buf_text(to, " -Djdk.http.auth.tunneling.disabledSchemes=");
	}
	if (r->java != NULL) /* keytool's usual word; without one a store is empty */
		buf_fmt(to,
		    "%s-Djavax.net.ssl.trustStore=%s "
		    "-Djavax.net.ssl.trustStoreType=PKCS12 "
		    "-Djavax.net.ssl.trustStorePassword=changeit",
		    to->n > 0 ? " " : "", r->java);
}

/* curl reads http_proxy in lower case only, others the upper. */
static const struct {
	const char *name;
	void (*put)(const struct runtime *r, struct buf *to);
	bool is_secret;
} rows[] = {
	{ "HTTP_PROXY", put_proxy, true },
	{ "HTTPS_PROXY", put_proxy, true },
	{ "NO_PROXY", put_direct, false },
	{ "http_proxy", put_proxy, true },
	{ "https_proxy", put_proxy, true },
	{ "no_proxy", put_direct, false },
	{ "NODE_USE_ENV_PROXY", put_yes, false }, /* Node 24 */
	{ "NODE_EXTRA_CA_CERTS", put_ca, false }, /* beside its own roots */
	{ "SSL_CERT_FILE", put_bundle, false },   /* OpenSSL, Go, Rust, Bun */
	{ "CURL_CA_BUNDLE", put_bundle, false },
	{ "REQUESTS_CA_BUNDLE", put_bundle, false },
	{ "GIT_SSL_CAINFO", put_bundle, false },
	{ "GIT_PROXY_SSL_CAINFO", put_proxy_bundle, false },
	{ "CODEX_CA_CERTIFICATE", put_bundle, false },
	{ "CARGO_HTTP_CAINFO", put_bundle, false },
	{ "DENO_CERT", put_ca, false },
	{ "AWS_CA_BUNDLE", put_bundle, false },
	{ "JAVA_TOOL_OPTIONS", put_java, false },
	{ "ANTHROPIC_BASE_URL", put_anthropic, false },
	{ "ANTHROPIC_API_KEY", put_anthropic_key, true },
	{ "OPENAI_BASE_URL", put_openai, false },
	{ "OPENAI_API_KEY", put_openai_key, true },
	{ "GOOGLE_GEMINI_BASE_URL", put_gemini, false },
	{ "GEMINI_API_KEY", put_gemini_key, true },
};

void
runtime_each(const struct runtime *r,
    void (*told)(void *arg, const char *name, struct str value), void *arg)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf value;

		buf_init(&value, VALUE_MAX);
		value.is_secret = rows[i].is_secret;
		rows[i].put(r, &value);
		if (value.n > 0)
			told(arg, rows[i].name, buf_view(&value));
		buf_fini(&value);
	}
}
