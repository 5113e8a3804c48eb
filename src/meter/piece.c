#include "meter/piece.h"

struct piece *
piece_add(struct arena *a, struct piece *parent, size_t begin)
{
	struct piece *p = arena_zalloc(a, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->begin = begin;
	p->parent = parent;
	if (parent == NULL)
		return p;
	if (parent->last == NULL)
		parent->child = p;
	else
		parent->last->next = p;
	parent->last = p;
	return p;
}

bool
piece_is_out(const struct piece *p)
{
	if (p->is_gone)
		return p->put.p == NULL;
	if (p->child == NULL)
		return false;
	for (const struct piece *c = p->child; c != NULL; c = c->next)
		if (!piece_is_out(c))
			return false;
	return true;
}

/* The first piece from p on that stays, or NULL. */
static struct piece *
staying(struct piece *p)
{
	while (p != NULL && piece_is_out(p))
		p = p->next;
	return p;
}

/* Depth is the tree's: root, member, item, member. */
void
pieces_splice(struct piece *root, struct splices *s)
{
	struct piece *kept = NULL; /* the last that stays */

	for (struct piece *p = root->child, *stays; p != NULL; p = p->next) {
		if (!piece_is_out(p)) {
			kept = p;
			if (p->is_gone)
				splices_add(s, p->begin, p->end - p->begin, p->put);
			else
				pieces_splice(p, s);
			continue;
		}
		stays = staying(p);
		if (stays != NULL) { /* up to what follows, with the comma between */
			splices_add(s, p->begin, stays->begin - p->begin, STR_NONE);
			while (p->next != stays)
				p = p->next;
			continue;
		}
		size_t from = kept != NULL ? kept->end : p->begin;

		splices_add(s, from, root->last->end - from, STR_NONE);
		return;
	}
}
