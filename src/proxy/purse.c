/*
 * purse.c - GET /weir/v1/session: what a session has left
 */
#include "proxy/purse.h"

#include "policy/ruleset.h"
#include "wire/json.h"

bool
purse_is_asked(const struct exchange *x)
{
	return str_eq(x->ask.path, STR("/weir/v1/session")) &&
	       str_eq(x->head->method, STR("GET"));
}

static void
put_usd(struct json_out *j, const char *key, usd_nano amount)
{
	char text[USD_TEXT];

	json_key(j, key);
	json_text(j, usd_print(amount, text));
}

/* A scope that is not the session's own tells nothing of others. */
static const char *
name_of(enum ledger_scope_kind kind)
{
	switch (kind) {
	case LEDGER_TURN:
		return "turn";
	case LEDGER_SESSION:
		return "session";
	case LEDGER_ANCESTOR:
	case LEDGER_TENANT:
	case LEDGER_PUBLIC:
	case LEDGER_TOTAL:
		break;
	}
	return NULL;
}

static void
put_room(struct json_out *j, const char *name, const struct ledger_room *r)
{
	json_key(j, name);
	json_open(j, '{');
	if (r->cap < LEDGER_MONEY_MAX) {
		put_usd(j, "usd", r->cap);
		put_usd(j, "left", ledger_left(r) > 0 ? ledger_left(r) : 0);
	}
	put_usd(j, "spent", r->spent);
	put_usd(j, "reserved", r->reserved);
	json_key(j, "calls");
	json_int(j, r->calls);
	json_key(j, "tokens");
	json_int(j, r->tokens);
	json_close(j, '}');
}

/* Of the policy that judges it: what weir verify shows to be in force. */
static void
put_policy(struct json_out *j, const struct ruleset *rules)
{
	json_key(j, "policy");
	json_text(j, rules == NULL ? NULL : ruleset_digest(rules));
}

static void
put_body(struct buf *to, const struct exchange *x)
{
	const struct spend *s = x->spend;
	struct json_out j;

	json_out_init(&j, to);
	json_open(&j, '{');
	json_key(&j, "sid");
	json_str(&j, s->grant->sid);
	put_policy(&j, snapshot_rules(x->snapshot, s->grant));
	for (size_t i = 0; i < s->nroom && i < s->scopes.n; i++) {
		const char *name = name_of(s->scopes.of[i].kind);
		if (name != NULL)
			put_room(&j, name, &s->room[i]);
	}
	json_close(&j, '}');
	buf_char(to, '\n');
}

void
purse_answer(struct buf *to, const struct exchange *x)
{
	struct buf body;

	buf_init(&body, 65536);
	put_body(&body, x);
	buf_fmt(to,
	    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	    "Cache-Control: no-store\r\nX-Weir-Request: %s\r\n"
	    "Content-Length: %zu\r\n%s\r\n",
	    x->id, body.n, x->head->is_kept ? "" : "Connection: close\r\n");
	buf_str(to, buf_view(&body));
	buf_fini(&body);
}
