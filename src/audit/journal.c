/*
 * journal.c - append-only JSON lines on a thread of their own, chained
 *
 * Two buffers: workers append lines to `queue` under the lock; the writer takes
 * the whole of it, seals each line into `batch`, and writes that out of the lock.
 * While the batch cannot be written it stays as it is, with `written` saying how
 * far it got, so that no byte is written twice and no line is cut for good.
 *
 * The hot path is one lock that is nearly always free: the writer looks by
 * itself every POLL_MS while there is something to do, and is woken only out of
 * a longer sleep or when much has gathered.
 */
#include "audit/journal.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/anchor.h"
#include "audit/chain.h"
#include "audit/checkpoint.h"
#include "audit/logfile.h"
#include "audit/past.h"
#include "audit/record.h"
#include "audit/seal.h"
#include "audit/segments.h"
#include "audit/siblings.h"
#include "base/count.h"
#include "base/list.h"
#include "base/log.h"

#define POLL_MS 40     /* how late a line may be */
#define CALM_POLLS 25  /* so many without a line: sleep until there is one */
#define GATHERED 65536 /* bytes that are not left waiting */
#define RETRY_MS 250
#define SYNC_MS 1000
#define LOOK_MS 1000 /* how often it is asked whether the file still stands there */
#define CLOSE_TRIES 8
#define LINE_MAX_BYTES 65536        /* above what record.h's caps add up to */
#define TAIL_ROOM ((size_t)2 << 20) /* what logfile_tail() gives fits */
#define CUT_RETRY_MS 60000
#define TORN_MOST 16                 /* each is one time that weir died while it wrote */
#define SYSTEM_ROOM 256              /* lines without a place */
#define KEEP_BYTES ((size_t)1 << 20) /* a buffer that once grew larger is given back */

/* Who waits until lines are in the file.  Who asked and the writer meet under the lock.
 */
struct journal_wait {
	struct list link; /* in journal.waits or .due; alone once it was told */
	struct journal *j;
	struct loop *on;
	void (*done)(void *arg, bool is_written); /* NULL: cancelled */
	void *arg;
	bool is_written;
};

struct journal {
	struct logfile file;
	char *path;   /* owned; the file's borrows it */
	bool is_null; /* no path: lines vanish */
	bool drops;
	size_t places;
	atomic_size_t used; /* places reserved, or held by lines not yet written */
	atomic_uint_fast64_t seq;
	atomic_bool is_healthy;

	pthread_mutex_t lock; /* of what follows, up to the blank line */
	pthread_cond_t wake;
	struct buf queue;             /* lines, each with an LF */
	size_t queued, queued_system; /* lines in it: with a place, without */
	size_t waiting;               /* lines with a place in queue and batch */
	uint64_t dropped;
	char head[CHAIN_HEX];   /* of the last line written */
	bool is_sleeping;       /* the writer waits for a line */
	bool is_gathering;      /* it waits for more lines */
	struct list waits, due; /* for lines in queue; in batch */
	bool wants_reopen, wants_stop, wants_checkpoint;

	pthread_t thread; /* what follows is the writer's */
	bool is_started;
	struct chain chain;
	uint64_t chained; /* lines of it, as far as is known */
	struct buf taken; /* what was in the queue */
	struct buf batch; /* sealed lines */
	size_t written;   /* how much of the batch is in the file */
	size_t lines;     /* in the batch */
	size_t holds;     /* those of them that hold a place */
	bool is_lost;     /* the file was removed, and no other can be made */
	size_t calm;      /* polls without a line */
	char *name;       /* of this weir */
	struct signer *signer;
	struct anchor anchor;
	off_t segment;                   /* bytes of a file that is to be cut; 0: never */
	msec cut_at;                     /* it could not be: not before */
	msec retry_at, sync_at, look_at; /* 0: not */
};

static msec
now_ms(void)
{
	return clock_mono_us() / 1000;
}

/* ---- who waits */

static void
deliver(void *arg)
{
	struct journal_wait *w = arg;

	if (w->done != NULL)
		w->done(w->arg, w->is_written);
	free(w);
}

