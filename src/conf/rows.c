/*
 * rows.c - a block of keys, read by a table of rows
 */
#include "conf/rows.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- rows by key */

struct found {
	const struct row *row; /* NULL: no such key */
	bool is_section;       /* rows lie below it */
	bool has_secret;       /* it is, or a row below it is, a secret */
};

/* What stands behind `prefix` ("" or "dns.") and `key`. */
static struct found
row_find(const struct rows *rows, const char *prefix, struct str key)
{
	struct found found = { 0 };
	struct str before = str_of(prefix);
	size_t at;

	if (key.n == 0 || str_find(key, '.', &at))
		return found;
	for (size_t i = 0; i < rows->n; i++) {
		struct str rest = str_of(rows->row[i].key);
		if (!str_starts(rest, before))
			continue;
		rest = str_sub(rest, before.n, rest.n);
		if (!str_starts(rest, key) || (rest.n > key.n && rest.p[key.n] != '.'))
			continue;
		found.has_secret |= rows->row[i].type == &type_SECRET ||
				    rows->row[i].type == &type_CA_KEY ||
				    rows->row[i].type == &type_PUBLIC_KEY;
		if (rest.n == key.n)
			found.row = &rows->row[i];
		else
			found.is_section = true;
	}
	return found;
}

/* The keys that may stand behind `prefix`, each once; texts are in `memory`. */
static size_t
keys_behind(const struct rows *rows, const char *prefix,
    char memory[static ROWS_MAX][KEY_MAX], const char *key[static ROWS_MAX])
{
	struct str before = str_of(prefix);
	size_t n = 0;

	assert(rows->n <= ROWS_MAX);
	for (size_t i = 0; i < rows->n; i++) {
		struct str rest = str_of(rows->row[i].key), word;
		if (!str_starts(rest, before))
			continue;
		rest = str_sub(rest, before.n, rest.n);
		str_split(&rest, '.', &word);
		snprintf(memory[n], KEY_MAX, "%.*s", STR_ARG(word));
		key[n] = memory[n];
		if (n == 0 ||
		    strcmp(key[n - 1], key[n]) != 0) /* rows of a section are together */
			n++;
	}
	return n;
}

/* Where else a key of that name stands: "dns.timeout", or NULL. */
static const char *
elsewhere(const struct rows *rows, struct str key)
{
	for (size_t i = 0; i < rows->n; i++) {
		struct str full = str_of(rows->row[i].key), last = full;
		size_t dot;
		if (str_rfind(full, '.', &dot))
			last = str_sub(full, dot + 1, full.n);
		if (str_eq(full, key) || str_eq(last, key))
			return rows->row[i].key;
	}
	return NULL;
}

/* "" when nothing comes near. */
static void
suggest(
    const struct rows *rows, const char *prefix, struct str key, char out[static KEY_MAX])
{
	char memory[ROWS_MAX][KEY_MAX];
	const char *candidate[ROWS_MAX];
	size_t n = keys_behind(rows, prefix, memory, candidate);
	const char *near = report_suggest(key, candidate, n);

	snprintf(out, KEY_MAX, "%s", near == NULL ? "" : near);
}

/* ---- secrets are hidden before anything is said about the file */

/* Might the value behind this key be a secret, also when the key is misspelt? */
static bool
may_be_secret(const struct rows *rows, const char *prefix, const struct node *n)
{
	struct found found = row_find(rows, prefix, n->key);
	char near[KEY_MAX];

	if (found.row == NULL && !found.is_section) {
		suggest(rows, prefix, n->key, near);
		found = row_find(rows, prefix, str_of(near));
		return found.row == NULL || found.has_secret;
	}
	return found.has_secret && (found.row != NULL || n->type != NODE_BLOCK);
}

static void
hide_behind(const struct loading *l, const struct rows *rows, const struct node *block,
    const char *prefix)
{
	for (const struct node *n = block->child; n != NULL; n = n->next) {
		struct found found = row_find(rows, prefix, n->key);
		char inner[KEY_MAX];

		if (may_be_secret(rows, prefix, n)) {
			tree_hide(l->t, n);
		} else if (found.row != NULL && found.row->type->hide != NULL) {
			found.row->type->hide(l, n);
		} else if (n->type == NODE_BLOCK && found.is_section) {
			snprintf(
			    inner, sizeof(inner), "%s%.*s.", prefix, STR_ARG(n->key));
			hide_behind(l, rows, n, inner);
		}
	}
}

void
rows_hide(const struct loading *l, const struct rows *rows, const struct node *block)
{
	hide_behind(l, rows, block, "");
}

/* ---- reading */

bool
rows_is_of_a_policy(struct str key)
{
	return str_eq(key, STR("allow")) || str_eq(key, STR("deny")) ||
	       str_eq(key, STR("network")) || str_eq(key, STR("expect")) ||
	       str_eq(key, STR("policy")) || str_eq(key, STR("mode"));
}

