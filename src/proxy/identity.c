/*
 * identity.c - a token, a password or an arm -> a grant, and a grant -> its session
 */
#include "proxy/identity.h"

#include <assert.h>
#include <openssl/crypto.h>

#include "policy/token.h"
#include "state/operator.h"

/* ---- grants ---- */

enum reason
identity_token(struct tokens *known, const struct snapshot *s, struct str token,
    struct grant **out, const char **why)
{
	uint8_t digest[TOKEN_DIGEST];
	enum reason reason;

	token_digest(digest, token);
	*out = tokens_get(known, digest, s->generation, clock_wall_s());
	if (*out != NULL)
		return REASON_NONE;
	reason = token_verify(out, s->keys, token, clock_wall_s(), why);
	if (reason == REASON_NONE)
		tokens_put(known, digest, s->generation, (*out)->expires, *out);
	return reason;
}

enum reason
identity_brought(const struct identity_source *from, const struct auth *brought,
    struct grant **out, const char **why)
{
	struct grant *fixed = brought->has_user ? keys_fixed(from->snapshot->keys,
						      brought->user, brought->secret)
						: NULL;

	if (fixed == NULL)
		return identity_token(
		    from->e->tokens, from->snapshot, brought->secret, out, why);
	*out = grant_ref(fixed);
	return REASON_NONE;
}

enum reason
identity_armed(const struct identity_source *from, struct grant **out, const char **why)
{
	enum reason reason = REASON_NONE;
	struct buf token;

	*out = NULL;
	buf_init(&token, TOKEN_MAX);
	if (sessions_armed(from->e->sessions, from->source, clock_wall_ms(), &token))
		reason = identity_token(
		    from->e->tokens, from->snapshot, buf_view(&token), out, why);
	if (token.n > 0)
		OPENSSL_cleanse(token.p, token.n);
	buf_fini(&token);
	return reason;
}

static bool
learn_armed(const struct identity_source *from, uint64_t seen,
    const struct ledger_note *note, enum reason *reason, const char **why)
{
	struct grant *g;

	*reason = identity_token(from->e->tokens, from->snapshot, note->text, &g, why);
	if (*reason != REASON_NONE)
		return true;
	struct session_ask ask = identity_ask(from->snapshot, g, from->source);
	bool is_latest = sessions_arm_told(from->e->sessions, from->source, note->text,
	    &ask, note->until / 1000, clock_wall_ms(), seen);
	grant_unref(g);
	return is_latest;
}

bool
identity_learn_arm(const struct identity_source *from, uint64_t seen,
    const struct ledger_reply *reply, enum reason *reason, const char **why)
{
	*reason = REASON_NONE;
	if (reply->answer == LEDGER_OK)
		return learn_armed(from, seen, &reply->note, reason, why);
	assert(reply->answer == LEDGER_UNKNOWN);
	return sessions_disarm_told(
	    from->e->sessions, from->source, reply->now / 1000, seen);
}

/* ---- sessions ---- */

static int64_t
vm_ms_of(const struct grant *g)
{
	int64_t least = ceiling_least(&g->vm_seconds);

	return least < 0 ? SESSION_UNLIMITED : least * 1000;
}

static struct session_limits
limits_of(const struct grant *g)
{
	return (struct session_limits){
		.requests_per_minute = g->requests_per_minute,
		.concurrency = g->concurrency,
		.turn_calls = g->turn_calls,
		.turn_tokens = g->turn_tokens,
		.session_tokens = g->session_tokens,
		.upload = g->upload_bytes,
	};
}

static const enum session_bind binds[] = {
	[BIND_FIRST] = SESSION_BIND_FIRST,
	[BIND_ARMED] = SESSION_BIND_ARMED,
	[BIND_NONE] = SESSION_BIND_NONE,
};

/* Whoever needs neither token nor password is everybody: sessions.default. */
static enum session_bind
bind_of(const struct snapshot *s, const struct grant *g)
{
	return g == s->keys->laptop ? SESSION_BIND_NONE
				    : binds[s->settings->sessions_bind];
}

/* A turn that a jti implies ends no other. */
static bool
are_turns_concurrent(const struct snapshot *s, const struct grant *g)
{
	return s->settings->sessions_turns == TURNS_CONCURRENT || g->is_turn_implied;
}

