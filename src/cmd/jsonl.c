/*
 * jsonl.c - JSON lines on standard input, one JSON line out for each
 */
#include "cmd/jsonl.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/exit.h"

#define TEXT_MAX ((size_t)64 << 20)

void
jsonl_fault(struct jsonl *l, const char *code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report_vadd(&l->rep, SEVERITY_ERROR, (struct mark){ .file = "batch" }, STR_NONE,
	    code, NULL, fmt, ap);
	va_end(ap);
}

struct str
jsonl_keep(struct jsonl *l, const struct buf *b)
{
	struct str s = arena_str(&l->arena, buf_view(b));

	if (s.p == NULL || b->is_over) {
		jsonl_fault(l, "too_large", "the line is too large");
		return STR("");
	}
	return s;
}

struct str
jsonl_text(struct jsonl *l, const struct json_value *v)
{
	struct json_out j;
	struct buf b;
	struct str out;

	buf_init(&b, TEXT_MAX);
	json_out_init(&j, &b);
	json_value(&j, v);
	out = jsonl_keep(l, &b);
	buf_fini(&b);
	return out;
}

struct str
jsonl_base64(struct jsonl *l, const struct json_value *v)
{
	size_t pad = 0, n = v->text.n;
	unsigned char *bytes = arena_alloc(&l->arena, n + 1);
	int len = -1;

	if (v->type == JSON_STRING && bytes != NULL && n % 4 == 0 && n <= INT32_MAX) {
		while (pad < 2 && pad < n && v->text.p[n - 1 - pad] == '=')
			pad++;
		len = EVP_DecodeBlock(bytes, (const unsigned char *)v->text.p, (int)n);
	}
	if (len < 0) {
		jsonl_fault(l, "bad_base64", "%.*s is no base64", STR_ARG(v->key));
		return STR_NONE;
	}
	return (struct str){ (const char *)bytes, (size_t)len - pad };
}

const struct json_value *
jsonl_object(struct jsonl *l, struct str text, const char **why)
{
	const struct json_value *object;

	*why = "no JSON object";
	object = json_parse(text, &l->arena, why);
	return object != NULL && object->type == JSON_OBJECT ? object : NULL;
}

static void
put_error(const struct jsonl *l, struct buf *to)
{
	struct json_out j;
	struct buf findings;

	buf_init(&findings, TEXT_MAX);
	report_print_json(&l->rep, &findings);
	json_out_init(&j, to);
	json_open(&j, '{');
	json_key(&j, "id");
	json_raw(&j, l->id);
	json_key(&j, "error");
	json_raw(&j, buf_view(&findings));
	json_close(&j, '}');
	buf_fini(&findings);
}

static bool
run_line(size_t memory, struct str text, jsonl_answer *answer, void *arg)
{
	struct jsonl l = { .id = STR("null") };
	struct buf out;
	bool is_right;

	arena_init(&l.arena, memory);
	report_init(&l.rep);
	buf_init(&out, TEXT_MAX);
	answer(arg, &l, text, &out);
	is_right = l.rep.errors == 0;
	if (!is_right) {
		buf_reset(&out);
		put_error(&l, &out);
	}
	buf_char(&out, '\n');
	fwrite(out.p, 1, out.n, stdout);
	fflush(stdout);
	buf_fini(&out);
	report_fini(&l.rep);
	arena_fini(&l.arena);
	return is_right;
}

int
jsonl_run(size_t memory, jsonl_answer *answer, void *arg)
{
	char *text = NULL;
	size_t cap = 0;
	ssize_t n;
	int status = EXIT_YES;

	while (!ferror(stdout) && (n = getline(&text, &cap, stdin)) >= 0) {
		struct str line = { text, (size_t)n };

		if (str_ends(line, STR("\n")))
			line.n--;
		if (!run_line(memory, line, answer, arg))
			status = EXIT_CONFIG;
	}
	free(text);
	return status;
}
