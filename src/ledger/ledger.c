/*
 * ledger.c - the thread that owns the store, and what is done when in doubt
 *
 * An op comes through the mailbox onto `queue`; a turn later, when all that came with it
 * is there too, the backend gets a batch.  What must not be lost (settles, releases,
 * corrections) and found the store away is `kept`, and tried again.
 */
#include "ledger/ledger.h"

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/log.h"
#include "ledger/backend.h"

#define BATCH_MAX 256
#define UNDER_WAY_MAX 65536 /* reserves and sessions; more are refused */
#define PATIENCE_MS 5000
#define SWEEP_MS 1000
#define RETRY_MS 250

struct ledger {
	struct loop *loop;
	pthread_t thread;
	bool is_started;
	bool is_shared; /* its store */
	sem_t begun;    /* the store has said how it is, or is being connected to */
	_Atomic int health;
	atomic_size_t under_way, waiting;
	atomic_size_t refs; /* the owner's, and one for each op that a caller waits for */
	atomic_bool is_closed;
	struct seen seen;

	/* the thread's: */
	struct backend *backend;
	struct list queue; /* to be given to the backend */
	struct list kept;  /* to be tried again, oldest first */
	size_t with_store;
	bool is_flush_posted, is_sweeping, is_closing, has_health;
	msec patience_ms, sweep_ms;
	struct timer sweep, retry;
};

enum ledger_answer
ledger_health(const struct ledger *l)
{
	return (enum ledger_answer)atomic_load(&l->health);
}

bool
ledger_is_shared(const struct ledger *l)
{
	return l->is_shared;
}

size_t
ledger_waiting(const struct ledger *l)
{
	return atomic_load(&l->waiting);
}

static void
count_waiting(struct ledger *l, int n)
{
	atomic_fetch_add(&l->waiting, (size_t)n);
	count_add(COUNT_LEDGER_WAITING, n);
}

/* What it was before. */
static enum ledger_answer
set_health(struct ledger *l, enum ledger_answer is)
{
	enum ledger_answer was = (enum ledger_answer)atomic_exchange(&l->health, (int)is);

	count_add(COUNT_LEDGER_UP, (is == LEDGER_OK) - (was == LEDGER_OK));
	return was;
}

/* ---- back to the caller */

/* Of those that the store has done or refused, which must not simply be lost? */
static bool
is_kept(const struct ledger_op *op)
{
	switch (op->kind) {
	case OP_SETTLE:
	case OP_RELEASE:
		return true;
	case OP_RESERVE:
	case OP_SESSION:
	case OP_LOOK:
	case OP_RENEW:
	case OP_SWEEP:
	case OP_ADJUST:
	case OP_FORGET:
	case OP_REVOKE:
	case OP_NOTE_PUT:
	case OP_NOTE_GET:
	case OP_NOTE_DELETE:
	case OP_NOTE_ADD:
	case OP_KINDS:
		break;
	}
	return false;
}

static bool
is_counted(const struct ledger_op *op)
{
	return op->kind == OP_RESERVE || op->kind == OP_SESSION;
}

static void submit(struct ledger *l, struct ledger_op *op);

/* The last of owner and callers frees it: a caller's loop may end after the ledger. */
static void
unref(struct ledger *l)
{
	if (atomic_fetch_sub(&l->refs, 1) > 1)
		return;
	loop_free(l->loop);
	sem_destroy(&l->begun);
	free(l);
}

/* On the caller's loop. */
static void
deliver(void *arg)
{
	struct ledger_op *op = arg;
	struct ledger *l = op->ledger;

	if (!op->is_cancelled && op->done != NULL)
		op->done(op->arg, &op->reply);
	else if (op->is_cancelled && op->kind == OP_RESERVE &&
		 op->reply.answer == LEDGER_OK)
		submit(l, op_release(op));
	op_free(op);
	unref(l);
}

/* On the ledger's thread: done with it. */
static void
give_back(struct ledger *l, struct ledger_op *op)
{
	if (is_counted(op))
		atomic_fetch_sub(&l->under_way, 1);
	if (op->on != NULL)
		loop_post(op->on, deliver, op);
	else
		op_free(op);
}

/* ---- towards the store */

