/*
 * files.c - the files of one log, in the order of their chain
 */
#include "audit/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/chain.h"
#include "audit/entry.h"
#include "audit/siblings.h"
#include "base/map.h"

#define TRIES 100

/* What a file says of its place. */
struct part {
	char *path; /* owned */
	char prev[CHAIN_HEX], last[CHAIN_HEX], ts[32];
	off_t size;
	struct part *next;
	bool is_joined; /* it is somebody's next */
	bool is_copy;
	bool is_unread; /* it could not be: it may be anything, and comes first */
};

struct parts {
	struct part **all;
	size_t n;
};

/* ---- one file */

static void
copy(char *to, size_t room, struct str text)
{
	size_t n = text.n < room ? text.n : room - 1;

	if (n > 0)
		memcpy(to, text.p, n);
	to[n] = '\0';
}

static void
keep_first(struct part *p, struct str line, const struct seal *s)
{
	struct arena a;
	struct entry e;

	arena_init(&a, ENTRY_MEMORY);
	copy(p->prev, sizeof(p->prev), s->prev);
	if (entry_read(&e, line, &a) == NULL)
		copy(p->ts, sizeof(p->ts), e.ts);
	arena_fini(&a);
}

/* False: no record begins in its first bytes. */
static bool
read_first(struct part *p, int fd)
{
	struct buf text;
	struct str line;
	struct seal s;

	buf_init(&text, SIBLING_ROOM);
	bool is_found = sibling_first(fd, &text, &line, &s);

	if (is_found)
		keep_first(p, line, &s);
	buf_fini(&text);
	return is_found;
}

static void
read_last(struct part *p, int fd)
{
	struct buf text;
	struct str line;
	struct seal s;

	buf_init(&text, SIBLING_ROOM);
	if (sibling_last(fd, p->size, &text, &line, &s))
		chain_digest(line, p->last);
	buf_fini(&text);
}

/* -1: it is not there, cannot be opened, or is no regular file: then errno is 0. */
static int
open_regular(const char *path, off_t *size)
{
	/* O_NONBLOCK: a FIFO beside the log must not hold this up */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int error = fd < 0 ? errno : 0;
	struct stat st;

	/* a socket cannot be opened, and is no file of a log all the same */
	if ((fd < 0 ? stat(path, &st) : fstat(fd, &st)) == 0 && !S_ISREG(st.st_mode)) {
		if (fd >= 0)
			close(fd);
		errno = 0;
		return -1;
	}
	if (fd >= 0)
		*size = st.st_size;
	errno = error;
	return fd;
}

/* What open_regular() said: something is there that this process may not see. */
static bool
is_hidden(int error)
{
	return error != 0 && error != ENOENT && error != ELOOP;
}

static bool
can_be_read(int fd)
{
	char first;

	return pread(fd, &first, 1, 0) >= 0;
}

static struct part *
part_unread(const char *path)
{
	struct part *p = mem_zalloc(sizeof(*p));

	p->path = mem_strdup(path);
	p->is_unread = true;
	return p;
}

/* NULL: it holds no record. */
static struct part *
part_new(const char *path, int fd, off_t size)
{
	struct part *p;

	if (!can_be_read(fd))
		return part_unread(path);
	p = mem_zalloc(sizeof(*p));
	p->size = size;
	if (!read_first(p, fd)) {
		free(p);
		return NULL;
	}
	read_last(p, fd);
	p->path = mem_strdup(path);
	return p;
}

/* The same of what is at a path. */
static struct part *
part_at(const char *path)
{
	off_t size;
	int fd = open_regular(path, &size);
	struct part *p;

	if (fd < 0)
		return is_hidden(errno) ? part_unread(path) : NULL;
	p = part_new(path, fd, size);
	close(fd);
	return p;
}

static void
part_free(struct part *p)
{
	if (p == NULL)
		return;
	free(p->path);
	free(p);
}

/* ---- its siblings */

static void
add(struct parts *all, struct part *p)
{
	if (p == NULL)
		return;
	if ((all->n & (all->n - 1)) == 0) /* doubles at each power of two */
		all->all = mem_resize(
		    all->all, (all->n == 0 ? 1 : 2 * all->n) * sizeof(struct part *));
	all->all[all->n++] = p;
}

/* A directory that cannot be listed may have any of them in it.  False: some lack. */
static bool
find_siblings(struct parts *all, const char *path)
{
	DIR *d = siblings_open(path);
	char *sibling;

	if (d == NULL && is_hidden(errno)) {
		sibling = siblings_path(path, ".");
		add(all, part_unread(sibling));
		free(sibling);
	}
	while (d != NULL && all->n <= AUDIT_FILES_MAX &&
	       (sibling = siblings_next(d, path)) != NULL) {
		add(all, part_at(sibling));
		free(sibling);
	}
	if (d != NULL)
		closedir(d);
	if (all->n <= AUDIT_FILES_MAX)
		return true;
	part_free(all->all[--all->n]);
	return false;
}

