/*
 * name.c - does a key's name say that its value is a secret
 */
#include "audit/name.h"

#include <string.h>

#define ANY (NAME_IN_TEXT | NAME_IN_JSON | NAME_IN_QUERY)
#define DATA (NAME_IN_JSON | NAME_IN_QUERY)

/* The last words of a name, and where they mean a secret. */
static const struct ending {
	const char *words;
	const char *kind;
	unsigned places;
	bool is_whole; /* the name is nothing else: "code", not "error code" */
} endings[] = {
	{ "password", "password", ANY, false },
	{ "passwd", "password", ANY, false },
	{ "pwd", "password", ANY, false },
	{ "passphrase", "password", ANY, false },
	{ "pass phrase", "password", ANY, false },
	{ "pass", "password", DATA, true },
	{ "secret", "secret", ANY, false },
	{ "secrets", "secret", NAME_IN_JSON, false },
	{ "token", "token", ANY, false },
	{ "api key", "api-key", ANY, false },
	{ "apikey", "api-key", ANY, false },
	{ "access key", "secret-key", ANY, false },
	{ "account key", "secret-key", ANY, false },
	{ "auth key", "secret-key", ANY, false },
	{ "encryption key", "secret-key", ANY, false },
	{ "functions key", "secret-key", ANY, false },
	{ "key data", "secret-key", ANY, false },
	{ "master key", "secret-key", ANY, false },
	{ "secret key", "secret-key", ANY, false },
	{ "service key", "secret-key", ANY, false },
	{ "signing key", "secret-key", ANY, false },
	{ "storage key", "secret-key", ANY, false },
	{ "subscription key", "secret-key", ANY, false },
	{ "private key", "private-key", ANY, false },
	{ "authorization", "authorization", ANY, false },
	{ "cookie", "cookie", ANY, false },
	{ "credential", "credential", ANY, false },
	{ "credentials", "credential", ANY, false },
	{ "connection string", "credential", ANY, false },
	{ "dsn", "credential", DATA, false },
	{ "jwt", "token", DATA, false },
	{ "cert", "certificate", DATA, false },
	{ "certificate", "certificate", DATA, false },
	{ "pfx", "certificate", DATA, false },
	{ "pkcs12", "certificate", DATA, false },
	{ "keystore", "certificate", DATA, false },
	{ "otp", "password", DATA, false },
	{ "totp", "password", DATA, false },
	{ "pin", "password", DATA, true },
	{ "auth", "token", NAME_IN_QUERY, true },
	{ "code", "token", NAME_IN_QUERY, true },
	{ "key", "api-key", NAME_IN_QUERY, true },
	{ "sig", "signature", NAME_IN_QUERY, true },
	{ "signature", "signature", NAME_IN_QUERY, false },
};

/* "DB_PASS" is a password, "bypass" and "pass" in a test's output are none. */
static const char pass_word[] = " pass";

/* Written without a break: PGPASSWORD, csrftoken; a longer word (tokenizer) does not end
 * so. */
static const struct {
	const char *tail;
	const char *kind;
} glued[] = {
	{ "password", "password" },
	{ "passwd", "password" },
	{ "passphrase", "password" },
	{ "apikey", "api-key" },
	{ "accesskey", "secret-key" },
	{ "secretkey", "secret-key" },
	{ "privatekey", "private-key" },
	{ "secret", "secret" },
	{ "token", "token" },
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

/* " client secret": lower case, one blank before each word. */
static struct str
words_of(struct str name, char out[static 2 * WORDS_MAX + 1])
{
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
ends_with_words(struct str words, const struct ending *e)
{
	size_t n = strlen(e->words);
	if (words.n < n + 1 || memcmp(words.p + words.n - n, e->words, n) != 0)
		return false;
	return e->is_whole ? words.n == n + 1 : words.p[words.n - n - 1] == ' ';
}

const char *
name_kind(struct str name, enum name_place place)
{
	char text[2 * WORDS_MAX + 1];
	struct str words = words_of(name, text);

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if ((endings[i].places & place) != 0 &&
		    ends_with_words(words, &endings[i]))
			return endings[i].kind;
	if (words.n > sizeof(pass_word) && str_ends(words, STR(pass_word)))
		return "password";
	for (size_t i = 0; i < sizeof(glued) / sizeof(*glued); i++)
		if (str_ends(words, str_of(glued[i].tail)))
			return glued[i].kind;
	return NULL;
}

bool
name_kind_exists(struct str kind)
{
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if (str_eq(kind, str_of(endings[i].kind)))
			return true;
	return false;
}
