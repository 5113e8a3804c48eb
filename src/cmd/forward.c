/*
 * forward.c - weir forward: a loopback port of a sandbox without a network -> weir's
 * socket
 *
 * Programs know proxies by host and port, and such a sandbox has only a file.  So each
 * client of a port gets a connection of its own to the socket, and bytes and ends go
 * both ways unchanged: who the client is the socket says, and weir judges the rest.
 */
#include <errno.h>
#include <getopt.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "cmd/main.h"
#include "cmd/usage.h"
#include "daemon/notify.h"
#include "net/listener.h"
#include "net/relay.h"

#define WAYS_MAX 16
#define CLIENTS_MAX 256 /* as many as weir takes from one client (client_connections) */
#define PIPES_MAX 64
#define QUIET_MS 1000 /* between two lines of the log about the same socket */

static const char help[] =
    "usage: weir forward [WAY]...\n"
    "\n"
    "In a sandbox without a network: takes connections on a loopback port and hands\n"
    "each on to a Unix socket of weir.  Runs in the foreground until SIGTERM.\n"
    "\n"
    "A WAY is PORT=SOCKET or ADDRESS:PORT=SOCKET, or the name of an ordinary one:\n"
    "\n"
    "  proxy    127.0.0.1:3128=/run/weir/proxy.sock (when no WAY is given)\n"
    "  gateway  127.0.0.1:8787=/run/weir/gateway.sock\n"
    "  socks5   127.0.0.1:1080=/run/weir/socks5.sock\n"
    "\n"
    "ADDRESS is a loopback one, as 127.0.0.1 or [::1].\n"
    "\n"
    "      --help  this text\n"
    "\n"
    "Exits 0 after SIGTERM, 69 when weir cannot be reached or a port cannot be had.\n";

static const struct {
	const char *name, *way;
} ordinary[] = {
	{ "proxy", "127.0.0.1:3128=/run/weir/proxy.sock" },
	{ "gateway", "127.0.0.1:8787=/run/weir/gateway.sock" },
	{ "socks5", "127.0.0.1:1080=/run/weir/socks5.sock" },
};

struct way {
	struct forward *forward;
	struct listen_at from, to;
	struct listener *listener;
	int fd;    /* listens; -1: not yet */
	msec said; /* when the log was told of it last; 0: never */
};

struct forward {
	struct loop *loop;
	struct pipes *pipes;
	struct event *sig[2];
	struct list pairs; /* struct pair */
	size_t npair, nway;
	struct way way[WAYS_MAX];
};

/* A client and its connection to weir. */
struct pair {
	struct list link;
	struct forward *forward;
	struct stream client, weir;
	struct relay relay;
};

/* ---- what was asked for ---- */

static bool
is_loopback(const struct addr *a)
{
	static const struct prefix v4 = V4_PREFIX(127, 0, 0, 0, 8);
	static const struct addr v6 = { .b[15] = 1 };

	return prefix_has(&v4, a) || addr_eq(a, &v6);
}

/* "3128", "127.0.0.1:3128" */
static bool
from_parse(struct listen_at *out, struct str text)
{
	struct endpoint e = { .addr = V4(127, 0, 0, 1) };

	if (!port_parse(&e.port, text) && !endpoint_parse(&e, text))
		return false;
	*out = (struct listen_at){ .endpoint = e };
	return true;
}

/* "/run/weir/proxy.sock", with or without "unix:" before it */
static bool
to_parse(struct listen_at *out, struct str text)
{
	char full[sizeof(out->path) + 5];
	bool is_named = str_starts(text, STR("unix:"));
	int n = snprintf(
	    full, sizeof(full), "%s%.*s", is_named ? "" : "unix:", STR_ARG(text));

	return n > 0 && (size_t)n < sizeof(full) && listen_at_parse(out, str_of(full));
}

static struct str
spelt_out(const char *word)
{
	for (size_t i = 0; i < sizeof(ordinary) / sizeof(ordinary[0]); i++)
		if (strcmp(word, ordinary[i].name) == 0)
			return str_of(ordinary[i].way);
	return str_of(word);
}

