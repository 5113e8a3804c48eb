/*
 * probe_local.c - inside the sandbox's own network: who else listens there
 *
 * Loopback and abstract Unix sockets belong to a network namespace, not to a user: what
 * shares it with the sandbox is in the sandbox's reach.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmd/abstract.h"
#include "cmd/probe.h"
#include "cmd/talk.h"
#include "wire/url.h"

#define ADMIN "/run/weir/admin.sock" /* as weir ctl has it */
#define FOUND_MAX ((size_t)100)
#define LISTENS 0x0a /* TCP_LISTEN as /proc writes it */

/* ---- ports of loopback ---- */

/* The words of a line; the last of `most` is the rest of it.  How many there are. */
static size_t
split(char *line, char **word, size_t most)
{
	size_t n = 0;

	line[strcspn(line, "\n")] = '\0';
	while (n < most && *(line += strspn(line, " ")) != '\0') {
		word[n++] = line;
		line += n < most ? strcspn(line, " ") : strlen(line);
		if (*line == ' ')
			*line++ = '\0';
	}
	return n;
}

/* One line of /proc/net/tcp or tcp6. */
struct port {
	const char *address; /* hexadecimal, as it stands there */
	unsigned long port, state, uid;
};

/* Behind its number: local, remote, state, two pairs, retransmits, user. */
static bool
port_parse_line(struct port *out, char *line)
{
	char *word[9], *colon;

	if (split(line, word, 9) < 9 || (colon = strchr(word[1], ':')) == NULL)
		return false;
	*colon = '\0';
	*out = (struct port){ .address = word[1],
		.port = strtoul(colon + 1, NULL, 16),
		.state = strtoul(word[3], NULL, 16),
		.uid = strtoul(word[7], NULL, 10) };
	return true;
}

/* A Docker daemon's own name server, which the probe of the resolver asks. */
static bool
is_engines(const struct port *at)
{
	return strcmp(at->address, "0B00007F") == 0;
}

/* Does `where` end in that port? */
static bool
has_port(const char *where, unsigned long port)
{
	const char *colon = where == NULL ? NULL : strrchr(where, ':');

	return colon != NULL && strncmp(where, "unix:", 5) != 0 &&
	       strtoul(colon + 1, NULL, 10) == port;
}

static bool
is_meant(const struct probe_plan *plan, const struct port *at)
{
	if (at->uid == getuid() || is_engines(at))
		return true;
	for (size_t i = 0; i < DOOR_N; i++)
		if (has_port(plan->door[i], at->port))
			return true;
	for (size_t i = 0; i < plan->own.n; i++)
		if (strtoul(plan->own.p[i], NULL, 10) == at->port)
			return true;
	return false;
}

/* Several sockets may listen on one port, and one of them is told. */
static void
add_port(struct buf *found, const struct port *at)
{
	struct str rest = buf_view(found), one;
	char text[64];

	snprintf(text, sizeof(text), "%lu of user %lu", at->port, at->uid);
	while (str_split(&rest, ',', &one))
		if (str_eq(str_trim(one), str_of(text)))
			return;
	buf_fmt(found, "%s%s", found->n > 0 ? ", " : "", text);
}

static bool
list_ports(const struct probe_plan *plan, const char *path, struct buf *found)
{
	char line[512];
	struct port at;
	FILE *f = fopen(path, "re");

	if (f == NULL)
		return errno == ENOENT && strcmp(path, "/proc/net/tcp6") == 0;
	while (fgets(line, sizeof(line), f) != NULL)
		if (port_parse_line(&at, line) && at.state == LISTENS &&
		    !is_meant(plan, &at))
			add_port(found, &at);
	fclose(f);
	return true;
}

static void
run_ports(struct probe *p)
{
	struct buf found;

	buf_init(&found, FOUND_MAX);
	if (!list_ports(p->plan, "/proc/net/tcp", &found) ||
	    !list_ports(p->plan, "/proc/net/tcp6", &found))
		probe_unsure(p, "/proc/net/tcp: %s", strerror(errno));
	else if (found.n > 0)
		probe_bad(p, "listening: %s", buf_cstr(&found));
	else
		probe_good(p, "none but this user's and weir's doors");
	buf_fini(&found);
}

