/*
 * row.h - what the store keeps, and the one table that says its shape
 *
 * A row is a struct of numbers and texts, made from rows.def.  Code that must not know
 * one kind from another (SQLite's columns, Redis's fields, the export) goes by
 * row_shapes.  The store's keys are text; key.h makes them.
 */
#ifndef WEIR_LEDGER_ROW_H
#define WEIR_LEDGER_ROW_H

#include "base/arena.h"

#define ROW_FORMAT 1 /* changes when rows.def does */

enum row_kind {
#define ROW(NAME, name) ROW_##NAME,
#define ROW_NUM(row, field)
#define ROW_TEXT(row, field)
#define END(NAME, name)
#include "ledger/rows.def"
#undef ROW
#undef ROW_NUM
#undef ROW_TEXT
#undef END
	ROW_KINDS
};

/* clang-format off */
#define ROW(NAME, name) struct row_##name {
#define ROW_NUM(row, field) int64_t field;
#define ROW_TEXT(row, field) struct str field;
#define END(NAME, name) };
/* clang-format on */
#include "ledger/rows.def"
#undef ROW
#undef ROW_NUM
#undef ROW_TEXT
#undef END

enum call_state {
	CALL_HELD,
	CALL_SETTLED,
	CALL_LOST,   /* nobody settled it; charged in full */
	CALL_UNSENT, /* given back */
};

struct row_field {
	const char *name;
	bool is_text;
	size_t at; /* offset in the struct */
};

struct row_shape {
	const char *name;
	size_t size; /* of the struct */
	size_t nfield;
	const struct row_field *field;
};

extern const struct row_shape row_shapes[ROW_KINDS];

#define ROW_FIELDS_MAX 20

int64_t row_num(const void *row, const struct row_field *f);
struct str row_text(const void *row, const struct row_field *f);
void row_set_num(void *row, const struct row_field *f, int64_t n);
void row_set_text(void *row, const struct row_field *f, struct str s);

/* A copy in one piece of memory, texts included; free() it. */
void *row_copy(enum row_kind kind, const void *row);

#endif