static int
way_parse(struct way *w, const char *word)
{
	struct str text = spelt_out(word);
	size_t at;

	if (!str_find(text, '=', &at))
		return usage_refuse("forward",
		    "\"%s\" is no way: write PORT=SOCKET, or proxy, gateway or socks5",
		    word);
	if (!from_parse(&w->from, str_sub(text, 0, at)))
		return usage_refuse("forward",
		    "\"%.*s\" is neither a port nor ADDRESS:PORT", (int)at, text.p);
	if (!is_loopback(&w->from.endpoint.addr))
		return usage_refuse("forward",
		    "%.*s is no loopback address: others could come in by it", (int)at,
		    text.p);
	if (!to_parse(&w->to, str_sub(text, at + 1, text.n)))
		return usage_refuse("forward",
		    "\"%s\" is no path of a Unix socket: it is empty or too long",
		    text.p + at + 1);
	return EXIT_YES;
}

static int
ways_parse(struct forward *f, int n, char *const *word)
{
	static char fallback[] = "proxy";
	int code = EXIT_YES;

	if (n == 0)
		return ways_parse(f, 1, (char *[]){ fallback });
	if (n > WAYS_MAX)
		return usage_refuse("forward", "at most %d ways", WAYS_MAX);
	for (; f->nway < (size_t)n && code == EXIT_YES; f->nway++) {
		struct way *w = &f->way[f->nway];

		*w = (struct way){ .forward = f, .fd = -1 };
		code = way_parse(w, word[f->nway]);
	}
	return code;
}

/* ---- clients ---- */

/* 0, or errno.  A Unix socket is connected at once or not at all. */
static int
reach(const struct way *w, int *out)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return errno;
	memcpy(sa.sun_path, w->to.path, sizeof(sa.sun_path) - 1);
	if (connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) == 0) {
		*out = fd;
		return 0;
	}
	err = errno;
	close(fd);
	return err;
}

static const char *
reach_text(int number)
{
	switch (number) {
	case ENOENT:
		return "there is no such socket: is weir running, and is its directory "
		       "mounted here?";
	case ECONNREFUSED:
		return "nobody listens on the socket: is weir running?";
	case EACCES:
		return "this user may not use the socket: give it weir's group";
	case EAGAIN:
		return "weir takes no more connections now";
	default:
		return strerror(number);
	}
}

/* A client that asks again and again is told to the log now and then. */
static void
say(struct way *w, const char *why)
{
	msec now = loop_now(w->forward->loop);

	if (w->said != 0 && now - w->said < QUIET_MS)
		return;
	w->said = now;
	log_warn("a client was closed", "socket", w->to.path, "why", why);
}

static void
pair_end(struct pair *p)
{
	stream_close(&p->client);
	stream_close(&p->weir);
	list_remove(&p->link);
	p->forward->npair--;
	loop_free_later(p->forward->loop, free, p);
}

static void
on_done(void *arg, enum relay_end how)
{
	struct pair *p = arg;

	if (how != RELAY_DONE) { /* what was cut off must not look like a clean end */
		stream_reset(&p->client);
		stream_reset(&p->weir);
	}
	pair_end(p);
}

static void
on_unowned(void *arg, unsigned what)
{
	(void)arg, (void)what;
}

static void
pair_start(struct forward *f, int client, int weir)
{
	struct pair *p = mem_zalloc(sizeof(*p));

	p->forward = f;
	list_append(&f->pairs, &p->link);
	f->npair++;
	stream_open(&p->client, f->loop, client, on_unowned, p);
	stream_open(&p->weir, f->loop, weir, on_unowned, p);
	relay_start(&p->relay, f->loop, f->pipes, &p->client, &p->weir, STR_NONE,
	    STR_NONE, 0, 0, on_done, p);
}

