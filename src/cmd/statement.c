/*
 * statement.c - a provider's list of requests and what it billed for them
 */
#include "cmd/statement.h"

#include <stdlib.h>

#include "base/decimal.h"
#include "wire/json.h"

#define LINE_MEMORY ((size_t)16 << 20)
#define COLUMNS 256

struct fields {
	const char *id[3], *cost[3]; /* the first of them that is there */
};

static bool
fail(struct statement *s, const char *why)
{
	s->why = why;
	return false;
}

static bool
add(struct statement *s, struct str id, struct str cost)
{
	struct billed *b;
	usd_nano n;

	if (id.n == 0)
		return fail(s, "a request has no id");
	if (!usd_round_up(cost, &n))
		return fail(s, "a cost is no amount of dollars");
	if ((b = map_get(&s->request, id)) == NULL) {
		b = mem_zalloc(sizeof(*b));
		map_put(&s->request, id, b);
	}
	return money_add(b->cost, n, &b->cost) || fail(s, "the costs are beyond all");
}

/* ---- JSON lines */

static const struct json_value *
first_of(const struct json_value *object, const char *const *names)
{
	const struct json_value *v = NULL;

	for (; v == NULL && *names != NULL; names++)
		v = json_get(object, *names);
	return v;
}

static bool
add_object(struct statement *s, const struct fields *f, struct str line, struct arena *a)
{
	const char *why;
	const struct json_value *object = json_parse(line, a, &why);
	const struct json_value *id, *cost;

	if (object == NULL)
		return fail(s, why);
	if (object->type != JSON_OBJECT)
		return fail(s, "it is no JSON object");
	id = first_of(object, f->id);
	cost = first_of(object, f->cost);
	if (id == NULL || cost == NULL || id->type != JSON_STRING ||
	    (cost->type != JSON_STRING && cost->type != JSON_NUMBER))
		return fail(s, "the request's id or its cost is missing");
	return add(s, id->text, cost->text);
}

static bool
read_lines(struct statement *s, struct str text, const struct fields *f)
{
	struct str line;
	struct arena a;
	bool is_fine = true;

	arena_init(&a, LINE_MEMORY);
	for (s->line = 1; is_fine && str_split(&text, '\n', &line); s->line++) {
		arena_reset(&a);
		if (str_ends(line, STR("\r")))
			line.n--;
		if (str_trim(line).n > 0 && !add_object(s, f, line, &a)) {
			is_fine = false;
			break;
		}
	}
	arena_fini(&a);
	return is_fine;
}

/* ---- CSV */

/* RFC 4180: the next cell; *is_last: its line ends with it.  False: a quote is open. */
static bool
next_cell(struct str *rest, struct buf *cell, bool *is_last)
{
	bool is_quoted = rest->n > 0 && rest->p[0] == '"';
	size_t i = is_quoted;

	buf_reset(cell);
	for (; i < rest->n; i++) {
		char c = rest->p[i];
		bool is_pair =
		    is_quoted && c == '"' && i + 1 < rest->n && rest->p[i + 1] == '"';

		if (is_pair)
			i++;
		else if (is_quoted && c == '"') {
			is_quoted = false;
			continue;
		} else if (!is_quoted && (c == ',' || c == '\n'))
			break;
		if (is_quoted || c != '\r')
			buf_char(cell, c);
	}
	*is_last = i >= rest->n || rest->p[i] == '\n';
	*rest = str_sub(*rest, i + 1, rest->n);
	return !is_quoted;
}

static bool
is_named(struct str cell, const char *const *names)
{
	for (; *names != NULL; names++)
		if (str_eq(str_trim(cell), str_of(*names)))
			return true;
	return false;
}

struct columns {
	size_t id, cost; /* COLUMNS: not there */
};

static bool
read_head(struct statement *s, struct str *rest, const struct fields *f,
    struct columns *columns, struct buf *cell)
{
	bool is_last = false;

	*columns = (struct columns){ COLUMNS, COLUMNS };
	for (size_t i = 0; i < COLUMNS && !is_last; i++) {
		if (!next_cell(rest, cell, &is_last))
			return fail(s, "a quote is never closed");
		if (columns->id == COLUMNS && is_named(buf_view(cell), f->id))
			columns->id = i;
		if (columns->cost == COLUMNS && is_named(buf_view(cell), f->cost))
			columns->cost = i;
	}
	if (columns->id == COLUMNS || columns->cost == COLUMNS)
		return fail(s, "its first line names no request id or no cost");
	return true;
}

static bool
read_row(struct statement *s, struct str *rest, const struct columns *columns,
    struct buf *cell, struct arena *a)
{
	struct str id = STR_NONE, cost = STR_NONE;
	bool is_last = false;

	for (size_t i = 0; !is_last; i++) {
		if (!next_cell(rest, cell, &is_last))
			return fail(s, "a quote is never closed");
		if (i == columns->id)
			id = arena_str(a, str_trim(buf_view(cell)));
		if (i == columns->cost)
			cost = arena_str(a, str_trim(buf_view(cell)));
	}
	return add(s, id, cost);
}

static bool
is_blank(struct str rest)
{
	return rest.n == 0 || rest.p[0] == '\n' || rest.p[0] == '\r';
}

static bool
read_csv(struct statement *s, struct str text, const struct fields *f)
{
	struct columns columns;
	struct buf cell;
	struct arena a;

	arena_init(&a, LINE_MEMORY);
	buf_init(&cell, LINE_MEMORY);
	s->line = 1;
	bool is_fine = read_head(s, &text, f, &columns, &cell);
	while (is_fine && text.n > 0) {
		s->line++;
		arena_reset(&a);
		if (is_blank(text)) {
			struct str line;

			(void)str_split(&text, '\n', &line);
			continue;
		}
		is_fine = read_row(s, &text, &columns, &cell, &a);
	}
	buf_fini(&cell);
	arena_fini(&a);
	return is_fine;
}

bool
statement_read(
    struct statement *s, struct str text, const char *id_field, const char *cost_field)
{
	struct fields f = { .id = { id_field }, .cost = { cost_field } };
	static const struct str mark = { "\xef\xbb\xbf", 3 };

	*s = (struct statement){ .why = NULL };
	map_init(&s->request);
	if (id_field == NULL) {
		f.id[0] = "request_id";
		f.id[1] = "id";
	}
	if (cost_field == NULL) {
		f.cost[0] = "cost";
		f.cost[1] = "cost_usd";
	}
	if (str_starts(text, mark)) /* spreadsheets put it there */
		text = str_sub(text, mark.n, text.n);
	return text.n > 0 && text.p[0] == '{' ? read_lines(s, text, &f)
					      : read_csv(s, text, &f);
}

void
statement_fini(struct statement *s)
{
	map_fini(&s->request, free);
}
