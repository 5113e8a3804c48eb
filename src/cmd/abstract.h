/*
 * abstract.h - who takes connections under abstract names in this network namespace
 *
 * An abstract name (unix(7)) is any bytes.  The list of /proc/net/unix shows each NUL in
 * it as '@', so that one line stands for several names; the sockets' own diagnostics
 * (sock_diag(7)) give the bytes.  Where those are forbidden the list has to do, and each
 * name that a line may stand for is tried.  Blocking; any thread.
 */
#ifndef WEIR_CMD_ABSTRACT_H
#define WEIR_CMD_ABSTRACT_H

#include <sys/un.h>

#include "base/str.h"

#define ABSTRACT_MAX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)

/* A listening socket's name, without the NUL that makes it abstract; `kind` SOCK_... */
typedef void abstract_see(void *arg, struct str name, int kind);

/* By diagnostics: 0, or an errno where this process may not have them. */
int abstract_diagnose(abstract_see *see, void *arg) MUST_CHECK;
/* By the list, as it shows them: 0, or an errno. */
int abstract_list(abstract_see *see, void *arg) MUST_CHECK;

/* The names that a shown one may stand for: see abstract_guess_next(). */
struct abstract_guess {
	char shown[ABSTRACT_MAX];
	size_t n;
	uint8_t doubt[ABSTRACT_MAX]; /* where an '@' may be a NUL */
	size_t ndoubt;
	size_t end; /* doubt[end] and on are the name's end, without a gap */
	uint32_t next;
};

void abstract_guess_init(struct abstract_guess *g, struct str shown);
/*
 * One more, of g->n bytes; false: there is none.  All of them where there are few '@';
 * else what a full sun_path makes likely: its end is NULs, but for some '@' before them.
 */
bool abstract_guess_next(
    struct abstract_guess *g, char name[static ABSTRACT_MAX]) MUST_CHECK;
/* Was none left out? */
bool abstract_guess_is_all(const struct abstract_guess *g);

#endif
