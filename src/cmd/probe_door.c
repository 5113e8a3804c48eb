/*
 * probe_door.c - by weir's doors: what is allowed passes, and nothing else does
 */
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "cmd/probe.h"
#include "cmd/refusal.h"
#include "cmd/speech.h"
#include "cmd/talk.h"
#include "wire/url.h"

#define MESSAGE_MAX ((size_t)32768)
/* TEST-NET-2: nobody is there, so whoever answers is weir (RFC 5737). */
#define NOWHERE "198.51.100.1"

static const char *const door_names[DOOR_N] = { "", "the proxy", "the SOCKS5 door",
	"the gateway", "the DNS door", "the transparent door" };

#define MEND_TLS \
	"the issuer of its certificate must be in SSL_CERT_FILE (weir env --bundle), " \
	"and the door be named as the certificate says"
#define MEND_NOT_WEIR "this door is not weir's, or not the weir that was meant"
#define MEND_AWAY "weir must run, and the sandbox reach the door"
#define MEND_ANSWER \
	"is it a door with TLS? then it is https://HOST:PORT, or tls:HOST:PORT; and is " \
	"it this kind of door?"

/* What became of a tunnel that was asked for. */
enum tunnel {
	TUNNEL_NONE, /* no answer: the probe has its result */
	TUNNEL_OPEN,
	TUNNEL_REFUSED, /* `said` is why, in weir's word for it */
};

/* Twice as long as nothing is waited for: weir resolves, dials and shakes hands. */
static bool
open_at(struct probe *p, struct talk *t, const char *where, int kind)
{
	int err = talk_open(t, where, kind, p->plan->timeout_ms * 2);
	bool is_led = p->row->door == DOOR_TRANSPARENT;
	const char *why = err == EPROTO
			      ? "it speaks no TLS, or its certificate is not trusted here"
			      : strerror(err);

	if (err == 0)
		return true;
	if (err == EPROTO)
		p->mend = MEND_TLS;
	else if (p->row->is_positive && !is_led)
		p->mend = MEND_AWAY;
	probe_failed(
	    p, "%s is not reached at %s: %s", door_names[p->row->door], where, why);
	return false;
}

static bool
open_door(struct probe *p, struct talk *t, int kind)
{
	return open_at(p, t, p->plan->door[p->row->door], kind);
}

static void
no_answer(struct probe *p)
{
	if (p->row->door != DOOR_DNS)
		p->mend = MEND_ANSWER;
	probe_failed(p, "%s gave no answer", door_names[p->row->door]);
}

/* ---- HTTP ---- */

static void
put_basic(struct buf *to, const struct probe_plan *plan)
{
	struct buf login;

	if (plan->token.n == 0)
		return;
	buf_init(&login, MESSAGE_MAX);
	login.is_secret = true;
	buf_fmt(&login, "%.*s:%.*s", STR_ARG(plan->user), STR_ARG(plan->token));
	buf_text(to, "Proxy-Authorization: Basic ");
	unsigned char *room = (unsigned char *)buf_room(to, login.n * 4 / 3 + 5);
	if (room != NULL)
		buf_grew(to, (size_t)EVP_EncodeBlock(
				 room, (const unsigned char *)login.p, (int)login.n));
	buf_text(to, "\r\n");
	buf_fini(&login);
}

/* A head, sent; its answer's head, read. */
static bool
ask_http(struct probe *p, struct talk *t, const char *line, const char *host)
{
	struct buf head;
	bool is_ok;

	buf_init(&head, MESSAGE_MAX);
	head.is_secret = true;
	buf_fmt(&head, "%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", line, host);
	if (p->row->door == DOOR_GATEWAY && p->plan->token.n > 0)
		buf_fmt(&head, "x-api-key: %.*s\r\n", STR_ARG(p->plan->token));
	else if (p->row->door == DOOR_PROXY)
		put_basic(&head, p->plan);
	buf_text(&head, "\r\n");
	is_ok = talk_send(t, buf_view(&head)) == 0 && talk_need_head(t) &&
		speech_status(buf_view(&t->in)) != 0;
	buf_fini(&head);
	if (!is_ok)
		no_answer(p);
	return is_ok;
}