static void
flush(void *arg)
{
	struct ledger *l = arg;
	struct list batch;

	l->is_flush_posted = false;
	list_init(&batch);
	for (size_t n = 0; n < BATCH_MAX && !list_is_empty(&l->queue); n++) {
		struct list *first = l->queue.next;

		list_remove(first);
		list_append(&batch, first);
		l->with_store++;
	}
	if (!list_is_empty(&l->queue)) {
		l->is_flush_posted = true;
		loop_post(l->loop, flush, l);
	}
	if (!list_is_empty(&batch))
		l->backend->ops->run(l->backend, &batch);
}

static void
enqueue(struct ledger *l, struct ledger_op *op)
{
	list_append(&l->queue, &op->link);
	if (l->is_flush_posted)
		return;
	l->is_flush_posted = true;
	loop_post(l->loop, flush, l); /* behind what is in the mailbox now */
}

static void
on_submit(void *arg)
{
	struct ledger_op *op = arg;

	op->since = loop_now(op->ledger->loop);
	enqueue(op->ledger, op);
}

static void
submit(struct ledger *l, struct ledger_op *op)
{
	op->ledger = l;
	if (atomic_load(&l->is_closed))
		op_free(op);
	else
		loop_post(l->loop, on_submit, op);
}

/* ---- in doubt */

/* The caller has waited long enough; what it asked goes on without it. */
static void
detach(struct ledger *l, struct ledger_op *op)
{
	struct ledger_op *heir = op_split(op);

	list_append(&op->link, &heir->link); /* in op's place: kept is in order */
	list_remove(&op->link);
	op->reply =
	    (struct ledger_reply){ .answer = ledger_health(l) == LEDGER_ROLLED_BACK
						 ? LEDGER_ROLLED_BACK
						 : LEDGER_AWAY };
	give_back(l, op);
}

static void
detach_impatient(struct ledger *l)
{
	msec now = loop_now(l->loop);
	struct list *at, *next;

	list_each_safe(at, next, &l->kept)
	{
		struct ledger_op *op = list_entry(at, struct ledger_op, link);

		if (op->on != NULL && now - op->since >= l->patience_ms)
			detach(l, op);
	}
}

static void
retry(struct ledger *l)
{
	while (!list_is_empty(&l->kept)) {
		struct list *first = l->kept.next;

		list_remove(first);
		count_waiting(l, -1);
		enqueue(l, list_entry(first, struct ledger_op, link));
	}
}

static void
on_retry(void *arg)
{
	struct ledger *l = arg;

	detach_impatient(l);
	retry(l);
}

static void
keep(struct ledger *l, struct ledger_op *op)
{
	count_waiting(l, 1);
	list_append(&l->kept, &op->link);
	if (!timer_is_set(&l->retry))
		timer_set(l->loop, &l->retry, RETRY_MS);
}

static void
stop_when_idle(struct ledger *l)
{
	if (l->is_closing && list_is_empty(&l->queue) && l->with_store == 0)
		loop_stop(l->loop);
}

static bool
is_refused_by_trouble(const struct ledger_op *op)
{
	return op->reply.answer == LEDGER_AWAY || op->reply.answer == LEDGER_ROLLED_BACK;
}

static void
on_ended(void *arg, struct ledger_op *op)
{
	struct ledger *l = arg;

	assert(l->with_store > 0);
	l->with_store--;
	if (op->kind == OP_SWEEP) {
		l->is_sweeping = false;
		if (op->reply.answer == LEDGER_OK)
			count_add(COUNT_MODEL_CALLS_LOST, op->number);
	}
	if (op->kind == OP_RESERVE && op->reply.answer == LEDGER_AWAY && op->is_in_doubt)
		submit(l, op_release(op));
	if (is_refused_by_trouble(op) && is_kept(op) && !l->is_closing)
		keep(l, op);
	else
		give_back(l, op);
	stop_when_idle(l);
}

static void
sweep(struct ledger *l)
{
	if (l->is_sweeping)
		return;
	l->is_sweeping = true;
	submit(l, op_new(OP_SWEEP));
}

