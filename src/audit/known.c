/*
 * known.c - the secrets that weir itself holds, found by what they are
 */
#include "audit/known.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "audit/guise.h"
#include "audit/hits.h"
#include "audit/mark.h"
#include "wire/url.h"

#define HEAD SECRET_LEAST /* bytes by which a form is looked up */
#define PAIRS 65536
#define CUT_LEAST 12 /* of a form, at the end of a text that was cut there */
#define BYTES_MAX ((size_t)1 << 30)
#define NONE UINT32_MAX

_Static_assert(HEAD == sizeof(uint64_t), "the beginning of a form is one load");

/* One secret in one guise: bytes [at, at + n) of known.bytes. */
struct form {
	uint32_t at, n;
	uint32_t plain; /* the form that is the secret itself */
	uint32_t next;  /* with the same slot, not longer; or NONE */
	bool is_base64;
	bool is_folded; /* its capitals made small, as in a host: looked for there only */
};

struct known {
	struct secret bytes;
	struct form *form;
	size_t nform, longest;
	/* A bit for each hash that a form's first bytes have, and where to look for it.
	 */
	unsigned bits;
	uint64_t *filter;
	uint32_t *slot;            /* of 64 hashes each */
	uint64_t pair[PAIRS / 64]; /* and for each two bytes that one begins with */
	struct known *next;
	bool is_shared;
};

/* ---- making */

struct making {
	struct known *k;
	struct buf bytes;
	size_t cap, plain;
};

static struct str
form_text(const struct making *m, const struct form *f)
{
	return str_sub(buf_view(&m->bytes), f->at, f->n);
}

static void
add_form(struct making *m, struct str text, enum guise guise, bool is_folded)
{
	struct known *k = m->k;

	for (size_t i = m->plain; i < k->nform; i++)
		if (str_eq(form_text(m, &k->form[i]), text))
			return;
	if (k->nform == m->cap) {
		m->cap = m->cap == 0 ? 64 : 2 * m->cap;
		k->form = mem_resize(k->form, m->cap * sizeof(*k->form));
	}
	k->form[k->nform++] = (struct form){ .at = (uint32_t)m->bytes.n,
		.n = (uint32_t)text.n,
		.plain = (uint32_t)m->plain,
		.is_base64 = guise == GUISE_BASE64,
		.is_folded = is_folded };
	if (text.n > k->longest)
		k->longest = text.n;
	buf_str(&m->bytes, text);
}

/* It may stand in a host's name, and has capitals, which are lost there. */
static bool
is_lost_in_host(struct str text)
{
	bool has_capital = false;

	for (size_t i = 0; i < text.n; i++) {
		if (!ascii_is_alnum(text.p[i]) &&
		    (text.p[i] == '\0' || strchr("-._", text.p[i]) == NULL))
			return false;
		has_capital |= text.p[i] != ascii_lower(text.p[i]);
	}
	return has_capital && text.n <= HOST_MAX;
}

static void
take_form(struct str text, enum guise guise, void *arg)
{
	struct making *m = arg;
	char small[HOST_MAX];

	if (guise == GUISE_PLAIN)
		m->plain = m->k->nform;
	add_form(m, text, guise, false);
	if (!is_lost_in_host(text))
		return;
	for (size_t i = 0; i < text.n; i++)
		small[i] = ascii_lower(text.p[i]);
	add_form(m, (struct str){ small, text.n }, guise, true);
	OPENSSL_cleanse(small, text.n);
}

/* Brackets, and the lines around a PEM's, are in many texts. */
static bool
says_nothing(struct str line)
{
	size_t i = 0;

	while (i < line.n && strchr("{}[](),;: \t", line.p[i]) != NULL)
		i++;
	return i == line.n || str_starts(line, STR("-----"));
}

static void
add_secret(struct making *m, struct str secret)
{
	struct str rest = secret, line;
	size_t at;

	if (secret.n < SECRET_LEAST)
		return;
	guises(secret, take_form, m);
	if (!str_find(secret, '\n', &at))
		return;
	while (str_split(&rest, '\n', &line)) {
		if (str_ends(line, STR("\r")))
			line.n--;
		line = str_trim(line);
		if (line.n >= SECRET_LEAST && !says_nothing(line))
			guises(line, take_form, m);
	}
}

