/*
 * logging.c - the log of a running weir, from which reloads take no secret away
 */
#include "daemon/logging.h"

#include "base/log.h"

static void
clean_value(struct buf *value, void *arg)
{
	struct logging *l = arg;
	struct buf clean;
	size_t masked;

	buf_init(&clean, value->max + 4096);
	pthread_rwlock_rdlock(&l->lock);
	masked = redact(l->redactor, REDACT_TEXT, buf_view(value), &clean);
	pthread_rwlock_unlock(&l->lock);
	if (masked > 0) {
		buf_reset(value);
		buf_str(value, buf_view(&clean));
	}
	buf_fini(&clean);
}

void
logging_set(struct logging *l, const struct settings *set)
{
	struct str key = { set->redact_key.bytes, set->redact_key.n };
	struct redactor *new = redactor_new(key, set->redact_id), *old;
	struct report said; /* by the snapshot's, which are the same */

	report_init(&said);
	redactor_obey(new, rules_load(set, &said));
	report_fini(&said);
	log_setup((enum log_level)set->log_level, (enum log_format)set->log_format);
	pthread_rwlock_wrlock(&l->lock);
	old = l->redactor;
	l->redactor = new;
	pthread_rwlock_unlock(&l->lock);
	redactor_free(old);
}

void
logging_begin(struct logging *l, const struct settings *set)
{
	logging_set(l, set);
	log_filter(clean_value, l);
}

void
logging_end(struct logging *l)
{
	log_filter(NULL, NULL);
	redactor_free(l->redactor);
	pthread_rwlock_destroy(&l->lock);
}

static void
log_finding(struct logging *l, enum log_level level, const struct finding *f)
{
	const char *file = f->file != NULL ? f->file : "";
	const char *hint = f->hint != NULL ? "hint" : NULL;
	struct buf text; /* it quotes the file: a secret may stand there by mistake */

	buf_init(&text, 65536);
	buf_text(&text, f->text);
	known_hide(text.p, text.n);
	clean_value(&text, l);
	if (f->mark.line == 0) /* it is about the whole file */
		log_write(level, buf_cstr(&text), "code", f->code, "file", file, hint,
		    f->hint, NULL);
	else
		log_write(level, buf_cstr(&text), "code", f->code, "file", file, "line",
		    NUM((int64_t)f->mark.line), "column", NUM((int64_t)f->mark.column),
		    hint, f->hint, NULL);
	buf_fini(&text);
}

void
logging_report(struct logging *l, const struct report *rep)
{
	for (size_t i = 0; i < rep->n; i++)
		log_finding(l,
		    rep->finding[i].severity == SEVERITY_ERROR ? LOG_ERROR : LOG_WARN,
		    &rep->finding[i]);
}
