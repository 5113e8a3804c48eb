/*
 * slow.c - texts that were made to cost much, and a search for more of them
 */
#include "slow.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TEXT_BYTES ((size_t)1 << 20)
#define SEARCH_BYTES ((size_t)512 << 10)
#define PIECE ((size_t)64 << 10)
#define ROUNDS 3
#define SAY_MORE_NS 8 /* with VERBOSE */

static const char *const form_name[] = { "text", "json", "header", "url" };

double
slow_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* One pass of a stream; its purse is empty at first, or full. */
static double
pass(const struct redactor *r, enum redact_as as, struct str text, bool is_empty,
    size_t *paid)
{
	struct redact_stream s;
	struct buf out;
	double begin = slow_now_ns();

	redact_stream_init(&s, r, as);
	if (is_empty)
		s.purse.left = 0;
	buf_init(&out, (size_t)1 << 32);
	for (size_t at = 0; at < text.n; at += PIECE) {
		redact_stream_feed(&s, str_sub(text, at, PIECE), &out);
		buf_reset(&out);
	}
	redact_stream_end(&s, &out);
	double ns = slow_now_ns() - begin;
	*paid = s.purse.paid;
	redact_stream_fini(&s);
	buf_fini(&out);
	return ns / (double)text.n;
}

static double
least(const struct redactor *r, enum redact_as as, struct str text, int rounds,
    bool is_empty, double *units)
{
	double best = 0;
	size_t paid = 0;

	for (int round = 0; round < rounds; round++) {
		double ns = pass(r, as, text, is_empty, &paid);

		if (round == 0 || ns < best)
			best = ns;
	}
	if (units != NULL)
		*units = (double)paid / (double)text.n;
	return best;
}

double
slow_cost(const struct redactor *r, enum redact_as as, struct str text, int rounds,
    double *units)
{
	return least(r, as, text, rounds, false, units);
}

/* ---- made up */

/* In parts: no text here is to look like a key. */
#define PEM_WORDS \
	("-----BEGIN " \
	 "PRIVATE KEY")
#define PEM_LINE \
	("-----BEGIN " \
	 "PRIVATE KEY-----\n")

static const char *const odd[] = { "eyJ.", "://a:b", "://a:b://", "password=$", "a:b@",
	"=", "MT.", PEM_WORDS, PEM_LINE, "~redacted.", "mysql ", "mysqldump -h ",
	"redis-cli -", "Bearer ", "\\\"", "--", "AKIA",
	("A3TABCD"
	 "EFGHIJKLMNOPQ "),
	"{\"token\":[", "{\"a\":", "[[", "://a:b/", "x\\", "password='", "password=''",
	"%41 ", "%41%", "&amp;", "&amp;\n", "VVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVV ",
	"4142434445464748 ", "{\\\"a\\\":", "[\"a\",", "s.a ", "wandb ", "$argon2id$",
	"$6$a$", "\\u0041 ", "key:", "token=${A} ", "a:111:", "*:*:*:*:* ",
	"password a\n", "Private-Lines: 1\n", "\n", "a\n", "\"token\":\"",
	"authorization: digest ", "--password ", "secret AAAAAAAAAAAAAAAAAAAA ",
	"[\"token\",\"a1\"],", "{\"d\":\"", "login a password ",
	"YWFhYWFhYWFhYWFhYWFhYWFhYWFh ",
	"WVdGaFlXRmhZV0ZoWVdGaFlXRmhZV0ZoWVdGaA== ", "a=%3D&", "{}{}", "{ \"", "pw=a1\n",
	"PASSWORD=hunter2\n", "{\"token\":\"a1\"}\n", "a{\\?b%2Fc_token=x&#5;\n" };

#define ODD (sizeof(odd) / sizeof(*odd))

static struct buf
repeated(struct str unit, size_t n)
{
	struct buf b;

	buf_init(&b, 2 * n + unit.n);
	while (unit.n > 0 && b.n < n)
		buf_str(&b, unit);
	return b;
}