static size_t
hash(const struct known *k, const char *p)
{
	uint64_t head;

	memcpy(&head, p, sizeof(head));
	return (size_t)(head * UINT64_C(0x9e3779b97f4a7c15) >> (64 - k->bits));
}

/* The first two bytes, whichever way round the machine has them. */
static size_t
pair_of(const char *p)
{
	uint16_t pair;

	memcpy(&pair, p, sizeof(pair));
	return pair;
}

static int
by_length(const void *a, const void *b)
{
	const struct form *const *x = a, *const *y = b;

	return (*x)->n < (*y)->n ? -1 : (*x)->n > (*y)->n;
}

/* The longest of a slot comes first. */
static void
index_forms(struct known *k)
{
	struct form **order = mem_alloc((k->nform + 1) * sizeof(struct form *));

	for (k->bits = 12; (size_t)1 << k->bits < 64 * k->nform;)
		k->bits++;
	k->filter = mem_zalloc(((size_t)1 << k->bits) / 8);
	k->slot = mem_alloc(((size_t)1 << k->bits) / 64 * sizeof(*k->slot));
	memset(k->slot, 0xff, ((size_t)1 << k->bits) / 64 * sizeof(*k->slot));
	for (size_t i = 0; i < k->nform; i++)
		order[i] = &k->form[i];
	qsort(order, k->nform, sizeof(struct form *), by_length);
	for (size_t i = 0; i < k->nform; i++) {
		const char *head = k->bytes.bytes + order[i]->at;
		size_t h = hash(k, head), pair = pair_of(head);
		k->pair[pair / 64] |= (uint64_t)1 << (pair % 64);
		k->filter[h / 64] |= (uint64_t)1 << (h % 64);
		order[i]->next = k->slot[h / 64];
		k->slot[h / 64] = (uint32_t)(order[i] - k->form);
	}
	free(order);
}

struct known *
known_new(const struct str *secret, size_t n)
{
	struct making m = { .k = mem_zalloc(sizeof(*m.k)) };

	buf_init(&m.bytes, BYTES_MAX);
	m.bytes.is_secret = true;
	for (size_t i = 0; i < n; i++)
		add_secret(&m, secret[i]);
	assert(!m.bytes.is_over);
	secret_set(&m.k->bytes, buf_view(&m.bytes));
	buf_fini(&m.bytes);
	index_forms(m.k);
	return m.k;
}

struct seen {
	struct str *secret;
	size_t n;
};

static void
see(const struct secret *s, void *arg)
{
	struct seen *seen = arg;

	seen->secret = mem_resize(seen->secret, (seen->n + 1) * sizeof(*seen->secret));
	seen->secret[seen->n++] = (struct str){ s->bytes, s->n };
}

struct known *
known_of(const struct settings *s)
{
	struct seen seen = { 0 };
	struct known *k;

	settings_secrets(s, see, &seen);
	k = known_new(seen.secret, seen.n);
	free(seen.secret);
	return k;
}

/* ---- what all redactors mask */

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct known *shared;
static atomic_size_t nshared; /* who shares all of them himself needs no lock */

void
known_share(struct known *k)
{
	assert(!k->is_shared);
	k->is_shared = true;
	pthread_rwlock_wrlock(&lock);
	k->next = shared;
	shared = k;
	atomic_fetch_add(&nshared, 1);
	pthread_rwlock_unlock(&lock);
}

static void
share_no_more(struct known *k)
{
	pthread_rwlock_wrlock(&lock);
	for (struct known **at = &shared; *at != NULL; at = &(*at)->next)
		if (*at == k) {
			*at = k->next;
			break;
		}
	atomic_fetch_sub(&nshared, 1);
	pthread_rwlock_unlock(&lock);
}

void
known_free(struct known *k)
{
	if (k == NULL)
		return;
	if (k->is_shared)
		share_no_more(k);
	secret_wipe(&k->bytes);
	free(k->form);
	free(k->filter);
	free(k->slot);
	free(k);
}