static void
note_reason(struct probe *p, struct str in)
{
	struct str reason = speech_reason(in);

	snprintf(p->said, sizeof(p->said), "%.*s", (int)(reason.n > 60 ? 60 : reason.n),
	    reason.n > 0 ? reason.p : "");
	for (char *c = p->said; *c != '\0'; c++)
		if (!ascii_is_alnum(*c) && *c != '_')
			*c = '?';
}

static enum tunnel
open_proxy(struct probe *p, struct talk *t, const char *target)
{
	char line[HOST_MAX + 32];

	snprintf(line, sizeof(line), "CONNECT %s", target);
	if (!open_door(p, t, SOCK_STREAM) || !ask_http(p, t, line, target))
		return TUNNEL_NONE;
	if (speech_status(buf_view(&t->in)) == 200) {
		buf_reset(&t->in);
		return TUNNEL_OPEN;
	}
	note_reason(p, buf_view(&t->in));
	return TUNNEL_REFUSED;
}

/* ---- SOCKS5 ---- */

/* What does not fit into a password begins in the user, as weir-session(7) has it. */
static bool
log_in(const struct probe_plan *plan, struct talk *t)
{
	struct str user = plan->user, password = plan->token;
	struct buf b;
	bool is_ok;

	if (password.n > 255) {
		user = str_sub(plan->token, 0, 255);
		password = str_sub(plan->token, 255, 255);
	}
	buf_init(&b, 1024);
	b.is_secret = true;
	buf_char(&b, 1);
	buf_char(&b, (char)user.n);
	buf_str(&b, user);
	buf_char(&b, (char)password.n);
	buf_str(&b, password);
	is_ok = talk_send(t, buf_view(&b)) == 0 && talk_need(t, 4) && t->in.p[3] == 0;
	buf_fini(&b);
	buf_drop(&t->in, is_ok ? 2 : 0);
	return is_ok;
}

enum greeted { GREETED_NOT, GREETED_REFUSED, GREETED };

static enum greeted
greet_socks(const struct probe_plan *plan, struct talk *t)
{
	bool has_token = plan->token.n > 0;
	struct str offer = has_token ? STR("\5\1\2") : STR("\5\1\0");

	if (talk_send(t, offer) != 0 || !talk_need(t, 2) || t->in.p[0] != 5)
		return GREETED_NOT;
	if (t->in.p[1] != (has_token ? 2 : 0) || (has_token && !log_in(plan, t)))
		return GREETED_REFUSED;
	return GREETED;
}

static bool
ask_socks(struct talk *t, const char *target)
{
	struct host host;
	uint16_t port;
	struct buf b;
	bool is_ok;

	if (authority_parse(&host, &port, str_of(target), 0) != HOST_OK)
		return false;
	buf_init(&b, 512);
	buf_str(&b, STR("\5\1\0\3"));
	buf_char(&b, (char)host.len);
	buf_str(&b, host_str(&host));
	buf_add(&b, (char[]){ (char)(port >> 8), (char)port }, 2);
	is_ok = talk_send(t, buf_view(&b)) == 0 && talk_need(t, 12);
	buf_fini(&b);
	return is_ok;
}

static enum tunnel
open_socks(struct probe *p, struct talk *t, const char *target)
{
	if (!open_door(p, t, SOCK_STREAM))
		return TUNNEL_NONE;
	switch (greet_socks(p->plan, t)) {
	case GREETED_NOT:
		p->mend = MEND_ANSWER;
		probe_failed(p, "no SOCKS answer came: is it a tls: door, or of another "
				"protocol?");
		return TUNNEL_NONE;
	case GREETED_REFUSED:
		snprintf(p->said, sizeof(p->said), "session_required");
		return TUNNEL_REFUSED;
	case GREETED:
		break;
	}
	if (!ask_socks(t, target)) {
		no_answer(p);
		return TUNNEL_NONE;
	}
	unsigned reply = (unsigned char)t->in.p[3];
	buf_drop(&t->in, 12);
	snprintf(p->said, sizeof(p->said), "reply %u", reply);
	return reply == 0 ? TUNNEL_OPEN : TUNNEL_REFUSED;
}

/* ---- transparent: any address will do, for weir asks for the name itself ---- */