void
slow_try(const struct redactor *r, struct str unit, const char *what, struct worst *worst)
{
	struct buf text = repeated(unit, TEXT_BYTES);

	for (int as = REDACT_TEXT; as <= REDACT_URL; as++) {
		double units;
		double ns =
		    slow_cost(r, (enum redact_as)as, buf_view(&text), ROUNDS, &units);

		if (getenv("VERBOSE") != NULL && ns > SAY_MORE_NS)
			printf("  %8.2f ns/byte  %5.1f units  %-6s %s\n", ns, units,
			    form_name[as], what);
		if (ns > worst->ns) {
			worst->ns = ns;
			worst->form = form_name[as];
			snprintf(worst->what, sizeof(worst->what), "%s", what);
		}
	}
	buf_fini(&text);
}

void
slow_try_made_up(const struct redactor *r, struct worst *worst)
{
	for (size_t i = 0; i < ODD; i++)
		slow_try(r, str_of(odd[i]), odd[i], worst);
}

/* Of a file its first bytes, in memory of this function's own. */
static struct str
read_file(const char *path)
{
	static char bytes[1 << 16];
	FILE *f = fopen(path, "rb");

	if (f == NULL) {
		perror(path);
		return STR_NONE;
	}
	size_t n = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	return (struct str){ bytes, n };
}

void
slow_try_file(const struct redactor *r, const char *path, struct worst *worst)
{
	slow_try(r, read_file(path), path, worst);
}

/* ---- the search */

#define POOL 48
#define UNIT_MAX ((size_t)4096)
#define CHANGES 4
#define AGAIN 4     /* one of so many turns */
#define FOUND_MAX 8 /* of each form are written */

struct unit {
	struct buf bytes;
	double ns;
};

struct search {
	const struct redactor *redactor;
	const char *directory;
	double limit;
	uint64_t state;
	struct unit pool[REDACT_URL + 1][POOL];
};

static size_t
chance(struct search *s, size_t below)
{
	s->state = s->state * 6364136223846793005U + 1442695040888963407U;
	return below == 0 ? 0 : (size_t)(s->state >> 33) % below;
}

static double
measure(const struct search *s, enum redact_as as, struct str unit, int rounds)
{
	struct buf text = repeated(unit, SEARCH_BYTES);
	double ns = least(s->redactor, as, buf_view(&text), rounds, true, NULL);

	buf_fini(&text);
	return ns;
}

/* In place of the one that costs least, when it costs more. */
static void
offer(struct search *s, enum redact_as as, struct str bytes)
{
	struct unit *pool = s->pool[as], *fast = pool;
	double ns = measure(s, as, bytes, 1);

	for (size_t i = 0; i < POOL; i++) {
		if (str_eq(buf_view(&pool[i].bytes), bytes))
			return;
		if (pool[i].ns < fast->ns)
			fast = &pool[i];
	}
	if (ns <= fast->ns || (ns = measure(s, as, bytes, ROUNDS)) <= fast->ns)
		return;
	buf_reset(&fast->bytes);
	buf_str(&fast->bytes, bytes);
	fast->ns = ns;
}

static struct str
some_bytes(struct search *s, enum redact_as as)
{
	struct str from = chance(s, 2) == 0
			      ? str_of(odd[chance(s, ODD)])
			      : buf_view(&s->pool[as][chance(s, POOL)].bytes);
	size_t at = chance(s, from.n);

	switch (chance(s, 3)) {
	case 0:
		return str_sub(from, at, 1 + chance(s, from.n - at));
	case 1:
		return str_sub(from, 0, 64);
	default:
		return str_sub(STR("\n \t\r\"\\=:{}[]&%~-"), chance(s, 18), 1);
	}
}

/* Some bytes put in, some taken out, and some said again. */
static void
change(struct search *s, enum redact_as as, struct buf *b)
{
	struct str old = buf_view(b), in = some_bytes(s, as);
	size_t at = chance(s, old.n + 1), gone = chance(s, 3) > 0 ? 0 : chance(s, 12);
	size_t times = chance(s, 8) > 0 ? 1 : 1 + chance(s, 24);
	struct buf new;

	if (chance(s, 3) == 0)
		in = str_sub(old, chance(s, old.n), 1 + chance(s, 32));
	if (chance(s, 6) == 0) {
		in = STR_NONE;
		gone = 1 + chance(s, old.n / 2 + 1);
	}
	buf_init(&new, SIZE_MAX / 2);
	buf_str(&new, str_sub(old, 0, at));
	while (times-- > 0)
		buf_str(&new, in);
	buf_str(&new, str_sub(old, at + gone, old.n));
	buf_reset(b);
	buf_str(b, str_sub(buf_view(&new), 0, UNIT_MAX));
	buf_fini(&new);
}

