/*
 * audit_verify.c - weir audit verify: is the log as weir wrote it, and is all of it here
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "audit/reader.h"
#include "audit/verify.h"
#include "base/exit.h"
#include "cmd/audit.h"
#include "cmd/book_rows.h"
#include "cmd/config.h"
#include "cmd/input.h"
#include "cmd/output.h"

#define PEM_MAX ((size_t)1 << 16)
#define CONFIG_MAX ((size_t)1 << 16)
#define OUT_MAX ((size_t)1 << 20)
#define OUT_FULL ((size_t)64 << 10)

struct verifying {
	const struct audit_asked *o;
	const struct audit_log *log;
	struct settings *reference; /* what --key resolved to */
	const char *anchor;
	struct vouch_key *signer;
	struct anchors anchors;
	uint64_t anchor_faults;
	struct audit_verify_options options;
	struct buf out;
	struct json_out j;
	bool is_closed;  /* nobody reads what is said; looked at all the same */
	int closed;      /* what to end with then, where all is well */
	bool is_missing; /* a file could not be read */
};

/* ---- saying */

static void
flush(struct verifying *v)
{
	if (!v->is_closed && !output_flush(&v->out)) {
		v->is_closed = true;
		v->closed = output_failed("audit");
	}
	buf_reset(&v->out);
}

static void
put_finding(struct json_out *j, const struct audit_finding *f)
{
	json_open(j, '{');
	json_key(j, "file");
	json_text(j, f->file);
	json_key(j, "line");
	json_int(j, (int64_t)f->line);
	json_key(j, "what");
	json_text(j, f->what);
	json_key(j, "note");
	json_bool(j, f->is_note);
	json_key(j, "text");
	json_text(j, f->text);
	json_close(j, '}');
}

static void
show_finding(struct buf *to, const struct audit_finding *f)
{
	row_show(to, str_of(f->file));
	if (f->line > 0)
		buf_fmt(to, ":%" PRIu64, f->line);
	buf_text(to, f->is_note ? ": note: " : ": ");
	row_show(to, str_of(f->text));
	buf_char(to, '\n');
}

static void
on_finding(void *arg, const struct audit_finding *f)
{
	struct verifying *v = arg;

	if (v->o->is_json)
		put_finding(&v->j, f);
	else
		show_finding(&v->out, f);
	if (v->out.n >= OUT_FULL)
		flush(v);
}

static const struct {
	const char *name;
	size_t at;
} counts[] = {
	{ "files", offsetof(struct audit_sums, files) },
	{ "lines", offsetof(struct audit_sums, lines) },
	{ "open", offsetof(struct audit_sums, open) },
	{ "progress", offsetof(struct audit_sums, progress) },
	{ "final", offsetof(struct audit_sums, final) },
	{ "system", offsetof(struct audit_sums, system) },
	{ "still_open", offsetof(struct audit_sums, still_open) },
	{ "runs", offsetof(struct audit_sums, runs) },
	{ "torn", offsetof(struct audit_sums, torn) },
	{ "checkpoints", offsetof(struct audit_sums, checkpoints) },
	{ "verified_signatures", offsetof(struct audit_sums, is_signed) },
	{ "behind_head", offsetof(struct audit_sums, behind_head) },
	{ "older", offsetof(struct audit_sums, older) },
	{ "notes", offsetof(struct audit_sums, notes) },
};

static uint64_t
count_at(const struct audit_sums *s, size_t at)
{
	uint64_t n;

	memcpy(&n, (const char *)s + at, sizeof(n));
	return n;
}

static void
put_sums(struct verifying *v, const struct audit_sums *s)
{
	struct json_out *j = &v->j;

	json_close(j, ']');
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		json_key(j, counts[i].name);
		json_int(j, (int64_t)count_at(s, counts[i].at));
	}
	json_key(j, "from_start");
	json_bool(j, s->is_from_start);
	json_key(j, "first");
	json_text(j, s->first[0] == '\0' ? NULL : s->first);
	json_key(j, "last");
	json_text(j, s->last[0] == '\0' ? NULL : s->last);
	json_key(j, "head");
	json_text(j, s->head);
	json_close(j, '}');
	buf_char(&v->out, '\n');
}

/* Rotation may have taken the rest away, or somebody else: no line of it can tell. */
static void
show_later_part(struct buf *to, uint64_t older)
{
	buf_text(to, "what is here is in order; what is older is not here");
	if (older > 0)
		buf_fmt(to, ": %" PRIu64 " record%s", older, plural(older));
	buf_text(to, " (--from-start refuses that)\n");
}

