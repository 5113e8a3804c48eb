/*
 * secret.c - reference -> bytes
 */
#include "conf/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* One resolution under way: where to complain, and about which reference. */
struct resolving {
	const struct tree *t;
	const struct node *n;
	const char *directory;
	struct secret_files *files;
	struct report *rep;
	enum gravity {
		PUBLIC,
		USUAL,
		GRAVE
	} gravity; /* all may read it, should not, must not */
};

static bool
missing(const struct resolving *r, const char *why)
{
	node_error(r->t, r->n, r->rep, "secret_missing", NULL, "%.*s: %s",
	    STR_ARG(r->n->text), why);
	return false;
}

void
secret_set(struct secret *out, struct str bytes)
{
	void *pages = mmap(NULL, bytes.n + 1, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		abort(); /* as mem_alloc() would */
	(void)madvise(pages, bytes.n + 1, MADV_DONTDUMP);
	memcpy(pages, bytes.p, bytes.n);
	*out = (struct secret){ .bytes = pages, .n = bytes.n };
}

/* Files end with a newline that nobody means. */
static struct str
without_newline(struct str s)
{
	if (str_ends(s, STR("\n")))
		s.n -= str_ends(s, STR("\r\n")) ? 2 : 1;
	return s;
}

static bool
accept(const struct resolving *r, struct secret *out, struct str bytes)
{
	if (bytes.n == 0)
		return missing(r, "it is empty");
	if (bytes.n > SECRET_MAX) {
		node_error(r->t, r->n, r->rep, "secret_too_large", NULL,
		    "%.*s: it is larger than %d KiB", STR_ARG(r->n->text),
		    SECRET_MAX >> 10);
		return false;
	}
	if (bytes.n < SECRET_LEAST && r->gravity != PUBLIC)
		node_warn(r->t, r->n, r->rep, "secret_short",
		    "take a longer one: a short one stands in other words too",
		    "%.*s: it has fewer than %d bytes, so it is not masked where it "
		    "stands in a text",
		    STR_ARG(r->n->text), SECRET_LEAST);
	secret_set(out, bytes);
	return true;
}

/* ---- variables, which are taken */

struct taken {
	char *name;
	struct secret value;
	struct taken *next;
};

static struct taken *all_taken;

static struct taken *
find_taken(struct str name)
{
	for (struct taken *t = all_taken; t != NULL; t = t->next)
		if (str_eq(name, str_of(t->name)))
			return t;
	return NULL;
}

/* Out of the environment, where it stands: a pointer to it may be anybody's. */
static struct taken *
take(struct str name, char *value)
{
	struct taken *t = find_taken(name);
	struct str text = str_of(value);

	if (t == NULL) {
		t = mem_zalloc(sizeof(*t));
		t->name = str_dup(name);
		t->next = all_taken;
		all_taken = t;
	}
	secret_wipe(&t->value);
	secret_set(&t->value, text);
	OPENSSL_cleanse(value - name.n - 1, name.n + 1 + text.n);
	return t;
}

static bool
from_environment(const struct resolving *r, struct secret *out, struct str name)
{
	char *variable = str_dup(name);
	char *value = getenv(variable);
	const struct taken *t = value != NULL ? take(name, value) : find_taken(name);

	free(variable);
	if (t == NULL)
		return missing(r, "the environment variable is not set");
	return accept(r, out, (struct str){ t->value.bytes, t->value.n });
}

/* ---- files */

static struct secret_mark
mark_of(const struct stat *st)
{
	return (struct secret_mark){ st->st_dev, st->st_ino, st->st_size, st->st_ctim,
		st->st_mtim };
}

bool
secret_mark(struct secret_mark *out, const char *path)
{
	struct stat st;
	bool is_there = stat(path, &st) == 0;

	*out = is_there ? mark_of(&st) : (struct secret_mark){ 0 };
	return is_there || errno != EACCES;
}

static bool
is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool
secret_mark_eq(const struct secret_mark *a, const struct secret_mark *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       is_same_time(a->changed, b->changed) &&
	       is_same_time(a->written, b->written);
}

void
secret_files_free(struct secret_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->p[i].path);
	free(files->p);
	*files = (struct secret_files){ 0 };
}

/* As it is before it is read: what changes meanwhile has another mark afterwards. */
static void
note_file(const struct resolving *r, const char *path)
{
	struct secret_files *f = r->files;
	struct secret_mark mark;

	if (f == NULL || !secret_mark(&mark, path))
		return;
	f->p = mem_resize(f->p, (f->n + 1) * sizeof(*f->p));
	f->p[f->n++] = (struct secret_file){ mem_strdup(path), mark };
}

static bool
read_whole(int fd, char *to, size_t max, size_t *n)
{
	ssize_t got = 1;

	for (*n = 0; *n < max && got != 0;) {
		got = read(fd, to + *n, max - *n);
		if (got < 0 && errno != EINTR)
			return false;
		*n += got > 0 ? (size_t)got : 0;
	}
	return true;
}

static void
say_readable(const struct resolving *r)
{
	static const char code[] = "secret_readable_by_all",
			  hint[] = "chmod o-r; the user that weir runs as must still "
				   "read it",
			  text[] = "%.*s: every user of this machine can read it";

	if (r->gravity == GRAVE)
		node_error(r->t, r->n, r->rep, code, hint, text, STR_ARG(r->n->text));
	else if (r->gravity == USUAL)
		node_warn(r->t, r->n, r->rep, code, hint, text, STR_ARG(r->n->text));
}

