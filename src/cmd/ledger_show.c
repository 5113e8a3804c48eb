/*
 * ledger_show.c - weir ledger sessions, show: what is in it
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"
#include "base/map.h"
#include "cmd/book_rows.h"
#include "cmd/ledger.h"
#include "ledger/key.h"

#define TEXT_MAX ((size_t)1 << 30)

/* Rows kept until all are seen. */
struct kept {
	struct kept_row {
		char *key; /* owned */
		void *row; /* owned */
		int64_t order;
	} * row;
	size_t n, cap;
};

static void
keep(struct kept *k, enum row_kind kind, struct str key, const void *row, int64_t order)
{
	if (k->n == k->cap) {
		k->cap = k->cap == 0 ? 64 : 2 * k->cap;
		k->row = mem_resize(k->row, k->cap * sizeof(*k->row));
	}
	k->row[k->n++] = (struct kept_row){ str_dup(key), row_copy(kind, row), order };
}

static void
kept_fini(struct kept *k)
{
	for (size_t i = 0; i < k->n; i++) {
		free(k->row[i].key);
		free(k->row[i].row);
	}
	free(k->row);
}

static int
in_order(const void *a, const void *b)
{
	const struct kept_row *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return strcmp(x->key, y->key);
}

/* Sorted, and each once: Redis may show a row twice. */
static void
put_in_order(struct kept *k)
{
	size_t n = 0;

	if (k->n > 0)
		qsort(k->row, k->n, sizeof(*k->row), in_order);
	for (size_t i = 0; i < k->n; i++) {
		if (n > 0 && strcmp(k->row[n - 1].key, k->row[i].key) == 0) {
			free(k->row[i].key);
			free(k->row[i].row);
		} else {
			k->row[n++] = k->row[i];
		}
	}
	k->n = n;
}

static void
say(struct buf *text)
{
	fwrite(text->p, 1, text->n, stdout);
	buf_reset(text);
}

/* ---- sessions */

struct all {
	struct kept session;
	struct map spent; /* a session's key -> its scope's row */
};

static void
on_session(void *arg, struct str key, const void *row)
{
	struct all *all = arg;
	const struct row_session *s = row;

	keep(&all->session, ROW_SESSION, key, row, s->first_use);
}

static void
on_scope(void *arg, struct str key, const void *row)
{
	struct all *all = arg;

	if (key.n > 0 && key.p[0] == 's')
		free(map_put(
		    &all->spent, str_sub(key, 1, key.n), row_copy(ROW_SCOPE, row)));
}

/* A name that was revoked and never used: an operator's command leaves one an issuer. */
static bool
is_mark(const struct row_session *s)
{
	return s->sub.n == 0 && s->revoked && s->gen < 0;
}

static struct str
owner_of(const struct row_session *s)
{
	return str_eq(s->sub, STR(LEDGER_NOBODY)) ? STR_NONE : s->sub;
}

static void
print_session(struct buf *to, struct str key, const struct row_session *s,
    const struct row_scope *scope)
{
	static const struct row_scope none = { .gen = -1 };
	struct ledger_who who = session_name_of(key);
	char at[ROW_TIME];

	if (scope == NULL)
		scope = &none;
	buf_fmt(to, "%-20s  ", row_time(s->first_use, at));
	row_show(to, who.tenant);
	buf_char(to, '/');
	row_show(to, who.sid);
	buf_text(to, "  ");
	row_show_usd(to, scope->spent);
	buf_text(to, " USD");
	if (scope->reserved > 0) {
		buf_text(to, " + ");
		row_show_usd(to, scope->reserved);
		buf_text(to, " reserved");
	}
	if (scope->gen >= 0 && scope->claim >= 0) {
		buf_text(to, " of ");
		row_show_usd(to, scope->claim);
	}
	buf_fmt(to, "  %lld call%s%s  ", (long long)scope->calls,
	    plural((uint64_t)scope->calls), s->revoked ? "  revoked" : "");
	row_show(to, owner_of(s));
	buf_char(to, '\n');
}