static void
on_health(void *arg, enum ledger_answer is)
{
	struct ledger *l = arg;
	bool is_first = !l->has_health;

	l->has_health = true;
	if (set_health(l, is) == is && !is_first)
		return;
	if (is == LEDGER_OK) {
		log_info("the ledger is there");
		retry(l);
		sweep(l); /* says at once when it is another store than before */
	} else if (is == LEDGER_ROLLED_BACK) {
		log_error("the ledger is older than the one this weir has seen: no model "
			  "call is served",
		    "file", l->seen.path, "remedy",
		    "restore the newest copy; to accept the loss, remove the file and "
		    "start again");
	} else {
		log_error("the ledger is away: model calls and new sessions are refused");
	}
}

static void
on_sweep(void *arg)
{
	struct ledger *l = arg;

	timer_set(l->loop, &l->sweep, l->sweep_ms);
	seen_sync(&l->seen, loop_now(l->loop));
	sweep(l);
}

/* ---- the thread */

static void *
run(void *arg)
{
	struct ledger *l = arg;
	sigset_t all;

	sigfillset(&all); /* signals are the main thread's */
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	l->backend->ops->start(l->backend);
	sem_post(&l->begun);
	timer_set(l->loop, &l->sweep, l->sweep_ms);
	loop_run(l->loop);
	return NULL;
}

void
ledger_start(struct ledger *l)
{
	if (pthread_create(&l->thread, NULL, run, l) != 0) {
		log_error("no thread for the ledger");
		abort();
	}
	l->is_started = true;
	while (sem_wait(&l->begun) != 0) /* a signal */
		;
}

static const struct {
	struct str scheme;
	struct backend *(*open)(
	    struct str where, const struct ledger_options *, const struct backend_host *);
	bool is_remembered; /* across restarts */
	bool is_shared;     /* with other instances */
} schemes[] = {
	{ { "memory:", 7 }, backend_memory, false, false },
	{ { "sqlite:", 7 }, backend_sqlite, true, false },
#ifdef HAVE_REDIS
	{ { "redis://", 8 }, backend_redis, true, true },
	{ { "redis+unix:", 11 }, backend_redis_unix, true, true },
#endif
};

static bool
open_backend(struct ledger *l, const struct ledger_options *o)
{
	struct backend_host host = { on_ended, on_health, l, l->loop, &l->seen };
	struct str url = str_of(o->url);

	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
		if (!str_starts(url, schemes[i].scheme))
			continue;
		if (schemes[i].is_remembered &&
		    !seen_open(&l->seen, o->directory, o->url, o->uid, o->gid))
			return false;
		l->is_shared = schemes[i].is_shared;
		l->backend =
		    schemes[i].open(str_sub(url, schemes[i].scheme.n, url.n), o, &host);
		return l->backend != NULL;
	}
	log_error("no such ledger", "url", o->url, "right",
	    "sqlite:PATH, redis://HOST:PORT/DB");
	return false;
}

struct ledger *
ledger_open(const struct ledger_options *o)
{
	struct ledger *l = mem_zalloc(sizeof(*l));

	l->loop = loop_new();
	l->seen.fd = -1;
	sem_init(&l->begun, 0, 0);
	atomic_store(&l->refs, 1);
	list_init(&l->queue);
	list_init(&l->kept);
	timer_init(&l->sweep, on_sweep, l);
	timer_init(&l->retry, on_retry, l);
	l->patience_ms = o->patience_ms > 0 ? o->patience_ms : PATIENCE_MS;
	l->sweep_ms = o->sweep_ms > 0 ? o->sweep_ms : SWEEP_MS;
	if (open_backend(l, o))
		return l;
	ledger_close(l);
	return NULL;
}

/* ---- the end */

/* All that was posted before this is in the queue, and goes to the store once more. */
static void
on_close(void *arg)
{
	struct ledger *l = arg;

	l->is_closing = true;
	timer_clear(&l->sweep);
	timer_clear(&l->retry);
	retry(l);
	stop_when_idle(l);
}

static void
forget_queue(struct ledger *l, struct list *queue)
{
	while (!list_is_empty(queue)) {
		struct ledger_op *op = list_entry(queue->next, struct ledger_op, link);

		list_remove(&op->link);
		op->reply = (struct ledger_reply){ .answer = LEDGER_AWAY };
		give_back(l, op);
	}
}

