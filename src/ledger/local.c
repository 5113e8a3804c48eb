/*
 * local.c - a backend over rows of this process
 *
 * Two clocks, since two things are at stake.  Windows go by the wall, and by the latest
 * time ever seen: a clock that jumps back reopens nothing.  Leases go by a clock that
 * nobody can set, so that a jump ahead does not end every call in flight.
 */
#include "ledger/local.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/log.h"
#include "ledger/step.h"

struct local {
	struct backend backend;
	struct backend_host host;
	struct stepper stepper;
	const _Atomic int64_t *shift;
	usec lease_base; /* what the lease clock says when the boot clock says 0 */
	char id[SEEN_ID];
	bool is_rolled_back;
	bool is_away;
};

static usec
boot_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts); /* goes on while the machine sleeps */
	return (usec)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static usec
shift(const struct local *b)
{
	return b->shift != NULL ? atomic_load(b->shift) : 0;
}

static void
read_clocks(struct local *b)
{
	struct row_meta *meta = &b->stepper.meta;
	usec wall = clock_wall_us() + shift(b),
	     lease = b->lease_base + boot_us() + shift(b);

	if (wall > meta->clock)
		meta->clock = wall;
	if (lease > meta->lease)
		meta->lease = lease;
}

static struct local *
of(struct backend *backend)
{
	return (struct local *)(void *)backend;
}

static void
make_id(char id[static SEEN_ID])
{
	static const char hex[] = "0123456789abcdef";
	unsigned char bytes[(SEEN_ID - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		abort();
	for (size_t i = 0; i < sizeof(bytes); i++) {
		id[2 * i] = hex[bytes[i] >> 4];
		id[2 * i + 1] = hex[bytes[i] & 15];
	}
	id[SEEN_ID - 1] = '\0';
}

/* ---- one transaction */

static bool
commit(struct local *b, bool *is_in_doubt)
{
	struct stepper *st = &b->stepper;

	if (st->is_changed)
		st->store->ops->put(st->store, ROW_META, STR("meta"), &st->meta);
	return st->store->ops->commit(st->store, is_in_doubt);
}

static void
set_health(struct local *b, bool is_away)
{
	if (is_away == b->is_away)
		return;
	b->is_away = is_away;
	b->host.health(b->host.arg, is_away ? LEDGER_AWAY : LEDGER_OK);
}

static void
fail(struct ledger_op *op, enum ledger_answer answer, bool is_in_doubt)
{
	op->reply = (struct ledger_reply){ .answer = answer };
	op->is_in_doubt = is_in_doubt;
}

static void
end_all(struct local *b, struct list *batch)
{
	while (!list_is_empty(batch)) {
		struct ledger_op *op = list_entry(batch->next, struct ledger_op, link);

		list_remove(&op->link);
		b->host.ended(b->host.arg, op);
	}
}

static bool
run_steps(struct local *b, struct list *batch, bool *is_in_doubt)
{
	struct stepper *st = &b->stepper;
	struct list *at;

	*is_in_doubt = false;
	st->is_changed = false;
	if (!st->store->ops->begin(st->store))
		return false;
	read_clocks(b);
	list_each(at, batch) step_run(st, list_entry(at, struct ledger_op, link));
	return commit(b, is_in_doubt);
}

static void
local_run(struct backend *backend, struct list *batch)
{
	struct local *b = of(backend);
	struct row_meta before = b->stepper.meta;
	struct list *at;
	bool is_in_doubt,
	    is_done = !b->is_rolled_back && run_steps(b, batch, &is_in_doubt);

	if (is_done) {
		seen_note(b->host.seen, str_of(b->id), b->stepper.meta.revision,
		    loop_now(b->host.loop));
	} else {
		b->stepper.meta = before;
		list_each(at, batch) fail(list_entry(at, struct ledger_op, link),
		    b->is_rolled_back ? LEDGER_ROLLED_BACK : LEDGER_AWAY,
		    !b->is_rolled_back && is_in_doubt);
	}
	if (!b->is_rolled_back)
		set_health(b, !is_done);
	end_all(b, batch);
}

static void
local_start(struct backend *backend)
{
	struct local *b = of(backend);

	b->host.health(b->host.arg, b->is_rolled_back ? LEDGER_ROLLED_BACK : LEDGER_OK);
}

static void
local_close(struct backend *backend)
{
	struct local *b = of(backend);

	b->stepper.store->ops->close(b->stepper.store);
	arena_fini(&b->stepper.memory);
	free(b);
}

static const struct backend_ops local_ops = { local_start, local_run, local_close };

/* ---- opening */

/* A new store gets its name; an old one says it. */
static bool
load_meta(struct local *b)
{
	struct stepper *st = &b->stepper;
	bool is_in_doubt;

	if (!st->store->ops->begin(st->store))
		return false;
	if (!st->store->ops->get(
		st->store, ROW_META, STR("meta"), &st->meta, &st->memory)) {
		make_id(b->id);
		st->meta = (struct row_meta){ .format = ROW_FORMAT };
		st->is_changed = true;
	} else if (st->meta.id.n == SEEN_ID - 1) {
		memcpy(b->id, st->meta.id.p, SEEN_ID - 1);
	}
	st->meta.id = str_of(b->id);
	return commit(b, &is_in_doubt);
}

struct backend *
local_new(
    struct store *store, const struct ledger_options *o, const struct backend_host *host)
{
	struct local *b = mem_zalloc(sizeof(*b));
	struct row_meta *meta = &b->stepper.meta;

	b->backend.ops = &local_ops;
	b->host = *host;
	b->shift = o->shift_us;
	b->stepper.store = store;
	arena_init(&b->stepper.memory, SIZE_MAX);
	if (!load_meta(b) || meta->format != ROW_FORMAT) {
		log_error("this ledger cannot be used", "url", o->url, "why",
		    meta->format == 0 ? "it cannot be read or written"
				      : "another version of weir made it");
		local_close(&b->backend);
		return NULL;
	}
	b->lease_base = clock_wall_us() - boot_us();
	if (meta->lease > b->lease_base + boot_us())
		b->lease_base = meta->lease - boot_us();
	b->is_rolled_back = !seen_admits(host->seen, meta->id, meta->revision);
	return &b->backend;
}
