/*
 * anchors.c - what an anchor file vouches for
 */
#include "audit/anchors.h"

#include <stdlib.h>
#include <string.h>

void
anchors_init(struct anchors *a)
{
	*a = (struct anchors){ .n = 0 };
	map_init(&a->by_head);
}

void
anchors_fini(struct anchors *a)
{
	map_fini(&a->by_head, NULL);
	for (size_t i = 0; i < a->n; i++)
		free(a->all[i]);
	free(a->all);
}

static bool
copy(char *to, size_t room, struct str text)
{
	if (text.n == 0 || text.n >= room)
		return false;
	str_put(to, text);
	return true;
}

static void
keep(struct anchors *a, struct anchored *one)
{
	if ((a->n & (a->n - 1)) == 0) /* doubles at each power of two */
		a->all = mem_resize(
		    a->all, (a->n == 0 ? 1 : 2 * a->n) * sizeof(struct anchored *));
	a->all[a->n++] = one;
}

const char *
anchors_add(struct anchors *a, const struct vouch *v, uint64_t line)
{
	if (a->n == ANCHORS_MAX)
		return "there are too many lines before it";
	if (v->head.n == ANCHOR_HEAD && map_get(&a->by_head, v->head) != NULL)
		return "another line before it has the same head";

	struct anchored *one = mem_zalloc(sizeof(*one));

	one->line = line;
	if (v->head.n != ANCHOR_HEAD || !copy(one->head, sizeof(one->head), v->head) ||
	    !copy(one->ts, sizeof(one->ts), v->ts) ||
	    !copy(one->lines, sizeof(one->lines), v->lines) ||
	    !copy(one->name, sizeof(one->name), v->name)) {
		free(one);
		return "it has no name, head, ts and lines";
	}
	keep(a, one);
	map_put(&a->by_head, v->head, one);
	return NULL;
}

struct anchored *
anchors_find(const struct anchors *a, struct str head)
{
	return map_get(&a->by_head, head);
}