/* Called with the lock. */
static void
tell(struct list *waits, bool is_written)
{
	while (!list_is_empty(waits)) {
		struct journal_wait *w =
		    list_entry(waits->next, struct journal_wait, link);

		list_remove(&w->link);
		w->is_written = is_written;
		loop_post(w->on, deliver, w);
	}
}

static void
tell_ill(struct journal *j)
{
	pthread_mutex_lock(&j->lock);
	tell(&j->due, j->drops);
	tell(&j->waits, j->drops);
	pthread_mutex_unlock(&j->lock);
}

/* ---- health */

static void
become_ill(struct journal *j, const char *what, int error)
{
	count_add(COUNT_AUDIT_ERRORS, 1);
	j->retry_at = now_ms() + RETRY_MS;
	bool was_healthy = atomic_exchange(&j->is_healthy, false);
	tell_ill(j);
	if (!was_healthy)
		return;
	log_error(what, "path", j->file.path, "err", strerror(error), "then",
	    j->drops ? "records are dropped" : "new exchanges are refused");
}

static void
become_well(struct journal *j)
{
	j->retry_at = 0;
	if (!atomic_exchange(&j->is_healthy, true))
		log_info("audit log can be written again", "path", j->file.path);
}

/* ---- the batch */

static void
give_back(struct buf *b)
{
	buf_reset(b);
	if (b->cap > KEEP_BYTES)
		buf_fini(b);
}

static void
seal(struct journal *j, struct str line)
{
	chain_seal(&j->chain, line, &j->batch);
	j->chained++;
	j->lines++;
}

/* A record of the journal's own. */
static void
say(struct journal *j, const char *event, const char *key, const char *text,
    const char *key2, const char *text2)
{
	struct buf line;

	buf_init(&line, LINE_MAX_BYTES);
	record_print_system(clock_wall_us(), journal_next_seq(j), event, NULL, &line, key,
	    text, key2, text2, NULL);
	seal(j, buf_view(&line));
	buf_fini(&line);
}

static void
say_dropped(struct journal *j, uint64_t dropped)
{
	if (dropped > 0)
		say(j, "records_dropped", "count", NUM((int64_t)dropped), NULL, NULL);
}

static void
seal_taken(struct journal *j)
{
	struct str rest = buf_view(&j->taken);
	size_t at;

	while (str_find(rest, '\n', &at)) {
		seal(j, str_sub(rest, 0, at));
		rest = str_sub(rest, at + 1, rest.n);
	}
	give_back(&j->taken);
}

static void
put_checkpoint(struct journal *j)
{
	struct checkpoint c = { j->name, clock_wall_us(), j->chained, j->chain.head };
	struct buf record, anchored;

	buf_init(&record, LINE_MAX_BYTES);
	buf_init(&anchored, LINE_MAX_BYTES);
	checkpoint_print(&c, j->signer, journal_next_seq(j), &record, &anchored);
	seal(j, buf_view(&record)); /* c.head is another then */
	anchor_add(&j->anchor, buf_view(&anchored));
	buf_fini(&record);
	buf_fini(&anchored);
	j->sync_at = now_ms(); /* nothing is said elsewhere that is not here */
}

/* The batch is in the file: its places are free again, and its last line is the head. */
static void
settle(struct journal *j)
{
	pthread_mutex_lock(&j->lock);
	j->waiting -= j->holds;
	memcpy(j->head, j->chain.head, sizeof(j->head));
	tell(&j->due, true);
	pthread_mutex_unlock(&j->lock);
	atomic_fetch_sub(&j->used, j->holds);
	count_add(COUNT_AUDIT_RECORDS, (int64_t)j->lines);
	j->lines = j->holds = j->written = 0;
	give_back(&j->batch);
}

/*
 * A line that was begun in a file which is gone begins anew in the next one.
 * How many bytes of it are in the old file.
 */
