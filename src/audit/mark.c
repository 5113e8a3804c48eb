/*
 * mark.c - what stands where a secret stood
 */
#include "audit/mark.h"

#include <assert.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "audit/hmac.h"
#include "audit/name.h"
#include "audit/shape.h"

#define DIGITS 12
#define KIND_MAX 16
#define KINDS_MAX 256 /* of operators' rules, in a process's life */
#define MARK_MAX (10 + KIND_MAX + 1 + MARK_ID_MAX + 1 + DIGITS + 1)

static const char head[] = "~redacted.";
static const char *const own_kinds[] = { "doubt", "held", "secret", "userinfo", "pem",
	"value", "card" };

struct marker {
	struct hmac hmac;
	char id[MARK_ID_MAX + 1];
};

static bool
is_id_byte(char c)
{
	return ascii_is_alnum(c) || c == '-' || c == '_';
}

static void
set_id(struct marker *m, const char *id)
{
	size_t n = 0;

	for (; id != NULL && *id != '\0' && n < MARK_ID_MAX; id++)
		if (is_id_byte(*id))
			m->id[n++] = *id;
	if (n == 0)
		strcpy(m->id, "k1");
}

static unsigned char run_key[32];

static void
make_run_key(void)
{
	if (RAND_bytes(run_key, sizeof(run_key)) != 1)
		abort();
}

/* One for all markers: the log, the audit log and what comes after a reload agree. */
static struct str
key_of_this_run(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_run_key);
	return (struct str){ (const char *)run_key, sizeof(run_key) };
}

struct marker *
marker_new(struct str key, const char *id)
{
	struct marker *m = mem_zalloc(sizeof(*m));

	if (key.n > 0) {
		set_id(m, id);
	} else {
		strcpy(m->id, "k0");
		key = key_of_this_run();
	}
	hmac_init(&m->hmac, key);
	return m;
}

void
marker_free(struct marker *m)
{
	if (m == NULL)
		return;
	hmac_fini(&m->hmac);
	free(m);
}

/* Without printf(), which would cost as much as the digest. */
void
marker_print(const struct marker *m, const char *kind, struct str secret, struct buf *out)
{
	static const char hex[] = "0123456789abcdef";
	unsigned char bytes[HMAC_BYTES];
	char tail[DIGITS + 2];

	hmac_digest(&m->hmac, secret, bytes); /* no digest, no mark; no mark, no output */
	tail[0] = '.';
	for (size_t i = 0; i < DIGITS / 2; i++) {
		tail[1 + 2 * i] = hex[bytes[i] >> 4];
		tail[2 + 2 * i] = hex[bytes[i] & 15];
	}
	tail[DIGITS + 1] = '~';
	buf_str(out, str_of(head));
	buf_text(out, kind);
	buf_char(out, '.');
	buf_text(out, m->id);
	buf_add(out, tail, sizeof(tail));
}

/* Asked for each mark in a text, which may have nothing else. */
#define OWN_SLOTS 256 /* for a hundred kinds */

static struct str own[OWN_SLOTS];
static size_t nown;
static bool is_of_id[256]; /* the same as is_id_byte() */
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

/* Where it is, or where there is room for it. */
static struct str *
own_slot(struct str kind)
{
	size_t at = kind.n;

	for (size_t i = 0; i < kind.n; i++)
		at = at * 31 + (unsigned char)kind.p[i];
	while (own[at % OWN_SLOTS].n > 0 && !str_eq(own[at % OWN_SLOTS], kind))
		at++;
	return &own[at % OWN_SLOTS];
}

static void
add_own(struct str kind)
{
	struct str *slot = own_slot(kind);

	nown += slot->n == 0;
	assert(nown < OWN_SLOTS); /* else one that is not there is looked for for ever */
	*slot = kind;
}

