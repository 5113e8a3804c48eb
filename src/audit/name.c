/*
 * name.c - does a key's name say that its value is a secret
 */
#include "audit/name.h"

#include <pthread.h>
#include <string.h>

#define ANY (NAME_IN_TEXT | NAME_IN_JSON | NAME_IN_QUERY)
#define DATA (NAME_IN_JSON | NAME_IN_QUERY)

#define MANY (NAME_IN_JSON | NAME_IN_LIST)

#define WORDS(literal) \
	{ \
		literal, sizeof(literal) - 1 \
	}

/* The last words of a name, and where they mean a secret. */
static const struct ending {
	struct str words;
	const char *kind;
	unsigned places;
	bool is_whole; /* the name is nothing else: "code", not "error code" */
} endings[] = {
	{ WORDS("password"), "password", ANY, false },
	{ WORDS("passwd"), "password", ANY, false },
	{ WORDS("pwd"), "password", ANY, false },
	{ WORDS("passphrase"), "password", ANY, false },
	{ WORDS("pass phrase"), "password", ANY, false },
	{ WORDS("pass"), "password", DATA, true },
	{ WORDS("passcode"), "password", ANY, false },
	{ WORDS("pw"), "password", ANY, false },
	{ WORDS("passwords"), "password", MANY, false },
	{ WORDS("password confirm"), "password", ANY, false },
	{ WORDS("password confirmation"), "password", ANY, false },
	{ WORDS("password hash"), "password", ANY, false },
	{ WORDS("password new"), "password", ANY, false },
	{ WORDS("password old"), "password", ANY, false },
	{ WORDS("secret"), "secret", ANY, false },
	{ WORDS("secrets"), "secret", MANY, false },
	{ WORDS("token"), "token", ANY, false },
	{ WORDS("tokens"), "token", NAME_IN_LIST, true },
	{ WORDS("bearer"), "token", ANY, true },
	{ WORDS("access tokens"), "token", MANY, false },
	{ WORDS("api tokens"), "token", MANY, false },
	{ WORDS("auth tokens"), "token", MANY, false },
	{ WORDS("refresh tokens"), "token", MANY, false },
	{ WORDS("api key"), "api-key", ANY, false },
	{ WORDS("apikey"), "api-key", ANY, false },
	{ WORDS("api keys"), "api-key", MANY, false },
	{ WORDS("apikeys"), "api-key", MANY, false },
	{ WORDS("app key"), "api-key", ANY, false },
	{ WORDS("application key"), "api-key", ANY, false },
	{ WORDS("access key"), "secret-key", ANY, false },
	{ WORDS("account key"), "secret-key", ANY, false },
	{ WORDS("auth key"), "secret-key", ANY, false },
	{ WORDS("decryption key"), "secret-key", ANY, false },
	{ WORDS("encryption key"), "secret-key", ANY, false },
	{ WORDS("hmac key"), "secret-key", ANY, false },
	{ WORDS("preshared key"), "secret-key", ANY, false },
	{ WORDS("pre shared key"), "secret-key", ANY, false },
	{ WORDS("psk"), "secret-key", ANY, false },
	{ WORDS("access keys"), "secret-key", MANY, false },
	{ WORDS("secret keys"), "secret-key", MANY, false },
	{ WORDS("secret key base"), "secret-key", ANY, false },
	{ WORDS("functions key"), "secret-key", ANY, false },
	{ WORDS("key data"), "secret-key", ANY, false },
	{ WORDS("master key"), "secret-key", ANY, false },
	{ WORDS("secret key"), "secret-key", ANY, false },
	{ WORDS("service key"), "secret-key", ANY, false },
	{ WORDS("signing key"), "secret-key", ANY, false },
	{ WORDS("storage key"), "secret-key", ANY, false },
	{ WORDS("subscription key"), "secret-key", ANY, false },
	{ WORDS("private key"), "private-key", ANY, false },
	{ WORDS("private keys"), "private-key", MANY, false },
	{ WORDS("authorization"), "authorization", ANY, false },
	{ WORDS("cookie"), "cookie", ANY, false },
	{ WORDS("cookies"), "cookie", MANY, false },
	{ WORDS("credential"), "credential", ANY, false },
	{ WORDS("credentials"), "credential", ANY, false },
	{ WORDS("creds"), "credential", ANY, false },
	{ WORDS("mnemonic"), "credential", DATA, false },
	{ WORDS("recovery code"), "credential", ANY, false },
	{ WORDS("seed phrase"), "credential", ANY, false },
	{ WORDS("connection string"), "credential", ANY, false },
	{ WORDS("dsn"), "credential", DATA, false },
	{ WORDS("jwt"), "token", DATA, false },
	{ WORDS("cert"), "certificate", DATA, false },
	{ WORDS("certificate"), "certificate", DATA, false },
	{ WORDS("pfx"), "certificate", DATA, false },
	{ WORDS("pkcs12"), "certificate", DATA, false },
	{ WORDS("keystore"), "certificate", DATA, false },
	{ WORDS("otp"), "password", DATA, false },
	{ WORDS("totp"), "password", DATA, false },
	{ WORDS("pin"), "password", DATA, true },
	{ WORDS("session id"), "session", DATA, false },
	{ WORDS("sessionid"), "session", DATA, false },
	{ WORDS("x session id"), "session", ANY, true },
	{ WORDS("net session id"), "session", ANY, false },
	{ WORDS("jsessionid"), "session", ANY, false },
	{ WORDS("phpsessid"), "session", ANY, false },
	{ WORDS("sessid"), "session", ANY, true },
	{ WORDS("connect sid"), "session", ANY, false },
	{ WORDS("sid"), "session", NAME_IN_QUERY, true },
	{ WORDS("x auth"), "token", ANY, true },
	{ WORDS("auth"), "token", NAME_IN_QUERY, true },
	{ WORDS("code"), "token", NAME_IN_QUERY, true },
	{ WORDS("key"), "api-key", NAME_IN_QUERY, true },
	{ WORDS("sig"), "signature", NAME_IN_QUERY, true },
	{ WORDS("signature"), "signature", NAME_IN_QUERY, false },
};