static enum tunnel
open_transparent(struct probe *p, struct talk *t, const char *target)
{
	const char *colon = strrchr(target, ':');
	char where[64];

	snprintf(where, sizeof(where), NOWHERE "%s", colon);
	return open_at(p, t, where, SOCK_STREAM) ? TUNNEL_OPEN : TUNNEL_NONE;
}

/* ---- through tunnels ---- */

static enum tunnel (*const openers[DOOR_N])(
    struct probe *, struct talk *, const char *) = {
	[DOOR_PROXY] = open_proxy,
	[DOOR_SOCKS5] = open_socks,
	[DOOR_TRANSPARENT] = open_transparent,
};

enum heard { HEARD_TLS, HEARD_OTHER, HEARD_REFUSED, HEARD_END, HEARD_NOTHING };

/* What comes back on a ClientHello for `name`. */
static enum heard
hear_hello(struct talk *t, const char *name)
{
	struct buf hello;
	ssize_t n;

	buf_init(&hello, MESSAGE_MAX);
	n = !speech_hello(&hello, name)           ? -EINVAL
	    : talk_send(t, buf_view(&hello)) != 0 ? 0
						  : talk_more(t);
	buf_fini(&hello);
	if (n > 0 && speech_refuses_tls(buf_view(&t->in)))
		return HEARD_REFUSED;
	if (n > 0)
		return speech_is_hello(buf_view(&t->in)) ? HEARD_TLS : HEARD_OTHER;
	return n == -ETIMEDOUT || n == -EINVAL ? HEARD_NOTHING : HEARD_END;
}

/* "HOST:PORT" without the port */
static const char *
name_of(char out[static HOST_MAX + 1], const char *target)
{
	struct host host;
	uint16_t port;

	out[0] = '\0';
	if (authority_parse(&host, &port, str_of(target), 0) == HOST_OK)
		memcpy(out, host.name, (size_t)host.len + 1);
	return out;
}

/* A request of these is well-formed: what was heard is something else. */
#define IS_IT_TLS ": is it a door with TLS (https://, tls:)?"

static bool
is_unheard(const char *why)
{
	return strcmp(why, "request_malformed") == 0;
}

static void
refused_though_allowed(struct probe *p)
{
	char why[64];

	snprintf(why, sizeof(why), "%.60s", p->said);
	p->mend = refusal_mend(why);
	probe_bad(p, "%s refused it: %s%s", door_names[p->row->door],
	    why[0] == '\0' ? "and not as weir does" : why,
	    is_unheard(why) ? IS_IT_TLS : "");
}

static void
allowed_in(struct probe *p, struct talk *t, const char *target)
{
	char name[HOST_MAX + 1];

	switch (openers[p->row->door](p, t, target)) {
	case TUNNEL_NONE:
		return;
	case TUNNEL_REFUSED:
		refused_though_allowed(p);
		return;
	case TUNNEL_OPEN:
		break;
	}
	if (hear_hello(t, name_of(name, target)) == HEARD_TLS)
		probe_good(p, "TLS was answered by it");
	else
		probe_bad(
		    p, "%s let it in, and no TLS came back", door_names[p->row->door]);
}

static void
run_allowed(struct probe *p)
{
	struct talk t = { .fd = -1 };

	allowed_in(p, &t, p->target);
	talk_close(&t);
}

/* A refusal for want of a session says nothing of the host. */
static void
refused(struct probe *p)
{
	char why[64];

	snprintf(why, sizeof(why), "%.60s", p->said);
	if (strncmp(why, "session_", 8) == 0)
		probe_unsure(p, "refused for want of a session (%s): --token-file", why);
	else if (why[0] == '\0')
		probe_unsure(p, "refused, and not by weir");
	else if (is_unheard(why))
		probe_unsure(p, "refused for what it is: %s" IS_IT_TLS, why);
	else
		probe_good(p, "refused: %s", why);
}

/* In a tunnel that is open: what is asked for in it must lead nowhere. */
static void
hello_leads_nowhere(struct probe *p, struct talk *t, const char *name)
{
	switch (hear_hello(t, name)) {
	case HEARD_TLS:
	case HEARD_OTHER:
		probe_bad(p, "a server answered to the name %s", name);
		return;
	case HEARD_REFUSED:
		probe_good(p, "refused");
		return;
	case HEARD_END:
		probe_unsure(p, "closed without a word: by weir, or by a server?");
		return;
	case HEARD_NOTHING:
		probe_unsure(p, "neither closed nor answered");
		return;
	}
}