static void
say_sessions(const struct all *all, bool is_json)
{
	struct buf text;

	buf_init(&text, TEXT_MAX);
	for (size_t i = 0; i < all->session.n; i++) {
		const struct kept_row *r = &all->session.row[i];
		struct str key = str_of(r->key);
		const struct row_scope *scope = map_get(&all->spent, key);
		struct json_out j;

		if (scope == NULL && is_mark(r->row))
			continue;
		json_out_init(&j, &text);
		if (is_json) {
			row_put_session(&j, key, r->row, scope);
			buf_char(&text, '\n');
		} else {
			print_session(&text, key, r->row, scope);
		}
		say(&text);
	}
	buf_fini(&text);
}

int
ledger_sessions(struct books *b, const struct ledger_asked *o)
{
	struct all all = { .session = { .n = 0 } };
	bool is_read;

	map_init(&all.spent);
	reader_moment(b->reader, true);
	is_read = reader_walk(b->reader, ROW_SESSION, on_session, &all) &&
		  reader_walk(b->reader, ROW_SCOPE, on_scope, &all);
	reader_moment(b->reader, false);
	put_in_order(&all.session);
	if (is_read)
		say_sessions(&all, o->is_json);
	kept_fini(&all.session);
	map_fini(&all.spent, free);
	return is_read ? EXIT_YES : EXIT_UNAVAILABLE;
}

/* ---- one session */

struct one {
	const struct ledger_asked *asked;
	struct kept session, scope, call;
};

static bool
is_asked_for(const struct ledger_asked *o, struct str session)
{
	struct ledger_who who = session_name_of(session);

	return str_eq(who.tenant, str_of(o->word[0])) &&
	       str_eq(who.sid, str_of(o->word[1])) &&
	       (o->issuer == NULL || str_eq(who.issuer, str_of(o->issuer)));
}

static void
on_its_session(void *arg, struct str key, const void *row)
{
	struct one *one = arg;

	if (is_asked_for(one->asked, key))
		keep(&one->session, ROW_SESSION, key, row, 0);
}

static void
on_its_scope(void *arg, struct str key, const void *row)
{
	struct one *one = arg;
	struct str parts;

	if (key_scope_parts(key, &parts) && key.p[0] != 'n' &&
	    is_asked_for(one->asked, parts))
		keep(&one->scope, ROW_SCOPE, key, row, key.p[0] == 's' ? 0 : 1);
}

static void
on_its_call(void *arg, struct str key, const void *row)
{
	struct one *one = arg;
	const struct row_call *call = row;

	if (is_asked_for(one->asked, call->session))
		keep(&one->call, ROW_CALL, key, row, call->reserved_at);
}

static void
print_pair(struct buf *to, const char *name, struct str value)
{
	buf_fmt(to, "%-10s", name);
	row_show(to, value);
	buf_char(to, '\n');
}

static void
print_head(struct buf *to, const struct kept_row *session)
{
	const struct row_session *s = session->row;
	struct ledger_who who = session_name_of(str_of(session->key));
	char at[ROW_TIME];

	print_pair(to, "tenant", who.tenant);
	print_pair(to, "session", who.sid);
	print_pair(to, "issuer", who.issuer);
	print_pair(to, "owner", owner_of(s));
	print_pair(to, "parent", s->par);
	print_pair(to, "turn", s->turn);
	print_pair(to, "first use", str_of(row_time(s->first_use, at)));
	print_pair(to, "expires", str_of(row_time(s->expires, at)));
	print_pair(to, "revoked", s->revoked ? STR("yes") : STR("no"));
}

static void
print_scope(struct buf *to, const struct kept_row *r)
{
	const struct row_scope *s = r->row;

	row_show_scope(to, str_of(r->key));
	buf_text(to, "  ");
	row_show_usd(to, s->spent);
	buf_text(to, " USD, ");
	row_show_usd(to, s->reserved);
	buf_text(to, " reserved, ");
	if (s->gen >= 0 && s->claim >= 0) {
		row_show_usd(to, s->claim);
		buf_text(to, " claimed, ");
	}
	buf_fmt(to, "%lld call%s, %lld token%s\n", (long long)s->calls,
	    plural((uint64_t)s->calls), (long long)s->tokens,
	    plural((uint64_t)s->tokens));
}

