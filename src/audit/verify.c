/*
 * verify.c - is this log what weir wrote?
 */
#include "audit/verify.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "audit/chain.h"
#include "audit/entry.h"
#include "audit/exchanges.h"
#include "audit/seal.h"
#include "audit/siblings.h"

#define TEXT_MAX 2048
#define TORN_MOST 32 /* twice as many as weir names at a start */
#define MAC_HEX 64
#define NAME_MOST 64 /* what the settings allow */

static const char zeros[] =
    "0000000000000000000000000000000000000000000000000000000000000000";

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
	const char *file, *file_before; /* NULL: none */
	uint64_t line;
	bool is_first_of_file;

	struct chain chain;         /* its head: of the last record */
	char before_run[CHAIN_HEX]; /* the head before this run's first record */
	bool has_head;              /* there was a record */
	bool is_from_start;
	struct hmac mac;
	uint64_t maced, unmaced;  /* right ones; wrong ones before the first of those */
	uint64_t not_signed;      /* checkpoints before the first that is signed */
	char name[NAME_MOST + 1]; /* of the last checkpoint; empty: there was none */
	struct torn torn[TORN_MOST];
	size_t ntorn;

	uint64_t chained; /* records so far */
	uint64_t counted_at,
	    counted; /* the last checkpoint: `chained` then, and its lines */
	bool has_counted;
	bool is_head_seen;
	bool is_first_checkpoint; /* of its run */
	size_t first_anchor;      /* that was seen; SIZE_MAX: none */
	uint64_t signed_at;       /* `chained` at the last good signature */
	uint64_t unanchored;      /* checkpoints behind that one which have no anchor */

	struct run run;
	struct exchanges exchanges;
	bool is_crowded;
	struct arena arena;
	struct buf text;
};

/* ---- saying */

static void
say(struct audit_verify *v, const struct audit_finding *f)
{
	*(f->is_note ? &v->sums.notes : &v->sums.findings) += 1;
	v->o.say(v->o.arg, f);
}

static void PRINTF_LIKE(5, 6) say_of(struct audit_verify *v, const char *file,
    uint64_t line, const char *what, const char *fmt, ...)
{
	va_list ap;

	buf_reset(&v->text);
	va_start(ap, fmt);
	buf_vfmt(&v->text, fmt, ap);
	va_end(ap);
	say(v,
	    &(struct audit_finding){
		.file = file, .line = line, .what = what, .text = buf_cstr(&v->text) });
}

/* Of the line that is looked at. */
#define fault(v, what, ...) say_of(v, (v)->file, (v)->line, what, __VA_ARGS__)

static void PRINTF_LIKE(3, 4)
    note(struct audit_verify *v, const char *what, const char *fmt, ...)
{
	va_list ap;

	buf_reset(&v->text);
	va_start(ap, fmt);
	buf_vfmt(&v->text, fmt, ap);
	va_end(ap);
	say(v, &(struct audit_finding){ .file = v->file,
		   .line = v->line,
		   .what = what,
		   .is_note = true,
		   .text = buf_cstr(&v->text) });
}

/* ---- torn lines */

static void
digest_of(struct str bytes, char out[static CHAIN_HEX])
{
	struct chain c;

	chain_init(&c, STR_NONE);
	chain_continue(&c, bytes);
	memcpy(out, c.head, CHAIN_HEX);
	chain_fini(&c);
}