static size_t
rewind_to_line(struct journal *j)
{
	size_t before = j->written, at;

	if (j->written == j->batch.n)
		return 0;
	j->written = 0;
	if (str_rfind(str_sub(buf_view(&j->batch), 0, before), '\n', &at))
		j->written = at + 1;
	before -= j->written;
	if (j->written == 0 && j->batch.p[0] == '\n')
		j->written = 1; /* it was to end a torn line there */
	return before;
}

/* The rest of the line that stands in the file in part. */
static struct str
begun(const struct journal *j)
{
	struct str rest = str_sub(buf_view(&j->batch), j->written, j->batch.n);
	size_t at;

	if (j->written == 0 || j->batch.p[j->written - 1] == '\n' ||
	    !str_find(rest, '\n', &at))
		return STR_NONE;
	return str_sub(rest, 0, at + 1);
}

/* ---- another file */

/* What was begun is ended in the old file, where that still has a name, or not there. */
static int
reopen(struct journal *j)
{
	struct logfile next;
	int error = logfile_open(&next, j->file.path, -1, -1);
	bool was_removed = logfile_is_removed(&j->file);
	size_t begun_bytes;

	if (error != 0)
		return error;
	if (!was_removed)
		j->written += logfile_write(&j->file, begun(j));
	begun_bytes = rewind_to_line(j);
	if (!was_removed)
		logfile_take_back(&j->file, begun_bytes);
	if (!logfile_sync(&j->file))
		count_add(COUNT_AUDIT_ERRORS, 1);
	logfile_close(&j->file);
	logfile_end_line(&next);
	j->file = next;
	j->is_lost = false;
	return 0;
}

/* It was moved or removed and nobody said so. */
static void
look_after_file(struct journal *j)
{
	msec now = now_ms();

	if (now < j->look_at && !logfile_is_removed(&j->file))
		return;
	j->look_at = now + LOOK_MS;
	if (!logfile_is_moved(&j->file))
		return;
	bool was_removed = logfile_is_removed(&j->file);
	int error = reopen(j);
	if (error == 0) {
		say(j, "file_replaced", "why",
		    was_removed ? "the file was removed" : "the file was moved", NULL,
		    NULL);
		return;
	}
	if (atomic_load(&j->is_healthy))
		logfile_complain(j->file.path, error);
	j->is_lost = was_removed;
}

/* ---- the writer's turn */

/* All that was handed over is in the file. */
static void
tell_nothing_waits(struct journal *j)
{
	pthread_mutex_lock(&j->lock);
	tell(&j->due, true);
	pthread_mutex_unlock(&j->lock);
}

static void
flush(struct journal *j)
{
	if (j->batch.n == 0) {
		tell_nothing_waits(j);
		return;
	}
	look_after_file(j);
	if (j->is_lost) { /* what would be written now nobody could read */
		become_ill(j, "audit log was removed", ENOENT);
		return;
	}
	j->written +=
	    logfile_write(&j->file, str_sub(buf_view(&j->batch), j->written, j->batch.n));
	if (j->written < j->batch.n) {
		become_ill(j, "audit log cannot be written", errno);
		return;
	}
	if (j->sync_at == 0)
		j->sync_at = now_ms() + SYNC_MS;
	settle(j);
	become_well(j);
}

static void
sync_when_due(struct journal *j, bool is_last)
{
	if (j->sync_at == 0 || (!is_last && now_ms() < j->sync_at))
		return;
	j->sync_at = 0;
	if (!logfile_sync(&j->file)) {
		become_ill(j, "audit log cannot be synced", errno);
		j->sync_at = j->retry_at;
	} else if (j->batch.n == 0) {
		become_well(j);
	}
}

/* ---- segments */

/* The file is away, and no other is there: as it was. */
static void
uncut(struct journal *j, const char *to, int error)
{
	log_error("the audit log cannot be cut", "path", j->file.path, "err",
	    strerror(error), "then", "it grows on");
	count_add(COUNT_AUDIT_ERRORS, 1);
	j->cut_at = now_ms() + CUT_RETRY_MS;
	if (to != NULL && segments_move(to, j->file.path) != 0)
		log_error("the audit log stays where it was moved", "path", to);
}

