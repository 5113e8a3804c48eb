/*
 * flow.c - one message body on its way
 */
#include "proxy/flow.h"

#include <assert.h>
#include <errno.h>

/* More than one write's worth waits only when one read brought it. */
#define PENDING_MAX ((size_t)1 << 20)

/* One write: a head, a chunk's head, its pieces, its end, the last chunk. */
#define PIECES 60

struct gather {
	struct iovec v[PIECES + 4];
	int n;
};

void
flow_init(struct flow *f, const struct http_head *head, bool is_chunked)
{
	*f = (struct flow){ .is_chunked = is_chunked, .max = -1 };
	body_reader_init(&f->in, head);
	buf_init(&f->pending, PENDING_MAX);
	buf_init(&f->clean, PENDING_MAX);
}

void
flow_fini(struct flow *f)
{
	buf_fini(&f->pending);
	buf_fini(&f->clean);
}

static void
put(struct gather *g, struct str s)
{
	if (s.n > 0)
		g->v[g->n++] = (struct iovec){ (void *)(uintptr_t)s.p, s.n };
}

/* What was not taken is kept, in order. */
static void
keep_rest(struct flow *f, const struct gather *g, size_t taken)
{
	for (int i = 0; i < g->n; i++) {
		size_t skip = taken < g->v[i].iov_len ? taken : g->v[i].iov_len;
		taken -= skip;
		buf_add(&f->pending, (const char *)g->v[i].iov_base + skip,
		    g->v[i].iov_len - skip);
	}
	assert(!f->pending.is_over);
}

static bool
send_all(struct flow *f, struct stream *to, const struct gather *g)
{
	ssize_t n = 0;

	if (g->n == 0)
		return true;
	if (f->pending.n == 0)
		n = stream_write(to, g->v, g->n);
	if (n < 0 && n != -EAGAIN)
		return false;
	if (n > 0)
		f->written += (uint64_t)n;
	keep_rest(f, g, n > 0 ? (size_t)n : 0);
	return true;
}

/*
 * Takes payload pieces of one read, at most PIECES of them; the rest comes in
 * the next round.  *sum is their length.
 */
static enum body_result
take_pieces(struct flow *f, struct str in, size_t *used, struct str piece[static PIECES],
    size_t *n, size_t *sum)
{
	enum body_result r = BODY_MORE;

	*n = *sum = *used = 0;
	while (*n < PIECES) {
		size_t step;
		r = body_read(&f->in, str_sub(in, *used, in.n), &step, &piece[*n]);
		*used += step;
		if (r != BODY_DATA)
			break;
		*sum += piece[(*n)++].n;
	}
	return r;
}

/* In place of the pieces what of them and of what came before may go: one piece. */
static bool
sift(struct flow *f, struct str piece[static PIECES], size_t *n, size_t *sum, bool is_end)
{
	for (size_t i = 0; i < *n; i++)
		sieve_add(f->sieve, piece[i]);
	if (!sieve_look(f->sieve, is_end))
		return false;
	piece[0] = sieve_ready(f->sieve);
	*sum = piece[0].n;
	*n = *sum > 0;
	return true;
}

/* In their place the one that may pass; what may be a secret's beginning waits. */
static void
scrub(
    struct flow *f, bool is_last, struct str piece[static PIECES], size_t *n, size_t *sum)
{
	buf_reset(&f->clean);
	for (size_t i = 0; i < *n; i++)
		scrub_feed(f->scrub, piece[i], &f->clean);
	if (is_last)
		scrub_end(f->scrub, &f->clean);
	piece[0] = buf_view(&f->clean);
	*n = 1;
	*sum = f->clean.n;
}

enum flow_result
flow_feed(struct flow *f, struct stream *to, struct str head, struct str in, size_t *used)
{
	struct str piece[PIECES];
	char text[BODY_CHUNK_HEAD];
	enum body_result r;

	*used = 0;
	do {
		struct gather g = { .n = 0 };
		size_t step, n, sum;
		r = take_pieces(f, str_sub(in, *used, in.n), &step, piece, &n, &sum);
		*used += step;
		f->payload += sum;
		if (f->max >= 0 && f->payload > (uint64_t)f->max)
			return FLOW_OVER;
		if (f->sieve != NULL && !sift(f, piece, &n, &sum, r == BODY_DONE))
			return FLOW_CAUGHT;
		if (f->scrub != NULL)
			scrub(f, r == BODY_DONE, piece, &n, &sum);
		put(&g, head);
		head = STR_NONE;
		if (sum > 0 && f->is_chunked) {
			size_t length = body_chunk_head(text, sum);
			put(&g, (struct str){ text, length });
		}
		for (size_t i = 0; i < n; i++)
			put(&g, piece[i]);
		if (sum > 0 && f->is_chunked)
			put(&g, STR("\r\n"));
		if (r == BODY_DONE) {
			f->is_done = true;
			if (f->is_chunked)
				put(&g, STR("0\r\n\r\n"));
		}
		if (!send_all(f, to, &g))
			return FLOW_LOST;
		if (f->sieve != NULL)
			sieve_gone(f->sieve);
	} while (r == BODY_DATA);
	return r == BODY_BAD ? FLOW_BAD : r == BODY_DONE ? FLOW_DONE : FLOW_MORE;
}

bool
flow_end(struct flow *f, struct stream *to)
{
	struct gather g = { .n = 0 };
	char text[BODY_CHUNK_HEAD];
	struct str piece[PIECES];
	size_t n = 0, sum = 0;

	if (!body_may_end(&f->in))
		return false;
	f->is_done = true;
	if (f->scrub != NULL)
		scrub(f, true, piece, &n, &sum);
	if (sum > 0 && f->is_chunked)
		put(&g, (struct str){ text, body_chunk_head(text, sum) });
	if (sum > 0)
		put(&g, piece[0]);
	if (sum > 0 && f->is_chunked)
		put(&g, STR("\r\n"));
	if (f->is_chunked)
		put(&g, STR("0\r\n\r\n"));
	return send_all(f, to, &g);
}

int
flow_flush(struct flow *f, struct stream *to)
{
	while (f->pending.n > 0) {
		struct iovec v = { f->pending.p, f->pending.n };
		ssize_t n = stream_write(to, &v, 1);
		if (n == -EAGAIN)
			return -EAGAIN;
		if (n <= 0)
			return n == 0 ? -EPIPE : (int)n;
		f->written += (uint64_t)n;
		buf_drop(&f->pending, (size_t)n);
	}
	if (f->pending.cap > 0)
		buf_fini(&f->pending);
	return 0;
}