static void
refuse_torn(struct audit_verify *v, const struct torn *t)
{
	say_of(v, t->file, t->line, "torn_line",
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

	*t = (struct torn){ .file = v->file,
		.line = v->line,
		.bytes = l->bytes,
		.is_ended = l->is_ended };
	digest_of(l->text, t->digest);
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

	if (t->is_ended || t->file == v->file || !v->is_first_of_file ||
	    line.n < t->bytes)
		return false;
	digest_of(str_sub(line, 0, (size_t)t->bytes), digest);
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
	if (entry_is(e, "torn_line") && v->has_head)
		fault(v, "torn_line", "names a torn line that does not stand before it");
}

/* ---- the chain */

static void
begin_chain(struct audit_verify *v, struct str prev)
{
	v->is_from_start = str_eq(prev, STR(zeros));
	if (v->is_from_start)
		return;
	if (v->o.from_start)
		fault(v, "start",
		    "is not the first of its chain: what is older is missing");
	else
		note(v, "start", "begins in the middle: its older part is not here");
}

static void
check_prev(struct audit_verify *v, struct str prev)
{
	if (!v->has_head)
		begin_chain(v, prev);
	else if (str_eq(prev, str_of(v->chain.head)))
		return;
	else if (str_eq(prev, STR(zeros)))
		fault(v, "chain",
		    "begins a chain anew: nothing joins it to the record before it");
	else if (v->is_first_of_file && v->file_before != NULL)
		fault(v, "chain",
		    "does not follow the last record of %s: one was changed, or some "
		    "between them are missing",
		    v->file_before);
	else
		fault(v, "chain",
		    "does not follow the record before it: one was changed, removed, "
		    "added or moved");
}

/* NULL: it has the mac that this key makes. */
static const char *
mac_fault(const struct audit_verify *v, const struct seal *s)
{
	unsigned char bytes[MAC_HEX / 2];
	char digits[CHAIN_HEX];

	if (s->mac.n == 0)
		return "has no mac";
	hmac_digest(&v->mac, s->body, bytes);
	for (size_t i = 0; i < MAC_HEX; i++)
		digits[i] = "0123456789abcdef"[bytes[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15];
	return CRYPTO_memcmp(digits, s->mac.p, MAC_HEX) == 0
		   ? NULL
		   : "is not authentic: its mac is not made with this key";
}

/*
 * `n` of what a key makes were wrong before the first that is right: the log is older
 * than the key, or somebody who has no key made its beginning anew.  The head that was
 * kept from then tells.
 */
static void
check_older(struct audit_verify *v, const char *what, uint64_t n, const char *of,
    const char *head)
{
	if (n == 0)
		return;
	if (v->o.head != NULL && strcmp(v->o.head, head) == 0)
		note(v, what,
		    "is the first with this key: %" PRIu64
		    " %s before it are older, as the given head says",
		    n, of);
	else
		fault(v, what,
		    "is the first with this key: %" PRIu64
		    " %s before it are older than the key, or not "
		    "weir's; a head that was kept when the key was new would tell",
		    n, of);
}

static void
check_mac(struct audit_verify *v, const struct seal *s)
{
	const char *why;

	if (v->mac.inner == NULL)
		return;
	if ((why = mac_fault(v, s)) == NULL && v->maced++ == 0)
		check_older(v, "mac", v->unmaced, "records", v->chain.head);
	else if (why != NULL && v->maced == 0)
		v->unmaced++;
	else if (why != NULL)
		fault(v, "mac", "%s", why);
}

/* ---- checkpoints */

/* How many lines the chain had, by what an earlier checkpoint or its start says. */
static bool
expected_lines(const struct audit_verify *v, uint64_t *n)
{
	*n = v->counted + (v->chained - v->counted_at);
	return v->has_counted || v->is_from_start;
}

static void
check_count(struct audit_verify *v, const struct vouch *c)
{
	uint64_t said, expected;
	bool is_expected = expected_lines(v, &expected);

	if (!str_decimal(c->lines, &said)) {
		fault(
		    v, "checkpoint", "is a checkpoint that does not say how many lines");
		return;
	}
	if (is_expected && said > expected)
		fault(v, "checkpoint",
		    "is a checkpoint that counts %" PRIu64 " records before it; %" PRIu64
		    " of them are not here",
		    said, said - expected);
	else if (is_expected && said < expected && v->is_first_checkpoint)
		note(v, "checkpoint",
		    "is a checkpoint of a weir that knew only the last %" PRIu64
		    " records before it",
		    said);
	else if (is_expected && said < expected)
		fault(v, "checkpoint",
		    "is a checkpoint that counts %" PRIu64 " records before it; %" PRIu64
		    " more are here",
		    said, expected - said);
	if (!is_expected && said > v->chained)
		v->sums.older = said - v->chained;
	v->counted = said;
	v->counted_at = v->chained;
	v->has_counted = true;
}

static void
check_anchor(struct audit_verify *v, const struct vouch *c)
{
	struct anchor *a = NULL;

	if (v->o.anchors != NULL)
		a = anchors_find(v->o.anchors, c->head);
	if (a == NULL) {
		v->unanchored += v->first_anchor != SIZE_MAX;
		return;
	}
	if (!str_eq(c->ts, str_of(a->ts)) || !str_eq(c->lines, str_of(a->lines)) ||
	    !str_eq(c->name, str_of(a->name)))
		fault(v, "anchor",
		    "is not the checkpoint that %s has in its line %" PRIu64,
		    v->o.anchor_file, a->line);
	a->is_seen = true;
	for (size_t i = 0; v->first_anchor == SIZE_MAX && i < v->o.anchors->n; i++)
		if (v->o.anchors->all[i] == a)
			v->first_anchor = i;
}

/* A weir has one name from its start to its end. */
static void
check_name(struct audit_verify *v, const struct vouch *c)
{
	struct str name = str_sub(c->name, 0, NAME_MOST);

	if (v->name[0] != '\0' && !str_eq(c->name, str_of(v->name))) {
		if (v->is_first_checkpoint)
			note(v, "name",
			    "is a checkpoint of %.*s; the run before was %s's",
			    STR_ARG(name), v->name);
		else
			fault(v, "name", "is a checkpoint of %.*s, in a run of %s",
			    STR_ARG(name), v->name);
	}
	memcpy(v->name, name.p, name.n);
	v->name[name.n] = '\0';
}

static void
check_signature(struct audit_verify *v, const struct vouch *c)
{
	const char *why = vouch_fault(c, v->o.signer);

	if (why == NULL) {
		if (v->sums.is_signed++ == 0)
			check_older(
			    v, "signature", v->not_signed, "checkpoints", v->before_run);
		v->signed_at = v->chained + 1;
	} else if (v->sums.is_signed == 0) {
		v->not_signed++;
	} else {
		fault(v, "signature", "is a checkpoint, and %s", why);
	}
}

static void
check_checkpoint(struct audit_verify *v, const struct entry *e, struct str prev)
{
	const struct vouch c = vouch_read(e->root);

	if (!entry_is(e, "checkpoint"))
		return;
	v->sums.checkpoints++;
	if (!str_eq(c.head, prev))
		fault(v, "checkpoint", "is a checkpoint whose head is not its prev");
	check_count(v, &c);
	check_anchor(v, &c);
	check_name(v, &c);
	v->is_first_checkpoint = false;
	if (v->o.signer != NULL)
		check_signature(v, &c);
}

static void
check_segment(struct audit_verify *v, const struct entry *e, struct str prev)
{
	struct str before = entry_text(e->root, "before");

	if (!entry_is(e, "segment"))
		return;
	if (!str_eq(entry_text(e->root, "head"), prev))
		fault(v, "segment", "begins a segment, and its head is not its prev");
	if (v->is_first_of_file && v->file_before != NULL &&
	    !str_eq(before, str_of(siblings_base(v->file_before))))
		note(
		    v, "segment", "begins a segment behind a file that had another name");
}

/* ---- runs and exchanges */

static void
on_left_open(void *arg, struct str id, const struct open_exchange *o)
{
	struct audit_verify *v = arg;

	(void)id;
	say_of(v, o->file, o->line, "final",
	    "opens an exchange that has no final record in a run that is over");
}

/* Only a whole run can be counted: of another one, lines may be elsewhere. */
static void
end_run(struct audit_verify *v)
{
	const struct run *r = &v->run;

	if (r->is_whole && r->last_seq > r->records)
		note(v, "seq",
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
	v->is_first_checkpoint = true;
	memcpy(v->before_run, v->chain.head, sizeof(v->before_run));
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
		.run = v->run.number, .line = v->line, .file = v->file
	};

	if (exchanges_open(&v->exchanges, e->id, &at) || v->is_crowded)
		return;
	v->is_crowded = true;
	note(v, "final", "opens one exchange more than can be followed at once");
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
			fault(v, "final", "is a second final record of one exchange");
	}
}

/* ---- one line */

static void
follow_time(struct audit_sums *s, struct str ts)
{
	char text[sizeof(s->first)];

	if (ts.n == 0 || ts.n >= sizeof(text))
		return;
	memcpy(text, ts.p, ts.n);
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
		fault(v, "version", "is not of version 1 of the format");
	follow_time(&v->sums, e->ts);
	follow_run(v, e);
	check_segment(v, e, prev);
	check_checkpoint(v, e, prev);
	follow_exchange(v, e);
}

static void
follow_head(struct audit_verify *v, struct str line)
{
	chain_continue(&v->chain, line);
	v->has_head = true;
	v->chained++;
	if (v->is_head_seen)
		v->sums.behind_head++;
	else if (v->o.head != NULL)
		v->is_head_seen = strcmp(v->chain.head, v->o.head) == 0;
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
	check_mac(v, s);
	if (error != NULL)
		fault(v, "json", "cannot be read: %s", error);
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
	v->first_anchor = SIZE_MAX;
	v->is_head_seen = o->head != NULL && strcmp(o->head, zeros) == 0;
	chain_init(&v->chain, STR_NONE);
	if (o->key.n > 0)
		hmac_init(&v->mac, o->key);
	exchanges_init(&v->exchanges);
	arena_init(&v->arena, ENTRY_MEMORY);
	buf_init(&v->text, TEXT_MAX);
	return v;
}

void
audit_verify_free(struct audit_verify *v)
{
	if (v == NULL)
		return;
	chain_fini(&v->chain);
	hmac_fini(&v->mac);
	exchanges_fini(&v->exchanges);
	arena_fini(&v->arena);
	buf_fini(&v->text);
	free(v);
}

void
audit_verify_file(struct audit_verify *v, const char *name)
{
	v->file_before = v->file;
	v->file = name;
	v->line = 0;
	v->is_first_of_file = true;
	v->sums.files++;
}

void
audit_verify_line(struct audit_verify *v, const struct audit_line *l)
{
	struct seal s;

	v->line = l->number;
	v->sums.lines++;
	if (l->is_too_long)
		fault(v, "too_long", "has %" PRIu64 " bytes: no record is that long",
		    l->bytes);
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

		if (t->is_ended || t->file != v->file) {
			refuse_torn(v, t);
			continue;
		}
		v->sums.torn++;
		note(v, "torn_line",
		    "is not whole: it is being written, or weir died while it wrote it");
	}
}