static bool
from_descriptor(const struct resolving *r, struct secret *out, int fd)
{
	char bytes[SECRET_MAX +
		   3]; /* and a line's end, and one to see that there is more */
	struct stat st;
	size_t n;
	bool is_read = false;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		missing(r, "it is not a regular file");
	} else if (!read_whole(fd, bytes, sizeof(bytes), &n)) {
		missing(r, strerror(errno));
	} else {
		is_read = accept(r, out, without_newline((struct str){ bytes, n }));
		if (st.st_mode & S_IROTH)
			say_readable(r);
	}
	OPENSSL_cleanse(bytes, sizeof(bytes));
	return is_read;
}

static bool
from_path(
    const struct resolving *r, struct secret *out, const char *directory, struct str path)
{
	struct buf full;

	buf_init(&full, 4096);
	if (!str_starts(path, STR("/")))
		buf_fmt(&full, "%s/", directory);
	buf_str(&full, path);
	note_file(r, buf_cstr(&full));
	/* O_NONBLOCK: a FIFO must not hold up the start */
	int fd = open(buf_cstr(&full), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	bool is_read =
	    fd >= 0 ? from_descriptor(r, out, fd) : missing(r, strerror(errno));
	if (is_read && r->gravity == PUBLIC)
		out->path = mem_strdup(buf_cstr(&full));
	if (fd >= 0)
		close(fd);
	buf_fini(&full);
	return is_read;
}

static bool
from_file(const struct resolving *r, struct secret *out, struct str path)
{
	return from_path(r, out, r->directory, path);
}

static bool
from_credentials(const struct resolving *r, struct secret *out, struct str name)
{
	const char *directory = getenv("CREDENTIALS_DIRECTORY");

	if (directory == NULL)
		return missing(
		    r, "CREDENTIALS_DIRECTORY is not set: no systemd credentials here");
	return from_path(r, out, directory, name);
}

static bool
is_variable(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_alnum(s.p[i]) && s.p[i] != '_')
			return false;
	return s.n > 0 && !ascii_is_digit(s.p[0]);
}

static bool
is_path(struct str s)
{
	return s.n > 0;
}

static bool
is_file_name(struct str s)
{
	size_t at;

	return s.n > 0 && !str_find(s, '/', &at) && s.p[0] != '.';
}

static const struct {
	const char *scheme;
	bool (*is_fit)(struct str rest);
	bool (*resolve)(const struct resolving *r, struct secret *out, struct str rest);
} kinds[] = {
	{ "env:", is_variable, from_environment },
	{ "file:", is_path, from_file },
	{ "cred:", is_file_name, from_credentials },
};

/* -1 after reporting: it is of none of the kinds. */
static int
kind_of(const struct tree *t, const struct node *n, struct report *rep, struct str *rest)
{
	struct str text;

	if (!node_str(t, n, rep, &text))
		return -1;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct str scheme = str_of(kinds[i].scheme);
		*rest = str_sub(text, scheme.n, text.n);
		if (str_starts(text, scheme) && kinds[i].is_fit(*rest))
			return (int)i;
	}
	node_error(t, n, rep, "secret_literal",
	    "write env:NAME, file:PATH or cred:NAME, and keep the secret there",
	    "the value must be a reference: a secret itself never stands here");
	return -1;
}

bool
secret_is_reference(const struct tree *t, const struct node *n, struct report *rep)
{
	struct str rest;

	return kind_of(t, n, rep, &rest) >= 0;
}

static bool
reference_read(const struct resolving *r, struct secret *out)
{
	struct str rest;
	int kind = kind_of(r->t, r->n, r->rep, &rest);

	return kind >= 0 && kinds[kind].resolve(r, out, rest);
}

bool
secret_read(struct secret *out, const struct tree *t, const struct node *n,
    const char *directory, struct secret_files *files, struct report *rep)
{
	const struct resolving r = { t, n, directory, files, rep, USUAL };

	return reference_read(&r, out);
}

bool
secret_read_public(struct secret *out, const struct tree *t, const struct node *n,
    const char *directory, struct secret_files *files, struct report *rep)
{
	const struct resolving r = { t, n, directory, files, rep, PUBLIC };

	return reference_read(&r, out);
}

bool
secret_read_grave(struct secret *out, const struct tree *t, const struct node *n,
    const char *directory, struct secret_files *files, struct report *rep)
{
	const struct resolving r = { t, n, directory, files, rep, GRAVE };

	return reference_read(&r, out);
}

void
secret_wipe(struct secret *s)
{
	if (s->bytes != NULL) {
		OPENSSL_cleanse(s->bytes, s->n);
		(void)munmap(s->bytes, s->n + 1);
	}
	free(s->path);
	*s = (struct secret){ 0 };
}

bool
secret_eq(const struct secret *a, const struct secret *b)
{
	if (a->n != b->n || (a->bytes == NULL) != (b->bytes == NULL))
		return false;
	return a->n == 0 || CRYPTO_memcmp(a->bytes, b->bytes, a->n) == 0;
}
