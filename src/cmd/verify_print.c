/*
 * verify_print.c - what weir verify found
 */
#include "cmd/verify_print.h"

#include "wire/json.h"

static const char *const result_names[] = {
	[PROBE_UNSURE] = "unsure",
	[PROBE_OK] = "ok",
	[PROBE_FAIL] = "fail",
	[PROBE_LEAK] = "leak",
};

struct verify_sum
verify_count(const struct probe *p, size_t n)
{
	struct verify_sum sum = { 0 };

	for (size_t i = 0; i < n; i++)
		switch (p[i].result) {
		case PROBE_UNSURE:
			sum.unsure++;
			break;
		case PROBE_OK:
			sum.ok++;
			break;
		case PROBE_FAIL:
			sum.failed++;
			break;
		case PROBE_LEAK:
			sum.leaks++;
			break;
		}
	return sum;
}

/* Wide enough for the longest of them. */
static const char *
mark(enum probe_result r)
{
	static const char *const marks[] = { "unsure", "ok    ", "FAIL  ", "LEAK  " };

	return marks[r];
}

static const char *
mend(const struct probe *p)
{
	return p->result == PROBE_OK       ? NULL
	       : p->mend != NULL           ? p->mend
	       : p->result == PROBE_UNSURE ? "nothing is shown either way: mend what it "
					     "could not be tried for, and try again"
					   : p->row->mend;
}

static void
print_one(struct buf *to, const struct probe *p)
{
	char text[HOST_MAX + 1];
	const char *target = probe_target(p, text);

	buf_fmt(to, "%s %s", mark(p->result), p->row->proves);
	if (target != NULL)
		buf_fmt(to, ": %s", target);
	buf_fmt(to, " (%s)\n", p->said);
	if (mend(p) != NULL)
		buf_fmt(to, "       -> %s\n", mend(p));
}

/* What is wrong stands last, where it is seen. */
void
verify_print(struct buf *to, const struct probe *p, size_t n)
{
	struct verify_sum sum = verify_count(p, n);

	for (size_t i = 0; i < n; i++)
		if (p[i].result == PROBE_OK)
			print_one(to, &p[i]);
	for (size_t i = 0; i < n; i++)
		if (p[i].result != PROBE_OK)
			print_one(to, &p[i]);
	buf_fmt(to, "%zu ok, %zu leak, %zu fail, %zu unsure\n", sum.ok, sum.leaks,
	    sum.failed, sum.unsure);
}

static void
json_probe(struct json_out *j, const struct probe *p)
{
	char text[HOST_MAX + 1];

	json_open(j, '{');
	json_key(j, "probe");
	json_text(j, p->row->id);
	json_key(j, "target");
	json_text(j, probe_target(p, text));
	json_key(j, "kind");
	json_text(j, p->row->is_positive ? "positive" : "negative");
	json_key(j, "result");
	json_text(j, result_names[p->result]);
	json_key(j, "proves");
	json_text(j, p->row->proves);
	json_key(j, "said");
	json_text(j, p->said);
	json_key(j, "mend");
	json_text(j, mend(p));
	json_close(j, '}');
}

static void
json_count(struct json_out *j, const char *key, size_t n)
{
	json_key(j, key);
	json_int(j, (int64_t)n);
}

/* The one that weir says is in force, or NULL: there is no gateway to ask. */
static const char *
policy_of(const struct probe *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i].policy[0] != '\0')
			return p[i].policy;
	return NULL;
}

void
verify_print_json(struct buf *to, const struct probe *p, size_t n, bool holds)
{
	struct verify_sum sum = verify_count(p, n);
	struct json_out j;

	json_out_init(&j, to);
	json_open(&j, '{');
	json_key(&j, "holds");
	json_bool(&j, holds);
	json_key(&j, "policy");
	json_text(&j, policy_of(p, n));
	json_count(&j, "ok", sum.ok);
	json_count(&j, "leak", sum.leaks);
	json_count(&j, "fail", sum.failed);
	json_count(&j, "unsure", sum.unsure);
	json_key(&j, "probes");
	json_open(&j, '[');
	for (size_t i = 0; i < n; i++)
		json_probe(&j, &p[i]);
	json_close(&j, ']');
	json_close(&j, '}');
	buf_char(to, '\n');
}