static void
end_macs(struct audit_verify *v)
{
	if (v->unmaced > 0 && v->maced == 0)
		say_of(v, v->file, 0, "mac",
		    "has no record whose mac is made with this key: nobody vouches for "
		    "this log");
}

static void
end_name(struct audit_verify *v)
{
	if (v->o.name != NULL && v->name[0] != '\0' && strcmp(v->name, v->o.name) != 0)
		say_of(v, v->file, 0, "name",
		    "ends as the log of %s, and the configuration is of %s: it is "
		    "another weir's, or the name is new and weir was not started since",
		    v->name, v->o.name);
}

/* Who takes the checkpoints out may write the chain anew: what has none is no proof. */
static void
end_signatures(struct audit_verify *v)
{
	if (v->o.signer == NULL)
		return;
	if (v->sums.is_signed == 0)
		say_of(v, v->file, 0, "signature",
		    "has no checkpoint that is signed: nobody vouches for this log");
	else if (v->signed_at < v->chained)
		note(v, "signature",
		    "is the last of %" PRIu64
		    " records behind the last signature: nobody vouches for them yet",
		    v->chained - v->signed_at);
}

static void
end_anchors(struct audit_verify *v)
{
	const struct anchors *all = v->o.anchors;
	uint64_t older = 0;

	for (size_t i = 0; all != NULL && i < all->n; i++) {
		const struct anchor *a = all->all[i];
		bool is_older = v->first_anchor == SIZE_MAX
				    ? strcmp(a->ts, v->sums.first) < 0
				    : i < v->first_anchor;

		if (a->is_seen || strcmp(a->head, v->chain.head) == 0)
			continue;
		if (is_older && v->has_head && !v->is_from_start)
			older++;
		else
			say_of(v, v->o.anchor_file, a->line, "anchor",
			    "vouches for %s records, and the log has no such checkpoint: "
			    "its end was cut off, or records were changed",
			    a->lines);
	}
	if (all != NULL && older == all->n && v->has_head)
		say_of(v, v->file, 0, "anchor",
		    "has no checkpoint that %s vouches for: this is another log, or "
		    "records were changed",
		    v->o.anchor_file);
	v->file = v->o.anchor_file;
	v->line = 0;
	if (older > 0)
		note(v, "anchor",
		    "has %" PRIu64 " lines about what is older than this log", older);
	if (v->unanchored > 0)
		note(v, "anchor", "lacks %" PRIu64 " checkpoints of this log",
		    v->unanchored);
}

void
audit_verify_end(struct audit_verify *v, struct audit_sums *out)
{
	end_torn(v);
	if (v->o.head != NULL && !v->is_head_seen)
		say_of(v, v->file, 0, "head",
		    "no record has the digest %s: the end was cut off, or records were "
		    "changed",
		    v->o.head);
	end_macs(v);
	end_name(v);
	end_signatures(v);
	end_anchors(v);
	v->sums.is_from_start = v->is_from_start;
	v->sums.still_open = v->exchanges.open.n;
	memcpy(v->sums.head, v->chain.head, sizeof(v->sums.head));
	*out = v->sums;
}