/* Words for many things, which what follows them tells apart. */
static const struct {
	struct str words;
	const char *kind;
	enum name_proof proof;
	bool is_whole;
} doubtful[] = {
	{ WORDS("pass"), "password", NAME_WANTS_MIX, true },
	{ WORDS("pin"), "password", NAME_WANTS_DIGITS, true },
	{ WORDS("otp"), "password", NAME_WANTS_CODE, false },
	{ WORDS("totp"), "password", NAME_WANTS_CODE, false },
	{ WORDS("jwt"), "token", NAME_WANTS_LONG, false },
	{ WORDS("session id"), "session", NAME_WANTS_LONG, false },
	{ WORDS("sessionid"), "session", NAME_WANTS_LONG, false },
};

/* "DB_PASS" is a password, "bypass" and "pass" in a test's output are none. */
static const char pass_word[] = " pass";

/* Written without a break: PGPASSWORD, csrftoken; a longer word (tokenizer) does not end
 * so. */
static const struct {
	struct str tail;
	const char *kind;
} glued[] = {
	{ WORDS("password"), "password" },
	{ WORDS("passwd"), "password" },
	{ WORDS("passphrase"), "password" },
	{ WORDS("apikey"), "api-key" },
	{ WORDS("accesskey"), "secret-key" },
	{ WORDS("secretkey"), "secret-key" },
	{ WORDS("privatekey"), "private-key" },
	{ WORDS("accountkey"), "secret-key" },
	{ WORDS("authkey"), "secret-key" },
	{ WORDS("encryptionkey"), "secret-key" },
	{ WORDS("masterkey"), "secret-key" },
	{ WORDS("presharedkey"), "secret-key" },
	{ WORDS("signingkey"), "secret-key" },
	{ WORDS("passcode"), "password" },
	{ WORDS("storepass"), "password" },
	{ WORDS("keypass"), "password" },
	{ WORDS("secret"), "secret" },
	{ WORDS("token"), "token" },
};