/* With RST: the client is to see that it was not served. */
static void
drop(int fd)
{
	struct linger now = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

static void
on_client(void *arg, int fd, const struct peer *peer)
{
	struct way *w = arg;
	int weir = -1, err = 0;

	(void)peer;
	if (w->forward->npair >= CLIENTS_MAX) {
		say(w, "too many are open");
		drop(fd);
	} else if ((err = reach(w, &weir)) != 0) {
		say(w, reach_text(err));
		drop(fd);
	} else {
		pair_start(w->forward, fd, weir);
	}
}

/* ---- life ---- */

static void
on_signal(evutil_socket_t number, short what, void *arg)
{
	struct forward *f = arg;

	(void)number, (void)what;
	notify("STOPPING=1");
	loop_stop(f->loop);
}

static void
watch_signals(struct forward *f)
{
	static const int signals[] = { SIGTERM, SIGINT };

	for (size_t i = 0; i < 2; i++) {
		f->sig[i] = evsignal_new(loop_base(f->loop), signals[i], on_signal, f);
		evsignal_add(f->sig[i], NULL);
	}
}

static int
way_open(struct way *w)
{
	struct buf why;
	char from[128];
	int code = EXIT_YES, err, fd = -1;

	listen_at_text(from, &w->from);
	buf_init(&why, 1024);
	if ((err = reach(w, &fd)) != 0) {
		log_error(
		    "cannot reach weir", "socket", w->to.path, "why", reach_text(err));
		code = EXIT_UNAVAILABLE;
	} else if (listener_bind(&w->fd, &w->from, false, &why) != 0) {
		log_error("cannot listen", "address", from, "why", buf_cstr(&why));
		code = EXIT_UNAVAILABLE;
	} else {
		w->listener = listener_new(w->forward->loop, w->fd, on_client, w);
		log_info("forwarding", "from", from, "to", w->to.path);
	}
	if (fd >= 0)
		close(fd);
	buf_fini(&why);
	return code;
}

/* In a fresh network namespace it is down, and then nobody can connect. */
static void
check_loopback(void)
{
	struct ifreq lo = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (ioctl(fd, SIOCGIFFLAGS, &lo) == 0 && (lo.ifr_flags & IFF_UP) == 0)
		log_warn("the loopback interface is down", "remedy", "ip link set lo up");
	close(fd);
}

static int
serve(struct forward *f)
{
	int code = EXIT_YES;

	for (size_t i = 0; i < f->nway && code == EXIT_YES; i++)
		code = way_open(&f->way[i]);
	if (code == EXIT_YES) {
		check_loopback();
		notify("READY=1");
		loop_run(f->loop);
	}
	return code;
}

static void
forward_fini(struct forward *f)
{
	while (!list_is_empty(&f->pairs)) {
		struct pair *p = (struct pair *)f->pairs.next; /* `link` is its first */

		relay_cancel(&p->relay);
		pair_end(p);
	}
	for (size_t i = 0; i < f->nway; i++) {
		listener_free(f->way[i].listener);
		if (f->way[i].fd >= 0)
			listener_unbind(f->way[i].fd, &f->way[i].from);
	}
	for (size_t i = 0; i < 2; i++)
		event_free(f->sig[i]);
	loop_settle(f->loop);
	pipes_free(f->pipes);
	loop_free(f->loop);
}

static int
run(struct forward *f)
{
	list_init(&f->pairs);
	f->loop = loop_new();
	f->pipes = pipes_new(PIPES_MAX);
	watch_signals(f); /* before anything listens: whoever sees it may signal it */
	int code = serve(f);
	forward_fini(f);
	return code;
}

static const struct option options[] = {
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

int
cmd_forward(int argc, char **argv)
{
	static struct forward f;
	int opt, code;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		if (opt != 'h')
			return usage_refuse_option("forward", options, argv, opt);
		fputs(help, stdout);
		return EXIT_YES;
	}
	if ((code = ways_parse(&f, argc - optind, argv + optind)) != EXIT_YES)
		return code;
	return run(&f);
}
