/*
 * journal.c - append-only JSON lines on a thread of their own, chained
 *
 * Two buffers: workers append lines to `queue` under the lock; the writer takes
 * the whole of it, seals each line into `batch`, and writes that out of the lock.
 *
 * The hot path is one lock that is nearly always free: the writer looks by
 * itself every POLL_MS while there is something to do, and is woken only out of
 * a longer sleep or when much has gathered.
 */
#include "audit/journal.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/anchor.h"
#include "audit/batch.h"
#include "audit/checkpoint.h"
#include "audit/files.h"
#include "audit/hung.h"
#include "audit/resume.h"
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
#define CUT_RETRY_MS 60000
#define SYSTEM_ROOM 256 /* lines without a place */

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
	char *path;   /* owned; the file's borrows it */
	bool is_null; /* no path: lines vanish */
	bool drops;
	size_t places;
	atomic_size_t used; /* places reserved, or held by lines not yet written */
	atomic_bool is_healthy;
	atomic_bool stands_still; /* a turn does not end */

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
	struct hung turn;

	pthread_t thread; /* what follows is the writer's */
	bool is_started;
	struct buf taken;   /* what was in the queue */
	struct batch batch; /* its numbers are any thread's */
	size_t holds;       /* lines in it that hold a place */
	size_t calm;        /* polls without a line */
	bool is_unsynced;   /* the last sync failed: what is in the file may be lost */
	char *name;         /* of this weir */
	struct signer *signer;
	struct anchor *anchor;
	size_t files; /* of the log, when they were counted */
	struct room room;
	off_t segment;                   /* bytes of a file that is to be cut; 0: never */
	msec cut_at;                     /* it could not be: not before */
	msec retry_at, sync_at, look_at; /* 0: not */
};

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
	j->retry_at = clock_mono_ms() + RETRY_MS;
	bool was_healthy = atomic_exchange(&j->is_healthy, false);
	tell_ill(j);
	if (!was_healthy)
		return;
	log_error(what, "path", j->batch.file.path, "err", strerror(error), "then",
	    j->drops ? "records are dropped" : "new exchanges are refused");
}

static void
become_well(struct journal *j)
{
	j->retry_at = 0;
	if (!atomic_exchange(&j->is_healthy, true))
		log_info("audit log can be written again", "path", j->batch.file.path);
}

/* ---- the batch */

static void
say_dropped(struct journal *j, uint64_t dropped)
{
	if (dropped > 0)
		batch_say(&j->batch, "records_dropped", "count", NUM((int64_t)dropped),
		    NULL, NULL);
}

static void
seal_taken(struct journal *j)
{
	struct str rest = buf_view(&j->taken);
	size_t at;

	while (str_find(rest, '\n', &at)) {
		batch_seal(&j->batch, str_sub(rest, 0, at));
		rest = str_sub(rest, at + 1, rest.n);
	}
	batch_give_back(&j->taken);
}

static void
put_checkpoint(struct journal *j)
{
	struct checkpoint c = { j->name, clock_wall_us(), j->batch.chained,
		j->batch.chain.head };
	struct buf record, anchored;

	buf_init(&record, BATCH_LINE_MAX);
	buf_init(&anchored, BATCH_LINE_MAX);
	checkpoint_print(&c, j->signer, batch_next_seq(&j->batch), &record, &anchored);
	batch_seal(&j->batch, buf_view(&record)); /* c.head is another then */
	anchor_add(j->anchor, buf_view(&anchored));
	buf_fini(&record);
	buf_fini(&anchored);
	j->sync_at = clock_mono_ms(); /* nothing is said elsewhere that is not here */
}

/* The batch is in the file: its places are free again, and its last line is the head. */
static void
settle(struct journal *j)
{
	pthread_mutex_lock(&j->lock);
	j->waiting -= j->holds;
	memcpy(j->head, j->batch.chain.head, sizeof(j->head));
	tell(&j->due, true);
	pthread_mutex_unlock(&j->lock);
	atomic_fetch_sub(&j->used, j->holds);
	count_add(COUNT_AUDIT_RECORDS, (int64_t)j->batch.lines);
	j->holds = 0;
	batch_forget(&j->batch);
}

/* ---- another file */

