/*
 * list.h - a doubly linked ring through its members
 *
 * A head is an empty ring; a member that is on no list points at itself or is
 * all zero.  list_entry() gets from the link back to what holds it.
 */
#ifndef WEIR_BASE_LIST_H
#define WEIR_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *prev;
};

#define list_entry(link, type, member) \
	((type *)(void *)((char *)(link)-offsetof(type, member)))
#define list_each(at, head) for ((at) = (head)->next; (at) != (head); (at) = (at)->next)
/* the member may be removed while walking */
#define list_each_safe(at, tmp, head) \
	for ((at) = (head)->next, (tmp) = (at)->next; (at) != (head); \
	     (at) = (tmp), (tmp) = (at)->next)

static inline void
list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool
list_is_empty(const struct list *l) /* or: is on no list */
{
	return l->next == l || l->next == NULL;
}

static inline void
list_append(struct list *head, struct list *l)
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}

static inline void
list_remove(struct list *l)
{
	if (l->next == NULL)
		return;
	l->prev->next = l->next;
	l->next->prev = l->prev;
	list_init(l);
}

#endif