/* Its last line is a checkpoint, the first of the next one names it. */
static void
cut(struct journal *j)
{
	char head[CHAIN_HEX];
	struct logfile next;
	char *to = NULL;
	int error = segments_cut(j->file.path, clock_wall_us(), &to);

	if (error == 0)
		error = logfile_open(&next, j->file.path, -1, -1);
	if (error != 0) {
		uncut(j, to, error);
		free(to);
		return;
	}
	logfile_close(&j->file);
	j->file = next;
	memcpy(head, j->chain.head, sizeof(head));
	say(j, "segment", "before", siblings_base(to), "head", head);
	segments_sync(j->file.path);
	log_info("the audit log was cut", "path", to);
	free(to);
	flush(j);
}

static void
cut_when_due(struct journal *j)
{
	if (j->segment == 0 || j->batch.n > 0 || now_ms() < j->cut_at ||
	    logfile_size(&j->file) <= j->segment || logfile_is_moved(&j->file))
		return;
	put_checkpoint(j);
	flush(j);
	sync_when_due(j, true);
	if (j->batch.n == 0)
		cut(j);
}

static void
wait_until(struct journal *j, msec at)
{
	struct timespec ts = { .tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000 };

	pthread_cond_timedwait(&j->wake, &j->lock, &ts);
}

/* When the writer must turn again though nobody calls; 0: it need not. */
static msec
next_write(const struct journal *j)
{
	msec poll = j->calm < CALM_POLLS ? now_ms() + POLL_MS : 0;

	if (j->batch.n > 0)
		return j->retry_at;
	if (poll == 0 || (j->sync_at != 0 && j->sync_at < poll))
		return j->sync_at;
	return poll;
}

static msec
next_turn(const struct journal *j)
{
	msec write = next_write(j), other = j->anchor.retry_at;

	return write == 0 || (other != 0 && other < write) ? other : write;
}

/* Called with the lock: is there something that is not left waiting? */
static bool
has_enough(const struct journal *j)
{
	return !list_is_empty(&j->waits) ||
	       (j->is_gathering ? j->queue.n >= GATHERED : j->queue.n > 0);
}

/* Called with the lock. */
static bool
asks_for_checkpoint(const struct journal *j)
{
	return j->wants_checkpoint && j->batch.n == 0;
}

/* Called with the lock: waits for lines, a request, or the time something is due. */
static void
wait_for_work(struct journal *j)
{
	msec at = next_turn(j);

	j->is_sleeping = j->batch.n == 0 && j->calm >= CALM_POLLS && j->queue.n == 0;
	j->is_gathering = !j->is_sleeping && j->batch.n == 0;
	while (!j->wants_reopen && !j->wants_stop && !asks_for_checkpoint(j) &&
	       (at == 0 || now_ms() < at)) {
		if (at == 0 && !j->is_sleeping)
			break;
		if (j->batch.n == 0 && has_enough(j))
			break;
		if (at == 0)
			pthread_cond_wait(&j->wake, &j->lock);
		else
			wait_until(j, at);
	}
	j->is_sleeping = j->is_gathering = false;
}

/* Called with the lock, and an empty batch. */
static void
take_queue(struct journal *j)
{
	struct buf swap = j->taken;

	j->taken = j->queue;
	j->queue = swap;
	j->calm = j->taken.n > 0 ? 0 : j->calm + (j->calm < CALM_POLLS);
	j->holds = j->queued;
	j->queued = j->queued_system = 0;
	while (!list_is_empty(&j->waits)) {
		struct list *w = j->waits.next;

		list_remove(w);
		list_append(&j->due, w);
	}
}

