/*
 * decide.c - nanoseconds for one decision, as the rules become many
 *
 * Builds a policy of N hosts (half of them wildcards, each its own rule) and asks
 * for hosts that are allowed, below a wildcard, and not there.  A decision is what
 * a CONNECT on the live path costs before DNS: the authority parsed, the facts
 * made, match_admit().  The column must not grow with N.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/loop.h"
#include "policy/ask.h"
#include "policy/compile.h"
#include "policy/match.h"

#define DECISIONS 1000000
#define ASKS 256 /* distinct hosts, so that no cache holds the one answer */

static struct ruleset *
build(size_t hosts)
{
	static const struct ruleset_terms terms = { .is_production = true };
	struct ruleset_source source = { .name = "bench" };
	struct ruleset *rs;
	struct report rep;
	struct buf text;

	buf_init(&text, (size_t)16 << 20);
	buf_text(&text, "policy: bench\nallow:\n");
	for (size_t i = 0; i < hosts; i++)
		buf_fmt(
		    &text, "  - host: \"%sh%zu.example.com\"\n", i % 2 ? "*." : "", i);
	report_init(&rep);
	source.text = buf_view(&text);
	rs = ruleset_build(&source, 1, &terms, &rep);
	if (rs == NULL) {
		fprintf(stderr, "decide: the policy does not load\n");
		exit(1);
	}
	report_fini(&rep);
	buf_fini(&text);
	return rs;
}

/* Odd numbers are wildcards' bases; numbers from `hosts` on are in no rule. */
static void
make_ask(char out[static 64], size_t hosts, size_t i, const char *kind)
{
	size_t n = (size_t)rand() % hosts;

	if (kind[0] == 'e') /* exact */
		snprintf(out, 64, "h%zu.example.com:443", n & ~(size_t)1);
	else if (kind[0] == 'w') /* wildcard */
		snprintf(
		    out, 64, "deep.x%zu.h%zu.example.com:443", i, hosts > 1 ? n | 1 : 1);
	else
		snprintf(out, 64, "h%zu.example.com:443", hosts + n);
}

static double
decide(const struct ruleset *rs, char (*authority)[64], size_t *allowed)
{
	struct arena a;
	usec began;

	arena_init(&a, 1 << 20);
	began = clock_mono_us();
	for (size_t i = 0; i < DECISIONS; i++) {
		struct verdict v = { 0 };
		struct admitted in;
		struct facts f;
		struct ask ask;
		const char *why;

		if (ask_connect(&ask, str_of(authority[i % ASKS]), &why) != REASON_NONE)
			abort();
		ask_facts(&f, &ask);
		*allowed += match_admit(rs, &f, &a, &in, &v, NULL);
		arena_reset(&a);
	}
	arena_fini(&a);
	return (double)(clock_mono_us() - began) * 1000 / DECISIONS;
}

int
main(void)
{
	static const size_t sizes[] = { 10, 1000, 100000 };
	static const char *const kinds[] = { "exact", "wildcard", "absent" };

	printf("%-10s %10s %10s %10s   ns for each decision\n", "hosts", kinds[0],
	    kinds[1], kinds[2]);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		struct ruleset *rs = build(sizes[s]);

		printf("%-10zu", sizes[s]);
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			char authority[ASKS][64];
			size_t allowed = 0;

			for (size_t i = 0; i < ASKS; i++)
				make_ask(authority[i], sizes[s], i, kinds[k]);
			printf(" %10.0f", decide(rs, authority, &allowed));
			if (allowed != (kinds[k][0] == 'a' ? 0 : DECISIONS))
				abort(); /* it measured something else */
		}
		printf("\n");
		ruleset_free(rs);
	}
	return 0;
}