/* What else the machine did is not to keep it among the slowest. */
static void
measure_again(struct search *s, enum redact_as as, struct unit *u)
{
	double ns = measure(s, as, buf_view(&u->bytes), 1);

	if (ns < u->ns)
		u->ns = ns;
}

static void
search_turn(struct search *s)
{
	enum redact_as as = (enum redact_as)chance(s, REDACT_URL + 1);
	enum redact_as from =
	    chance(s, 8) > 0 ? as : (enum redact_as)chance(s, REDACT_URL + 1);
	struct unit *parent = &s->pool[from][chance(s, POOL)];
	struct buf b;

	if (chance(s, AGAIN) == 0)
		measure_again(s, from, parent);
	buf_init(&b, SIZE_MAX / 2);
	buf_str(&b, buf_view(&parent->bytes));
	for (size_t n = 1 + chance(s, CHANGES); n > 0; n--)
		change(s, as, &b);
	if (b.n > 0)
		offer(s, as, buf_view(&b));
	buf_fini(&b);
}

static void
search_init(struct search *s, char *const *files, int nfiles)
{
	for (int as = REDACT_TEXT; as <= REDACT_URL; as++)
		for (size_t i = 0; i < POOL; i++)
			buf_init(&s->pool[as][i].bytes, SIZE_MAX / 2);
	for (int as = REDACT_TEXT; as <= REDACT_URL; as++) {
		for (size_t i = 0; i < ODD; i++)
			offer(s, (enum redact_as)as, str_of(odd[i]));
		for (int i = 0; i < nfiles; i++)
			offer(s, (enum redact_as)as,
			    str_sub(read_file(files[i]), 0, UNIT_MAX));
	}
}

static int
by_ns(const void *a, const void *b)
{
	double x = ((const struct unit *)a)->ns, y = ((const struct unit *)b)->ns;

	return x > y ? -1 : x < y;
}

static void
write_unit(const struct search *s, enum redact_as as, size_t i)
{
	struct str bytes = buf_view(&s->pool[as][i].bytes);
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/slow-%s-%zu", s->directory, form_name[as], i);
	if ((f = fopen(path, "wb")) == NULL) {
		perror(path);
		return;
	}
	fwrite(bytes.p, 1, bytes.n, f);
	fclose(f);
}

static void
search_end(struct search *s)
{
	for (int as = REDACT_TEXT; as <= REDACT_URL; as++) {
		struct unit *pool = s->pool[as];

		for (size_t i = 0; i < POOL; i++)
			pool[i].ns =
			    measure(s, (enum redact_as)as, buf_view(&pool[i].bytes), 5);
		qsort(pool, POOL, sizeof(*pool), by_ns);
		for (size_t i = 0; i < FOUND_MAX && pool[i].ns > s->limit; i++)
			write_unit(s, (enum redact_as)as, i);
		struct buf text = repeated(buf_view(&pool[0].bytes), TEXT_BYTES);
		printf("%-6s %8.2f ns/byte, with a full purse %.2f\n", form_name[as],
		    pool[0].ns,
		    slow_cost(
			s->redactor, (enum redact_as)as, buf_view(&text), ROUNDS, NULL));
		buf_fini(&text);
		for (size_t i = 0; i < POOL; i++)
			buf_fini(&pool[i].bytes);
	}
}

void
slow_search(const struct redactor *r, unsigned seconds, double limit,
    const char *directory, char *const *files, int nfiles)
{
	struct search *s = mem_zalloc(sizeof(*s));
	double end = slow_now_ns() + 1e9 * seconds;
	size_t turns = 0;

	*s = (struct search){ .redactor = r,
		.directory = directory,
		.limit = limit,
		.state = (uint64_t)time(NULL) };
	search_init(s, files, nfiles);
	for (; slow_now_ns() < end; turns++)
		search_turn(s);
	printf("%zu units\n", turns);
	search_end(s);
	free(s);
}
