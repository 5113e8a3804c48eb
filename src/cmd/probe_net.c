/*
 * probe_net.c - past weir: nothing leaves the sandbox but by its doors
 *
 * Where connections are brought to weir on the way, a connect() succeeds whatever stands
 * there, so that what is heard afterwards decides: weir says that it is weir.  A server
 * that does not like what it hears may just close, so that an end alone says nothing.
 */
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/probe.h"
#include "cmd/speech.h"
#include "cmd/talk.h"
#include "wire/url.h"

#define MESSAGE_MAX ((size_t)4096)

/* This machine's own want, which says nothing of the boundary. */
static bool
is_our_want(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOMEM || err == ENOBUFS ||
	       err == EINVAL;
}

static void
held(struct probe *p, int err)
{
	if (is_our_want(err))
		probe_unsure(p, "could not be tried: %s", strerror(err));
	else if (err == ETIMEDOUT)
		probe_good(p, "no answer");
	else
		probe_good(p, "%s", strerror(err));
}

/* ---- what is said first on a port ---- */

/* A host that policy refuses, without its port. */
static const char *
other_name(const struct probe_plan *plan, char out[static HOST_MAX + 1])
{
	struct host host;
	uint16_t port;

	out[0] = '\0';
	if (authority_parse(&host, &port, str_of(plan->over[OVER_DENY].p[0]), 0) ==
	    HOST_OK)
		memcpy(out, host.name, (size_t)host.len + 1);
	return out;
}

static void
put_hello(struct buf *to, const char *name)
{
	if (!speech_hello(to, name))
		buf_text(to, "\r\n");
}

