/*
 * network.c - a claim's `network` -> the innermost layer of rules
 */
#include "policy/network.h"

#include <assert.h>

#define MODEL_MEMORY ((size_t)1 << 20)

static const char not_network[] =
    "network is neither \"deny-all\", {\"allow\": [host, ...]} nor a CapabilityPolicy's";

static struct model *
model_new(void)
{
	struct model *m = mem_zalloc(sizeof(*m));

	arena_init(&m->arena, MODEL_MEMORY);
	m->name = "claims";
	m->allow = arena_zalloc(&m->arena, sizeof(*m->allow));
	assert(m->allow != NULL);
	return m;
}

static struct layer *
claim_layer(struct model *m)
{
	struct layer *l = layer_new(m);

	l->is_claim = true;
	return l;
}

struct layer *
network_deny_all(void)
{
	return claim_layer(model_new());
}

static const char *
add_host(struct model *m, struct rule *r, const struct json_value *v)
{
	struct rule_host *h = &r->host[r->nhost];
	enum host_error ignored;

	if (v->type != JSON_STRING)
		return "a host of network is no string";
	if (pattern_parse(&h->pattern, v->text, &m->arena, &ignored) != PATTERN_OK)
		return "a host of network is no host, pattern or address";
	r->nhost++;
	return NULL;
}

/* One rule for all: what else an exchange must be, the policy's layers say. */
static const char *
add_rule(
    struct model *m, const struct json_value *hosts, unsigned protocols, bool is_any_port)
{
	static const struct ports all = { 1, UINT16_MAX };
	struct rule *r = m->allow;
	const char *why = NULL;

	if (hosts->type != JSON_ARRAY || hosts->n > NETWORK_HOSTS_MAX)
		return "the hosts of network are no list of at most 256";
	*r = (struct rule){
		.name = "network",
		.place = "claims:network",
		.is_short = true,
		.protocols = protocols,
		.port = &all,
		.nport = 1,
		.has_ports = is_any_port,
		.has_websocket = true,
		.has_ech = true,
		.max_body = -1,
	};
	r->host = arena_zalloc(&m->arena, (hosts->n + 1) * sizeof(*r->host));
	assert(r->host != NULL);
	m->nallow = 1;
	for (const struct json_value *v = hosts->child; v != NULL && why == NULL;
	     v = v->next)
		why = add_host(m, r, v);
	return why;
}

static const char *
read_protocols(const struct json_value *v, unsigned *out)
{
	enum protocol p;

	*out = PROTOCOL_HTTPS;
	if (v == NULL)
		return NULL;
	*out = 0;
	if (v->type != JSON_ARRAY)
		return "the protocols of network are no list";
	for (const struct json_value *at = v->child; at != NULL; at = at->next) {
		if (at->type != JSON_STRING || !rule_protocol_parse(&p, at->text) ||
		    p == PROTOCOL_TCP)
			return "a protocol of network is neither https: nor http:";
		*out |= p;
	}
	return NULL;
}

static bool
has_only(const struct json_value *v, const char *const *known, size_t n)
{
	for (const struct json_value *at = v->child; at != NULL; at = at->next) {
		bool is_known = false;
		for (size_t i = 0; i < n; i++)
			is_known |= str_eq(at->key, str_of(known[i]));
		if (!is_known)
			return false;
	}
	return true;
}

static const char *
read_capability(struct model *m, const struct json_value *v)
{
	static const char *const known[] = { "mode", "protocols", "hosts", "resolveDns" };
	const struct json_value *mode = json_get(v, "mode"),
				*hosts = json_get(v, "hosts"),
				*dns = json_get(v, "resolveDns");
	unsigned protocols;
	const char *why;

	if (mode == NULL || mode->type != JSON_STRING ||
	    !has_only(v, known, sizeof(known) / sizeof(known[0])))
		return not_network;
	if (dns != NULL && dns->type != JSON_TRUE && dns->type != JSON_FALSE)
		return "resolveDns of network is neither true nor false";
	if ((why = read_protocols(json_get(v, "protocols"), &protocols)) != NULL)
		return why;
	if (str_eq(mode->text, STR("deny-all")))
		return hosts != NULL && (hosts->type != JSON_ARRAY || hosts->n > 0)
			   ? "network denies all and lists hosts"
			   : NULL;
	if (!str_eq(mode->text, STR("allowlist")))
		return "the mode of network is neither deny-all nor allowlist";
	return hosts == NULL ? NULL : add_rule(m, hosts, protocols, false);
}

static const char *
read_network(struct model *m, const struct json_value *v)
{
	static const char *const known[] = { "allow" };
	const struct json_value *allow = json_get(v, "allow");

	if (v->type == JSON_STRING)
		return str_eq(v->text, STR("deny-all")) ? NULL : not_network;
	if (v->type != JSON_OBJECT)
		return not_network;
	if (allow == NULL)
		return read_capability(m, v);
	return has_only(v, known, 1) ? add_rule(m, allow, PROTOCOL_ANY, true)
				     : not_network;
}

struct layer *
network_layer(const struct json_value *v, const char **why)
{
	struct model *m = model_new();

	*why = read_network(m, v);
	if (*why == NULL)
		return claim_layer(m);
	model_free(m);
	return NULL;
}
