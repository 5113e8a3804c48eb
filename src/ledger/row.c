/*
 * row.c - what the store keeps, and the one table that says its shape
 */
#include "ledger/row.h"

#include <string.h>

/* clang-format off */
#define ROW(NAME, name) static const struct row_field fields_##NAME[] = {
#define ROW_NUM(row, field) { #field, false, offsetof(struct row_##row, field) },
#define ROW_TEXT(row, field) { #field, true, offsetof(struct row_##row, field) },
#define END(NAME, name) };
#include "ledger/rows.def"
#undef ROW
#undef ROW_NUM
#undef ROW_TEXT
#undef END
/* clang-format on */

const struct row_shape row_shapes[ROW_KINDS] = {
#define ROW(NAME, name) [ROW_##NAME] = { #name, sizeof(struct row_##name),
#define ROW_NUM(row, field)
#define ROW_TEXT(row, field)
#define END(NAME, name) \
	sizeof(fields_##NAME) / sizeof(*fields_##NAME), fields_##NAME \
	} \
	,
#include "ledger/rows.def"
#undef ROW
#undef ROW_NUM
#undef ROW_TEXT
#undef END
};

int64_t
row_num(const void *row, const struct row_field *f)
{
	int64_t n;

	memcpy(&n, (const char *)row + f->at, sizeof(n));
	return n;
}

struct str
row_text(const void *row, const struct row_field *f)
{
	struct str s;

	memcpy(&s, (const char *)row + f->at, sizeof(s));
	return s;
}

void
row_set_num(void *row, const struct row_field *f, int64_t n)
{
	memcpy((char *)row + f->at, &n, sizeof(n));
}

void
row_set_text(void *row, const struct row_field *f, struct str s)
{
	memcpy((char *)row + f->at, &s, sizeof(s));
}

void *
row_copy(enum row_kind kind, const void *row)
{
	const struct row_shape *shape = &row_shapes[kind];
	size_t n = shape->size;

	for (size_t i = 0; i < shape->nfield; i++)
		if (shape->field[i].is_text)
			n += row_text(row, &shape->field[i]).n;
	char *copy = mem_alloc(n), *at = copy + shape->size;
	memcpy(copy, row, shape->size);
	for (size_t i = 0; i < shape->nfield; i++) {
		struct str s;

		if (!shape->field[i].is_text)
			continue;
		s = row_text(row, &shape->field[i]);
		if (s.n > 0)
			memcpy(at, s.p, s.n);
		row_set_text(copy, &shape->field[i], (struct str){ at, s.n });
		at += s.n;
	}
	return copy;
}
