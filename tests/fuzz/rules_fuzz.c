/*
 * rules_fuzz.c - any pattern: it is refused, or it masks its example, twice is once, and
 * no text takes it long
 */
#include <assert.h>
#include <string.h>

#include "audit/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each byte of an example is tried as the one that goes on for long. */
#define EXAMPLE_MOST 24

/* As YAML writes it in single quotes; false: it cannot. */
static bool
put_quoted(struct buf *to, struct str s)
{
	buf_char(to, '\'');
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < ' ' || s.p[i] == 0x7f)
			return false;
		buf_text(to, s.p[i] == '\'' ? "''" : (char[2]){ s.p[i], '\0' });
	}
	buf_char(to, '\'');
	return true;
}

/* NULL: the rule was refused. */
static struct rules *
load(struct str yaml)
{
	struct report rep;
	struct rules *rules = NULL;
	struct settings *s;

	report_init(&rep);
	if ((s = settings_load_text("w.yaml", yaml, "/", &rep)) != NULL)
		rules = rules_load(s, &rep);
	if (rules != NULL && rep.n > 0) {
		rules_free(rules);
		rules = NULL;
	}
	settings_free(s);
	report_fini(&rep);
	return rules;
}

static void
redact_by(struct rules *rules, struct str example, struct str text)
{
	struct redactor *r = redactor_new(STR("a key"), "k1");
	struct buf once, twice;

	redactor_obey(r, rules);
	buf_init(&once, 1 << 22);
	buf_init(&twice, 1 << 22);
	redact(r, REDACT_TEXT, example, &once);
	assert(!str_eq(buf_view(&once), example));
	buf_reset(&once);
	redact(r, REDACT_TEXT, text, &once);
	redact(r, REDACT_TEXT, buf_view(&once), &twice);
	assert(str_eq(buf_view(&once), buf_view(&twice)));
	buf_fini(&once);
	buf_fini(&twice);
	redactor_free(r);
}

/* A pattern, its example, and what is searched for it, a line each. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = { (const char *)data, size };
	struct str pattern, example;
	struct rules *rules;
	struct buf yaml;

	if (!str_split(&rest, '\n', &pattern) || !str_split(&rest, '\n', &example) ||
	    example.n > EXAMPLE_MOST || pattern.n > 256)
		return 0;
	buf_init(&yaml, 4096);
	buf_text(&yaml, "redact: { rules: [ { name: badge, pattern: ");
	if (!put_quoted(&yaml, pattern))
		goto out;
	buf_text(&yaml, ", examples: [ ");
	if (!put_quoted(&yaml, example))
		goto out;
	buf_text(&yaml, " ] } ] }\n");
	if ((rules = load(buf_view(&yaml))) != NULL)
		redact_by(rules, example, rest);
out:
	buf_fini(&yaml);
	return 0;
}
