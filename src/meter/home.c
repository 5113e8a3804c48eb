/*
 * home.c - at which hosts those sell whom a price table names
 */
#include "meter/home.h"

#include "meter/price_table.h"

/* What `litellm_provider` begins with; the host begins and ends so, with a label's worth
 * or more between when there are both. */
static const struct home {
	const char *provider, *begins, *ends;
} homes[] = {
	{ "anthropic", "api.anthropic.com", "" },
	{ "openai", "api.openai.com", "" },
	{ "openai", "", ".api.openai.com" },
	{ "text-completion-openai", "api.openai.com", "" },
	{ "text-completion-openai", "", ".api.openai.com" },
	{ "gemini", "generativelanguage.googleapis.com", "" },
	{ "vertex_ai", "aiplatform.googleapis.com", "" },
	{ "vertex_ai", "", "-aiplatform.googleapis.com" },
	{ "vertex_ai", "aiplatform.", ".rep.googleapis.com" },
	{ "bedrock", "bedrock", ".amazonaws.com" },
	{ "bedrock", "bedrock", ".api.aws" },
	{ "azure", "", ".openai.azure.com" },
	{ "azure", "", ".services.ai.azure.com" },
	{ "azure", "", ".models.ai.azure.com" },
	{ "azure", "", ".cognitiveservices.azure.com" },
	{ "openrouter", "openrouter.ai", "" },
	{ "vercel_ai_gateway", "ai-gateway.vercel.sh", "" },
	{ "xai", "api.x.ai", "" },
	{ "deepseek", "api.deepseek.com", "" },
	{ "mistral", "api.mistral.ai", "" },
	{ "codestral", "codestral.mistral.ai", "" },
	{ "groq", "api.groq.com", "" },
	{ "cerebras", "api.cerebras.ai", "" },
	{ "together_ai", "api.together.xyz", "" },
	{ "together_ai", "api.together.ai", "" },
	{ "fireworks_ai", "api.fireworks.ai", "" },
	{ "cohere", "api.cohere.com", "" },
	{ "cohere", "api.cohere.ai", "" },
	{ "perplexity", "api.perplexity.ai", "" },
};

static bool
is_there(const struct home *h, struct str host)
{
	struct str begins = str_of(h->begins), ends = str_of(h->ends);

	if (ends.n == 0)
		return str_eq(host, begins);
	return host.n > begins.n + ends.n && str_starts(host, begins) &&
	       str_ends(host, ends);
}

static bool
is_named(const struct prices *p, const char *provider)
{
	size_t at = 0;
	struct str model;
	void *entry;

	while (map_next(&p->entry, &at, &model, &entry))
		if (str_starts(((const struct price *)entry)->provider, str_of(provider)))
			return true;
	return false;
}

const char *
home_of(const struct prices *p, struct str host)
{
	for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]); i++)
		if (is_there(&homes[i], host) && is_named(p, homes[i].provider))
			return homes[i].provider;
	return NULL;
}
