/*
 * usage_json.c - what a call used, as the ledger keeps it, and back again
 */
#include "meter/usage_json.h"

#include <stddef.h>
#include <string.h>

#include "wire/json.h"

static const char *const tiers[TIER_N] = { [TIER_STANDARD] = "standard",
	[TIER_PRIORITY] = "priority",
	[TIER_FLEX] = "flex",
	[TIER_BATCH] = "batch",
	[TIER_ULTRAFAST] = "ultrafast" };

static const struct {
	const char *name;
	size_t at; /* in struct run */
} counts[] = {
	{ "input_total", offsetof(struct run, input_total) },
	{ "cache_read", offsetof(struct run, cache_read) },
	{ "cache_write", offsetof(struct run, cache_write) },
	{ "cache_write_long", offsetof(struct run, cache_write_long) },
	{ "audio_in", offsetof(struct run, audio_in) },
	{ "output", offsetof(struct run, output) },
	{ "audio_out", offsetof(struct run, audio_out) },
	{ "reasoning", offsetof(struct run, reasoning) },
	{ "searches", offsetof(struct run, searches) },
	{ "file_searches", offsetof(struct run, file_searches) },
};

#define COUNTS (sizeof(counts) / sizeof(*counts))

/* ---- there */

static void
put_count(struct json_out *j, const char *key, int64_t n)
{
	if (n == 0)
		return;
	json_key(j, key);
	json_int(j, n);
}

static void
put_name(struct json_out *j, const char *key, struct str name)
{
	if (name.n == 0)
		return;
	json_key(j, key);
	json_str(j, name);
}

static void
put_run(struct json_out *j, const struct run *r)
{
	int64_t n;

	json_open(j, '{');
	put_name(j, "model", str_of(r->model));
	if (r->tier != TIER_STANDARD)
		put_name(j, "tier", str_of(tiers[r->tier]));
	for (size_t i = 0; i < COUNTS; i++) {
		memcpy(&n, (const char *)r + counts[i].at, sizeof(n));
		put_count(j, counts[i].name, n);
	}
	json_close(j, '}');
}

void
usage_print(struct buf *to, const struct usage_kept *k)
{
	const struct usage *u = &k->usage;
	struct json_out j;

	json_out_init(&j, to);
	json_open(&j, '{');
	put_name(&j, "api", k->api);
	put_name(&j, "id", k->id);
	put_name(&j, "model", str_of(u->model));
	put_count(&j, "day", k->day);
	put_count(&j, "fast", u->is_fast);
	put_count(&j, "region", u->region);
	if (u->has_reported) {
		json_key(&j, "reported");
		json_int(&j, u->reported);
	}
	json_key(&j, "runs");
	json_open(&j, '[');
	for (size_t i = 0; i < u->nrun; i++)
		put_run(&j, &u->run[i]);
	json_close(&j, ']');
	json_close(&j, '}');
}

/* ---- and back */

/* A key that is missing is a zero; false: it is there and is no count. */
static bool
read_count(const struct json_value *object, const char *key, uint64_t max, int64_t *out)
{
	const struct json_value *v = json_get(object, key);
	uint64_t n = 0;

	if (v != NULL && (v->type != JSON_NUMBER || !str_decimal(v->text, &n) || n > max))
		return false;
	*out = (int64_t)n;
	return true;
}

static bool
read_name(const struct json_value *object, const char *key, struct str *out)
{
	const struct json_value *v = json_get(object, key);

	*out = v != NULL ? v->text : STR("");
	return v == NULL || v->type == JSON_STRING;
}

static bool
read_model(const struct json_value *object, char out[static USAGE_MODEL])
{
	struct str name;

	if (!read_name(object, "model", &name) || name.n >= USAGE_MODEL)
		return false;
	usage_name(out, name);
	return true;
}

static bool
read_tier(const struct json_value *object, enum tier *out)
{
	struct str name;

	if (!read_name(object, "tier", &name))
		return false;
	*out = TIER_STANDARD;
	for (enum tier t = TIER_STANDARD; t < TIER_N && name.n > 0; t++)
		if (str_eq(name, str_of(tiers[t]))) {
			*out = t;
			return true;
		}
	return name.n == 0;
}

static bool
read_run(const struct json_value *object, struct run *r)
{
	int64_t n;

	*r = (struct run){ .tier = TIER_STANDARD };
	if (object->type != JSON_OBJECT || !read_model(object, r->model) ||
	    !read_tier(object, &r->tier))
		return false;
	for (size_t i = 0; i < COUNTS; i++) {
		if (!read_count(object, counts[i].name, INT64_MAX, &n))
			return false;
		memcpy((char *)r + counts[i].at, &n, sizeof(n));
	}
	return true;
}

static bool
read_runs(const struct json_value *list, struct usage *u)
{
	if (list == NULL || list->type != JSON_ARRAY || list->n > USAGE_RUNS)
		return false;
	for (const struct json_value *v = list->child; v != NULL; v = v->next)
		if (!read_run(v, &u->run[u->nrun++]))
			return false;
	return true;
}

static bool
read_head(const struct json_value *object, struct usage_kept *k)
{
	int64_t day, fast, region, reported;

	if (!read_count(object, "day", 99991231, &day) ||
	    !read_count(object, "fast", 1, &fast) ||
	    !read_count(object, "region", REGION_EU, &region) ||
	    !read_count(object, "reported", INT64_MAX, &reported))
		return false;
	k->day = (yyyymmdd)day;
	k->usage.is_fast = fast != 0;
	k->usage.region = (enum region)region;
	k->usage.has_reported = json_get(object, "reported") != NULL;
	k->usage.reported = reported;
	return read_name(object, "api", &k->api) && read_name(object, "id", &k->id) &&
	       read_model(object, k->usage.model);
}

const char *
usage_parse(struct usage_kept *out, struct str json, struct arena *a)
{
	const char *why;
	const struct json_value *object = json_parse(json, a, &why);

	*out = (struct usage_kept){ .usage = { .state = USAGE_ALL } };
	if (object == NULL)
		return why;
	if (object->type != JSON_OBJECT)
		return "it is no JSON object";
	if (!read_head(object, out) || !read_runs(json_get(object, "runs"), &out->usage))
		return "a field is not what it should be";
	return NULL;
}
