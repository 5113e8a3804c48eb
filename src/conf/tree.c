/*
 * tree.c - libyaml's events -> nodes, refusing what weir's files may not say
 *
 * What each key means is asked later, by whoever owns it.  Here is only YAML:
 * one stack of open blocks and lists, one small function for each event.
 */
#include "conf/tree.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "base/map.h"
#include "conf/text.h"

/* A list of one-letter values costs a node of this size for each two bytes of text. */
#define MEMORY_PER_BYTE 96
#define MEMORY_LEAST ((size_t)1 << 16)

/* A block or list that is open. */
struct frame {
	struct node *node;
	struct node **tail;    /* where its next child goes */
	struct map seen;       /* a block's keys */
	struct node *entry;    /* a block's key that waits for its value */
	bool is_entry_dropped; /* the key was there before: its value goes nowhere */
};

struct reading {
	struct tree *t;
	struct report *rep;
	yaml_parser_t parser;
	struct frame frame[TREE_DEPTH_MAX];
	size_t depth;
	struct node *dropped; /* values of refused keys: no reader sees them */
	bool is_document_over;
	struct {
		size_t index, offset; /* the same place in characters and in bytes */
	} cursor;
};

void
tree_hide(struct tree *t, const struct node *n)
{
	for (uint32_t i = n->from; i < n->to; i++)
		if ((unsigned char)t->bytes[i] >
		    ' ') /* lines stay as long as they were */
			t->bytes[i] = '*';
}

static struct mark
mark_of(const struct reading *r, yaml_mark_t at)
{
	return (struct mark){ r->t->file, at.line + 1, at.column + 1 };
}