#define WORDS_MAX 64 /* a name's end decides; what lies further left does not matter */

static bool
is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool
is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

/* fooBar, FOOBar, foo2Bar: a new word begins at B. */
static bool
begins_word(struct str name, size_t i)
{
	char c = name.p[i];
	if (i == 0 || !is_upper(c))
		return false;
	if (!is_upper(name.p[i - 1]))
		return true;
	return i + 1 < name.n && is_lower(name.p[i + 1]);
}

#define TAIL 8 /* bytes that are compared at once */
#define WORDS_ROOM (TAIL + 2 * WORDS_MAX + 1)

/* " client secret": lower case, one blank before each word; TAIL bytes may be read up to
 * its end, however short it is. */
static struct str
words_of(struct str name, char out[static WORDS_ROOM])
{
	memset(out, 0, TAIL);
	out += TAIL;
	if (name.n > WORDS_MAX)
		name = str_sub(name, name.n - WORDS_MAX, WORDS_MAX);

	size_t n = 0;
	bool is_between = true;
	for (size_t i = 0; i < name.n; i++) {
		if (!ascii_is_alnum(name.p[i])) {
			is_between = true;
			continue;
		}
		if (is_between || begins_word(name, i))
			out[n++] = ' ';
		is_between = false;
		out[n++] = ascii_lower(name.p[i]);
	}
	return (struct str){ out, n };
}

static bool
ends_with(struct str words, struct str tail)
{
	return words.n > tail.n &&
	       memcmp(words.p + words.n - tail.n, tail.p, tail.n) == 0;
}

static bool
ends_with_words(struct str words, struct str tail, bool is_whole)
{
	if (!ends_with(words, tail))
		return false;
	return is_whole ? words.n == tail.n + 1 : words.p[words.n - tail.n - 1] == ' ';
}

/* password1, api_key_2: one of several, as forms and environments have them. */
static struct str
without_number(struct str words)
{
	while (words.n > 0 &&
	       (ascii_is_digit(words.p[words.n - 1]) || words.p[words.n - 1] == ' '))
		words.n--;
	return words;
}

/*
 * Nearly all names are told apart by their last letter: the rows of either table that end
 * with it, as a list in the table's order (row + 1; 0: no more).
 */
#define ENDINGS (sizeof(endings) / sizeof(*endings))
#define GLUED (sizeof(glued) / sizeof(*glued))

static struct {
	uint8_t ending[256], glued[256];
	uint8_t next_ending[ENDINGS], next_glued[GLUED];
	/* the last bytes of each, and of those before which a blank must be with it */
	struct tail {
		uint64_t bytes, mask;
	} ending_tail[ENDINGS], glued_tail[GLUED];
} by_last;
static pthread_once_t by_last_once = PTHREAD_ONCE_INIT;

static void
index_last(uint8_t first[static 256], uint8_t *next, size_t row, struct str words)
{
	uint8_t *at = &first[(unsigned char)words.p[words.n - 1]];

	next[row] = *at;
	*at = (uint8_t)(row + 1);
}

/* A bit for each three letters that a name may end with that says something. */
#define LETTERS 26
static uint64_t threes[LETTERS * LETTERS * LETTERS / 64 + 1];

static size_t
three(char a, char b, char c)
{
	return ((size_t)(a - 'a') * LETTERS + (size_t)(b - 'a')) * LETTERS +
	       (size_t)(c - 'a');
}

/* "pkcs12" as "pkcs", "session id" as "sessionid"; what is shorter has any letter before
 * it. */
static void
add_three(struct str words)
{
	char last[3] = { 'a', 0, 0 };
	size_t n = 3;

	for (size_t i = words.n; i > 0 && n > 0; i--)
		if (words.p[i - 1] >= 'a' && words.p[i - 1] <= 'z')
			last[--n] = words.p[i - 1];
	for (int other = 0; other < (n > 0 ? LETTERS : 1); other++) {
		size_t bit = three(last[0], last[1], last[2]);

		threes[bit / 64] |= (uint64_t)1 << bit % 64;
		last[0]++;
	}
}