static void
refused_in(struct probe *p, struct talk *t)
{
	char name[HOST_MAX + 1];

	switch (openers[p->row->door](p, t, p->target)) {
	case TUNNEL_NONE:
		return;
	case TUNNEL_REFUSED:
		refused(p);
		return;
	case TUNNEL_OPEN:
		break;
	}
	if (p->row->door == DOOR_TRANSPARENT)
		hello_leads_nowhere(p, t, name_of(name, p->target));
	else
		probe_bad(p, "%s let it in", door_names[p->row->door]);
}

static void
run_refused(struct probe *p)
{
	struct talk t = { .fd = -1 };

	refused_in(p, &t);
	talk_close(&t);
}

/* A tunnel for an allowed host, and another's name in it. */
static void
run_sni(struct probe *p)
{
	struct talk t = { .fd = -1 };
	char name[HOST_MAX + 1];

	switch (openers[p->row->door](p, &t, p->target)) {
	case TUNNEL_NONE:
		break;
	case TUNNEL_REFUSED:
		probe_unsure(p, "no tunnel to try it in");
		break;
	case TUNNEL_OPEN:
		hello_leads_nowhere(p, &t, name_of(name, p->plan->over[OVER_DENY].p[0]));
		break;
	}
	talk_close(&t);
}

/* ---- requests ---- */

static void
get_refused(struct probe *p, struct talk *t, const char *authority)
{
	char line[128];

	snprintf(line, sizeof(line), "GET http://%s/", authority);
	if (!open_door(p, t, SOCK_STREAM) || !ask_http(p, t, line, authority))
		return;
	note_reason(p, buf_view(&t->in));
	if (p->said[0] == '\0')
		probe_bad(p, "it was answered, with status %u",
		    speech_status(buf_view(&t->in)));
	else
		refused(p);
}

static void
run_get_refused(struct probe *p)
{
	struct talk t = { .fd = -1 };

	get_refused(p, &t, p->target != NULL ? p->target : "127.0.0.1:9464");
	talk_close(&t);
}

/* The answer has ended, or the time for it has. */
static void
note_policy(struct probe *p, struct talk *t)
{
	while (talk_more(t) > 0)
		continue;
	struct str digest = speech_policy(buf_view(&t->in));
	snprintf(p->policy, sizeof(p->policy), "%.*s", (int)digest.n,
	    digest.n > 0 ? digest.p : "");
}

static void
gateway_knows(struct probe *p, struct talk *t)
{
	note_policy(p, t);
	if (p->policy[0] != '\0')
		probe_good(
		    p, "it says what the session has left, under policy %s", p->policy);
	else
		probe_bad(p, "it does not say which policy is in force");
}

/* Any of its refusals, or whoever else it is. */
static void
gateway_refuses(struct probe *p, struct talk *t, unsigned status)
{
	char why[64];

	note_reason(p, buf_view(&t->in));
	snprintf(why, sizeof(why), "%.60s", p->said);
	p->mend = why[0] == '\0' ? MEND_NOT_WEIR : refusal_mend(why);
	if (why[0] == '\0')
		probe_bad(p, "it answers with status %u, and not as weir does", status);
	else
		probe_bad(p, "it answers with status %u: %s%s", status, why,
		    is_unheard(why) ? IS_IT_TLS : "");
}

static void
run_gateway(struct probe *p)
{
	struct talk t = { .fd = -1 };

	if (open_door(p, &t, SOCK_STREAM) &&
	    ask_http(p, &t, "GET /weir/v1/session", "weir")) {
		unsigned status = speech_status(buf_view(&t.in));
		if (status == 200)
			gateway_knows(p, &t);
		else
			gateway_refuses(p, &t, status);
	}
	talk_close(&t);
}

/* ---- DNS ---- */