void
ledger_close(struct ledger *l)
{
	if (l == NULL)
		return;
	if (l->is_started) {
		loop_post(l->loop, on_close, l);
		pthread_join(l->thread, NULL);
	}
	atomic_store(&l->is_closed, true);
	forget_queue(l, &l->queue);
	forget_queue(l, &l->kept);
	count_waiting(l, -(int)atomic_load(&l->waiting));
	set_health(l, LEDGER_AWAY);
	if (l->backend != NULL)
		l->backend->ops->close(l->backend);
	seen_close(&l->seen);
	unref(l);
}

/* ---- asking */

static struct ledger_op *
start(
    struct ledger *l, struct loop *on, struct ledger_op *op, ledger_done *done, void *arg)
{
	op->ledger = l;
	op->on = on;
	op->done = done;
	op->arg = arg;
	atomic_fetch_add(&l->refs, 1);
	if (op->reply.answer == LEDGER_INVALID)
		loop_post(on, deliver, op);
	else
		submit(l, op);
	return op;
}

static struct ledger_op *
start_counted(
    struct ledger *l, struct loop *on, struct ledger_op *op, ledger_done *done, void *arg)
{
	if (op == NULL)
		return NULL;
	if (atomic_fetch_add(&l->under_way, 1) < UNDER_WAY_MAX)
		return start(l, on, op, done, arg);
	atomic_fetch_sub(&l->under_way, 1);
	op_free(op);
	return NULL;
}

struct ledger_op *
ledger_reserve_start(struct ledger *l, struct loop *on, const struct ledger_reserve *r,
    ledger_done *done, void *arg)
{
	return start_counted(l, on, op_reserve(r), done, arg);
}

struct ledger_op *
ledger_session_start(struct ledger *l, struct loop *on, const struct ledger_who *who,
    ledger_done *done, void *arg)
{
	return start_counted(l, on, op_session(who), done, arg);
}

struct ledger_op *
ledger_settle_start(struct ledger *l, struct loop *on, const struct ledger_settle *s,
    ledger_done *done, void *arg)
{
	return start(l, on, op_settle(s), done, arg);
}

struct ledger_op *
ledger_look_start(struct ledger *l, struct loop *on, const struct ledger_look *q,
    ledger_done *done, void *arg)
{
	return start(l, on, op_look(q), done, arg);
}

struct ledger_op *
ledger_renew_start(struct ledger *l, struct loop *on, const struct ledger_renew *r,
    ledger_done *done, void *arg)
{
	return start(l, on, op_renew(r), done, arg);
}

struct ledger_op *
ledger_adjust_start(struct ledger *l, struct loop *on, const struct ledger_adjust *a,
    ledger_done *done, void *arg)
{
	return start(l, on, op_adjust(a), done, arg);
}

struct ledger_op *
ledger_forget_start(struct ledger *l, struct loop *on, const struct ledger_forget *f,
    ledger_done *done, void *arg)
{
	return start(l, on, op_forget(f), done, arg);
}

struct ledger_op *
ledger_revoke_start(struct ledger *l, struct loop *on, struct str issuer,
    struct str tenant, struct str sid, ledger_done *done, void *arg)
{
	return start(l, on, op_revoke(issuer, tenant, sid), done, arg);
}

struct ledger_op *
ledger_note_put_start(struct ledger *l, struct loop *on, const struct ledger_note *n,
    ledger_done *done, void *arg)
{
	return start(l, on, op_note(OP_NOTE_PUT, n), done, arg);
}

struct ledger_op *
ledger_note_get_start(struct ledger *l, struct loop *on, const struct ledger_note *n,
    ledger_done *done, void *arg)
{
	return start(l, on, op_note(OP_NOTE_GET, n), done, arg);
}

struct ledger_op *
ledger_note_add_start(struct ledger *l, struct loop *on, const struct ledger_note *n,
    ledger_done *done, void *arg)
{
	return start(l, on, op_note(OP_NOTE_ADD, n), done, arg);
}

struct ledger_op *
ledger_note_delete_start(struct ledger *l, struct loop *on, const struct ledger_note *n,
    ledger_done *done, void *arg)
{
	return start(l, on, op_note(OP_NOTE_DELETE, n), done, arg);
}

void
ledger_cancel(struct ledger_op *op)
{
	if (op != NULL)
		op->is_cancelled = true;
}