/* ---- looking */

static bool
has_head(const struct known *k, const char *p)
{
	size_t h = hash(k, p);

	return (k->filter[h / 64] >> (h % 64) & 1) != 0;
}

/* The next place at or behind `at` that has one, or where less is left than a head. */
static size_t
next_head(const struct known *k, struct str text, size_t at)
{
	for (; at + HEAD <= text.n; at++) {
		size_t pair = pair_of(text.p + at);

		if ((k->pair[pair / 64] >> (pair % 64) & 1) != 0 &&
		    has_head(k, text.p + at))
			break;
	}
	return at;
}

/* The longest form that the text begins with, or that was cut where the text ends. */
static const struct form *
form_at(const struct known *k, struct str text, size_t cut_least, bool is_host)
{
	for (uint32_t i = k->slot[hash(k, text.p) / 64]; i != NONE; i = k->form[i].next) {
		const struct form *f = &k->form[i];
		size_t n = f->n < text.n ? f->n : text.n;

		if ((n == f->n || n >= cut_least) && (is_host || !f->is_folded) &&
		    memcmp(text.p, k->bytes.bytes + f->at, n) == 0)
			return f;
	}
	return NULL;
}

static bool
is_base64_byte(char c)
{
	return ascii_is_alnum(c) || (c != '\0' && strchr("+/-_", c) != NULL);
}

/* With the characters that tell of the secret and of its neighbours, and the filling. */
static void
widen(struct str text, struct hit *h)
{
	if (h->from > 0 && is_base64_byte(text.p[h->from - 1]))
		h->from--;
	if (h->to < text.n && is_base64_byte(text.p[h->to]))
		h->to++;
	for (int i = 0; i < 2 && h->to < text.n && text.p[h->to] == '='; i++)
		h->to++;
}

struct looking {
	const struct known *k;
	bool is_host;
};

/* The mark that was found last, and how far was looked for marks. */
struct marks {
	size_t end, seen;
};

/* Where the mark ends that [from, ...) begins in, if it does. */
static size_t
mark_around(struct marks *m, struct str text, size_t from)
{
	size_t at;

	while (m->seen <= from &&
	       str_find(str_sub(text, m->seen, from + 1 - m->seen), '~', &at)) {
		size_t begin = m->seen + at;
		size_t n = mark_length(str_sub(text, begin, text.n));

		if (n > 0)
			m->end = begin + n;
		m->seen = begin + (n > 0 ? n : 1);
	}
	if (m->seen <= from)
		m->seen = from + 1;
	return m->end;
}

static void
look_forms(const void *arg, struct str text, struct hits *hits)
{
	const struct looking *looking = arg;
	const struct known *k = looking->k;
	struct marks marks = { 0 };

	for (size_t at = next_head(k, text, 0); at + HEAD <= text.n;
	     at = next_head(k, text, at + 1)) {
		struct str rest = str_sub(text, at, text.n);
		const struct form *f = form_at(k, rest, CUT_LEAST, looking->is_host);

		if (f == NULL)
			continue;
		const struct form *plain = &k->form[f->plain];
		struct hit hit = { .from = at,
			.to = at + (f->n < rest.n ? f->n : rest.n),
			.plain = { k->bytes.bytes + plain->at, plain->n } };
		if (hit.to <= mark_around(&marks, text,
				  at)) /* a word of it: "redacted" is somebody's */
			continue;
		if (f->is_base64)
			widen(text, &hit);
		hits_add(hits, hit);
	}
}

/* ---- for a redactor */

typedef void use_hits(struct hits *hits, void *arg);

static void
look_in(const struct known *k, bool is_host, struct str text, use_hits *use, void *arg)
{
	const struct looking looking = { k, is_host };
	struct hits hits = { 0 };

	if (k->nform == 0)
		return;
	hits_find(&hits, text, look_forms, &looking);
	if (hits.n > 0)
		use(&hits, arg);
	hits_fini(&hits);
}

