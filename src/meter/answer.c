#include "meter/answer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "meter/family.h"

#define NEWS 1024 /* bytes of text, since nothing else was said */

static const struct {
	const char *type;
	enum answer_form form;
} forms[] = {
	{ "text/event-stream", ANSWER_EVENTS },
	{ "application/json", ANSWER_JSON },
	{ "application/x-jsonl", ANSWER_LINES },
	{ "application/x-ndjson", ANSWER_LINES },
	{ "application/jsonl", ANSWER_LINES },
};

static enum answer_form
form_of(const struct call *c, const struct http_head *head)
{
	const struct http_field *f = http_field(head, STR("content-type"));
	struct str type = f != NULL ? f->value : STR_NONE;
	size_t end;

	if ((c->is_free && !c->shows) || head->status < 200 || head->status > 299)
		return ANSWER_EMPTY;
	if (str_find(type, ';', &end))
		type = str_sub(type, 0, end);
	type = str_trim(type);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (str_eq_nocase(type, str_of(forms[i].type)))
			return forms[i].form;
	return c->is_stream ? ANSWER_EVENTS : ANSWER_JSON;
}

struct answer *
answer_new(const struct call *c, const struct http_head *head)
{
	struct answer *a = mem_zalloc(sizeof(*a));
	const struct api *api = c->api;
	bool by_line;

	a->call = c;
	a->form = form_of(c, head);
	a->state = mem_zalloc(api->state_size != 0 ? api->state_size : 1);
	buf_init(&a->held, ANSWER_HELD_MAX);
	sse_init(&a->sse);
	by_line = a->form == ANSWER_LINES && api->line_paths != NULL;
	scan_begin(&a->scan, by_line ? api->line_paths : api->paths,
	    by_line ? api->nline_paths : api->npaths, api->on_value, a);
	if (a->form != ANSWER_EMPTY && api->on_head != NULL)
		api->on_head(a, head);
	return a;
}

void
answer_free(struct answer *a)
{
	if (a == NULL)
		return;
	buf_fini(&a->held);
	free(a->state);
	free(a);
}

void
answer_text(struct answer *a, const struct scan_value *v)
{
	if (v->type != JSON_STRING)
		return;
	a->usage.text_bytes += v->end - v->begin - 2; /* without its quotes */
	a->usage.text_least += v->size;
}

void
answer_told(struct answer *a)
{
	a->told = a->usage.text_bytes;
	a->ntold++;
}

/* --- documents --- */

static void
begin_document(struct answer *a)
{
	scan_reset(&a->scan);
	a->scanned = SCAN_MORE;
	a->nhead = 0;
	a->is_split = a->hides = false;
	a->drop_n = 0;
}

static void
feed_document(struct answer *a, struct str text)
{
	for (size_t i = 0; i < text.n && a->nhead < sizeof(a->head); i++)
		a->head[a->nhead++] = text.p[i];
	if (a->scanned != SCAN_BAD)
		a->scanned = scan_feed(&a->scan, text);
}

static bool
is_done_mark(const struct answer *a)
{
	struct str head = { a->head, a->nhead };

	return str_eq(str_trim(head), STR("[DONE]"));
}

static void
end_document(struct answer *a, struct str event)
{
	if (a->scanned != SCAN_BAD)
		a->scanned = scan_end(&a->scan);
	a->is_bad = a->scanned != SCAN_DONE;
	a->is_done_mark = a->is_bad && is_done_mark(a);
	a->event = event;
	a->call->api->on_document(a);
	a->event = STR_NONE;
}

/* --- events --- */

/* Where the data stands in `held`: only what is one piece there can be cut out of it. */
static void
note_place(struct answer *a, size_t at, size_t n)
{
	if (a->nhead == 0) {
		a->data_at = at;
	} else if (at != a->data_end) {
		a->is_split = true;
	}
	a->data_end = at + n;
}

/* A member goes with a comma: the one before it, or else the one behind it. */
static void
widen(struct str text, size_t *from, size_t *end)
{
	size_t before = *from, behind = *end;

	while (before > 0 && strchr(" \t", text.p[before - 1]) != NULL)
		before--;
	while (behind < text.n && strchr(" \t", text.p[behind]) != NULL)
		behind++;
	if (before > 0 && text.p[before - 1] == ',')
		*from = before - 1;
	else if (behind < text.n && text.p[behind] == ',')
		*end = behind + 1;
}

static void
pass_held(struct answer *a, struct buf *pass)
{
	struct str held = buf_view(&a->held);
	size_t from = a->data_at + (size_t)a->drop_at, end = from + (size_t)a->drop_n;

	if (a->drop_n != 0 && !a->is_split && a->drop_at < a->scan.at && end <= held.n) {
		widen(held, &from, &end);
		buf_str(pass, str_sub(held, 0, from));
		held = str_sub(held, end, held.n);
	}
	if (!a->hides)
		buf_str(pass, held);
	buf_reset(&a->held);
}

/* What came belongs to this event: waits for its end, unless it is too long for that. */
static void
hold(struct answer *a, struct str bytes, struct buf *pass)
{
	if (pass == NULL)
		return;
	if (!a->is_passing && a->held.n + bytes.n > ANSWER_HELD_MAX) {
		buf_str(pass, buf_view(&a->held));
		buf_reset(&a->held);
		a->is_passing = true;
	}
	buf_str(a->is_passing ? pass : &a->held, bytes);
}