static void
put_get(struct buf *to, const char *name)
{
	buf_fmt(to, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", name);
}

static void
put_dns_tcp(struct buf *to, const char *name)
{
	speech_dns(to, name, true);
}

static void
put_dns_udp(struct buf *to, const char *name)
{
	speech_dns(to, name, false);
}

/* RFC 5905 7.3: version 4, client */
static void
put_ntp(struct buf *to, const char *name)
{
	static const char packet[48] = { 0x23 };

	(void)name;
	buf_add(to, packet, sizeof(packet));
}

/* RFC 9000 6.1: a server answers a version it does not know with those it does. */
static void
put_quic(struct buf *to, const char *name)
{
	static const char head[] = "\300\032\052\072\112\10weirweir\10weirweir";
	static const char padding[1200 - sizeof(head) + 1];

	(void)name;
	buf_add(to, head, sizeof(head) - 1);
	buf_add(to, padding, sizeof(padding));
}

static const struct speech {
	const char *end; /* of the target */
	void (*put)(struct buf *to, const char *name);
} over_tcp[] = {
	{ ":53", put_dns_tcp },
	{ ":443", put_hello },
	{ ":853", put_hello },
	{ "", put_get },
}, over_udp[] = {
	{ ":53", put_dns_udp },
	{ ":123", put_ntp },
	{ ":443", put_quic },
	{ "", put_dns_udp },
};

static void
speak(const struct speech *row, struct probe *p, struct buf *to)
{
	char name[HOST_MAX + 1];

	while (!str_ends(str_of(p->target), str_of(row->end)))
		row++;
	row->put(to, other_name(p->plan, name));
}

/* ---- TCP ---- */

/* Is what came weir's own word? */
static bool
is_weirs(const struct probe_plan *plan, struct str in, struct str asked)
{
	if (speech_reason(in).n > 0 || speech_refuses_tls(in))
		return true;
	return plan->door[DOOR_DNS] != NULL && in.n > 2 &&
	       speech_dns_read(str_sub(in, 2, in.n), str_sub(asked, 2, asked.n)) ==
		   SPEECH_DNS_REFUSED;
}

static void
judge_taken(struct probe *p, struct talk *t)
{
	struct buf first;
	ssize_t n;

	buf_init(&first, MESSAGE_MAX);
	speak(over_tcp, p, &first);
	n = talk_send(t, buf_view(&first)) != 0 ? 0 : talk_more(t);
	if (n > 0 && is_weirs(p->plan, buf_view(&t->in), buf_view(&first)))
		probe_good(p, "taken in by weir, and refused");
	else if (n > 0)
		probe_bad(p, "connected, and something that is not weir answered");
	else
		probe_unsure(p, "connected, and %s: weir, or who else?",
		    n == -ETIMEDOUT ? "nothing was said" : "closed without a word");
	buf_fini(&first);
}

static void
run_tcp(struct probe *p)
{
	struct talk t;
	int err = talk_open(&t, p->target, SOCK_STREAM, p->plan->timeout_ms);

	if (err != 0)
		held(p, err);
	else if (p->plan->door[DOOR_TRANSPARENT] != NULL)
		judge_taken(p, &t);
	else
		probe_bad(p, "connected");
	talk_close(&t);
}

/* ---- UDP ---- */

/* The errno, 0 when an answer came; -1 for one in which weir's DNS door refuses. */
static int
ask_udp(struct probe *p, struct talk *t, const struct speech *speech)
{
	struct buf question;
	int err = talk_open(t, p->target, SOCK_DGRAM, p->plan->timeout_ms);
	ssize_t n = 0;

	buf_init(&question, MESSAGE_MAX);
	speak(speech, p, &question);
	if (err == 0)
		err = talk_send(t, buf_view(&question));
	if (err == 0 && (n = talk_more(t)) < 0)
		err = (int)-n;
	if (err == 0 && p->plan->door[DOOR_DNS] != NULL &&
	    speech_dns_read(buf_view(&t->in), buf_view(&question)) == SPEECH_DNS_REFUSED)
		err = -1;
	buf_fini(&question);
	return err;
}

static void
run_udp(struct probe *p)
{
	struct talk t;
	int err = ask_udp(p, &t, over_udp);

	if (err == -1)
		probe_good(p, "answered by weir's DNS door, which refuses");
	else if (err != 0)
		held(p, err);
	else
		probe_bad(p, "it answered");
	talk_close(&t);
}

/* A server of this system's own may be the container engine's: it counts what it says. */
static void
run_resolver(struct probe *p)
{
	struct talk t;
	int err = ask_udp(p, &t, over_udp);

	if (err == -1)
		probe_good(p, "it is weir's DNS door, or asks that");
	else if (err != 0)
		held(p, err);
	else if (t.in.n > 7 && (t.in.p[6] | t.in.p[7]) != 0)
		probe_bad(p, "it resolved a name that policy refuses");
	else
		probe_good(p, "it has no answer to a name that policy refuses");
	talk_close(&t);
}

/* ---- sockets that need no port ---- */

static void
try_socket(struct probe *p, int family, int kind, int protocol)
{
	int fd = socket(family, kind | SOCK_CLOEXEC, protocol);

	if (fd < 0) {
		held(p, errno);
		return;
	}
	close(fd);
	probe_bad(p, "the kernel gives one to this user");
}

static void
run_raw4(struct probe *p)
{
	try_socket(p, AF_INET, SOCK_RAW, IPPROTO_ICMP);
}

static void
run_raw6(struct probe *p)
{
	try_socket(p, AF_INET6, SOCK_RAW, IPPROTO_ICMPV6);
}

static void
run_packet(struct probe *p)
{
	try_socket(p, AF_PACKET, SOCK_RAW, 0);
}

static int
connect_ping(struct talk *t, const struct host *host)
{
	struct endpoint to = { host->addr, 1 };
	struct sockaddr_storage sa;
	socklen_t len = endpoint_sockaddr(&to, &sa);
	int protocol = sa.ss_family == AF_INET ? IPPROTO_ICMP : IPPROTO_ICMPV6;

	t->fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
	return t->fd >= 0 && connect(t->fd, (struct sockaddr *)&sa, len) == 0 ? 0 : errno;
}

/* The kernel fills in what is missing of an echo request. */
static int
ping(struct talk *t, const struct host *host)
{
	char echo[8] = { addr_is_v4(&host->addr) ? ICMP_ECHO : (char)ICMP6_ECHO_REQUEST };
	int err = connect_ping(t, host);
	ssize_t n = 0;

	if (err == 0)
		err = talk_send(t, (struct str){ echo, sizeof(echo) });
	if (err == 0 && (n = talk_more(t)) < 0)
		err = (int)-n;
	return err;
}

static void
run_ping(struct probe *p)
{
	struct talk t = { .fd = -1,
		.deadline = clock_mono_us() + (usec)p->plan->timeout_ms * 1000 };
	struct host host;
	uint16_t port;
	int err = EINVAL;

	buf_init(&t.in, MESSAGE_MAX);
	if (authority_parse(&host, &port, str_of(p->target), 0) == HOST_OK &&
	    host.is_literal)
		err = ping(&t, &host);
	if (err == 0)
		probe_bad(p, "it answered an echo request, which can carry data");
	else
		held(p, err);
	talk_close(&t);
}

const char *
probe_target(const struct probe *p, char text[static HOST_MAX + 1])
{
	struct host host;
	uint16_t port;

	if (p->row->run != run_ping ||
	    authority_parse(&host, &port, str_of(p->target), 0) != HOST_OK)
		return p->target;
	memcpy(text, host.name, (size_t)host.len + 1);
	return text;
}

/* ---- the rows ---- */

#define MEND_WAY \
	"the sandbox must have no way but to weir: no default route, an internal " \
	"network, or rules that reject the rest, for IPv4 and IPv6"
#define MEND_LED "; if weir itself takes these connections: --transparent, --dns ADDR"
#define MEND_DNS \
	"reject or redirect port 53, UDP and TCP, for IPv4 and IPv6: queries carry " \
	"data out"
#define MEND_RAW \
	"take CAP_NET_RAW from the sandbox: what is sent so is not seen by its own " \
	"rules"

static const struct probe_row rows[] = {
	{ "tcp", "no TCP connection goes past weir", MEND_WAY MEND_LED, DOOR_NONE,
	    OVER_DIRECT, false, run_tcp },
	{ "udp", "no UDP (QUIC, NTP) goes past weir", MEND_WAY, DOOR_NONE, OVER_UDP,
	    false, run_udp },
	{ "dns-udp", "no foreign name server answers", MEND_DNS MEND_LED, DOOR_NONE,
	    OVER_NAMESERVER, false, run_udp },
	{ "dns-tcp", "no foreign name server answers over TCP", MEND_DNS MEND_LED,
	    DOOR_NONE, OVER_NAMESERVER, false, run_tcp },
	{ "resolver", "this system's name server resolves what policy allows only",
	    "name weir's DNS door in /etc/resolv.conf, and no other server; of a "
	    "container engine, a version whose own server asks nobody outside",
	    DOOR_NONE, OVER_RESOLVER, false, run_resolver },
	{ "metadata", "no metadata service is reached",
	    "reject link-local addresses and the clouds' own: whoever asks there gets "
	    "the machine's credentials" MEND_LED,
	    DOOR_NONE, OVER_METADATA, false, run_tcp },
	{ "beside", "neither weir's host nor the network's has another port open",
	    "let the sandbox reach weir's doors only; health and admin belong on "
	    "loopback or a Unix socket",
	    DOOR_NONE, OVER_BESIDE, false, run_tcp },
	{ "host", "the host that made this network does not answer",
	    "isolate the network from its host (gateway_mode_ipv4 and _ipv6: isolated), "
	    "or reject what comes from it in the host's input",
	    DOOR_NONE, OVER_HOST, false, run_ping },
	{ "ping", "no ICMP goes past weir", MEND_WAY, DOOR_NONE, OVER_NAMESERVER, false,
	    run_ping },
	{ "raw-ipv4", "there are no raw IPv4 sockets", MEND_RAW, DOOR_NONE, OVER_ONCE,
	    false, run_raw4 },
	{ "raw-ipv6", "there are no raw IPv6 sockets", MEND_RAW, DOOR_NONE, OVER_ONCE,
	    false, run_raw6 },
	{ "raw-packet", "there are no packet sockets", MEND_RAW, DOOR_NONE, OVER_ONCE,
	    false, run_packet },
};

const struct probe_rows probe_ways = { rows, sizeof(rows) / sizeof(rows[0]) };