static void
index_threes(void)
{
	for (size_t i = 0; i < ENDINGS; i++)
		add_three(endings[i].words);
	for (size_t i = 0; i < GLUED; i++)
		add_three(glued[i].tail);
	add_three(STR(pass_word));
	add_three(STR("_auth"));
}

static uint64_t
last_bytes(struct str s)
{
	uint64_t bytes;

	memcpy(&bytes, s.p + s.n - TAIL, TAIL);
	return bytes;
}

static struct tail
tail_of(struct str words, bool is_begun)
{
	char text[TAIL] = { 0 }, mask[TAIL] = { 0 };
	size_t at = TAIL;

	for (size_t i = words.n; i > 0 && at > 0; i--) {
		text[--at] = words.p[i - 1];
		mask[at] = (char)0xff;
	}
	if (is_begun && at > 0) {
		text[--at] = ' ';
		mask[at] = (char)0xff;
	}
	return (struct tail){ last_bytes((struct str){ text, TAIL }),
		last_bytes((struct str){ mask, TAIL }) };
}

/* Nearly all are told apart by it. */
static inline bool
has_tail(uint64_t last, const struct tail *tail)
{
	return (last & tail->mask) == tail->bytes;
}

static void
index_rows(void)
{
	_Static_assert(ENDINGS < 256 && GLUED < 256, "a row and one more is a byte");

	index_threes();
	for (size_t i = ENDINGS; i-- > 0;) {
		index_last(by_last.ending, by_last.next_ending, i, endings[i].words);
		by_last.ending_tail[i] = tail_of(endings[i].words, true);
	}
	for (size_t i = GLUED; i-- > 0;) {
		index_last(by_last.glued, by_last.next_glued, i, glued[i].tail);
		by_last.glued_tail[i] = tail_of(glued[i].tail, false);
	}
}

static const char *
kind_of_words(struct str words, enum name_place place, bool is_numbered)
{
	unsigned char last = words.n > 0 ? (unsigned char)words.p[words.n - 1] : 0;
	uint64_t bytes = last_bytes(words);

	for (size_t i = by_last.ending[last]; i > 0; i = by_last.next_ending[i - 1]) {
		const struct ending *e = &endings[i - 1];

		if (has_tail(bytes, &by_last.ending_tail[i - 1]) &&
		    (e->places & place) != 0 && !(is_numbered && e->is_whole) &&
		    ends_with_words(words, e->words, e->is_whole))
			return e->kind;
	}
	if (words.n > sizeof(pass_word) && str_ends(words, STR(pass_word)))
		return "password";
	for (size_t i = by_last.glued[last]; i > 0; i = by_last.next_glued[i - 1])
		if (has_tail(bytes, &by_last.glued_tail[i - 1]) &&
		    ends_with(words, glued[i - 1].tail))
			return glued[i - 1].kind;
	return NULL;
}

bool
name_ends_like_kind(struct str name)
{
	char last[3];

	pthread_once(&by_last_once, index_rows);
	while (name.n > 0 && (ascii_is_digit(name.p[name.n - 1]) ||
				 !ascii_is_alnum(name.p[name.n - 1])))
		name.n--;
	if (name.n < 3)
		return name.n > 1;
	for (size_t i = 0; i < 3; i++) {
		last[i] = ascii_lower(name.p[name.n - 3 + i]);
		if (!is_lower(last[i]))
			return true;
	}
	size_t bit = three(last[0], last[1], last[2]);
	return (threes[bit / 64] >> bit % 64 & 1) != 0;
}

const char *
name_kind(struct str name, enum name_place place)
{
	char text[WORDS_ROOM];

	if (!name_ends_like_kind(name))
		return NULL;
	struct str words = words_of(name, text);
	const char *kind = kind_of_words(words, place, false);
	struct str root = without_number(words);

	if (kind == NULL && root.n < words.n)
		kind = kind_of_words(root, place, true);
	if (kind == NULL && str_eq(name, STR("_auth"))) /* npm's login */
		kind = "token";
	return kind;
}

