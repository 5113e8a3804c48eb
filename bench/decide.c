/*
 * decide.c - nanoseconds for one decision, and whether rules that are not asked cost
 * anything
 *
 * For policies of 10, 1 000 and 100 000 hosts: how long loading takes, and what
 * one decision costs (name and port, addresses, first bytes) by what is asked.
 * Run it with `make bench`; a row should look the same at every size.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "policy/ask.h"
#include "policy/compile.h"
#include "policy/match.h"

#define ROUNDS 20
#define ASKS 10240
#define ASKED 1024 /* different hosts, so that the cache is not all that is measured */

static const size_t sizes[] = { 10, 1000, 100000 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

enum question {
	ASK_NAME,
	ASK_WILDCARD,
	ASK_REQUEST,
	ASK_ADDRESS,
	ASK_UNKNOWN,
	QUESTIONS
};

static const char *const question_name[QUESTIONS] = {
	[ASK_NAME] = "https by name",
	[ASK_WILDCARD] = "https by wildcard",
	[ASK_REQUEST] = "http with a path",
	[ASK_ADDRESS] = "an address in a range",
	[ASK_UNKNOWN] = "a name nobody allows",
};

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* A tenth each of wildcards, of rules with paths and of ranges; the rest are names. */
static void
put_policy(struct buf *b, size_t hosts)
{
	buf_text(b, "policy: bench\nallow:\n");
	for (size_t i = 0; i < hosts; i++)
		switch (i % 10) {
		case 1:
			buf_fmt(b, "- { host: '*.w%zu.zone%zu.test' }\n", i, i % 7);
			break;
		case 2:
			buf_fmt(b,
			    "- { host: p%zu.zone%zu.test, protocol: http, methods: "
			    "[GET], paths: "
			    "[/a/**] }\n",
			    i, i % 7);
			break;
		case 3:
			buf_fmt(b, "- { host: %zu.%zu.%zu.0/24 }\n", 20 + i / 65536,
			    i / 256 % 256, i % 256);
			break;
		default:
			buf_fmt(b, "- { host: n%zu.zone%zu.test }\n", i, i % 7);
		}
	buf_text(b, "deny: [{ host: '*.never.test' }]\n");
}

static struct ruleset *
load(size_t hosts, double *ms)
{
	const struct ruleset_terms terms = { .is_production = true };
	struct ruleset_source source = { .name = "bench" };
	struct ruleset *rs;
	struct report rep;
	struct buf b;
	double start;

	buf_init(&b, (size_t)64 << 20);
	put_policy(&b, hosts);
	source.text = buf_view(&b);
	report_init(&rep);
	start = now_ns();
	rs = ruleset_build(&source, 1, &terms, &rep);
	*ms = (now_ns() - start) / 1e6;
	buf_reset(&b);
	report_print_text(&rep, &b);
	fputs(buf_cstr(&b), stderr);
	report_fini(&rep);
	buf_fini(&b);
	if (rs == NULL)
		exit(EXIT_FAILURE);
	return rs;
}

struct asked {
	struct ask ask;
	struct addr answer;
	char target[128];
};

static void
put_ask(struct asked *a, enum question q, size_t i)
{
	static const unsigned place[QUESTIONS] = { 0, 1, 2, 3, 0 };
	const char *why;
	enum reason reason;

	i = i / 10 * 10 + place[q];
	switch (q) {
	case ASK_NAME:
		snprintf(a->target, sizeof(a->target), "n%zu.zone%zu.test:443", i, i % 7);
		break;
	case ASK_WILDCARD:
		snprintf(
		    a->target, sizeof(a->target), "a.b.w%zu.zone%zu.test:443", i, i % 7);
		break;
	case ASK_REQUEST:
		snprintf(a->target, sizeof(a->target), "http://p%zu.zone%zu.test/a/b/c?d",
		    i, i % 7);
		break;
	case ASK_ADDRESS:
		snprintf(a->target, sizeof(a->target), "%zu.%zu.%zu.9:443",
		    20 + i / 65536, i / 256 % 256, i % 256);
		break;
	case ASK_UNKNOWN:
	case QUESTIONS:
		snprintf(a->target, sizeof(a->target), "a.b.u%zu.example:443", i);
		break;
	}
	reason = q == ASK_REQUEST
		     ? ask_absolute(&a->ask, STR("GET"), str_of(a->target), &why)
		     : ask_connect(&a->ask, str_of(a->target), &why);
	if (reason != REASON_NONE || !addr_parse(&a->answer, STR("93.184.215.14")))
		exit(EXIT_FAILURE);
	if (a->ask.host.is_literal)
		a->answer = a->ask.host.addr;
}

static bool
decide(const struct ruleset *rs, const struct asked *asked, struct arena *a)
{
	static const struct place nowhere;
	struct admitted admitted;
	struct vetted vetted;
	struct verdict v;
	struct facts f;

	ask_facts(&f, &asked->ask);
	if (!match_admit(rs, &f, a, &admitted, &v, NULL) ||
	    !match_address(
		rs, &f, &admitted, &asked->answer, 1, &nowhere, &vetted, &v, NULL))
		return false;
	if (!f.has_request) {
		f.protocols = PROTOCOL_HTTPS;
		f.has_hello = true;
		f.has_sni = f.is_sni_equal = !f.host->is_literal;
	}
	match_judge(rs, &f, a, &vetted.addr[0], &nowhere, &v, NULL);
	return v.allow;
}

/* The best of a few rounds: what the machine does besides only ever adds. */
static double
measure(const struct ruleset *rs, enum question q, size_t hosts)
{
	static struct asked asked[ASKED];
	double best = 0;
	struct arena a;

	arena_init(&a, (size_t)1 << 20);
	for (size_t i = 0; i < ASKED; i++)
		put_ask(&asked[i], q, i * 977 % hosts);
	for (int round = 0; round < ROUNDS; round++) {
		double start = now_ns(), ns;
		for (size_t i = 0; i < ASKS; i++)
			if (decide(rs, &asked[i % ASKED], &a) != (q != ASK_UNKNOWN)) {
				fprintf(stderr, "%s: decided wrongly\n",
				    asked[i % ASKED].target);
				exit(EXIT_FAILURE);
			}
		ns = (now_ns() - start) / ASKS;
		best = round == 0 || ns < best ? ns : best;
		arena_reset(&a);
	}
	arena_fini(&a);
	return best;
}

int
main(void)
{
	struct ruleset *rs[SIZES];
	double ms[SIZES], mib[SIZES];

	for (size_t s = 0; s < SIZES; s++) {
		size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
		rs[s] = load(sizes[s], &ms[s]);
		mib[s] = (double)(mallinfo2().uordblks + mallinfo2().hblkhd - before) /
			 1048576;
	}
	printf("%-24s", "hosts");
	for (size_t s = 0; s < SIZES; s++)
		printf("%10zu", sizes[s]);
	printf("\n%-24s", "loading, ms");
	for (size_t s = 0; s < SIZES; s++)
		printf("%10.1f", ms[s]);
	printf("\n%-24s", "memory, MiB");
	for (size_t s = 0; s < SIZES; s++)
		printf("%10.1f", mib[s]);
	for (enum question q = 0; q < QUESTIONS; q++) {
		printf("\n%-24s", question_name[q]);
		for (size_t s = 0; s < SIZES; s++)
			printf("%10.0f", measure(rs[s], q, sizes[s]));
	}
	printf("  ns\n");
	for (size_t s = 0; s < SIZES; s++)
		ruleset_free(rs[s]);
	return 0;
}
