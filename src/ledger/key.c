/*
 * key.c - the names of rows
 */
#include "ledger/key.h"

#include <assert.h>
#include <openssl/sha.h>
#include <string.h>
#include <time.h>

static const struct {
	char letter;
	unsigned nparts; /* of issuer, tenant, sid, turn */
} kinds[] = {
	[LEDGER_TURN] = { 't', 4 },
	[LEDGER_SESSION] = { 's', 3 },
	[LEDGER_ANCESTOR] = { 's',
	    3 }, /* what it spends counts where its own spend does */
	[LEDGER_TENANT] = { 'n', 2 },
	[LEDGER_PUBLIC] = { 'p', 0 },
	[LEDGER_TOTAL] = { 'a', 0 },
};

/* A call names some thirty rows, and printf() was a tenth of what it cost. */
void
key_put(struct buf *to, struct str part)
{
	char digits[STR_DIGITS];

	buf_str(to, str_digits(digits, part.n));
	buf_char(to, ':');
	buf_str(to, part);
}

bool
key_next(struct str *rest, struct str *part)
{
	uint64_t n;
	size_t colon;

	if (!str_find(*rest, ':', &colon) || !str_decimal(str_sub(*rest, 0, colon), &n) ||
	    n > rest->n - colon - 1)
		return false;
	*part = str_sub(*rest, colon + 1, (size_t)n);
	*rest = str_sub(*rest, colon + 1 + (size_t)n, rest->n);
	return true;
}

bool
key_scope(struct buf *to, const struct ledger_scope *s)
{
	const struct str parts[] = { s->issuer, s->tenant, s->sid, s->turn };

	if ((unsigned)s->kind > LEDGER_TOTAL)
		return false;
	buf_char(to, kinds[s->kind].letter);
	for (unsigned i = 0; i < kinds[s->kind].nparts; i++) {
		bool may_be_empty = i == 0 && s->kind == LEDGER_TENANT;

		if ((parts[i].n == 0 && !may_be_empty) || parts[i].n > KEY_PART_MAX)
			return false;
		key_put(to, parts[i]);
	}
	return true;
}

bool
key_scope_parts(struct str scope, struct str *parts)
{
	if (scope.n == 0 || strchr("tsn", scope.p[0]) == NULL)
		return false;
	*parts = str_sub(scope, 1, scope.n);
	return true;
}

/* What is behind the parts: nothing, or the window. */
static bool
read_window(struct str rest, struct ledger_scope *s, int64_t *number)
{
	uint64_t n = 0;

	s->window = rest.n == 0        ? LEDGER_EVER
		    : rest.p[0] == 'd' ? LEDGER_DAY
				       : LEDGER_MONTH;
	if (rest.n > 0 && ((rest.p[0] != 'd' && rest.p[0] != 'm') ||
			      !str_decimal(str_sub(rest, 1, rest.n), &n)))
		return false;
	*number = (int64_t)n;
	return n <= INT64_MAX;
}

bool
key_scope_read(struct str key, struct ledger_scope *s, int64_t *number)
{
	struct str *const parts[] = { &s->issuer, &s->tenant, &s->sid, &s->turn };
	struct str rest = str_sub(key, 1, key.n);

	*s = (struct ledger_scope){ .claim = LEDGER_NO_CLAIM };
	while (
	    s->kind <= LEDGER_TOTAL && (key.n == 0 || kinds[s->kind].letter != key.p[0]))
		s->kind++;
	if (s->kind > LEDGER_TOTAL)
		return false;
	for (unsigned i = 0; i < kinds[s->kind].nparts; i++)
		if (!key_next(&rest, parts[i]))
			return false;
	return read_window(rest, s, number);
}

int64_t
window_number(enum ledger_window w, usec now)
{
	time_t seconds = (time_t)(now / 1000000);
	struct tm tm;

	switch (w) {
	case LEDGER_EVER:
		return 0;
	case LEDGER_DAY:
		return seconds / 86400;
	case LEDGER_MONTH:
		if (gmtime_r(&seconds, &tm) == NULL)
			return 0;
		return (int64_t)(tm.tm_year - 70) * 12 + tm.tm_mon;
	}
	assert(false);
	return 0;
}

void
key_window(struct buf *to, enum ledger_window w, int64_t number)
{
	if (w != LEDGER_EVER)
		buf_fmt(to, "%c%lld", w == LEDGER_DAY ? 'd' : 'm', (long long)number);
}

void
key_tomb(char out[static KEY_TOMB], struct str issuer, struct str tenant, struct str sid)
{
	static const char hex[] = "0123456789abcdef";
	unsigned char digest[SHA256_DIGEST_LENGTH];
	struct buf key;

	buf_init(&key, 1024);
	key_put(&key, issuer);
	key_put(&key, tenant);
	key_put(&key, sid);
	SHA256((const unsigned char *)key.p, key.n, digest);
	buf_fini(&key);
	for (size_t i = 0; i < sizeof(digest); i++) {
		out[2 * i] = hex[digest[i] >> 4];
		out[2 * i + 1] = hex[digest[i] & 15];
	}
	out[KEY_TOMB - 1] = '\0';
}

void
ledger_jti_name(struct buf *to, struct str issuer, struct str tenant, struct str jti)
{
	key_put(to, issuer);
	key_put(to, tenant);
	key_put(to, jti);
}

const char key_note_letters[] = {
	[LEDGER_NOTE_JTI] = 'j',
	[LEDGER_NOTE_ARM] = 'a',
	[LEDGER_NOTE_OBJECT] = 'o',
	[LEDGER_NOTE_SENT] = 'u',
};

bool
key_is_object(struct str note)
{
	return note.n > 0 && note.p[0] == key_note_letters[LEDGER_NOTE_OBJECT];
}