/* Most names are told by their last two bytes, before their words are. */
static bool
may_be_doubtful(struct str name)
{
	struct str last = str_sub(name, name.n < 2 ? 0 : name.n - 2, 2);

	for (size_t i = 0; i < sizeof(doubtful) / sizeof(*doubtful); i++) {
		struct str words = doubtful[i].words;

		if (str_eq_nocase(last, str_sub(words, words.n - 2, 2)))
			return true;
	}
	return false;
}

const char *
name_kind_in_doubt(struct str name, enum name_proof *proof)
{
	char text[WORDS_ROOM];
	struct str words;

	if (!may_be_doubtful(name))
		return NULL;
	words = words_of(name, text);
	for (size_t i = 0; i < sizeof(doubtful) / sizeof(*doubtful); i++)
		if (ends_with_words(words, doubtful[i].words, doubtful[i].is_whole)) {
			*proof = doubtful[i].proof;
			return doubtful[i].kind;
		}
	return NULL;
}

/* What stands before "name", "key" or "value" when it is a pair's. */
static bool
is_of_pair(struct str before)
{
	static const char *const words[] = { "parameter", "option", "header", "field",
		"attribute", "property", "variable", "env", "setting", NULL };

	while (before.n > 0 && !ascii_is_alnum(before.p[before.n - 1]))
		before.n--;
	return before.n == 0 || str_is_any(before, words);
}

static bool
ends_as(struct str key, struct str tail, struct str *before)
{
	if (key.n < tail.n || !str_eq_nocase(str_sub(key, key.n - tail.n, tail.n), tail))
		return false;
	*before = str_sub(key, 0, key.n - tail.n);
	return true;
}

enum name_role
name_role(struct str key)
{
	static const char *const names[] = { "header", "field", NULL };
	static const char *const values[] = { "val", "string_value", NULL };
	struct str before;

	switch (key.n > 0 ? key.p[key.n - 1] | 0x20 : 0) {
	case 'e':
		if (ends_as(key, STR("value"), &before) && is_of_pair(before))
			return NAME_IS_VALUE;
		if (str_is_any(key, values))
			return NAME_IS_VALUE;
		return ends_as(key, STR("name"), &before) && is_of_pair(before)
			   ? NAME_NAMES
			   : NAME_IS_OTHER;
	case 'y':
		return ends_as(key, STR("key"), &before) && is_of_pair(before)
			   ? NAME_NAMES
			   : NAME_IS_OTHER;
	case 'l':
		return str_is_any(key, values) ? NAME_IS_VALUE : NAME_IS_OTHER;
	case 'r':
	case 'd':
		return str_is_any(key, names) ? NAME_NAMES : NAME_IS_OTHER;
	default:
		return NAME_IS_OTHER;
	}
}

bool
name_kind_exists(struct str kind)
{
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if (kind.n > 0 && endings[i].kind[0] == kind.p[0] &&
		    str_eq(kind, str_of(endings[i].kind)))
			return true;
	return false;
}

const char *
name_kind_at(size_t row)
{
	return row < ENDINGS ? endings[row].kind : NULL;
}

static void
add_end(uint32_t ends[static NAME_ENDS], struct str words)
{
	unsigned char last = (unsigned char)words.p[words.n - 1];
	unsigned char before = (unsigned char)words.p[words.n - 2];

	ends[last] |= (uint32_t)1 << (before & 31);
}

void
name_ends(uint32_t ends[static NAME_ENDS])
{
	memset(ends, 0, NAME_ENDS * sizeof(*ends));
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		add_end(ends, endings[i].words);
	for (size_t i = 0; i < sizeof(glued) / sizeof(*glued); i++)
		add_end(ends, glued[i].tail);
	add_end(ends, STR(pass_word));
	add_end(ends, STR("_auth"));
}
