/*
 * sent.c - what sessions have sent, in the store that lasts
 */
#include "proxy/sent.h"

#include <stdlib.h>

#include "ledger/totals.h"

#define NAME_ROOM ((size_t)512)
#define TEXT_ROOM ((size_t)7 << 10) /* of what is told at once; a note takes 8 KiB */
#define HOST_ROOM ((size_t)300)     /* a host and its number */

struct upload_owner
sent_owner(struct session *s)
{
	struct session *root = session_root(s);

	return (struct upload_owner){
		.session = session_name(root),
		.until = session_deadline(root, SESSION_FOREVER),
		.is_kept = true,
	};
}

/* ---- as the store has it */

static struct ledger_op *
add_start(struct ledger *l, struct loop *on, const struct upload_owner *owner,
    struct str text, ledger_done *done, void *arg)
{
	struct session_parts p = session_name_parts(owner->session);
	struct ledger_note note = { .kind = LEDGER_NOTE_SENT,
		.issuer = p.issuer,
		.tenant = p.tenant,
		.sid = p.sid,
		.text = text,
		.until = owner->until == SESSION_FOREVER ? LEDGER_FOREVER - 1
							 : owner->until * 1000 };
	struct ledger_op *op;
	struct buf name;

	buf_init(&name, NAME_ROOM);
	ledger_jti_name(&name, p.issuer, p.tenant, p.sid);
	note.name = buf_view(&name);
	op = ledger_note_add_start(l, on, &note, done, arg);
	buf_fini(&name);
	return op;
}

static size_t
read_sums(struct str text, struct upload_sum sum[static UPLOAD_SUMS_MOST])
{
	size_t n = 0;

	while (n < UPLOAD_SUMS_MOST && totals_next(&text, &sum[n].host, &sum[n].bytes))
		n++;
	return n;
}

static void
read_reply(const struct ledger_reply *reply, struct upload_said *said)
{
	said->n = read_sums(reply->note.text, said->sum);
	said->revision = reply->revision;
	said->at = clock_wall_ms();
}

/* ---- loading */

bool
sent_is_loaded(
    struct uploads *all, const struct ledger *l, const struct upload_owner *owner)
{
	int64_t at = upload_loaded_at(all, owner->session);

	return at != UPLOAD_NEVER &&
	       (!ledger_is_shared(l) || clock_wall_ms() - at <= SENT_EVERY_MS);
}

struct ledger_op *
sent_load_start(struct ledger *l, struct loop *on, const struct upload_owner *owner,
    ledger_done *done, void *arg)
{
	return add_start(l, on, owner, STR_NONE, done, arg);
}

bool
sent_loaded(struct uploads *all, const struct upload_owner *owner,
    const struct ledger_reply *reply)
{
	struct upload_said said;

	if (reply->answer != LEDGER_OK) /* what it said before holds */
		return upload_loaded_at(all, owner->session) != UPLOAD_NEVER;
	read_reply(reply, &said);
	/* no room: whoever has a cap is refused when he sends */
	(void)upload_load(all, owner, &said);
	return true;
}

/* ---- telling */

struct place {
	struct uploads *all;
	struct ledger *ledger;
	struct loop *loop;
};

/* One session's changes on their way to the store. */
struct telling {
	struct uploads *all;
	struct buf session, text;
};

static void
on_told(void *arg, const struct ledger_reply *reply)
{
	struct telling *t = arg;
	struct upload_sum more[UPLOAD_SUMS_MOST];
	size_t n = read_sums(buf_view(&t->text), more);
	struct upload_said said;

	if (reply->answer == LEDGER_OK)
		read_reply(reply, &said);
	upload_told(t->all, buf_view(&t->session), more, n,
	    reply->answer == LEDGER_OK ? &said : NULL);
	buf_fini(&t->session);
	buf_fini(&t->text);
	free(t);
}

/* What does not fit goes the next time. */
static size_t
tell(void *arg, const struct upload_owner *owner, const struct upload_sum *more, size_t n)
{
	const struct place *place = arg;
	struct telling *t = mem_zalloc(sizeof(*t));
	size_t taken = 0;

	t->all = place->all;
	buf_init(&t->session, NAME_ROOM);
	buf_init(&t->text, TEXT_ROOM);
	buf_str(&t->session, owner->session);
	while (taken < n && t->text.n + HOST_ROOM <= TEXT_ROOM) {
		totals_put(&t->text, more[taken].host, more[taken].bytes);
		taken++;
	}
	(void)add_start(
	    place->ledger, place->loop, owner, buf_view(&t->text), on_told, t);
	return taken;
}

void
sent_tell(struct uploads *all, struct ledger *l, struct loop *loop)
{
	struct place place = { all, l, loop };

	uploads_tell(all, tell, &place);
}