static void
unknown_key(const struct loading *l, const struct rows *rows, const struct node *n,
    const char *prefix)
{
	const char *other = elsewhere(rows, n->key);
	char near[KEY_MAX], hint[2 * KEY_MAX] = "";

	suggest(rows, prefix, n->key, near);
	if (near[0] != '\0')
		snprintf(hint, sizeof(hint), "did you mean \"%s%s\"?", prefix, near);
	else if (other != NULL)
		snprintf(hint, sizeof(hint), "did you mean \"%s\"?", other);
	else if (prefix[0] == '\0' && rows->where == NULL && rows_is_of_a_policy(n->key))
		snprintf(hint, sizeof(hint),
		    "this is a key of a policy; name its file under policies");
	node_key_error(l->t, n, l->rep, "unknown_key", hint[0] == '\0' ? NULL : hint,
	    "there is no key \"%s%.*s\"%s%s", prefix, STR_ARG(n->key),
	    rows->where == NULL ? "" : " in ", rows->where == NULL ? "" : rows->where);
}

static void *
field_of(void *base, const struct row *row)
{
	return (char *)base + row->offset;
}

/* Of the file's rows only: what stands in their blocks is wanted as they are. */
static bool
is_wanted(const struct loading *l, const char *key)
{
	for (size_t i = 0; l->wanted != NULL; i++) {
		const char *wanted = l->wanted[i];
		size_t n;

		if (wanted == NULL)
			return false;
		n = strlen(wanted);
		if (strncmp(key, wanted, n) == 0 && (key[n] == '\0' || key[n] == '.'))
			return true;
	}
	return true;
}

static bool
read_row(const struct loading *l, const struct rows *rows, const struct row *row,
    const struct node *n, void *base)
{
	struct loading here = *l;

	if (rows->where == NULL)
		here.is_unwanted = !is_wanted(l, row->key);
	return row->type->read(&here, row, n, field_of(base, row));
}

static bool
read_behind(const struct loading *l, const struct rows *rows, const struct node *block,
    const char *prefix, void *base, enum written *written)
{
	bool is_fine = true;

	for (const struct node *n = block->child; n != NULL; n = n->next) {
		struct found found = row_find(rows, prefix, n->key);
		const struct row *row = found.row;
		char inner[KEY_MAX];
		bool is_read = false;

		if (row != NULL) {
			is_read = read_row(l, rows, row, n, base);
			written[row - rows->row] = is_read ? WRITTEN_WELL : WRITTEN_BADLY;
		} else if (!found.is_section) {
			unknown_key(l, rows, n, prefix);
		} else if (node_is(l->t, n, l->rep, NODE_BLOCK)) {
			snprintf(
			    inner, sizeof(inner), "%s%.*s.", prefix, STR_ARG(n->key));
			is_read = read_behind(l, rows, n, inner, base, written);
		}
		is_fine &= is_read;
	}
	return is_fine;
}

bool
rows_read(const struct loading *l, const struct rows *rows, const struct node *block,
    void *base, enum written *written)
{
	bool is_fine = read_behind(l, rows, block, "", base, written);

	for (size_t i = 0; i < rows->n; i++)
		if (rows->row[i].is_required && written[i] == NOT_WRITTEN) {
			node_error(l->t, block, l->rep, "missing_key", NULL,
			    "%s needs \"%s\"", rows->where, rows->row[i].key);
			is_fine = false;
		}
	return is_fine;
}

/* What a table says is what one could write: the readers of the types read it. */
void
rows_default(const struct rows *rows, void *base, const enum written *written)
{
	struct tree t = { 0 };
	struct report rep;

	report_init(&rep);
	struct loading l = { .t = &t, .directory = "/", .rep = &rep };
	for (size_t i = 0; i < rows->n; i++) {
		const struct row *row = &rows->row[i];
		if (written[i] == WRITTEN_WELL)
			continue;
		if (row->fallback == NULL) {
			if (row->type->absent != NULL)
				row->type->absent(field_of(base, row));
			continue;
		}
		struct node n = { .type = NODE_SCALAR, .text = str_of(row->fallback) };
		bool is_read = row->type->read(&l, row, &n, field_of(base, row));
		assert(is_read && rep.errors == 0);
		(void)is_read;
	}
	report_fini(&rep);
}

void
rows_free(const struct rows *rows, void *base)
{
	for (size_t i = 0; i < rows->n; i++)
		if (rows->row[i].type->free != NULL)
			rows->row[i].type->free(field_of(base, &rows->row[i]));
}

void
rows_show(const struct rows *rows, const void *base, secret_see *see, void *arg)
{
	for (size_t i = 0; i < rows->n; i++)
		if (rows->row[i].type->show != NULL)
			rows->row[i].type->show(
			    (const char *)base + rows->row[i].offset, see, arg);
}

bool
rows_same(const struct rows *rows, const void *a, const void *b)
{
	for (size_t i = 0; i < rows->n; i++)
		if (!rows->row[i].type->same((const char *)a + rows->row[i].offset,
			(const char *)b + rows->row[i].offset))
			return false;
	return true;
}
