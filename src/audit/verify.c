/*
 * verify.c - is this log what weir wrote?
 */
#include "audit/verify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "audit/exchanges.h"
#include "audit/siblings.h"
#include "audit/witness.h"

#define TORN_MOST 32 /* twice as many as weir names at a start */

/* A line that is no record, until a record names it. */
struct torn {
	const char *file;
	uint64_t line, bytes;
	char digest[CHAIN_HEX];
	bool is_ended;
};

/* The run that is going on: its records are numbered from 1. */
struct run {
	uint64_t number; /* of the runs seen here; 0: none yet */
	uint64_t records, last_seq;
	bool is_whole; /* seen from its first record on */
	bool is_stopped;
};

struct audit_verify {
	struct audit_verify_options o;
	struct audit_sums sums;
	struct findings to;
	const char *file_before; /* NULL: none */
	bool is_first_of_file;

	struct so_far at;
	struct witness witness;
	bool is_head_seen;
	struct torn torn[TORN_MOST];
	size_t ntorn;

	struct run run;
	struct exchanges exchanges;
	bool is_crowded;
	struct arena arena;
};

/* ---- torn lines */

static void
refuse_torn(struct audit_verify *v, const struct torn *t)
{
	finding_at(&v->to, t->file, t->line, "torn_line",
	    "is no whole record, and no torn_line record behind it names it");
}

static void
push_torn(struct audit_verify *v, const struct audit_line *l)
{
	if (v->ntorn == TORN_MOST) {
		refuse_torn(v, &v->torn[0]);
		memmove(v->torn, v->torn + 1, (TORN_MOST - 1) * sizeof(*v->torn));
		v->ntorn--;
	}
	struct torn *t = &v->torn[v->ntorn++];

	*t = (struct torn){ .file = v->to.file,
		.line = v->to.line,
		.bytes = l->bytes,
		.is_ended = l->is_ended };
	chain_digest(l->text, t->digest);
}

/* Does this record name it? */
static bool
is_named(const struct torn *t, const struct entry *e)
{
	uint64_t bytes;

	return entry_is(e, "torn_line") &&
	       str_decimal(entry_text(e->root, "bytes"), &bytes) && bytes == t->bytes &&
	       str_eq(entry_text(e->root, "sha256"), str_of(t->digest));
}

/* Begun in a file that was moved away, and whole in the next one: this line. */
static bool
is_begun(const struct audit_verify *v, const struct torn *t, struct str line)
{
	char digest[CHAIN_HEX];

	if (t->is_ended || t->file == v->to.file || !v->is_first_of_file ||
	    line.n < t->bytes)
		return false;
	chain_digest(str_sub(line, 0, (size_t)t->bytes), digest);
	return strcmp(digest, t->digest) == 0;
}

/* Records name the nearest first; what this one does not name, none will. */
static void
settle_torn(struct audit_verify *v, const struct entry *e, struct str line)
{
	const struct torn *t = v->ntorn == 0 ? NULL : &v->torn[v->ntorn - 1];

	if (t != NULL && (is_named(t, e) || is_begun(v, t, line))) {
		v->ntorn--;
		v->sums.torn++;
		return;
	}
	for (size_t i = 0; i < v->ntorn; i++)
		refuse_torn(v, &v->torn[i]);
	v->ntorn = 0;
	if (entry_is(e, "torn_line") && v->at.has_head)
		finding_fault(&v->to, "torn_line",
		    "names a torn line that does not stand before it");
}

/* ---- the chain */

static void
begin_chain(struct audit_verify *v, struct str prev)
{
	v->at.is_from_start = str_eq(prev, STR(CHAIN_START));
	if (v->at.is_from_start)
		return;
	if (v->o.from_start)
		finding_fault(&v->to, "start",
		    "is not the first of its chain: what is older is missing");
	else
		finding_note(
		    &v->to, "start", "begins in the middle: its older part is not here");
}

static void
check_prev(struct audit_verify *v, struct str prev)
{
	if (!v->at.has_head)
		begin_chain(v, prev);
	else if (str_eq(prev, str_of(v->at.chain.head)))
		return;
	else if (str_eq(prev, STR(CHAIN_START)))
		finding_fault(&v->to, "chain",
		    "begins a chain anew: nothing joins it to the record before it");
	else if (v->is_first_of_file && v->file_before != NULL)
		finding_fault(&v->to, "chain",
		    "does not follow the last record of %s: one was changed, or some "
		    "between them are missing",
		    v->file_before);
	else
		finding_fault(&v->to, "chain",
		    "does not follow the record before it: one was changed, removed, "
		    "added or moved");
}