/* False when that was the last turn. */
static bool
turn(struct journal *j, bool is_last)
{
	uint64_t dropped = 0;
	bool wants_checkpoint = false;
	int error;

	pthread_mutex_lock(&j->lock);
	if (!is_last)
		wait_for_work(j);
	bool wants_reopen = j->wants_reopen;
	j->wants_reopen = false;
	is_last = is_last || j->wants_stop;
	if (j->batch.n == 0) {
		take_queue(j);
		dropped = j->dropped;
		j->dropped = 0;
		wants_checkpoint = j->wants_checkpoint;
		j->wants_checkpoint = false;
	}
	pthread_mutex_unlock(&j->lock);

	if (wants_reopen && logfile_is_moved(&j->file) && (error = reopen(j)) != 0) {
		logfile_complain(j->file.path, error);
		if (!logfile_is_removed(&j->file))
			log_warn("weir goes on in the old audit log, wherever it is now",
			    "path", j->file.path);
	}
	seal_taken(j);
	say_dropped(j, dropped);
	if (wants_checkpoint)
		put_checkpoint(j);
	flush(j);
	sync_when_due(j, is_last);
	cut_when_due(j);
	if (j->batch.n == 0)
		anchor_write(&j->anchor, now_ms());
	return !is_last;
}

static void *
write_lines(void *arg)
{
	struct journal *j = arg;

	while (turn(j, false))
		continue;
	return NULL;
}

/* ---- for everybody */

/* A line that was torn by a crash stays and is named, outside of the chain. */
static void
name_torn(struct journal *j, struct str torn)
{
	char digest[CHAIN_HEX];

	chain_digest(torn, digest);
	say(j, "torn_line", "bytes", NUM((int64_t)torn.n), "sha256", digest);
	log_warn("audit log ended in a torn line", "path", j->file.path);
}

/* Takes the last line off `rest`; an LF that ends it is none of it. */
static bool
take_last(struct str *rest, struct str *line)
{
	size_t at;

	if (rest->n == 0)
		return false;
	if (rest->p[rest->n - 1] == '\n')
		rest->n--;
	*line = *rest;
	if (str_rfind(*rest, '\n', &at)) {
		*line = str_sub(*rest, at + 1, rest->n);
		rest->n = at + 1;
	} else {
		rest->n = 0;
	}
	return true;
}

/*
 * The chain goes on from the last whole line; those behind it are torn: one, or
 * more where weir died again before it could name the first.  EINVAL: too many
 * are no line of ours, or there is none but perhaps further up.
 */
static int
go_on_from(struct journal *j, struct str end, bool is_all)
{
	struct str rest = end, line = STR_NONE;
	size_t torn = 0;

	while (torn <= TORN_MOST && take_last(&rest, &line) && !seal_is_whole(line))
		torn++;
	if (torn > TORN_MOST || (!is_all && !seal_is_whole(line)))
		return EINVAL;
	if (seal_is_whole(line))
		chain_continue(&j->chain, line);
	memcpy(j->head, j->chain.head, sizeof(j->head));
	if (!str_ends(end, STR("\n")))
		buf_char(&j->batch, '\n');
	for (rest = end; torn > 0 && take_last(&rest, &line); torn--)
		name_torn(j, line);
	return 0;
}

/* Weir died when it had cut the file and the next one had no line. */
static void
go_on_behind_segment(struct journal *j)
{
	char *before;

	if (!j->file.is_regular || !segments_last(j->file.path, &before, j->chain.head))
		return;
	memcpy(j->head, j->chain.head, sizeof(j->head));
	say(j, "segment", "before", siblings_base(before), "head", j->head);
	free(before);
}

/* Where the chain goes on. */
static int
read_tail(struct journal *j)
{
	struct buf end;
	bool is_all;
	int error;

	buf_init(&end, TAIL_ROOM);
	error = logfile_tail(&j->file, &end, &is_all);
	if (error == 0 && end.n > 0)
		error = go_on_from(j, buf_view(&end), is_all);
	else if (error == 0)
		go_on_behind_segment(j);
	buf_fini(&end);
	return error;
}

/* What the weir before this one left open has no other end. */
static void
end_lost(struct journal *j)
{
	struct past past;
	struct buf line;
	size_t n = 0;

	past_init(&past);
	buf_init(&line, 2 * LINE_MAX_BYTES);
	segments_recall(&j->file, j->head, &past);
	j->chained += past.lines;
	while (n < past.open.n && past_next(&past, journal_next_seq(j), &line)) {
		seal(j, buf_view(&line));
		buf_reset(&line);
		n++;
	}
	if (past.open.n > 0)
		log_warn("weir did not end what it began: exchanges are recorded as lost",
		    "path", j->file.path, "open", NUM((int64_t)past.open.n), "lost",
		    NUM((int64_t)n));
	count_add(COUNT_AUDIT_LOST, (int64_t)n);
	buf_fini(&line);
	past_fini(&past);
}