/* ---- Unix sockets ---- */

/* What was found under abstract names. */
struct looking {
	struct buf found; /* of other users */
	size_t unsure;    /* names of which it cannot be told */
};

/* Is somebody there?  0: connected, with *uid; else an errno. */
static int
connect_abstract(struct str name, int kind, unsigned *uid)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	int fd = socket(AF_UNIX, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return errno;
	memcpy(sa.sun_path + 1, name.p, name.n);
	if (connect(fd, (struct sockaddr *)&sa,
		(socklen_t)(sizeof(sa.sun_family) + 1 + name.n)) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		err = errno;
	close(fd);
	*uid = peer.uid;
	return err;
}

static void
put_safely(struct buf *to, struct str name)
{
	buf_text(to, to->n > 0 ? ", @" : "@");
	for (size_t i = 0; i < name.n; i++)
		buf_char(to, name.p[i] == '\0'                     ? '@'
			     : name.p[i] > ' ' && name.p[i] <= '~' ? name.p[i]
								   : '?');
}

/* EAGAIN: who listens there has enough to do. */
static void
judge_name(struct looking *l, struct str name, int err, unsigned uid)
{
	if (err == 0 && uid != getuid())
		put_safely(&l->found, name);
	l->unsure += err == EAGAIN;
}

static void
see_name(void *arg, struct str name, int kind)
{
	unsigned uid = 0;
	int err = connect_abstract(name, kind, &uid);

	judge_name(arg, name, err, uid);
}

/* As it is shown, it may be one of many. */
static void
see_shown(void *arg, struct str shown, int kind)
{
	struct looking *l = arg;
	struct abstract_guess g;
	char name[ABSTRACT_MAX];
	int err = ECONNREFUSED;
	unsigned uid = 0;

	abstract_guess_init(&g, shown);
	while (err == ECONNREFUSED && abstract_guess_next(&g, name))
		err = connect_abstract((struct str){ name, g.n }, kind, &uid);
	judge_name(l, shown, err, uid);
	l->unsure += err == ECONNREFUSED && !abstract_guess_is_all(&g);
}

static void
say_names(struct probe *p, struct looking *l)
{
	if (l->found.n > 0)
		probe_bad(p, "another user takes connections: %s", buf_cstr(&l->found));
	else if (l->unsure > 0)
		probe_unsure(
		    p, "whose %zu of the listening names are cannot be told", l->unsure);
	else
		probe_good(p, "no other user takes connections on one");
}

static void
run_abstract(struct probe *p)
{
	struct looking l = { .unsure = 0 };
	int err;

	buf_init(&l.found, FOUND_MAX);
	if ((err = abstract_diagnose(see_name, &l)) != 0) {
		buf_reset(&l.found);
		l.unsure = 0;
		err = abstract_list(see_shown, &l);
	}
	if (err == 0)
		say_names(p, &l);
	else
		probe_unsure(p, "/proc/net/unix: %s", strerror(err));
	buf_fini(&l.found);
}

static void
run_admin(struct probe *p)
{
	struct talk t;
	int err = talk_open(&t, "unix:" ADMIN, SOCK_STREAM, p->plan->timeout_ms);

	if (err == 0)
		probe_bad(p, "connected to " ADMIN);
	else
		probe_good(p, "%s", strerror(err));
	talk_close(&t);
}

/* ---- the rows ---- */

static const struct probe_row rows[] = {
	{ "loopback", "no other user's port is on this loopback",
	    "move it out of the sandbox's network, or say --own PORT where it is meant "
	    "to be there",
	    DOOR_NONE, OVER_ONCE, false, run_ports },
	{ "abstract", "no other user's abstract Unix socket is in this network",
	    "give the sandbox a network namespace of its own: abstract sockets have no "
	    "file whose mode could say no",
	    DOOR_NONE, OVER_ONCE, false, run_abstract },
	{ "admin", "weir's admin socket is not in the sandbox",
	    "do not mount the directory of listen.admin into the sandbox, and keep "
	    "the sandbox out of its group",
	    DOOR_NONE, OVER_ONCE, false, run_admin },
};

const struct probe_rows probe_locals = { rows, sizeof(rows) / sizeof(rows[0]) };