static void
print_call(struct buf *to, const struct kept_row *r)
{
	const struct row_call *c = r->row;
	char at[ROW_TIME];

	buf_fmt(to, "%s  ", row_time(c->reserved_at, at));
	row_show(to, str_of(r->key));
	buf_fmt(to, "  %s  ", row_state(c->state));
	row_show(to, c->model);
	buf_fmt(to, "  %lld in, %lld out  ", (long long)c->input, (long long)c->output);
	row_show_usd(to, c->state == CALL_HELD ? c->amount : c->charged);
	buf_text(to, " USD  ");
	row_show_flags(to, c->flags);
	buf_char(to, '\n');
}

static void
print_one(const struct one *one, struct buf *to)
{
	print_head(to, &one->session.row[0]);
	buf_char(to, '\n');
	for (size_t i = 0; i < one->scope.n; i++)
		print_scope(to, &one->scope.row[i]);
	buf_char(to, '\n');
	for (size_t i = 0; i < one->call.n; i++)
		print_call(to, &one->call.row[i]);
}

static void
put_one(const struct one *one, struct buf *to)
{
	const struct kept_row *s = &one->session.row[0];
	bool has_scope = one->scope.n > 0 && one->scope.row[0].key[0] == 's';
	struct json_out j;

	json_out_init(&j, to);
	json_open(&j, '{');
	json_key(&j, "session");
	row_put_session(
	    &j, str_of(s->key), s->row, has_scope ? one->scope.row[0].row : NULL);
	json_key(&j, "scopes");
	json_open(&j, '[');
	for (size_t i = 0; i < one->scope.n; i++)
		row_put_scope(&j, str_of(one->scope.row[i].key), one->scope.row[i].row);
	json_close(&j, ']');
	json_key(&j, "calls");
	json_open(&j, '[');
	for (size_t i = 0; i < one->call.n; i++)
		row_put_call(&j, str_of(one->call.row[i].key), one->call.row[i].row);
	json_close(&j, ']');
	json_close(&j, '}');
	buf_char(to, '\n');
}

/* Where a session was used, what only bears its name is not it. */
static void
drop_marks(struct kept *k)
{
	for (size_t i = k->n; i-- > 0 && k->n > 1;)
		if (is_mark(k->row[i].row)) {
			free(k->row[i].key);
			free(k->row[i].row);
			memmove(
			    &k->row[i], &k->row[i + 1], (--k->n - i) * sizeof(*k->row));
		}
}

static int
say_one(const struct one *one)
{
	struct buf text;

	if (one->session.n == 0) {
		fputs("weir ledger: there is no such session\n", stderr);
		return EXIT_NO;
	}
	if (one->session.n > 1) {
		fputs("weir ledger: several issuers have a session of that name; say "
		      "which with --issuer\n",
		    stderr);
		return EXIT_NO;
	}
	buf_init(&text, TEXT_MAX);
	if (one->asked->is_json)
		put_one(one, &text);
	else
		print_one(one, &text);
	say(&text);
	buf_fini(&text);
	return EXIT_YES;
}

int
ledger_show(struct books *b, const struct ledger_asked *o)
{
	struct one one = { .asked = o };
	bool is_read;

	reader_moment(b->reader, true);
	is_read = reader_walk(b->reader, ROW_SESSION, on_its_session, &one) &&
		  reader_walk(b->reader, ROW_SCOPE, on_its_scope, &one) &&
		  reader_walk(b->reader, ROW_CALL, on_its_call, &one);
	reader_moment(b->reader, false);
	put_in_order(&one.session);
	drop_marks(&one.session);
	put_in_order(&one.scope);
	put_in_order(&one.call);
	int status = is_read ? say_one(&one) : EXIT_UNAVAILABLE;
	kept_fini(&one.session);
	kept_fini(&one.scope);
	kept_fini(&one.call);
	return status;
}