static struct journal *
journal_new(const struct journal_options *o)
{
	struct journal *j = mem_zalloc(sizeof(*j));
	size_t max = (o->places + SYSTEM_ROOM) * (size_t)LINE_MAX_BYTES;
	pthread_condattr_t attr;

	j->places = o->places;
	j->drops = o->drops;
	j->is_null = o->path == NULL;
	j->path = j->is_null ? NULL : mem_strdup(o->path);
	j->file.fd = -1;
	j->segment = (off_t)o->segment;
	j->name = mem_strdup(o->name != NULL ? o->name : "weir");
	j->signer = o->sign.n > 0 ? signer_new(o->sign) : NULL;
	anchor_init(&j->anchor, o->path == NULL ? NULL : o->anchor, o->uid, o->gid);
	atomic_init(&j->is_healthy, true);
	list_init(&j->waits);
	list_init(&j->due);
	pthread_mutex_init(&j->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&j->wake, &attr);
	pthread_condattr_destroy(&attr);
	chain_init(&j->chain, o->key);
	memcpy(j->head, j->chain.head, sizeof(j->head));
	buf_init(&j->queue, max);
	buf_init(&j->taken, max);
	buf_init(&j->batch, 2 * max);
	return j;
}

static void
journal_free(struct journal *j)
{
	logfile_close(&j->file);
	anchor_fini(&j->anchor);
	signer_free(j->signer);
	free(j->name);
	chain_fini(&j->chain);
	buf_fini(&j->queue);
	buf_fini(&j->taken);
	buf_fini(&j->batch);
	pthread_cond_destroy(&j->wake);
	pthread_mutex_destroy(&j->lock);
	free(j->path);
	free(j);
}

struct journal *
journal_open(const struct journal_options *o)
{
	struct journal *j = journal_new(o);
	int error;

	if (j->is_null)
		return j;
	if ((error = logfile_open(&j->file, j->path, o->uid, o->gid)) == 0 &&
	    (error = read_tail(j)) == 0) {
		end_lost(j);
		return j;
	}
	logfile_complain(o->path, error);
	journal_free(j);
	return NULL;
}

/* Signals are the main thread's; EPIPE on stdout comes as an error then. */
void
journal_start(struct journal *j)
{
	sigset_t all, old;

	if (j->is_null)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&j->thread, NULL, write_lines, j) != 0)
		abort();
	pthread_setname_np(j->thread, "weir-audit");
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	j->is_started = true;
}

void
journal_close(struct journal *j)
{
	if (j == NULL)
		return;
	if (j->is_started) {
		pthread_mutex_lock(&j->lock);
		j->wants_stop = true;
		pthread_cond_signal(&j->wake);
		pthread_mutex_unlock(&j->lock);
		pthread_join(j->thread, NULL);
	}
	j->file.patience_ms = 0; /* the tries are */
	for (int i = 0; !j->is_null && i < CLOSE_TRIES; i++) {
		turn(j, true);
		if (j->batch.n == 0 && j->queue.n == 0 && !j->wants_checkpoint)
			break;
		nanosleep(&(struct timespec){ .tv_nsec = RETRY_MS * 1000000L }, NULL);
	}
	if (j->waiting > 0)
		log_error("audit records are lost", "path", j->file.path, "count",
		    NUM((int64_t)j->waiting));
	journal_free(j);
}

bool
journal_reserve(struct journal *j)
{
	size_t used = atomic_load(&j->used);

	if (j->drops || j->is_null) {
		atomic_fetch_add(&j->used, 1);
		return true;
	}
	if (!atomic_load(&j->is_healthy))
		return false;
	do
		if (used >= j->places)
			return false;
	while (!atomic_compare_exchange_weak(&j->used, &used, used + 1));
	return true;
}

