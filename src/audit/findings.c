/*
 * findings.c - saying what is wrong with a log, and where
 */
#include "audit/findings.h"

#include <stdarg.h>

#define TEXT_MAX 2048

void
findings_init(
    struct findings *f, void (*say)(void *arg, const struct audit_finding *f), void *arg)
{
	*f = (struct findings){ .say = say, .arg = arg };
	buf_init(&f->text, TEXT_MAX);
}

void
findings_fini(struct findings *f)
{
	buf_fini(&f->text);
}

static void
say(struct findings *f, struct audit_finding one, const char *fmt, va_list ap)
{
	buf_reset(&f->text);
	buf_vfmt(&f->text, fmt, ap);
	one.text = buf_cstr(&f->text);
	*(one.is_note ? &f->notes : &f->n) += 1;
	f->say(f->arg, &one);
}

void
finding_fault(struct findings *f, const char *what, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(f, (struct audit_finding){ .file = f->file, .line = f->line, .what = what },
	    fmt, ap);
	va_end(ap);
}

void
finding_note(struct findings *f, const char *what, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(f,
	    (struct audit_finding){
		.file = f->file, .line = f->line, .what = what, .is_note = true },
	    fmt, ap);
	va_end(ap);
}

void
finding_at(struct findings *f, const char *file, uint64_t line, const char *what,
    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(f, (struct audit_finding){ .file = file, .line = line, .what = what }, fmt,
	    ap);
	va_end(ap);
}
