#include "wire/splice.h"

#include <string.h>

/* What is put in at a place stands before what is taken out there. */
static bool
goes_before(size_t at, size_t removed, const struct splice *other)
{
	return other->at > at || (other->at == at && removed == 0 && other->removed > 0);
}

void
splices_add(struct splices *s, size_t at, size_t removed, struct str put)
{
	size_t i = s->n;

	if (s->n == SPLICES_MAX) {
		s->is_over = true;
		return;
	}
	while (i > 0 && goes_before(at, removed, &s->all[i - 1]))
		i--;
	if ((i > 0 && s->all[i - 1].at + s->all[i - 1].removed > at) ||
	    (i < s->n && at + removed > s->all[i].at))
		s->is_over = true;
	memmove(&s->all[i + 1], &s->all[i], (s->n - i) * sizeof(*s->all));
	s->all[i] = (struct splice){ at, removed, put };
	s->n++;
}

size_t
splices_length(const struct splices *s, size_t original)
{
	for (size_t i = 0; i < s->n; i++)
		original += s->all[i].put.n - s->all[i].removed;
	return original;
}

bool
splices_apply(const struct splices *s, struct str original, struct buf *to)
{
	size_t at = 0;

	if (s->is_over)
		return false;
	for (size_t i = 0; i < s->n; i++) {
		const struct splice *one = &s->all[i];

		if (one->at + one->removed > original.n)
			return false;
		buf_str(to, str_sub(original, at, one->at - at));
		buf_str(to, one->put);
		at = one->at + one->removed;
	}
	buf_str(to, str_sub(original, at, original.n));
	return !to->is_over;
}