static void
check_segment(struct audit_verify *v, const struct entry *e, struct str prev)
{
	struct str before = entry_text(e->root, "before");

	if (!entry_is(e, "segment"))
		return;
	if (!str_eq(entry_text(e->root, "head"), prev))
		finding_fault(
		    &v->to, "segment", "begins a segment, and its head is not its prev");
	if (v->is_first_of_file && v->file_before != NULL &&
	    !str_eq(before, str_of(siblings_base(v->file_before))))
		finding_note(&v->to, "segment",
		    "begins a segment behind a file that had another name");
}

/* ---- runs and exchanges */

static void
on_left_open(void *arg, struct str id, const struct open_exchange *o)
{
	struct audit_verify *v = arg;

	(void)id;
	finding_at(&v->to, o->file, o->line, "final",
	    "opens an exchange that has no final record in a run that is over");
}

/* Only a whole run can be counted: of another one, lines may be elsewhere. */
static void
end_run(struct audit_verify *v)
{
	const struct run *r = &v->run;

	if (r->is_whole && r->last_seq > r->records)
		finding_note(&v->to, "seq",
		    "%s a run of which %" PRIu64
		    " records are missing: they were dropped, or lost when it died",
		    r->is_stopped ? "ends" : "follows", r->last_seq - r->records);
}

static void
begin_run(struct audit_verify *v, bool is_whole)
{
	if (v->run.number > 0 && !v->run.is_stopped)
		end_run(v);
	v->run = (struct run){ .number = v->run.number + 1, .is_whole = is_whole };
	v->sums.runs++;
	witness_run(&v->witness);
}

static void
follow_run(struct audit_verify *v, const struct entry *e)
{
	if (e->seq == 1 || v->run.number == 0)
		begin_run(v, e->seq == 1);
	v->run.records++;
	if (e->seq > 0 && (uint64_t)e->seq > v->run.last_seq)
		v->run.last_seq = (uint64_t)e->seq;
	if (entry_is(e, "start")) /* what was lost has its record before this one */
		exchanges_each(&v->exchanges, v->run.number - 1, on_left_open, v);
	if (!entry_is(e, "stop"))
		return;
	exchanges_each(&v->exchanges, v->run.number, on_left_open, v);
	v->run.is_stopped = true;
	end_run(v);
}

static void
follow_open(struct audit_verify *v, const struct entry *e)
{
	const struct open_exchange at = {
		.run = v->run.number, .line = v->to.line, .file = v->to.file
	};

	if (exchanges_open(&v->exchanges, e->id, &at) || v->is_crowded)
		return;
	v->is_crowded = true;
	finding_note(
	    &v->to, "final", "opens one exchange more than can be followed at once");
}

static void
follow_exchange(struct audit_verify *v, const struct entry *e)
{
	if (str_eq(e->kind, STR("system"))) {
		v->sums.system++;
	} else if (str_eq(e->phase, STR("open"))) {
		v->sums.open++;
		follow_open(v, e);
	} else if (str_eq(e->phase, STR("progress"))) {
		v->sums.progress++;
	} else {
		v->sums.final++;
		if (e->id.n > 0 && !exchanges_end(&v->exchanges, e->id))
			finding_fault(
			    &v->to, "final", "is a second final record of one exchange");
	}
}

/* ---- one line */

static void
follow_time(struct audit_sums *s, struct str ts)
{
	char text[sizeof(s->first)];

	if (ts.n == 0 || ts.n >= sizeof(text))
		return;
	str_put(text, ts);
	text[ts.n] = '\0';
	if (s->first[0] == '\0' || strcmp(text, s->first) < 0)
		memcpy(s->first, text, ts.n + 1);
	if (strcmp(text, s->last) > 0)
		memcpy(s->last, text, ts.n + 1);
}

