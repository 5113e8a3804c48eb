/*
 * abstract.c - who takes connections under abstract names in this network namespace
 */
#include "cmd/abstract.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LISTEN_STATE 10U  /* TCP_LISTEN, of Unix sockets too */
#define LISTENS 0x10000UL /* __SO_ACCEPTCON, in the list's flags */
#define DOUBTS_MOST ((size_t)12)
#define PIECE ((size_t)65536)

/* ---- diagnostics */

struct request {
	struct nlmsghdr head;
	struct unix_diag_req ask;
};

static int
ask(int fd)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct request r = {
		.head = { .nlmsg_len = sizeof(r),
		    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.ask = { .sdiag_family = AF_UNIX,
		    .udiag_states = 1U << LISTEN_STATE,
		    .udiag_show = UDIAG_SHOW_NAME },
	};

	if (sendto(fd, &r, sizeof(r), 0, (const struct sockaddr *)&kernel,
		sizeof(kernel)) < 0)
		return errno;
	return 0;
}

/* The attribute of that type; empty: it has none. */
static struct str
attribute(struct str rest, unsigned type)
{
	struct nlattr a;

	while (rest.n >= sizeof(a)) {
		memcpy(&a, rest.p, sizeof(a));
		if (a.nla_len < sizeof(a) || a.nla_len > rest.n)
			break;
		if (a.nla_type == type)
			return str_sub(rest, sizeof(a), a.nla_len - sizeof(a));
		rest = str_sub(rest, NLA_ALIGN(a.nla_len), rest.n);
	}
	return STR_NONE;
}

static void
see_socket(struct str body, abstract_see *see, void *arg)
{
	struct unix_diag_msg said;
	struct str name;

	if (body.n < sizeof(said))
		return;
	memcpy(&said, body.p, sizeof(said));
	name = attribute(str_sub(body, sizeof(said), body.n), UNIX_DIAG_NAME);
	if (name.n > 1 && name.n - 1 <= ABSTRACT_MAX && name.p[0] == '\0')
		see(arg, str_sub(name, 1, name.n), said.udiag_type);
}

/* What an error message says; 0: it says that all is well. */
static int
error_in(struct str body)
{
	struct nlmsgerr e;

	if (body.n < sizeof(e))
		return EPROTO;
	memcpy(&e, body.p, sizeof(e));
	return -e.error;
}

/* -1: more is to come; else 0, or an errno. */
static int
see_messages(struct str rest, abstract_see *see, void *arg)
{
	struct nlmsghdr head;

	while (rest.n >= sizeof(head)) {
		memcpy(&head, rest.p, sizeof(head));
		if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > rest.n)
			return EPROTO;
		struct str body =
		    str_sub(rest, NLMSG_HDRLEN, head.nlmsg_len - NLMSG_HDRLEN);
		if (head.nlmsg_type == NLMSG_DONE)
			return 0;
		if (head.nlmsg_type == NLMSG_ERROR)
			return error_in(body);
		see_socket(body, see, arg);
		rest = str_sub(rest, NLMSG_ALIGN(head.nlmsg_len), rest.n);
	}
	return -1;
}

static int
hear(int fd, char *piece, abstract_see *see, void *arg)
{
	ssize_t n;
	int err = -1;

	while (err < 0) {
		if ((n = recv(fd, piece, PIECE, 0)) < 0)
			return errno;
		err = see_messages((struct str){ piece, (size_t)n }, see, arg);
	}
	return err;
}

int
abstract_diagnose(abstract_see *see, void *arg)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	char *piece = mem_alloc(PIECE);
	int err = fd < 0 ? errno : ask(fd);

	if (err == 0)
		err = hear(fd, piece, see, arg);
	if (fd >= 0)
		close(fd);
	free(piece);
	return err;
}

/* ---- the list */

/* Num RefCount Protocol Flags Type St Inode Path: the Path, or NULL. */
static char *
split(char *line, char *word[static 7])
{
	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < 7; i++) {
		word[i] = line += strspn(line, " ");
		line += strcspn(line, " ");
		if (*line == '\0')
			return NULL;
		*line++ = '\0';
	}
	return line;
}

int
abstract_list(abstract_see *see, void *arg)
{
	char line[512], *word[7], *path;
	FILE *f = fopen("/proc/net/unix", "re");

	if (f == NULL)
		return errno;
	while (fgets(line, sizeof(line), f) != NULL) {
		if ((path = split(line, word)) == NULL || path[0] != '@' ||
		    (strtoul(word[3], NULL, 16) & LISTENS) == 0)
			continue;
		see(arg, str_of(path + 1), (int)strtoul(word[4], NULL, 16));
	}
	fclose(f);
	return 0;
}

/* ---- what a shown name may stand for */

void
abstract_guess_init(struct abstract_guess *g, struct str shown)
{
	*g = (struct abstract_guess){ .n = shown.n < ABSTRACT_MAX ? shown.n
								  : ABSTRACT_MAX };
	if (g->n > 0)
		memcpy(g->shown, shown.p, g->n);
	for (size_t i = 0; i < g->n; i++)
		if (g->shown[i] == '@')
			g->doubt[g->ndoubt++] = (uint8_t)i;
	for (g->end = g->ndoubt; g->end > 0; g->end--)
		if (g->doubt[g->end - 1] + (g->ndoubt - g->end) + 1 != g->n)
			break;
}

bool
abstract_guess_is_all(const struct abstract_guess *g)
{
	return g->ndoubt <= DOUBTS_MOST;
}

/* Those before the end, of which each is tried both ways. */
static size_t
inner(const struct abstract_guess *g)
{
	size_t n = abstract_guess_is_all(g) ? g->ndoubt : g->end;

	return n < DOUBTS_MOST ? n : DOUBTS_MOST;
}

bool
abstract_guess_next(struct abstract_guess *g, char name[static ABSTRACT_MAX])
{
	size_t n = inner(g), ends = abstract_guess_is_all(g) ? 1 : g->ndoubt - g->end + 1;
	size_t which = g->next >> n; /* so many '@' before the NULs of its end */

	if (which >= ends)
		return false;
	memcpy(name, g->shown, sizeof(g->shown));
	for (size_t i = 0; i < n; i++)
		if (g->next >> i & 1)
			name[g->doubt[i]] = '\0';
	for (size_t i = g->end + which; ends > 1 && i < g->ndoubt; i++)
		name[g->doubt[i]] = '\0';
	g->next++;
	return true;
}
