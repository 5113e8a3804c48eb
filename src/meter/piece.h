/*
 * piece.h - parts of a JSON text that can be taken out of it
 *
 * Members of objects and items of arrays, with what is inside them where that
 * matters.  Marking one as gone and writing the splices keeps commas right, and what
 * has lost all its parts goes too.  Pieces live in the call's arena.
 */
#ifndef WEIR_METER_PIECE_H
#define WEIR_METER_PIECE_H

#include "base/arena.h"
#include "wire/splice.h"

struct piece {
	size_t begin, end; /* of the text; a member begins at its key's quote */
	struct str key;    /* of a member */
	struct piece *parent, *next, *child, *last;
	bool is_gone;
	struct str put; /* instead of it, when it is gone; p NULL: nothing */
};

/* NULL when the arena is full. */
struct piece *piece_add(struct arena *a, struct piece *parent, size_t begin) MUST_CHECK;
/* It leaves nothing: it is gone, or all in it is. */
bool piece_is_out(const struct piece *p);
/* The splices that take out what is gone below `root` (which itself stays). */
void pieces_splice(struct piece *root, struct splices *s);

#endif