static void
show_sums(struct verifying *v, const struct audit_sums *s)
{
	struct buf *to = &v->out;

	buf_fmt(to,
	    "%" PRIu64 " line%s in %" PRIu64 " file%s: %" PRIu64 " final, %" PRIu64
	    " open, %" PRIu64 " progress, %" PRIu64 " system, %" PRIu64 " torn\n",
	    s->lines, plural(s->lines), s->files, plural(s->files), s->final, s->open,
	    s->progress, s->system, s->torn);
	buf_fmt(to,
	    "%" PRIu64 " run%s, %" PRIu64 " checkpoint%s, %" PRIu64
	    " signature%s verified, %" PRIu64 " exchange%s still open\n",
	    s->runs, plural(s->runs), s->checkpoints, plural(s->checkpoints),
	    s->is_signed, plural(s->is_signed), s->still_open, plural(s->still_open));
	if (s->first[0] != '\0') {
		buf_text(to, "from ");
		row_show(to, str_of(s->first));
		buf_text(to, " to ");
		row_show(to, str_of(s->last));
		buf_char(to, '\n');
	}
	if (v->o->head != NULL && s->behind_head > 0)
		buf_fmt(to, "%" PRIu64 " record%s behind the given head\n",
		    s->behind_head, plural(s->behind_head));
	buf_fmt(to, "head %s\n", s->head);
	if (s->findings > 0)
		buf_fmt(to, "%" PRIu64 " finding%s\n", s->findings, plural(s->findings));
	else if (v->is_missing)
		buf_text(to, "what could be read is in order\n");
	else if (s->is_from_start || s->lines == 0)
		buf_text(to, "it is in order\n");
	else
		show_later_part(to, s->older);
}

/* ---- what it is checked with */

static void
print_config(const char *reference, struct buf *to)
{
	struct json_out j;

	json_out_init(&j, to);
	json_open(&j, '{');
	json_key(&j, "audit");
	json_open(&j, '{');
	json_key(&j, "key");
	json_text(&j, reference);
	json_close(&j, '}');
	json_close(&j, '}');
}

/* A configuration with nothing else in it: a reference means here what it means there. */
static int
resolve_key(struct verifying *v)
{
	struct buf config;
	struct report rep;

	buf_init(&config, CONFIG_MAX);
	report_init(&rep);
	print_config(v->o->key, &config);
	v->reference = settings_load_text("--key", buf_view(&config), ".", &rep);
	for (size_t i = 0; i < rep.n; i++)
		fprintf(stderr, "weir audit: %s [%s]\n", rep.finding[i].text,
		    rep.finding[i].code);
	int status = v->reference != NULL ? EXIT_YES : config_status_of_reference(&rep);
	report_fini(&rep);
	buf_fini(&config);
	return status;
}

static int
take_key(struct verifying *v)
{
	const struct settings *s = v->log->settings;
	int status = v->o->key == NULL ? EXIT_YES : resolve_key(v);

	if (status == EXIT_YES && v->o->key != NULL)
		s = v->reference;
	if (status == EXIT_YES && s != NULL)
		v->options.key = (struct str){ s->audit_key.bytes, s->audit_key.n };
	return status;
}

static int
take_signer(struct verifying *v, struct str pem, const char *from)
{
	if ((v->signer = vouch_key_new(pem)) == NULL) {
		fprintf(stderr, "weir audit: %s holds no Ed25519 key in PEM\n", from);
		return EXIT_CONFIG;
	}
	v->options.signer = v->signer;
	return EXIT_YES;
}

static int
read_public_key(struct verifying *v)
{
	const struct settings *s = v->log->settings;
	struct buf pem;
	int status;

	if (v->o->public_key == NULL && s != NULL && s->audit_sign.n > 0)
		return take_signer(v,
		    (struct str){ s->audit_sign.bytes, s->audit_sign.n }, "audit.sign");
	if (v->o->public_key == NULL)
		return EXIT_YES;
	buf_init(&pem, PEM_MAX);
	pem.is_secret = true; /* it may be both halves */
	status = input_read("audit", v->o->public_key, &pem)
		     ? take_signer(v, buf_view(&pem), v->o->public_key)
		     : EXIT_NOINPUT;
	buf_fini(&pem);
	return status;
}

