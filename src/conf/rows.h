/*
 * rows.h - a block of keys, read by a table of rows
 *
 * weir.yaml is such a block (settings.def), and so are the entries of its lists and
 * maps (blocks.c).  A row's key may have dots: the blocks in between are sections.
 * Each key that no row has is a finding, with what was probably meant.  Pure.
 *
 * Codes of findings: unknown_key missing_key, and those of the types
 */
#ifndef WEIR_CONF_ROWS_H
#define WEIR_CONF_ROWS_H

#include "conf/value.h"

#define ROWS_MAX 128
#define KEY_MAX 64 /* longer than any key of a row */

struct rows {
	const struct row *row;
	size_t n;
	const char *where; /* "sessions.keys", for findings; NULL: the file itself */
};

enum written { NOT_WRITTEN, WRITTEN_WELL, WRITTEN_BADLY };

/* It stands at the top of a policy file: somebody mistook the one for the other. */
bool rows_is_of_a_policy(struct str key);
/* Blots out what is secret or may be: before anything is said about the file. */
void rows_hide(
    const struct loading *l, const struct rows *rows, const struct node *block);
/* Fields are of the struct at `base`; written[] is the rows'.  False after reporting. */
bool rows_read(const struct loading *l, const struct rows *rows, const struct node *block,
    void *base, enum written *written);
/* What was not written well gets its default, read as one would write it. */
void rows_default(const struct rows *rows, void *base, const enum written *written);
void rows_free(const struct rows *rows, void *base);
/* Each secret that was read, whatever block it is in. */
void rows_show(const struct rows *rows, const void *base, secret_see *see, void *arg);
bool rows_same(const struct rows *rows, const void *a, const void *b);

#endif