void
journal_give_back(struct journal *j)
{
	size_t before = atomic_fetch_sub(&j->used, 1);

	assert(before > 0);
	(void)before;
}

/* Called with the lock; true when the writer must be woken. */
static bool
append(struct journal *j, struct str line)
{
	assert(line.n > 0 && line.n < LINE_MAX_BYTES);
	buf_str(&j->queue, line);
	buf_char(&j->queue, '\n');
	assert(!j->queue.is_over);
	bool must_wake = j->is_sleeping || (j->is_gathering && j->queue.n >= GATHERED);
	if (must_wake)
		j->is_sleeping = j->is_gathering = false;
	return must_wake;
}

void
journal_write(struct journal *j, struct str line)
{
	bool must_wake = false;
	bool is_dropped = j->is_null;

	if (!j->is_null) {
		pthread_mutex_lock(&j->lock);
		is_dropped = j->drops && j->waiting >= j->places;
		if (is_dropped) {
			j->dropped++;
		} else {
			j->waiting++;
			j->queued++;
			must_wake = append(j, line);
		}
		pthread_mutex_unlock(&j->lock);
	}
	if (must_wake)
		pthread_cond_signal(&j->wake);
	if (is_dropped)
		journal_give_back(j);
	if (is_dropped && !j->is_null)
		count_add(COUNT_AUDIT_DROPPED, 1);
}

bool
journal_write_system(struct journal *j, struct str line)
{
	bool must_wake = false;

	if (j->is_null)
		return true;
	pthread_mutex_lock(&j->lock);
	bool has_room = j->queued_system < SYSTEM_ROOM;
	if (has_room) {
		j->queued_system++;
		must_wake = append(j, line);
	}
	pthread_mutex_unlock(&j->lock);
	if (must_wake)
		pthread_cond_signal(&j->wake);
	return has_room;
}

/* Called with the lock: the writer turns now. */
static void
wake(struct journal *j)
{
	j->is_sleeping = j->is_gathering = false;
	pthread_cond_signal(&j->wake);
}

struct journal_wait *
journal_wait_start(struct journal *j, struct loop *on,
    void (*done)(void *arg, bool is_written), void *arg)
{
	struct journal_wait *w;

	if (j->is_null)
		return NULL;
	w = mem_zalloc(sizeof(*w));
	w->j = j;
	w->on = on;
	w->done = done;
	w->arg = arg;
	pthread_mutex_lock(&j->lock);
	list_append(&j->waits, &w->link);
	if (!atomic_load(&j->is_healthy))
		tell(&j->waits, j->drops);
	else
		wake(j);
	pthread_mutex_unlock(&j->lock);
	return w;
}

void
journal_wait_cancel(struct journal_wait *w)
{
	struct journal *j;

	if (w == NULL)
		return;
	j = w->j;
	pthread_mutex_lock(&j->lock);
	bool is_told = list_is_empty(&w->link);
	list_remove(&w->link);
	w->done = NULL; /* deliver() frees it */
	pthread_mutex_unlock(&j->lock);
	if (!is_told)
		free(w);
}

void
journal_checkpoint(struct journal *j)
{
	if (j->is_null)
		return;
	pthread_mutex_lock(&j->lock);
	j->wants_checkpoint = true;
	wake(j);
	pthread_mutex_unlock(&j->lock);
}

bool
journal_is_anchored(const struct journal *j)
{
	return atomic_load(&j->anchor.is_anchored);
}

void
journal_reopen(struct journal *j)
{
	pthread_mutex_lock(&j->lock);
	j->wants_reopen = true;
	pthread_cond_signal(&j->wake);
	pthread_mutex_unlock(&j->lock);
}

bool
journal_is_healthy(const struct journal *j)
{
	return atomic_load(&j->is_healthy);
}

uint64_t
journal_next_seq(struct journal *j)
{
	return atomic_fetch_add(&j->seq, 1) + 1;
}

void
journal_head(struct journal *j, char out[static 65])
{
	pthread_mutex_lock(&j->lock);
	memcpy(out, j->head, sizeof(j->head));
	pthread_mutex_unlock(&j->lock);
}
