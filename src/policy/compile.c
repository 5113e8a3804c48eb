/*
 * compile.c - policy files -> an immutable, indexed ruleset
 */
#include "policy/compile.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>

#include "policy/clash.h"
#include "policy/expect.h"

struct ruleset_terms
ruleset_terms_of(const struct settings *s)
{
	return (struct ruleset_terms){
		.is_production = s->production,
		.is_report_ok = !s->production || s->allow_report,
		.opens_tls = s->tls_intercept_key.bytes != NULL,
		.settings = s,
	};
}

static void
put_digest(struct ruleset *rs, struct tree *const *tree, size_t n)
{
	static const char hex[] = "0123456789abcdef";
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned len = 0;
	bool is_ok = ctx != NULL && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1;

	for (size_t i = 0; i < n && is_ok; i++)
		is_ok = EVP_DigestUpdate(ctx, tree[i]->source.p, tree[i]->source.n) == 1;
	is_ok = is_ok && EVP_DigestFinal_ex(ctx, sum, &len) == 1;
	EVP_MD_CTX_free(ctx);
	assert(is_ok && len == 32);
	for (unsigned i = 0; i < len; i++) {
		rs->digest[2 * i] = hex[sum[i] >> 4];
		rs->digest[2 * i + 1] = hex[sum[i] & 15];
	}
}

/* The trees hold marks of findings, so they live until all checks ran. */
static struct ruleset *
compile(struct tree *const *tree, const struct ruleset_source *source, size_t n,
    const struct ruleset_terms *terms, struct report *rep)
{
	struct ruleset *rs = mem_zalloc(sizeof(*rs));

	rs->terms = *terms;
	rs->terms.settings = NULL; /* the rules may outlive it */
	if (terms->settings != NULL)
		rs->metered = metered_new(terms->settings);
	rs->layer = mem_zalloc((n + 1) * sizeof(struct layer *));
	rs->nlayer = n;
	for (size_t i = 0; i < n; i++) {
		struct layer *l = layer_new(model_build(
		    tree[i], source[i].name, source[i].is_inline, terms, rep));

		rs->layer[i] = l;
		rs->has_upload |= l->has_upload;
		clash_check(tree[i], l, terms->opens_tls, rep);
		clash_check_metered(tree[i], l, rs->metered, rep);
		for (size_t k = 0; k < i; k++)
			clash_check_injects(tree[i], l, rs->layer[k], rep);
		if (i > 0)
			clash_check_layers(tree[i], l, rs->layer[i - 1], rep);
	}
	put_digest(rs, tree, n);
	return rs;
}

/* A file that could not be read has said so; the others still show what they have. */
static struct ruleset *
build(struct tree **tree, const struct ruleset_source *source, size_t n,
    const struct ruleset_terms *terms, struct report *rep)
{
	struct ruleset_source *there = mem_zalloc((n + 1) * sizeof(*there));
	size_t errors, have = 0;
	struct ruleset *rs;

	for (size_t i = 0; i < n; i++)
		if (tree[i] != NULL) {
			there[have] = source[i];
			tree[have++] = tree[i];
		}
	errors = rep->errors;
	rs = compile(tree, there, have, terms, rep);
	if (rep->errors == errors)
		for (size_t i = 0; i < have; i++)
			expect_run(rs, i, tree[i], rep);
	for (size_t i = 0; i < have; i++)
		tree_free(tree[i]);
	free(there);
	return rs;
}

static struct ruleset *
unless_wrong(struct ruleset *rs, const struct report *rep, size_t errors)
{
	if (rep->errors == errors)
		return rs;
	ruleset_free(rs);
	return NULL;
}

struct ruleset *
ruleset_load(const char *const *path, size_t n, const struct ruleset_terms *terms,
    struct report *rep)
{
	struct tree **tree = mem_zalloc((n + 1) * sizeof(struct tree *));
	struct ruleset_source *source = mem_zalloc((n + 1) * sizeof(*source));
	size_t errors = rep->errors;
	struct ruleset *rs;

	for (size_t i = 0; i < n; i++) {
		source[i].name = path[i];
		tree[i] = tree_read_file(path[i], TREE_POLICY_MAX, rep);
	}
	rs = build(tree, source, n, terms, rep);
	free(tree);
	free(source);
	return unless_wrong(rs, rep, errors);
}

struct ruleset *
ruleset_build(const struct ruleset_source *source, size_t n,
    const struct ruleset_terms *terms, struct report *rep)
{
	struct tree **tree = mem_zalloc((n + 1) * sizeof(struct tree *));
	size_t errors = rep->errors;
	struct ruleset *rs;

	for (size_t i = 0; i < n; i++)
		tree[i] = tree_read_text(source[i].name, source[i].text, rep);
	rs = build(tree, source, n, terms, rep);
	free(tree);
	return unless_wrong(rs, rep, errors);
}
