/*
 * random.c - does a run of letters and digits look like a key that nobody named
 */
#include "audit/random.h"

#include <pthread.h>
#include <string.h>

#define NEAR 40     /* bytes before a run in which a word speaks of it */
#define LONG 32     /* with two classes only */
#define RUN_MAX 512 /* a longer run is data */
#define EVEN \
	82 /* percent of the entropy its length allows; 64 random digits: 88 +- 2 \
	    */
#define WORD_LETTERS 5 /* small letters in a row that are a word's */
#define RUN_COST 24    /* what is right before a run is looked at */
#define GLANCE_COST 3  /* a word before it, by its first letter and its length */
#define WORD_COST 24   /* ... by all lists */
#define CENSUS_COST 40 /* its bytes are counted, whatever its length */

#define W(literal) \
	{ \
		literal, sizeof(literal) - 1 \
	}

/* ---- words before it */

static const struct str telling[] = { W("secret"), W("secrets"), W("token"), W("tokens"),
	W("password"), W("passwd"), W("passphrase"), W("pass"), W("credential"),
	W("credentials"), W("creds"), W("key"), W("keys"), W("apikey"), W("code"),
	W("pairing"), W("bearer"), W("auth"), W("authorization"), W("login"), W("cookie"),
	W("jwt"), W("seed"), W("otp"), W("pin"), W("license"), W("licence"), W("webhook"),
	W("private"), W("signing"), W("recovery"), W("backup"), W("pat"), { NULL, 0 } };

/* What is named so is to be seen: "public key", "error code", "cache key", "key id". */
static const struct str public[] = { W("public"), W("pubkey"), W("fingerprint"),
	W("thumbprint"), W("hash"), W("hashes"), W("digest"), W("checksum"),
	W("integrity"), W("sha"), W("sha1"), W("sha256"), W("sha384"), W("sha512"),
	W("md5"), W("etag"), W("id"), W("ids"), W("uuid"), W("commit"), W("revision"),
	W("error"), W("exit"), W("status"), W("cache"), W("primary"), W("sort"),
	W("foreign"), W("partition"), W("object"), W("idempotency"), W("trace"),
	W("span"), W("request"), W("ssh"), W("rsa"), W("dsa"), W("ed25519"), W("ecdsa"),
	W("cursor"), W("host"), W("certificate"), W("path"), W("file"), W("package"),
	W("module"), W("class"), W("version"), W("signature"), W("nonce"), W("image"),
	W("layer"), W("block"), W("zip"), W("country"), W("source"), W("byte"),
	{ NULL, 0 } };

/* For each first letter, how long the words are that begin with it: a bit each. */
static uint32_t lengths[26];

static void
note_lengths(const struct str *words)
{
	for (; words->p != NULL; words++)
		lengths[words->p[0] - 'a'] |= (uint32_t)1 << words->n;
}

/* Most words are in no list, and are told by their first letter and their length. */
static bool
may_be_any(struct str word)
{
	unsigned first = (unsigned)(unsigned char)ascii_lower(word.p[0]) - 'a';

	return first < 26 && word.n < 32 && (lengths[first] >> word.n & 1) != 0;
}

static bool
is_any(struct str word, const struct str *words)
{
	for (; words->p != NULL; words++)
		if (word.n == words->n && ascii_lower(word.p[0]) == words->p[0] &&
		    str_eq_nocase(word, *words))
			return true;
	return false;
}

/* The last word before `to`, at or behind `from`. */
static bool
word_before(struct str line, size_t from, size_t *to, struct str *word)
{
	size_t end = *to;

	while (end > from && !ascii_is_alnum(line.p[end - 1]))
		end--;
	size_t begin = end;
	while (begin > from && ascii_is_alnum(line.p[begin - 1]))
		begin--;
	*to = begin;
	*word = str_sub(line, begin, end - begin);
	return end > begin;
}

static bool
is_spoken_of(struct str line, size_t at, size_t *work)
{
	size_t from = at > NEAR ? at - NEAR : 0;
	struct str word;
	bool is_told = false;

	while (word_before(line, from, &at, &word)) {
		*work += GLANCE_COST;
		if (!may_be_any(word))
			continue;
		*work += WORD_COST;
		if (is_any(word, public))
			return false;
		is_told = is_told || is_any(word, telling);
	}
	return is_told;
}

/* ---- what stands right before it */

static const struct str prefixes[] = { W("sha1:"), W("sha1-"), W("sha256:"), W("sha256-"),
	W("sha384:"), W("sha384-"), W("sha512:"), W("sha512-"), W("md5:"), W("md5-"),
	W("h1:"), W("base64,"), W("-----"), W("\\n"), W("@"), W("/"), W("."), W("#"),
	W("%"), W("~"), W("\\"), W("$"), { NULL, 0 } };

static bool
ends_with_any(struct str s, const struct str *tails)
{
	for (; tails->p != NULL; tails++) {
		struct str tail = *tails;

		if (s.n >= tail.n &&
		    str_eq_nocase(str_sub(s, s.n - tail.n, tail.n), tail))
			return true;
	}
	return false;
}