/* It was moved or removed and nobody said so. */
static void
look_after_file(struct journal *j)
{
	msec now = clock_mono_ms();

	if (now < j->look_at && !logfile_is_removed(&j->batch.file))
		return;
	j->look_at = now + LOOK_MS;
	if (!logfile_is_moved(&j->batch.file))
		return;
	bool was_removed = logfile_is_removed(&j->batch.file);
	int error = batch_reopen(&j->batch);
	if (error == 0) {
		batch_say(&j->batch, "file_replaced", "why",
		    was_removed ? "the file was removed" : "the file was moved", NULL,
		    NULL);
		return;
	}
	if (atomic_load(&j->is_healthy))
		logfile_complain(j->batch.file.path, error);
	j->batch.is_lost = was_removed;
}

/* ---- its file system */

static void
look_for_room(struct journal *j)
{
	if (room_look(&j->room, &j->batch.file, clock_mono_ms()))
		batch_say(&j->batch, "room", "state", room_state_name(journal_room(j)),
		    "free", NUM(journal_free_bytes(j)));
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
	if (j->batch.text.n == 0) {
		tell_nothing_waits(j);
		return;
	}
	look_after_file(j);
	if (j->batch.is_lost) { /* what would be written now nobody could read */
		become_ill(j, "audit log was removed", ENOENT);
		return;
	}
	if (!batch_write(&j->batch)) {
		become_ill(j, "audit log cannot be written", errno);
		return;
	}
	if (j->sync_at == 0)
		j->sync_at = clock_mono_ms() + SYNC_MS;
	settle(j);
	if (!j->is_unsynced)
		become_well(j);
}

static void
sync_when_due(struct journal *j, bool is_last)
{
	if (j->sync_at == 0 || (!is_last && clock_mono_ms() < j->sync_at))
		return;
	j->sync_at = 0;
	j->is_unsynced = !logfile_sync(&j->batch.file);
	if (j->is_unsynced) {
		become_ill(j, "audit log cannot be synced", errno);
		j->sync_at = j->retry_at;
	} else if (j->batch.text.n == 0) {
		become_well(j);
	}
}

/* Something is not in the file yet, or may not stay there: nothing is built on it. */
static bool
has_unfinished(const struct journal *j)
{
	return j->batch.text.n > 0 || j->is_unsynced;
}

/* ---- segments */

/* The file is away, and no other is there: as it was. */
static void
uncut(struct journal *j, const char *to, int error)
{
	log_error("the audit log cannot be cut", "path", j->batch.file.path, "err",
	    strerror(error), "then", "it grows on");
	count_add(COUNT_AUDIT_ERRORS, 1);
	j->cut_at = clock_mono_ms() + CUT_RETRY_MS;
	if (to != NULL && segments_move(to, j->batch.file.path) != 0)
		log_error("the audit log stays where it was moved", "path", to);
}

/* Who keeps more files than are read is to hear of it before he looks for a record. */
static void
count_files(struct journal *j)
{
	size_t n = segments_count(j->batch.file.path);

	count_add(COUNT_AUDIT_FILES, (int64_t)n - (int64_t)j->files);
	j->files = n;
	if (n > AUDIT_FILES_MAX)
		log_warn("the audit log has more files than weir audit looks at: move "
			 "the oldest to another directory",
		    "path", j->batch.file.path, "files", NUM((int64_t)n), "most",
		    NUM((int64_t)AUDIT_FILES_MAX));
}

/* Its last line is a checkpoint, the first of the next one names it. */
static void
cut(struct journal *j)
{
	char head[CHAIN_HEX];
	struct logfile next;
	char *to = NULL;
	int error = segments_cut(j->batch.file.path, clock_wall_us(), &to);

	if (error == 0)
		error = logfile_open(&next, j->batch.file.path, -1, -1);
	if (error != 0) {
		uncut(j, to, error);
		free(to);
		return;
	}
	logfile_close(&j->batch.file);
	j->batch.file = next;
	memcpy(head, j->batch.chain.head, sizeof(head));
	batch_say(&j->batch, "segment", "before", siblings_base(to), "head", head);
	segments_sync(j->batch.file.path);
	log_info("the audit log was cut", "path", to);
	free(to);
	count_files(j);
	flush(j);
}

static void
cut_when_due(struct journal *j)
{
	if (j->segment == 0 || has_unfinished(j) || clock_mono_ms() < j->cut_at ||
	    logfile_size(&j->batch.file) <= j->segment ||
	    logfile_is_moved(&j->batch.file))
		return;
	put_checkpoint(j);
	flush(j);
	sync_when_due(j, true);
	if (!has_unfinished(j))
		cut(j);
}