static void
look_everywhere(
    const struct known *own, bool is_host, struct str text, use_hits *use, void *arg)
{
	size_t mine = own != NULL && own->is_shared ? 1 : 0;

	if (own != NULL)
		look_in(own, is_host, text, use, arg);
	if (atomic_load(&nshared) == mine)
		return;
	pthread_rwlock_rdlock(&lock);
	for (const struct known *k = shared; k != NULL; k = k->next)
		if (k != own)
			look_in(k, is_host, text, use, arg);
	pthread_rwlock_unlock(&lock);
}

struct finding_in {
	struct str text;
	struct spans *spans;
	enum known_in in;
};

static void
add_spans(struct hits *hits, void *arg)
{
	const struct finding_in *in = arg;
	struct span_place place = { 0 };

	for (size_t i = 0; i < hits->n; i++) {
		struct span s = {
			.from = hits->p[i].from, .to = hits->p[i].to, .kind = "held"
		};
		if (in->in == KNOWN_IN_JSON)
			span_take_number(in->text, &place, &s);
		if (in->in == KNOWN_IN_HOST) /* what stands there does not say it */
			span_says(&s, hits->p[i].plain);
		spans_add(in->spans, s);
	}
}

void
known_find(
    const struct known *own, enum known_in in, struct str text, struct spans *spans)
{
	struct finding_in finding = { text, spans, in };

	look_everywhere(own, in == KNOWN_IN_HOST, text, add_spans, &finding);
}

bool
known_has_any(const struct known *own)
{
	size_t mine = own != NULL && own->is_shared ? 1 : 0;

	return (own != NULL && own->nform > 0) || atomic_load(&nshared) > mine;
}

struct naming {
	size_t n;
	struct buf *plain;
	bool is_one;
};

static void
name_one(struct hits *hits, void *arg)
{
	struct naming *naming = arg;

	for (size_t i = 0; i < hits->n && !naming->is_one; i++) {
		if (hits->p[i].from != 0 || hits->p[i].to != naming->n)
			continue;
		buf_reset(naming->plain);
		buf_str(naming->plain, hits->p[i].plain);
		naming->is_one = true;
	}
}

bool
known_plain(const struct known *own, struct str text, struct buf *plain)
{
	struct naming naming = { .n = text.n, .plain = plain };

	look_everywhere(own, false, text, name_one, &naming);
	return naming.is_one;
}

void
known_hide(char *text, size_t n)
{
	struct spans spans = { 0 };

	known_find(NULL, KNOWN_IN_TEXT, (struct str){ text, n }, &spans);
	for (size_t i = 0; i < spans.n; i++)
		memset(text + spans.span[i].from, '*',
		    spans.span[i].to - spans.span[i].from);
	spans_fini(&spans);
}

/* ---- piece by piece */

void
known_cover(const struct known *k, char *text, size_t n)
{
	struct str all = { text, n };
	struct hits hits = { 0 };

	for (size_t at = next_head(k, all, 0); at + HEAD <= n;
	     at = next_head(k, all, at + 1)) {
		const struct form *f = form_at(k, str_sub(all, at, n), SIZE_MAX, false);

		if (f != NULL)
			hits_add(&hits, (struct hit){ .from = at, .to = at + f->n });
	}
	for (size_t i = 0; i < hits.n; i++) /* only now: one may begin in another */
		memset(text + hits.p[i].from, '*', hits.p[i].to - hits.p[i].from);
	hits_fini(&hits);
}

/* So short a piece has no head to look it up by. */
static bool
begins_one(const struct known *k, struct str text)
{
	for (size_t i = 0; i < k->nform; i++)
		if (memcmp(text.p, k->bytes.bytes + k->form[i].at, text.n) == 0)
			return true;
	return false;
}

size_t
known_open(const struct known *k, struct str text)
{
	size_t most = k->longest > 0 ? k->longest - 1 : 0;

	for (size_t n = most < text.n ? most : text.n; n > 0; n--) {
		struct str end = str_sub(text, text.n - n, n);

		if (n < HEAD ? begins_one(k, end)
			     : has_head(k, end.p) && form_at(k, end, HEAD, false) != NULL)
			return n;
	}
	return 0;
}
