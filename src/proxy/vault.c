/*
 * vault.c - credentials: what may be put into requests, and how it is found again
 */
#include "proxy/vault.h"

#include <stdlib.h>
#include <string.h>

struct vault *
vault_new(const struct settings *s)
{
	struct vault *v = mem_zalloc(sizeof(*v));

	v->p = mem_zalloc((s->credentials.n + 1) * sizeof(*v->p));
	for (; v->n < s->credentials.n; v->n++) {
		const struct credential *row = &s->credentials.p[v->n];
		v->p[v->n] = (struct vault_item){
			.row = row,
			.known =
			    known_new(&(struct str){ row->value.bytes, row->value.n }, 1),
			.placeholder =
			    row->placeholder != NULL ? str_of(row->placeholder) : STR(""),
		};
	}
	return v;
}

void
vault_free(struct vault *v)
{
	if (v == NULL)
		return;
	for (size_t i = 0; i < v->n; i++)
		known_free(v->p[i].known);
	free(v->p);
	free(v);
}

const struct vault_item *
vault_find(const struct vault *v, const char *name)
{
	for (size_t i = 0; i < v->n; i++)
		if (strcmp(v->p[i].row->name, name) == 0)
			return &v->p[i];
	return NULL;
}
