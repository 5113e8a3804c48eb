/*
 * scene.c - rules, place and names that requests are explained against
 */
#include "cmd/scene.h"

#include "policy/ask.h"
#include "policy/quickstart.h"

static struct ruleset_terms
terms_of(const struct settings *s)
{
	return (struct ruleset_terms){
		.is_production = s->production,
		.is_report_ok = !s->production || s->allow_report,
	};
}

static struct place
place_of(const struct settings *s)
{
	return (struct place){
		.closed = s->addresses_closed.p,
		.nclosed = s->addresses_closed.n,
		.nat64 = s->dns_nat64.p,
		.nnat64 = s->dns_nat64.n,
		.is_loopback_own_ok = !s->production,
	};
}

static bool
finish(struct scene *s, struct ruleset *rules, struct report *rep)
{
	size_t errors = rep->errors;

	s->rules = rules;
	s->place = place_of(s->settings);
	s->host = static_hosts_build(s->settings, rep, &s->nhost);
	if (rules != NULL && rep->errors == errors)
		return true;
	scene_fini(s);
	return false;
}

bool
scene_load(struct scene *s, const char *path, struct report *rep)
{
	const struct ruleset_source quickstart = { "quickstart",
		{ quickstart_yaml, quickstart_yaml_n }, false };
	struct ruleset_terms terms;

	*s = (struct scene){ 0 };
	s->settings = path == NULL ? settings_laptop(rep) : settings_load_file(path, rep);
	if (s->settings == NULL)
		return false;
	terms = terms_of(s->settings);
	return finish(s,
	    path == NULL ? ruleset_build(&quickstart, 1, &terms, rep)
			 : ruleset_load((const char *const *)s->settings->policies.p,
			       s->settings->policies.n, &terms, rep),
	    rep);
}

bool
scene_build(struct scene *s, struct settings *settings,
    const struct ruleset_source *source, size_t n, struct report *rep)
{
	struct ruleset_terms terms = terms_of(settings);

	*s = (struct scene){ .settings = settings };
	return finish(s, ruleset_build(source, n, &terms, rep), rep);
}

void
scene_fini(struct scene *s)
{
	static_hosts_free(s->host, s->nhost);
	ruleset_free(s->rules);
	settings_free(s->settings);
	*s = (struct scene){ 0 };
}

void
scene_explain(struct explained *out, const struct scene *s, struct explain_ask *ask,
    struct arena *a)
{
	struct host host;
	bool is_known = ask->has_answers || ask->dns_error != REASON_NONE;

	if (!is_known && s->nhost > 0 && explain_host(ask, &host))
		for (size_t i = 0; i < s->nhost; i++)
			if (host_eq(&s->host[i].host, &host)) {
				ask->answer = s->host[i].addr;
				ask->nanswer = s->host[i].naddr;
				ask->has_answers = true;
			}
	explain(out, s->rules, &s->place, ask, a);
}