/* The answer to one question in one datagram. */
static bool
ask_dns(struct probe *p, enum speech_dns *out)
{
	struct talk t;
	struct buf question;
	char name[HOST_MAX + 1];
	bool is_ok = open_door(p, &t, SOCK_DGRAM);

	buf_init(&question, MESSAGE_MAX);
	speech_dns(&question, name_of(name, p->target), false);
	if (is_ok && (talk_send(&t, buf_view(&question)) != 0 || talk_more(&t) <= 0)) {
		no_answer(p);
		is_ok = false;
	}
	if (is_ok)
		*out = speech_dns_read(buf_view(&t.in), buf_view(&question));
	buf_fini(&question);
	talk_close(&t);
	return is_ok;
}

static void
run_dns_allowed(struct probe *p)
{
	enum speech_dns said;

	if (!ask_dns(p, &said))
		return;
	if (said == SPEECH_DNS_ADDRESS)
		probe_good(p, "it has an address");
	else
		probe_bad(p, "it has no address by the DNS door");
}

static void
run_dns_refused(struct probe *p)
{
	enum speech_dns said;

	if (!ask_dns(p, &said))
		return;
	if (said == SPEECH_DNS_REFUSED)
		probe_good(p, "refused, and weir says why");
	else if (said == SPEECH_DNS_ADDRESS)
		probe_bad(p, "it has an address: names are resolved past policy");
	else
		probe_unsure(p, "no address, but this is not how weir refuses");
}

/* ---- the rows ---- */

#define MEND_ALLOW \
	"weir must run, its policy allow this host, and the sandbox reach the door"
#define MEND_DENY \
	"the policy, or a session's, is wider than meant: weir explain says by which " \
	"rule"

static const struct probe_row rows[] = {
	{ "proxy-allowed", "an allowed host is reached by the proxy", MEND_ALLOW,
	    DOOR_PROXY, OVER_ALLOW, true, run_allowed },
	{ "socks5-allowed", "an allowed host is reached by SOCKS5", MEND_ALLOW,
	    DOOR_SOCKS5, OVER_ALLOW, true, run_allowed },
	{ "transparent-allowed",
	    "an allowed host is reached by a program that knows no proxy",
	    "connections are not brought to listen.transparent: load the rules of the "
	    "boundary",
	    DOOR_TRANSPARENT, OVER_ALLOW, true, run_allowed },
	{ "gateway-session", "the gateway knows this session", MEND_ALLOW, DOOR_GATEWAY,
	    OVER_ONCE, true, run_gateway },
	{ "dns-allowed", "an allowed name has an address", MEND_ALLOW, DOOR_DNS,
	    OVER_ALLOW, true, run_dns_allowed },
	{ "proxy-refused", "another host is refused by the proxy", MEND_DENY, DOOR_PROXY,
	    OVER_DENY, false, run_refused },
	{ "socks5-refused", "another host is refused by SOCKS5", MEND_DENY, DOOR_SOCKS5,
	    OVER_DENY, false, run_refused },
	{ "transparent-refused", "another host is refused on the way", MEND_DENY,
	    DOOR_TRANSPARENT, OVER_DENY, false, run_refused },
	{ "dns-refused", "another name is not resolved", MEND_DENY, DOOR_DNS, OVER_DENY,
	    false, run_dns_refused },
	{ "proxy-sni", "a tunnel to an allowed host leads to no other", MEND_NOT_WEIR,
	    DOOR_PROXY, OVER_ALLOW, false, run_sni },
	{ "socks5-sni", "a tunnel to an allowed host leads to no other", MEND_NOT_WEIR,
	    DOOR_SOCKS5, OVER_ALLOW, false, run_sni },
	{ "proxy-doh", "public resolvers are not reached by the proxy over HTTPS",
	    "a rule lets out to a public resolver, which asks for any name: take it out",
	    DOOR_PROXY, OVER_DOH, false, run_refused },
	{ "proxy-metadata", "the proxy leads to no metadata service",
	    "a rule has metadata: true: whoever asks gets the machine's credentials",
	    DOOR_PROXY, OVER_METADATA, false, run_get_refused },
	{ "proxy-inside", "the proxy leads to no port of weir's own host",
	    "a rule opens loopback: nothing of weir's own host is a sandbox's business",
	    DOOR_PROXY, OVER_ONCE, false, run_get_refused },
};

const struct probe_rows probe_doors = { rows, sizeof(rows) / sizeof(rows[0]) };