static int
say_missing(const struct audit_reader *r)
{
	fprintf(stderr, "weir audit: %s: %s\n", audit_reader_path(r), strerror(errno));
	return EXIT_NOINPUT;
}

/* What it vouches for without a signature, anybody may have written. */
static void
take_anchor(struct verifying *v, const struct audit_line *l)
{
	struct arena memory;
	struct entry e;
	struct audit_finding f = {
		.file = v->anchor, .line = l->number, .what = "anchor"
	};
	struct buf text;

	arena_init(&memory, ENTRY_MEMORY);
	buf_init(&text, 1024);
	const char *why =
	    l->is_too_long ? "it is too long" : entry_read(&e, l->text, &memory);
	f.is_note = why != NULL; /* torn, as a crash leaves it: it says nothing */
	if (why == NULL) {
		const struct vouch c = vouch_read(e.root);

		if (v->signer == NULL || (why = vouch_fault(&c, v->signer)) == NULL)
			why = anchors_add(&v->anchors, &c, l->number);
	}
	if (why != NULL) {
		buf_fmt(&text, "vouches for nothing: %s", why);
		f.text = buf_cstr(&text);
		on_finding(v, &f);
	}
	v->anchor_faults += why != NULL && !f.is_note;
	buf_fini(&text);
	arena_fini(&memory);
}

static int
read_anchors(struct verifying *v)
{
	struct audit_files files;
	struct audit_reader r;
	struct audit_line line;
	enum audit_read what;
	int status = EXIT_YES;

	if (v->anchor == NULL)
		return EXIT_YES;
	audit_files_one(&files, v->anchor);
	audit_reader_init(&r, &files);
	while ((what = audit_reader_next(&r, &line)) != AUDIT_END)
		if (what == AUDIT_LINE)
			take_anchor(v, &line);
		else if (what == AUDIT_FAILED)
			status = say_missing(&r);
	audit_reader_fini(&r);
	audit_files_free(&files);
	v->options.anchors = &v->anchors;
	v->options.anchor_file = v->anchor;
	return status;
}

/* ---- the command */

static void
look(struct verifying *v, struct audit_sums *sums)
{
	struct audit_verify *verify = audit_verify_new(&v->options);
	struct audit_reader r;
	struct audit_line line;
	enum audit_read what;

	audit_reader_init(&r, &v->log->files);
	while ((what = audit_reader_next(&r, &line)) != AUDIT_END) {
		if (what == AUDIT_LINE) {
			audit_verify_line(verify, &line);
		} else if (what == AUDIT_FILE) {
			audit_verify_file(verify, audit_reader_path(&r));
		} else {
			v->is_missing = say_missing(&r) != EXIT_YES;
		}
	}
	audit_verify_end(verify, sums);
	audit_verify_free(verify);
	audit_reader_fini(&r);
	sums->findings += v->anchor_faults;
}

static int
verify(struct verifying *v)
{
	struct audit_sums sums;
	int status;

	if ((status = take_key(v)) != EXIT_YES ||
	    (status = read_public_key(v)) != EXIT_YES)
		return status;
	if (v->o->is_json) {
		json_open(&v->j, '{');
		json_key(&v->j, "findings");
		json_open(&v->j, '[');
	}
	if ((status = read_anchors(v)) != EXIT_YES)
		return status;
	look(v, &sums);
	if (v->o->is_json)
		put_sums(v, &sums);
	else
		show_sums(v, &sums);
	flush(v);
	if (v->is_missing)
		return EXIT_NOINPUT;
	return sums.findings == 0 ? v->closed : EXIT_NO;
}

int
audit_verify(struct audit_log *log, const struct audit_asked *o)
{
	struct verifying v = {
		.o = o, .log = log, .anchor = o->anchor, .is_missing = log->files.is_short
	};
	int status;

	if (o->anchor == NULL && log->settings != NULL)
		v.anchor = log->settings->audit_anchor;
	signal(SIGPIPE, SIG_IGN); /* the answer is in the exit status, too */
	anchors_init(&v.anchors);
	buf_init(&v.out, OUT_MAX);
	json_out_init(&v.j, &v.out);
	v.options.head = o->head;
	v.options.name = log->settings != NULL ? log->settings->name : NULL;
	v.options.from_start = o->from_start;
	v.options.say = on_finding;
	v.options.arg = &v;
	status = verify(&v);
	anchors_fini(&v.anchors);
	vouch_key_free(v.signer);
	settings_free(v.reference);
	buf_fini(&v.out);
	return status;
}