/* When the writer must turn again though nobody calls; 0: it need not. */
static msec
next_write(const struct journal *j)
{
	msec poll = j->calm < CALM_POLLS ? clock_mono_ms() + POLL_MS : 0;

	if (j->batch.text.n > 0)
		return j->retry_at;
	if (poll == 0 || (j->sync_at != 0 && j->sync_at < poll))
		return j->sync_at;
	return poll;
}

/* 0 is never. */
static msec
sooner(msec a, msec b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

static msec
next_turn(const struct journal *j)
{
	return sooner(next_write(j), room_next(&j->room));
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
	return j->wants_checkpoint && j->batch.text.n == 0;
}

/* Called with the lock: waits for lines, a request, or the time something is due. */
static void
wait_for_work(struct journal *j)
{
	msec at = next_turn(j);

	j->is_sleeping = j->batch.text.n == 0 && j->calm >= CALM_POLLS && j->queue.n == 0;
	j->is_gathering = !j->is_sleeping && j->batch.text.n == 0;
	while (!j->wants_reopen && !j->wants_stop && !asks_for_checkpoint(j) &&
	       (at == 0 || clock_mono_ms() < at)) {
		if (at == 0 && !j->is_sleeping)
			break;
		if (j->batch.text.n == 0 && has_enough(j))
			break;
		if (at == 0)
			pthread_cond_wait(&j->wake, &j->lock);
		else
			hung_wait(&j->wake, &j->lock, at);
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

/* Called with the lock. */
static void
end_turn(struct journal *j)
{
	if (!hung_end(&j->turn))
		return;
	atomic_store(&j->stands_still, false);
	log_info("audit log moves again", "path", j->batch.file.path);
}

/* False when that was the last turn. */
static bool
turn(struct journal *j, bool is_last)
{
	uint64_t dropped = 0;
	bool wants_checkpoint = false;
	int error;

	pthread_mutex_lock(&j->lock);
	end_turn(j);
	if (!is_last)
		wait_for_work(j);
	bool wants_reopen = j->wants_reopen;
	j->wants_reopen = false;
	is_last = is_last || j->wants_stop;
	if (j->batch.text.n == 0) {
		take_queue(j);
		dropped = j->dropped;
		j->dropped = 0;
		wants_checkpoint = j->wants_checkpoint;
		j->wants_checkpoint = false;
	}
	hung_begin(&j->turn, clock_mono_ms());
	pthread_mutex_unlock(&j->lock);

	if (wants_reopen && logfile_is_moved(&j->batch.file) &&
	    (error = batch_reopen(&j->batch)) != 0) {
		logfile_complain(j->batch.file.path, error);
		if (!logfile_is_removed(&j->batch.file))
			log_warn("weir goes on in the old audit log, wherever it is now",
			    "path", j->batch.file.path);
	}
	seal_taken(j);
	say_dropped(j, dropped);
	look_for_room(j);
	if (wants_checkpoint)
		put_checkpoint(j);
	flush(j);
	sync_when_due(j, is_last);
	cut_when_due(j);
	if (!has_unfinished(j))
		anchor_send(j->anchor);
	return !is_last;
}

/* What could not be written is tried again, some times. */
static void
finish(struct journal *j)
{
	j->batch.file.patience_ms = 0; /* the tries are */
	for (int i = 0; i < CLOSE_TRIES; i++) {
		turn(j, true);
		if (!has_unfinished(j) && j->queue.n == 0 && !j->wants_checkpoint)
			return;
		nanosleep(&(struct timespec){ .tv_nsec = RETRY_MS * 1000000L }, NULL);
	}
}

static void *
write_lines(void *arg)
{
	struct journal *j = arg;

	while (turn(j, false))
		continue;
	finish(j);
	pthread_mutex_lock(&j->lock);
	hung_over(&j->turn);
	pthread_mutex_unlock(&j->lock);
	return NULL;
}

/* ---- for everybody */

static struct journal *
journal_new(const struct journal_options *o)
{
	struct journal *j = mem_zalloc(sizeof(*j));
	size_t max = (o->places + SYSTEM_ROOM) * (size_t)BATCH_LINE_MAX;

	j->places = o->places;
	j->drops = o->drops;
	j->is_null = o->path == NULL;
	j->path = j->is_null ? NULL : mem_strdup(o->path);
	j->segment = (off_t)o->segment;
	j->room = (struct room){
		.reserve = o->reserve,
		.drops = o->drops,
		.share = o->share,
		.arg = o->share_arg,
	};
	j->name = mem_strdup(o->name != NULL ? o->name : "weir");
	j->signer = o->sign.n > 0 ? signer_new(o->sign) : NULL;
	assert(o->sign.n == 0 || j->signer != NULL); /* signer_takes() said so */
	j->anchor = anchor_new(o->path == NULL ? NULL : o->anchor, o->uid, o->gid);
	atomic_init(&j->is_healthy, true);
	list_init(&j->waits);
	list_init(&j->due);
	pthread_mutex_init(&j->lock, NULL);
	hung_cond_init(&j->wake);
	hung_init(&j->turn);
	batch_init(&j->batch, o->key, 2 * max);
	memcpy(j->head, j->batch.chain.head, sizeof(j->head));
	buf_init(&j->queue, max);
	buf_init(&j->taken, max);
	return j;
}

static void
journal_free(struct journal *j)
{
	count_add(COUNT_AUDIT_FILES, -(int64_t)j->files);
	anchor_close(j->anchor);
	signer_free(j->signer);
	free(j->name);
	batch_fini(&j->batch);
	buf_fini(&j->queue);
	buf_fini(&j->taken);
	hung_fini(&j->turn);
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
	if ((error = logfile_open(&j->batch.file, j->path, o->uid, o->gid)) == 0 &&
	    (error = resume(&j->batch, j->head)) == 0) {
		if (j->batch.file.is_regular)
			count_files(j);
		return j;
	}
	logfile_complain(o->path, error);
	journal_free(j);
	return NULL;
}

/* EPIPE on stdout comes as an error there. */
void
journal_start(struct journal *j)
{
	if (j->is_null)
		return;
	anchor_start(j->anchor);
	j->thread = hung_thread("weir-audit", write_lines, j);
	j->is_started = true;
}

/* False: it stands still. */
static bool
stop(struct journal *j)
{
	bool is_over;

	if (!j->is_started) {
		if (!j->is_null)
			finish(j);
		return true;
	}
	pthread_mutex_lock(&j->lock);
	j->wants_stop = true;
	pthread_cond_signal(&j->wake);
	is_over = hung_join(&j->turn, j->thread, &j->lock);
	pthread_mutex_unlock(&j->lock);
	return is_over;
}

void
journal_close(struct journal *j)
{
	if (j == NULL)
		return;
	bool is_over = stop(j);
	pthread_mutex_lock(&j->lock);
	size_t lost = j->waiting;
	pthread_mutex_unlock(&j->lock);
	if (lost > 0)
		log_error("audit records are lost", "path", j->path, "count",
		    NUM((int64_t)lost));
	if (is_over)
		journal_free(j);
	else
		log_error("the audit log stands still: what it holds is left behind",
		    "path", j->path);
}

void
journal_watch(struct journal *j)
{
	msec now = clock_mono_ms();

	pthread_mutex_lock(&j->lock);
	if (hung_watch(&j->turn, now)) {
		atomic_store(&j->stands_still, true);
		count_add(COUNT_AUDIT_ERRORS, 1);
		tell(&j->waits, j->drops);
		tell(&j->due, j->drops);
		log_error("audit log stands still", "path", j->path, "then",
		    j->drops ? "records are dropped" : "new exchanges are refused");
	}
	pthread_mutex_unlock(&j->lock);
	anchor_watch(j->anchor, now);
}

enum room_state
journal_room(const struct journal *j)
{
	return (enum room_state)atomic_load(&j->room.state);
}

int64_t
journal_free_bytes(const struct journal *j)
{
	return atomic_load(&j->room.free);
}

bool
journal_reserve(struct journal *j)
{
	size_t used = atomic_load(&j->used);

	if (j->drops || j->is_null) {
		atomic_fetch_add(&j->used, 1);
		return true;
	}
	if (!journal_is_healthy(j) || journal_room(j) == ROOM_NONE)
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
	assert(line.n > 0 && line.n < BATCH_LINE_MAX);
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
	if (!journal_is_healthy(j))
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
	return anchor_is_anchored(j->anchor);
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
	return atomic_load(&j->is_healthy) && !atomic_load(&j->stands_still);
}

uint64_t
journal_next_seq(struct journal *j)
{
	return batch_next_seq(&j->batch);
}

void
journal_head(struct journal *j, char out[static 65])
{
	pthread_mutex_lock(&j->lock);
	memcpy(out, j->head, sizeof(j->head));
	pthread_mutex_unlock(&j->lock);
}