static void
collect_own(void)
{
	const char *kind;

	for (int c = 0; c < 256; c++)
		is_of_id[c] = is_id_byte((char)c);
	for (size_t i = 0; i < sizeof(own_kinds) / sizeof(*own_kinds); i++)
		add_own(str_of(own_kinds[i]));
	for (size_t i = 0; (kind = name_kind_at(i)) != NULL; i++)
		add_own(str_of(kind));
	for (size_t i = 0; (kind = shape_kind_at(i)) != NULL; i++)
		add_own(str_of(kind));
}

static void
know_own(void)
{
	pthread_once(&own_once, collect_own);
}

static bool
is_own_kind(struct str kind)
{
	return kind.n > 0 && own_slot(kind)->n > 0;
}

/* Never taken away: what was masked before a reload stays a mark. */
static struct {
	pthread_mutex_t lock; /* of who adds; the others read what is there */
	atomic_size_t n;
	char *name[KINDS_MAX];
} added = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const char *
added_kind(struct str kind)
{
	for (size_t i = 0; i < atomic_load(&added.n); i++)
		if (str_eq(kind, str_of(added.name[i])))
			return added.name[i];
	return NULL;
}

const char *
mark_add_kind(struct str name)
{
	const char *kind = NULL;
	size_t n;

	know_own();
	if (name.n == 0 || name.n > KIND_MAX || is_own_kind(name))
		return NULL;
	pthread_mutex_lock(&added.lock);
	n = atomic_load(&added.n);
	if ((kind = added_kind(name)) == NULL && n < KINDS_MAX) {
		kind = added.name[n] = str_dup(name);
		atomic_store(&added.n, n + 1);
	}
	pthread_mutex_unlock(&added.lock);
	return kind;
}

static bool
kind_exists(struct str kind)
{
	return is_own_kind(kind) || added_kind(kind) != NULL;
}

/* The bytes up to the next '.', at most `max` of them; *rest moves behind it. */
static bool
take_part(struct str *rest, size_t max, struct str *part)
{
	size_t n = 0;

	while (n < rest->n && n <= max && is_of_id[(unsigned char)rest->p[n]])
		n++;
	if (n == 0 || n > max || n == rest->n || rest->p[n] != '.')
		return false;
	*part = str_sub(*rest, 0, n);
	*rest = str_sub(*rest, n + 1, rest->n);
	return true;
}

/* As marker_print() writes them. */
static inline bool
is_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

size_t
mark_length(struct str text)
{
	struct str rest = str_sub(text, sizeof(head) - 1, text.n);
	struct str kind, id;

	if (text.n < 2 || text.p[0] != head[0] || text.p[1] != head[1] ||
	    !str_starts(text, (struct str){ head, sizeof(head) - 1 }))
		return 0;
	know_own();
	if (!take_part(&rest, KIND_MAX, &kind) || !take_part(&rest, MARK_ID_MAX, &id))
		return 0;
	if (rest.n < DIGITS + 1 || rest.p[DIGITS] != '~')
		return 0;
	for (size_t i = 0; i < DIGITS; i++)
		if (!is_digit(rest.p[i]))
			return 0;
	return kind_exists(kind) ? text.n - rest.n + DIGITS + 1 : 0;
}

bool
mark_is_wide(struct str text)
{
	for (size_t i = 1; i < text.n; i += 2)
		if (text.p[i] != '\0')
			return false;
	return text.n > 2;
}

/* Its characters, when they are a mark's; the last one may lack its NUL. */
static bool
is_wide_mark(struct str text)
{
	char narrow[MARK_MAX];
	size_t n = 0;

	if (text.n < 2 || text.p[1] != '\0' || text.n > 2 * MARK_MAX ||
	    !mark_is_wide(text))
		return false;
	for (size_t i = 0; i < text.n; i += 2)
		narrow[n++] = text.p[i];
	return mark_length((struct str){ narrow, n }) == n;
}

bool
mark_is(struct str text)
{
	return text.n > 0 && text.p[0] == head[0] &&
	       (mark_length(text) == text.n || is_wide_mark(text));
}