/* ---- their order */

static int
by_time(const void *a, const void *b)
{
	const struct part *x = *(struct part *const *)a, *y = *(struct part *const *)b;
	int order = strcmp(x->ts, y->ts);

	return order != 0 ? order : strcmp(x->path, y->path);
}

static bool
is_copy(const struct part *a, const struct part *b)
{
	return a->size == b->size && strcmp(a->prev, b->prev) == 0 &&
	       strcmp(a->last, b->last) == 0;
}

/* Each behind the one whose last record it names. */
static void
join(struct parts *all)
{
	struct map by_last;

	map_init(&by_last);
	for (size_t i = 0; i < all->n; i++) {
		struct part *p = all->all[i];
		struct part *same;

		if (p->is_unread)
			continue;
		same = map_get(&by_last, str_of(p->last));
		p->is_copy = same != NULL && is_copy(same, p);
		if (same == NULL)
			map_put(&by_last, str_of(p->last), p);
	}
	for (size_t i = 0; i < all->n; i++) {
		struct part *p = all->all[i];
		struct part *before = map_get(&by_last, str_of(p->prev));

		if (before == NULL || before == p || before->next != NULL || p->is_copy ||
		    p->is_unread)
			continue;
		before->next = p;
		p->is_joined = true;
	}
	map_fini(&by_last, NULL);
}

static void
give(struct audit_files *f, struct part *p)
{
	for (; p != NULL; p = p->next) {
		f->path[f->n++] = p->path;
		p->path = NULL;
	}
}

static const struct part *
last_of(const struct part *p)
{
	while (p->next != NULL)
		p = p->next;
	return p;
}

/* Chains by the time of their first record; the one that the log itself ends comes last.
 */
static void
put_in_order(struct audit_files *f, const struct parts *all, struct part *own)
{
	struct part *its_own = NULL;

	f->path = mem_alloc((all->n + 1) * sizeof(*f->path)); /* one for list() */
	for (size_t i = 0; i < all->n; i++) {
		struct part *p = all->all[i];

		if (p->is_joined || p->is_copy)
			continue;
		if (own != NULL && last_of(p) == own)
			its_own = p;
		else
			give(f, p);
	}
	give(f, its_own);
}

/* What was opened still stands at the path; or nothing does, as before. */
static bool
is_still_there(int fd, const char *path)
{
	struct stat own, there;

	if (stat(path, &there) != 0)
		return fd < 0;
	return fd >= 0 && fstat(fd, &own) == 0 && own.st_dev == there.st_dev &&
	       own.st_ino == there.st_ino;
}

/* Its last file is `f->own`, of so many bytes; -1: that could not be opened. */
static void
list(struct audit_files *f, const char *path, off_t size, int error)
{
	struct parts all = { .n = 0 };
	struct part *own = f->own < 0 ? NULL : part_new(path, f->own, size);

	add(&all, own);
	f->is_short = !find_siblings(&all, path);
	if (all.n > 1)
		qsort(all.all + (own != NULL), all.n - (own != NULL),
		    sizeof(struct part *), by_time);
	join(&all);
	put_in_order(f, &all, own);
	/* it holds no record, or is hidden: looked at all the same */
	if (f->own >= 0 ? own == NULL : is_hidden(error) && f->n > 0)
		f->path[f->n++] = mem_strdup(path);
	for (size_t i = 0; i < all.n; i++)
		part_free(all.all[i]);
	free(all.all);
}

bool
audit_files_find(struct audit_files *f, const char *path)
{
	int error;

	for (int tries = 0;; tries++) {
		off_t size = 0;

		*f = (struct audit_files){ .own = open_regular(path, &size) };
		error = errno;
		if (f->own < 0 && error == 0) { /* a pipe */
			audit_files_one(f, path);
			return true;
		}
		list(f, path, size, error);
		if (is_still_there(f->own, path) || is_hidden(error) || tries == TRIES)
			break;
		audit_files_free(f);
	}
	bool is_found = f->n > 0;

	if (!is_found)
		audit_files_free(f);
	errno = error;
	return is_found;
}

void
audit_files_one(struct audit_files *f, const char *path)
{
	*f = (struct audit_files){
		.path = mem_alloc(sizeof(*f->path)), .n = 1, .own = -1
	};
	f->path[0] = mem_strdup(path);
}

void
audit_files_free(struct audit_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->path[i]);
	free(f->path);
	if (f->own >= 0)
		close(f->own);
	*f = (struct audit_files){ .own = -1 };
}

char *
audit_files_after(const char *path, const char *digest)
{
	DIR *d = siblings_open(path);
	char *sibling, *found = NULL;

	while (d != NULL && found == NULL && (sibling = siblings_next(d, path)) != NULL) {
		struct part *p = part_at(sibling);

		if (p != NULL && strcmp(p->prev, digest) == 0)
			found = sibling;
		else
			free(sibling);
		part_free(p);
	}
	if (d != NULL)
		closedir(d);
	return found;
}
