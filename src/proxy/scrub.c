/*
 * scrub.c - a provider's answer without the credential that was sent to it
 */
#include "proxy/scrub.h"

#include <assert.h>

#define HELD_MAX ((size_t)32 << 20) /* more than a piece and a secret can be */

void
scrub_init(struct scrub *s, const struct known *known)
{
	*s = (struct scrub){ .known = known };
	buf_init(&s->held, HELD_MAX);
}

void
scrub_fini(struct scrub *s)
{
	buf_fini(&s->held);
}

void
scrub_text(const struct scrub *s, char *text, size_t n)
{
	known_cover(s->known, text, n);
}

void
scrub_feed(struct scrub *s, struct str in, struct buf *to)
{
	struct str all;
	size_t open;

	if (in.n == 0)
		return;
	buf_str(&s->held, in);
	assert(!s->held.is_over); /* what is cut off would be missing in the answer */
	scrub_text(s, s->held.p, s->held.n);
	all = buf_view(&s->held);
	open = known_open(s->known, all);
	buf_str(to, str_sub(all, 0, all.n - open));
	buf_drop(&s->held, all.n - open);
}

void
scrub_end(struct scrub *s, struct buf *to)
{
	buf_str(to, buf_view(&s->held));
	buf_reset(&s->held);
}