struct session_ask
identity_ask(const struct snapshot *s, struct grant *g, struct str source)
{
	return (struct session_ask){
		.issuer = g->issuer,
		.tenant = g->tenant,
		.sid = g->sid,
		.sub = g->sub,
		.turn = g->turn,
		.jti = g->jti,
		.par = g->par,
		.gen = g->gen,
		.expires =
		    g->expires == GRANT_FOREVER ? SESSION_FOREVER : g->expires * 1000,
		.vm_ms = vm_ms_of(g),
		.source = source,
		.limits = limits_of(g),
		.grant = g,
		.bind = bind_of(s, g),
		.turns_concurrent = are_turns_concurrent(s, g),
	};
}

struct ledger_who
identity_ledger_who(const struct snapshot *s, const struct grant *g)
{
	return (struct ledger_who){
		.issuer = g->issuer,
		.tenant = g->tenant,
		.sid = g->sid,
		.sub = g->sub.n > 0 ? g->sub : STR(LEDGER_NOBODY),
		.par = g->par,
		.turn = g->turn,
		.jti = g->jti,
		.gen = g->gen,
		.expires =
		    g->expires == GRANT_FOREVER ? LEDGER_FOREVER : g->expires * 1000000,
		.claim = g->session_usd.claim,
		.turns_concurrent = are_turns_concurrent(s, g),
		.claims = g->text,
	};
}

enum reason
identity_refusal(enum ledger_answer a)
{
	switch (a) {
	case LEDGER_OK:
		return REASON_NONE;
	case LEDGER_AWAY:
		return REASON_LEDGER_UNAVAILABLE;
	case LEDGER_ROLLED_BACK:
		return REASON_LEDGER_ROLLBACK;
	case LEDGER_LIMIT:
		return REASON_TURN_LIMIT_REACHED;
	case LEDGER_OWNER:
		return REASON_SESSION_OWNER_MISMATCH;
	case LEDGER_TURN_ENDED:
		return REASON_TURN_ENDED;
	case LEDGER_REVOKED:
	case LEDGER_FORGOTTEN:
		return REASON_SESSION_REVOKED;
	case LEDGER_KIN:
		return REASON_SESSION_INVALID;
	case LEDGER_EXHAUSTED:
	case LEDGER_NOT_HELD:
	case LEDGER_SETTLED:
	case LEDGER_UNKNOWN:
	case LEDGER_INVALID:
	case LEDGER_ANSWERS:
		break;
	}
	return REASON_INTERNAL;
}

/* What a session may do of whose token this process may have seen nothing. */
static bool
recall(struct session_kin *to, const struct ledger_kin *from, const struct snapshot *s,
    struct str issuer, const char **why)
{
	const struct claims_source source = { .settings = s->settings, .issuer = issuer };
	struct grant *g;

	if (claims_recall(&g, &source, from->claims, why) != REASON_NONE)
		return false;
	*to = (struct session_kin){ .sid = from->sid,
		.turn = g->turn,
		.first_use = from->first_use / 1000,
		.gen = g->gen,
		.vm_ms = vm_ms_of(g),
		.limits = limits_of(g),
		.grant = g };
	return true;
}

enum reason
identity_learn(struct engine *e, const struct snapshot *s, const struct session_ask *ask,
    const struct ledger_reply *reply, unix_ms now, const char **why)
{
	struct session_facts f = { .first_use = reply->first_use / 1000,
		.gen = reply->gen };
	enum reason reason = identity_refusal(reply->answer);
	const struct ledger_kin own = { .claims = reply->claims };

	if (reason == REASON_NONE && own.claims.n > 0 &&
	    !(f.has_newer = recall(&f.newer, &own, s, ask->issuer, why)))
		reason = REASON_SESSION_INVALID;
	while (
	    reason == REASON_NONE && f.nkin < reply->nkin && f.nkin < SESSION_ANCESTORS)
		if (recall(&f.kin[f.nkin], &reply->kin[f.nkin], s, ask->issuer, why))
			f.nkin++;
		else
			reason = REASON_SESSION_INVALID;
	if (reason == REASON_NONE &&
	    session_learn(e->sessions, ask, &f, now) != SESSION_OK) {
		*why = session_answer_text(SESSION_INVALID);
		reason = REASON_SESSION_INVALID;
	}
	for (size_t i = 0; i < f.nkin; i++)
		grant_unref(f.kin[i].grant);
	grant_unref(f.newer.grant);
	return reason;
}