/* key=RUN, "key": RUN: it has a name of its own, which was judged. */
static bool
has_own_name(struct str before)
{
	while (before.n > 0 && strchr(" \t\"'", before.p[before.n - 1]) != NULL &&
	       before.p[before.n - 1] != '\0')
		before.n--;
	return before.n > 1 &&
	       (before.p[before.n - 1] == '=' || before.p[before.n - 1] == ':') &&
	       (ascii_is_alnum(before.p[before.n - 2]) ||
		   strchr("\"'_]", before.p[before.n - 2]) != NULL);
}

/* ---- the run itself */

static const struct str public_runs[] = { W("chatcmpl-"), W("cmpl-"), W("msg_"),
	W("toolu_"), W("call_"), W("resp_"), W("run_"), W("file-"), W("asst_"),
	W("thread_"), W("step_"), W("req_"), W("batch_"), W("gen-"), W("fp_"), W("rs_"),
	W("srvtoolu_"), W("container_"), W("sha1-"), W("sha256-"), W("sha384-"),
	W("sha512-"), W("AAAA"), W("MII"), W("age1"), W("pk_"), W("pk-"), W("sbp-"),
	W("LS0tLS1CRUdJTiBD"), W("LS0tLS1CRUdJTiBQVUJ"), { NULL, 0 } };

static bool
begins_with_any(struct str s, const struct str *heads)
{
	for (; heads->p != NULL; heads++)
		if (s.p[0] == heads->p[0] && str_starts(s, *heads))
			return true;
	return false;
}

struct census {
	unsigned char seen[256]; /* how often; a run is short */
	size_t upper, lower, digit, other, hex;
	size_t words;         /* small letters in stretches that are a word's */
	size_t url, standard; /* - and _ are of one alphabet, + and / of another */
};

static void
count_words(struct census *c, size_t *stretch)
{
	if (*stretch >= WORD_LETTERS)
		c->words += *stretch;
	*stretch = 0;
}

static struct census
census_of(struct str run)
{
	struct census c = { 0 };
	size_t stretch = 0;

	for (size_t i = 0; i < run.n; i++) {
		char b = run.p[i];
		bool is_lower = b >= 'a' && b <= 'z';

		if (c.seen[(unsigned char)b] < 255)
			c.seen[(unsigned char)b]++;
		c.lower += is_lower;
		c.upper += b >= 'A' && b <= 'Z';
		c.digit += ascii_is_digit(b);
		c.hex += ascii_is_hex(b) || b == '-';
		c.url += b == '-' || b == '_';
		c.standard += b == '+' || b == '/';
		if (is_lower)
			stretch++;
		else
			count_words(&c, &stretch);
	}
	count_words(&c, &stretch);
	return c;
}

#define ONE 1024 /* bits are counted in parts of it */

/* log2, n > 0: squared again and again, a number gives a digit each time. */
static unsigned
log2_of(unsigned n)
{
	unsigned whole = 31 - (unsigned)__builtin_clz(n);
	unsigned bits = whole * ONE;
	uint64_t x = ((uint64_t)n << 16) >> whole; /* 1 <= x / 65536 < 2 */

	if ((n & (n - 1)) == 0)
		return bits;
	for (unsigned digit = ONE / 2; digit > 0; digit /= 2) {
		x = x * x >> 16;
		if (x >= (uint64_t)2 << 16) {
			x >>= 1;
			bits += digit;
		}
	}
	return bits;
}

static unsigned logarithms[RUN_MAX + 1]; /* of what can be counted in a run */
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void
make_tables(void)
{
	note_lengths(telling);
	note_lengths(public);
	for (unsigned n = 1; n <= RUN_MAX; n++)
		logarithms[n] = log2_of(n);
}

/* Shannon's entropy, in percent of what the length and 64 digits allow. */
static size_t
evenness(const struct census *c, size_t n)
{
	size_t bits = n * logarithms[n];

	for (size_t i = '+'; i <= 'z'; i++)
		if (c->seen[i] > 0)
			bits -= c->seen[i] * (size_t)logarithms[c->seen[i]];
	return 100 * bits / (n * logarithms[n < 64 ? n : 64]);
}

static bool
looks_random(struct str run)
{
	struct census c = census_of(run);
	int classes = (c.upper > 0) + (c.lower > 0) + (c.digit > 0);

	if (c.hex == run.n || (c.url > 0 && c.standard > 0) || 3 * c.words > run.n)
		return false;
	if (classes < 2 || c.digit == 0 || (classes == 2 && run.n < LONG))
		return false;
	return evenness(&c, run.n) >= EVEN;
}

bool
random_is_secret(struct str line, size_t from, size_t to, size_t *work)
{
	struct str run = str_sub(line, from, to - from);
	struct str before = str_sub(line, 0, from);

	pthread_once(&tables_once, make_tables);
	*work += RUN_COST;
	if (run.n < RANDOM_MIN || run.n > RUN_MAX || begins_with_any(run, public_runs) ||
	    ends_with_any(before, prefixes) || has_own_name(before))
		return false;
	if (!is_spoken_of(line, from, work)) /* the cheaper one first */
		return false;
	*work += run.n / 2 + CENSUS_COST;
	return looks_random(run);
}