static void
end_event(struct answer *a, bool has_data, struct buf *pass)
{
	if (has_data)
		end_document(a, a->sse.name);
	if (pass != NULL && !a->is_passing)
		pass_held(a, pass);
	a->is_passing = false;
	begin_document(a);
}

static void
feed_events(struct answer *a, struct str in, struct buf *pass)
{
	for (;;) {
		const char *from = in.p;
		size_t held = a->held.n;
		struct str text;
		enum sse_token t = sse_next(&a->sse, &in, &text);

		hold(a, (struct str){ from, (size_t)(in.p - from) }, pass);
		switch (t) {
		case SSE_MORE:
			return;
		case SSE_DATA:
			if (text.p >= from && text.p < in.p)
				note_place(a, held + (size_t)(text.p - from), text.n);
			else
				a->is_split = true; /* a line's end between two lines */
			feed_document(a, text);
			break;
		case SSE_EVENT:
		case SSE_BLANK:
			end_event(a, t == SSE_EVENT, pass);
			break;
		}
	}
}

/* --- lines --- */

static void
feed_lines(struct answer *a, struct str in)
{
	size_t at;

	while (str_find(in, '\n', &at)) {
		feed_document(a, str_sub(in, 0, at));
		if (a->nhead > 0)
			end_document(a, STR_NONE);
		begin_document(a);
		in = str_sub(in, at + 1, in.n);
	}
	feed_document(a, in);
}

/* --- all --- */

void
answer_feed(struct answer *a, struct str in, struct buf *pass)
{
	switch (a->form) {
	case ANSWER_EVENTS:
		if (in.n == 0 && pass != NULL) { /* the end: nothing is kept back */
			buf_str(pass, buf_view(&a->held));
			buf_reset(&a->held);
			return;
		}
		feed_events(a, in, pass);
		return;
	case ANSWER_JSON:
		feed_document(a, in);
		break;
	case ANSWER_LINES:
		feed_lines(a, in);
		break;
	case ANSWER_EMPTY:
	case ANSWER_OTHER:
		break;
	}
	if (pass != NULL)
		buf_str(pass, in);
}

/* No honest bill has a prompt of no tokens, or text that was none. */
static bool
is_lie(const struct answer *a)
{
	const struct usage *u = &a->usage;
	struct run all = usage_total(u);
	bool has_text = u->text_bytes > 0;
	bool is_nothing = all.input_total == 0 && all.output == 0;

	if (u->nrun == 0 || (is_nothing && !has_text && a->has_failed))
		return false;
	return all.input_total == 0 || (has_text && all.output == 0) || usage_is_torn(u);
}

/* A family takes the provider at its word; here it is held against what came. */
static void
doubt(struct answer *a)
{
	struct usage *u = &a->usage;

	if (u->state != USAGE_ALL)
		return;
	if (u->nrun == 0 && !u->has_reported && u->text_bytes > 0)
		u->state = USAGE_NOTHING;
	else if (u->nrun > 0 && u->text_bytes > a->told)
		u->state = USAGE_PARTLY;
	u->is_absurd |= is_lie(a);
}

const struct usage *
answer_end(struct answer *a, bool whole)
{
	if (a->form == ANSWER_EMPTY) {
		a->usage.state = USAGE_ALL;
		return &a->usage;
	}
	if (a->form == ANSWER_JSON || (a->form == ANSWER_LINES && a->nhead > 0))
		end_document(a, STR_NONE);
	a->call->api->on_end(a);
	/* a body that broke off may lack what came behind its usage */
	if (a->form == ANSWER_JSON && (a->is_bad || !whole) &&
	    a->usage.state == USAGE_ALL)
		a->usage.state = USAGE_PARTLY;
	doubt(a);
	return &a->usage;
}

static bool
has_news(struct answer *a)
{
	uint64_t text = a->usage.text_least;

	if (a->ntold == a->seen_told && text - a->seen_text < NEWS)
		return false;
	a->seen_told = a->ntold;
	a->seen_text = text;
	return true;
}

/* What says that it is all, and is followed by text, was not the end. */
static bool
is_ending(struct answer *a, const struct usage *u)
{
	if ((u->state == USAGE_ALL || a->has_ended) && !a->is_over) {
		a->is_over = true;
		a->over_at = u->text_least;
	}
	return a->is_over && a->over_at == u->text_least;
}

bool
answer_so_far(struct answer *a, struct usage *u)
{
	struct answer *now;

	if (a->form == ANSWER_EMPTY || a->form == ANSWER_OTHER || !has_news(a))
		return false;
	now = mem_alloc(sizeof(*now));
	*now = *a;
	a->call->api->on_end(now);
	*u = now->usage;
	free(now);
	return !is_ending(a, u);
}

bool
answer_is_between(const struct answer *a)
{
	return a->form == ANSWER_EVENTS && sse_is_between(&a->sse);
}

bool
answer_cut(const struct answer *a, struct buf *to)
{
	if (a->form != ANSWER_EVENTS || a->call->api->cut == NULL)
		return false;
	assert(answer_is_between(a));
	a->call->api->cut(a, to);
	return true;
}
