#include "meter/usage.h"

#include <string.h>

void
usage_name(char out[static USAGE_MODEL], struct str model)
{
	size_t n = model.n < USAGE_MODEL ? model.n : USAGE_MODEL - 1;

	if (n > 0)
		memcpy(out, model.p, n);
	out[n] = '\0';
}

struct run *
usage_add(struct usage *u)
{
	if (u->nrun == USAGE_RUNS)
		return NULL;
	struct run *r = &u->run[u->nrun++];

	*r = (struct run){ .tier = TIER_STANDARD };
	return r;
}

static int64_t
sum(int64_t a, int64_t b)
{
	int64_t s;

	return __builtin_add_overflow(a, b, &s) ? INT64_MAX : s;
}

static void
add_run(struct run *to, const struct run *r)
{
	to->input_total = sum(to->input_total, r->input_total);
	to->cache_read = sum(to->cache_read, r->cache_read);
	to->cache_write = sum(to->cache_write, r->cache_write);
	to->cache_write_long = sum(to->cache_write_long, r->cache_write_long);
	to->audio_in = sum(to->audio_in, r->audio_in);
	to->output = sum(to->output, r->output);
	to->audio_out = sum(to->audio_out, r->audio_out);
	to->reasoning = sum(to->reasoning, r->reasoning);
	to->searches = sum(to->searches, r->searches);
	to->file_searches = sum(to->file_searches, r->file_searches);
}

void
usage_fold(struct usage *u, const struct run *r)
{
	for (size_t i = 0; i < u->nrun; i++)
		if (u->run[i].tier == r->tier && strcmp(u->run[i].model, r->model) == 0) {
			add_run(&u->run[i], r);
			return;
		}
	u->is_absurd = true; /* more models than anybody runs for one call */
}

struct run
usage_total(const struct usage *u)
{
	struct run total = { .tier = TIER_STANDARD };

	for (size_t i = 0; i < u->nrun; i++)
		add_run(&total, &u->run[i]);
	return total;
}

bool
usage_is_torn(const struct usage *u)
{
	struct run all = usage_total(u);
	int64_t cached = sum(sum(all.cache_read, all.cache_write), all.cache_write_long);

	return cached > all.input_total || all.audio_in > all.input_total ||
	       all.audio_out > all.output || all.reasoning > all.output;
}

bool
usage_count(struct usage *u, struct str number, int64_t *out)
{
	bool has_more;
	wide n;

	if (!decimal_read(number, 0, &n, &has_more) || has_more ||
	    n > (wide)USAGE_TOKENS_MAX) {
		u->is_absurd = true;
		return false;
	}
	*out = (int64_t)n;
	return true;
}

void
usage_keeps(struct usage *u, enum reference_kind kind, struct str id)
{
	if (id.n == 0 || id.n >= USAGE_MODEL) /* a part of an id names nothing */
		return;
	for (size_t i = 0; i < u->nobject; i++)
		if (str_eq(id, str_of(u->object[i].id)))
			return;
	if (u->nobject == USAGE_OBJECTS)
		return;
	u->object[u->nobject].kind = kind;
	usage_name(u->object[u->nobject++].id, id);
}