static void
check_entry(struct audit_verify *v, const struct entry *e, struct str prev)
{
	if (e->v != 1)
		finding_fault(&v->to, "version", "is not of version 1 of the format");
	follow_time(&v->sums, e->ts);
	follow_run(v, e);
	check_segment(v, e, prev);
	witness_checkpoint(&v->witness, e, prev);
	follow_exchange(v, e);
}

static void
follow_head(struct audit_verify *v, struct str line)
{
	chain_continue(&v->at.chain, line);
	v->at.has_head = true;
	v->at.chained++;
	if (v->is_head_seen)
		v->sums.behind_head++;
	else if (v->o.head != NULL)
		v->is_head_seen = strcmp(v->at.chain.head, v->o.head) == 0;
}

static void
check_record(struct audit_verify *v, struct str line, const struct seal *s)
{
	struct entry e;
	const char *error;

	arena_reset(&v->arena);
	error = entry_read(&e, line, &v->arena);
	settle_torn(v, &e, line);
	check_prev(v, s->prev);
	witness_mac(&v->witness, s);
	if (error != NULL)
		finding_fault(&v->to, "json", "cannot be read: %s", error);
	else
		check_entry(v, &e, s->prev);
	follow_head(v, line);
	v->is_first_of_file = false;
}

/* ---- for everybody */

struct audit_verify *
audit_verify_new(const struct audit_verify_options *o)
{
	struct audit_verify *v = mem_zalloc(sizeof(*v));

	v->o = *o;
	v->is_head_seen = o->head != NULL && strcmp(o->head, CHAIN_START) == 0;
	chain_init(&v->at.chain, STR_NONE);
	findings_init(&v->to, o->say, o->arg);
	witness_init(&v->witness,
	    &(struct witness_options){ .key = o->key,
		.signer = o->signer,
		.head = o->head,
		.name = o->name,
		.anchors = o->anchors,
		.anchor_file = o->anchor_file },
	    &v->at, &v->to);
	exchanges_init(&v->exchanges);
	arena_init(&v->arena, ENTRY_MEMORY);
	return v;
}

void
audit_verify_free(struct audit_verify *v)
{
	if (v == NULL)
		return;
	chain_fini(&v->at.chain);
	witness_fini(&v->witness);
	findings_fini(&v->to);
	exchanges_fini(&v->exchanges);
	arena_fini(&v->arena);
	free(v);
}

void
audit_verify_file(struct audit_verify *v, const char *name)
{
	v->file_before = v->to.file;
	v->to.file = name;
	v->to.line = 0;
	v->is_first_of_file = true;
	v->sums.files++;
}

void
audit_verify_line(struct audit_verify *v, const struct audit_line *l)
{
	struct seal s;

	v->to.line = l->number;
	v->sums.lines++;
	if (l->is_too_long)
		finding_fault(&v->to, "too_long",
		    "has %" PRIu64 " bytes: no record is that long", l->bytes);
	else if (seal_read(&s, l->text))
		check_record(v, l->text, &s);
	else
		push_torn(v, l);
}

/* Weir writes it now, or died: the last line has no end, and nothing is behind it. */
static void
end_torn(struct audit_verify *v)
{
	for (size_t i = 0; i < v->ntorn; i++) {
		const struct torn *t = &v->torn[i];

		if (t->is_ended || t->file != v->to.file) {
			refuse_torn(v, t);
			continue;
		}
		v->sums.torn++;
		finding_note(&v->to, "torn_line",
		    "is not whole: it is being written, or weir died while it wrote it");
	}
}

void
audit_verify_end(struct audit_verify *v, struct audit_sums *out)
{
	end_torn(v);
	if (v->o.head != NULL && !v->is_head_seen)
		finding_at(&v->to, v->to.file, 0, "head",
		    "no record has the digest %s: the end was cut off, or records were "
		    "changed",
		    v->o.head);
	witness_end(&v->witness, v->sums.first);
	v->sums.checkpoints = v->witness.checkpoints;
	v->sums.is_signed = v->witness.is_signed;
	v->sums.older = v->witness.older;
	v->sums.findings = v->to.n;
	v->sums.notes = v->to.notes;
	v->sums.is_from_start = v->at.is_from_start;
	v->sums.still_open = v->exchanges.open.n;
	memcpy(v->sums.head, v->at.chain.head, sizeof(v->sums.head));
	*out = v->sums;
}
