/*
 * messages.c - what must not leave, looked for in the messages of a websocket
 */
#include "proxy/messages.h"

#include <stdlib.h>

#include "policy/verdict.h"

#define OUT_MAX ((size_t)4 << 20) /* a read, in frames that are as small as can be */

struct messages *
messages_new(struct sieve *sieve)
{
	struct messages *m = mem_zalloc(sizeof(*m));

	m->sieve = sieve;
	ws_reader_init(&m->up, WS_CLIENT);
	ws_reader_init(&m->down, WS_SERVER);
	buf_init(&m->control, WS_CONTROL_MAX);
	buf_init(&m->clear, OUT_MAX);
	buf_init(&m->out, OUT_MAX);
	return m;
}

void
messages_free(struct messages *m)
{
	if (m == NULL)
		return;
	buf_fini(&m->control);
	buf_fini(&m->clear);
	buf_fini(&m->out);
	free(m);
}

/* ---- up */

/* Until a reload takes dlp away: then it is as any other websocket. */
static bool
is_looking(const struct messages *m)
{
	return m->sieve->dlp != DLP_NONE;
}

/* Whole, and in one frame: it may stand between a message's fragments. */
static bool
look_control(struct messages *m, const struct ws_piece *piece)
{
	struct sieve own;
	bool may;

	buf_str(&m->control, buf_view(&m->clear));
	if (!piece->ends_frame)
		return true;
	sieve_init(&own, m->sieve->redactor, m->sieve->known, m->sieve->dlp);
	sieve_add(&own, buf_view(&m->control));
	may = !is_looking(m) || sieve_look(&own, true);
	if (own.kind != NULL && (m->sieve->kind == NULL || !may))
		m->sieve->kind = own.kind;
	m->sieve->is_caught |= own.is_caught;
	sieve_fini(&own);
	if (may)
		ws_put_frame(
		    &m->out, piece->opcode, true, buf_view(&m->control), &piece->mask);
	buf_reset(&m->control);
	return may;
}

static bool
look_data(struct messages *m, const struct ws_piece *piece)
{
	struct str ready;

	if (!m->is_in_message)
		m->opcode = piece->opcode;
	m->is_in_message = !piece->ends_message;
	sieve_add(m->sieve, buf_view(&m->clear));
	if (!is_looking(m))
		sieve_pass(m->sieve);
	else if (!sieve_look(m->sieve, piece->ends_message))
		return false;
	ready = sieve_ready(m->sieve);
	if (ready.n == 0 && !piece->ends_message)
		return true;
	ws_put_frame(&m->out, m->opcode, piece->ends_message, ready, &piece->mask);
	sieve_gone(m->sieve);
	m->opcode = WS_CONTINUATION;
	return true;
}

bool
messages_up(struct messages *m, struct str in, struct str *out)
{
	struct ws_piece piece;
	enum ws_result r;

	buf_reset(&m->out);
	while ((r = ws_read(&m->up, &in, &piece)) == WS_PIECE) {
		buf_reset(&m->clear);
		ws_put_masked(&m->clear, piece.bytes, &piece.mask);
		if (!(piece.is_control ? look_control : look_data)(m, &piece))
			return false;
	}
	*out = buf_view(&m->out);
	return r == WS_MORE && !m->out.is_over;
}

/* ---- down */

void
messages_down(struct messages *m, struct str in)
{
	struct ws_piece piece;

	while (ws_read(&m->down, &in, &piece) == WS_PIECE)
		continue;
}

void
messages_put_close(const struct messages *m, struct buf *to)
{
	if (!ws_is_between(&m->down) || m->down.is_closed)
		return;
	if (m->sieve->is_caught)
		ws_put_close(to, WS_POLICY_VIOLATION,
		    str_of(reason_row(REASON_DLP_BLOCKED)->name));
	else
		ws_put_close(to, WS_PROTOCOL_ERROR,
		    str_of(reason_row(REASON_REQUEST_MALFORMED)->name));
}