static bool
is_inside_character(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* libyaml counts characters; the cursor walks from the last place asked for, which is
 * near. */
static uint32_t
offset_of(struct reading *r, yaml_mark_t at)
{
	const char *text = r->t->bytes; /* ends with a NUL */

	while (r->cursor.index < at.index && r->cursor.offset < r->t->source.n) {
		do
			r->cursor.offset++;
		while (is_inside_character(text[r->cursor.offset]));
		r->cursor.index++;
	}
	while (r->cursor.index > at.index) {
		do
			r->cursor.offset--;
		while (is_inside_character(text[r->cursor.offset]));
		r->cursor.index--;
	}
	return (uint32_t)r->cursor.offset;
}

/*
 * Which keys hold secrets is not known yet when YAML itself is at fault, so a
 * line that may hold one is not shown then.
 */
static struct str
source_to_show(const struct tree *t, size_t line)
{
	static const char *const words[] = { "key", "secret", "password", "token",
		"value" };
	char *text = str_dup(text_line(t->source, line));
	bool is_risky = false;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		is_risky |= strcasestr(text, words[i]) != NULL;
	free(text);
	return is_risky ? STR_NONE : t->source;
}

static void PRINTF_LIKE(5, 6) fault(struct reading *r, yaml_mark_t at, const char *code,
    const char *hint, const char *fmt, ...)
{
	struct mark mark = mark_of(r, at);
	va_list ap;

	va_start(ap, fmt);
	report_vadd(r->rep, SEVERITY_ERROR, mark, source_to_show(r->t, mark.line), code,
	    hint, fmt, ap);
	va_end(ap);
}

/* Reading goes on behind these; they may stand before any value. */
static void
refuse_properties(
    struct reading *r, yaml_mark_t at, const yaml_char_t *anchor, const yaml_char_t *tag)
{
	if (anchor != NULL)
		fault(r, at, "anchor", "write the value out where it is needed",
		    "an anchor (&%s) has no place in this file", (const char *)anchor);
	if (tag != NULL)
		fault(r, at, "tag",
		    "write the value alone: its type follows from its key",
		    "a tag (%s) has no place in this file", (const char *)tag);
}

static struct node *
node_new(struct reading *r, yaml_mark_t at)
{
	struct node *n = arena_zalloc(&r->t->arena, sizeof(*n));

	if (n == NULL)
		fault(r, at, "too_large", NULL, "the file holds too many values");
	return n;
}

/* NULL after reporting: no memory for it. */
static struct node *
value_new(struct reading *r, enum node_type type, const yaml_event_t *ev)
{
	struct frame *f = r->depth > 0 ? &r->frame[r->depth - 1] : NULL;
	struct node *n =
	    f != NULL && f->entry != NULL ? f->entry : node_new(r, ev->start_mark);

	if (n == NULL)
		return NULL;
	n->type = type;
	n->mark = mark_of(r, ev->start_mark);
	n->from = offset_of(r, ev->start_mark);
	n->to = offset_of(r, ev->end_mark);
	if (f == NULL) {
		r->t->root = n;
	} else if (!f->is_entry_dropped) {
		*f->tail = n;
		f->tail = &n->next;
		f->node->n++;
	} else {
		n->next = r->dropped;
		r->dropped = n;
	}
	if (f != NULL) {
		f->entry = NULL;
		f->is_entry_dropped = false;
	}
	return n;
}

static bool
is_key_next(const struct reading *r)
{
	const struct frame *f = r->depth > 0 ? &r->frame[r->depth - 1] : NULL;

	return f != NULL && f->node->type == NODE_BLOCK && f->entry == NULL;
}

/* True: the key may stand there; false after reporting. */
static bool
key_is_fit(struct reading *r, const yaml_event_t *ev, struct str key)
{
	bool is_plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

	if (key.n == 0 || memchr(key.p, '\0', key.n) != NULL) {
		fault(r, ev->start_mark, "bad_key",
		    "every value has a name before its colon",
		    "this is no name for a key");
		return false;
	}
	if (is_plain && str_eq(key, STR("<<"))) {
		fault(r, ev->start_mark, "merge_key",
		    "write the keys out where they are needed",
		    "a merge key (<<) has no place in this file");
		return false;
	}
	return true;
}

static bool
on_key(struct reading *r, const yaml_event_t *ev)
{
	struct frame *f = &r->frame[r->depth - 1];
	struct str key = { (const char *)ev->data.scalar.value, ev->data.scalar.length };
	struct node *n = node_new(r, ev->start_mark);

	if (n == NULL)
		return false;
	n->key = arena_str(&r->t->arena, key);
	n->key_mark = mark_of(r, ev->start_mark);
	f->entry = n;
	f->is_entry_dropped = !key_is_fit(r, ev, key);
	if (n->key.p == NULL || f->is_entry_dropped)
		return n->key.p != NULL;
	const struct node *first = map_put(&f->seen, n->key, n);
	if (first != NULL) {
		fault(r, ev->start_mark, "duplicate_key", "keep one of the two",
		    "the key \"%.*s\" was there before, in line %zu", STR_ARG(key),
		    first->key_mark.line);
		f->is_entry_dropped = true;
	}
	return true;
}

static bool
on_scalar(struct reading *r, const yaml_event_t *ev)
{
	struct str text = { (const char *)ev->data.scalar.value, ev->data.scalar.length };

	refuse_properties(r, ev->start_mark, ev->data.scalar.anchor, ev->data.scalar.tag);
	if (is_key_next(r))
		return on_key(r, ev);
	struct node *n = value_new(r, NODE_SCALAR, ev);
	if (n == NULL)
		return false;
	n->is_quoted = ev->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	n->text = arena_str(&r->t->arena, text);
	if (n->text.p == NULL) {
		fault(
		    r, ev->start_mark, "too_large", NULL, "the file holds too much text");
		return false;
	}
	if (memchr(text.p, '\0', text.n) != NULL) {
		fault(r, ev->start_mark, "control_character", NULL,
		    "the value holds a NUL character");
		n->is_broken = true;
	}
	return true;
}

static bool
on_alias(struct reading *r, const yaml_event_t *ev)
{
	fault(r, ev->start_mark, "alias", "write the value out where it is needed",
	    "an alias (*%s) has no place in this file; a pattern such as *.example.com "
	    "needs quotes",
	    (const char *)ev->data.alias.anchor);
	if (is_key_next(r))
		return false;
	struct node *n = value_new(r, NODE_SCALAR, ev);
	if (n != NULL) {
		n->text = STR("");
		n->is_broken = true;
	}
	return n != NULL;
}

static bool
open_value(struct reading *r, enum node_type type, const yaml_event_t *ev)
{
	if (is_key_next(r)) {
		fault(r, ev->start_mark, "bad_key",
		    "a text that begins with { or [ needs quotes",
		    "a key must be a plain name");
		return false;
	}
	if (r->depth == TREE_DEPTH_MAX) {
		fault(r, ev->start_mark, "too_deep", NULL,
		    "lists and blocks are nested deeper than %d", TREE_DEPTH_MAX);
		return false;
	}
	struct node *n = value_new(r, type, ev);
	if (n == NULL)
		return false;
	struct frame *f = &r->frame[r->depth++];
	*f = (struct frame){ .node = n, .tail = &n->child };
	map_init(&f->seen);
	return true;
}

static bool
on_list(struct reading *r, const yaml_event_t *ev)
{
	refuse_properties(r, ev->start_mark, ev->data.sequence_start.anchor,
	    ev->data.sequence_start.tag);
	return open_value(r, NODE_LIST, ev);
}

static bool
on_block(struct reading *r, const yaml_event_t *ev)
{
	refuse_properties(
	    r, ev->start_mark, ev->data.mapping_start.anchor, ev->data.mapping_start.tag);
	return open_value(r, NODE_BLOCK, ev);
}

static void
close_frame(struct reading *r)
{
	map_fini(&r->frame[--r->depth].seen, NULL);
}

static bool
on_end(struct reading *r, const yaml_event_t *ev)
{
	struct node *n = r->frame[r->depth - 1].node;

	n->to = offset_of(r, ev->end_mark);
	close_frame(r);
	return true;
}

static bool
on_document(struct reading *r, const yaml_event_t *ev)
{
	if (r->is_document_over) {
		fault(r, ev->start_mark, "second_document",
		    "put it into a file of its own", "a second document begins here");
		return false;
	}
	if (ev->data.document_start.version_directive != NULL ||
	    ev->data.document_start.tag_directives.start !=
		ev->data.document_start.tag_directives.end)
		fault(r, ev->start_mark, "directive",
		    "leave out the lines that begin with %",
		    "a YAML directive has no place in this file");
	return true;
}

/* False: reading cannot go on, which has been reported. */
static bool
on_event(struct reading *r, const yaml_event_t *ev)
{
	switch (ev->type) {
	case YAML_SCALAR_EVENT:
		return on_scalar(r, ev);
	case YAML_ALIAS_EVENT:
		return on_alias(r, ev);
	case YAML_SEQUENCE_START_EVENT:
		return on_list(r, ev);
	case YAML_MAPPING_START_EVENT:
		return on_block(r, ev);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return on_end(r, ev);
	case YAML_DOCUMENT_START_EVENT:
		return on_document(r, ev);
	case YAML_DOCUMENT_END_EVENT:
		r->is_document_over = true;
		return true;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
		return true;
	}
	return false;
}

/* What people usually did when libyaml says this. */
static const struct {
	const char *problem, *hint;
} advice[] = {
	{ "found character that cannot start any token",
	    "indent with spaces, not tabs; a value that begins with @, ` or % needs "
	    "quotes" },
	{ "found a tab character that violates indentation",
	    "indent with spaces, not tabs" },
	{ "mapping values are not allowed in this context",
	    "a text with a colon and a space in it needs quotes; keys of one block stand "
	    "in one column" },
	{ "did not find expected key", "keys of one block stand in one column" },
	{ "could not find expected ':'", "a key is followed by a colon and a space" },
	{ "did not find expected ',' or ']'", "is a comma or a closing ] missing?" },
	{ "did not find expected ',' or '}'", "is a comma or a closing } missing?" },
	{ "found unexpected end of stream", "is a closing quote missing?" },
	{ "did not find expected alphabetic or numeric character",
	    "a text that begins with * or & needs quotes" },
	{ "did not find expected '-' indicator",
	    "the entries of one list stand in one column" },
};

static void
report_syntax(struct reading *r)
{
	const yaml_parser_t *p = &r->parser;
	const char *hint = NULL;

	if (p->problem == NULL) { /* libyaml says nothing only when its memory ran out */
		fault(r, p->mark, "too_large", NULL, "the file is too large to be read");
		return;
	}
	for (size_t i = 0; i < sizeof(advice) / sizeof(advice[0]); i++)
		if (strcmp(advice[i].problem, p->problem) == 0)
			hint = advice[i].hint;
	fault(r, p->problem_mark, "syntax", hint, "%s%s%s", p->problem,
	    p->context != NULL ? " " : "", p->context != NULL ? p->context : "");
}

static bool
read_events(struct reading *r)
{
	for (bool is_over = false; !is_over;) {
		yaml_event_t ev;
		if (!yaml_parser_parse(&r->parser, &ev)) {
			report_syntax(r);
			return false;
		}
		is_over = ev.type == YAML_STREAM_END_EVENT;
		bool is_fine = on_event(r, &ev);
		yaml_event_delete(&ev);
		if (!is_fine)
			return false;
	}
	return true;
}

static bool
read_document(struct tree *t, struct report *rep)
{
	struct reading r = { .t = t, .rep = rep };

	if (!yaml_parser_initialize(&r.parser)) {
		report_syntax(&r);
		return false;
	}
	/* given, so that libyaml does not take a byte order mark for UTF-16 */
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(
	    &r.parser, (const unsigned char *)t->source.p, t->source.n);
	bool is_whole = read_events(&r);
	yaml_parser_delete(&r.parser);
	while (r.depth > 0)
		close_frame(&r);
	for (const struct node *n = r.dropped; n != NULL; n = n->next)
		tree_hide(t, n); /* nobody will ask whether they are secret */
	return is_whole;
}

static bool
check_text(const struct tree *t, struct report *rep)
{
	struct mark mark = { .file = t->file };
	uint32_t c;

	switch (text_check(t->source, &mark.line, &mark.column, &c)) {
	case TEXT_OK:
		return true;
	case TEXT_NOT_UTF8:
		report_add(rep, SEVERITY_ERROR, mark, source_to_show(t, mark.line),
		    "not_utf8", "save the file as UTF-8", "the byte 0x%02x is no UTF-8",
		    (unsigned)c);
		return false;
	case TEXT_CONTROL:
		report_add(rep, SEVERITY_ERROR, mark, source_to_show(t, mark.line),
		    "control_character", NULL,
		    "the character U+%04X may not stand in this file", (unsigned)c);
		return false;
	}
	return false;
}

static bool
check_root(const struct tree *t, struct report *rep)
{
	if (t->root == NULL || (t->root->type == NODE_SCALAR && t->root->text.n == 0)) {
		report_add(rep, SEVERITY_ERROR, (struct mark){ t->file, 1, 1 }, t->source,
		    "empty", NULL, "the file says nothing");
		return false;
	}
	return node_is(t, t->root, rep, NODE_BLOCK);
}

static struct tree *
tree_new(const char *name, struct str text)
{
	struct tree *t = mem_zalloc(sizeof(*t));

	t->bytes = mem_alloc(text.n + 1);
	if (text.n > 0)
		memcpy(t->bytes, text.p, text.n);
	t->bytes[text.n] = '\0';
	t->source = (struct str){ t->bytes, text.n };
	arena_init(&t->arena, MEMORY_LEAST + strlen(name) + MEMORY_PER_BYTE * text.n);
	t->file = arena_str(&t->arena, str_of(name)).p;
	assert(t->file != NULL);
	return t;
}

struct tree *
tree_read_text(const char *name, struct str text, struct report *rep)
{
	struct tree *t = tree_new(name, text);

	if (check_text(t, rep) && read_document(t, rep) && check_root(t, rep))
		return t;
	tree_free(t);
	return NULL;
}

/* Up to one byte more than max, so that the caller sees there was more. */
static bool
read_up_to(int fd, size_t max, struct buf *to)
{
	while (to->n <= max) {
		size_t left = max + 1 - to->n, want = left < 65536 ? left : 65536;
		ssize_t n = read(fd, buf_room(to, want), want);
		if (n == 0)
			break;
		if (n < 0 && errno != EINTR)
			return false;
		buf_grew(to, n > 0 ? (size_t)n : 0);
	}
	return true;
}

struct tree *
tree_read_file(const char *path, size_t max, struct report *rep)
{
	struct mark mark = { .file = path };
	struct tree *t = NULL;
	struct buf text;

	buf_init(&text, max + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		report_add(rep, SEVERITY_ERROR, mark, STR_NONE,
		    errno == ENOENT ? "missing_file" : "unreadable_file", NULL,
		    "the file cannot be opened: %s", strerror(errno));
	else if (!read_up_to(fd, max, &text))
		report_add(rep, SEVERITY_ERROR, mark, STR_NONE, "unreadable_file", NULL,
		    "the file cannot be read: %s", strerror(errno));
	else if (text.n > max)
		report_add(rep, SEVERITY_ERROR, mark, STR_NONE, "too_large", NULL,
		    "the file is larger than %zu MiB", max >> 20);
	else
		t = tree_read_text(path, buf_view(&text), rep);
	if (fd >= 0)
		close(fd);
	buf_fini(&text);
	return t;
}

void
tree_free(struct tree *t)
{
	if (t == NULL)
		return;
	arena_fini(&t->arena);
	free(t->bytes);
	free(t);
}
