/*
 * A name gives its addresses or the reason why not, in time, whatever the server does;
 * and only that name is asked for.
 */
#include "net/resolver.h"

#include "base/count.h"
#include "base/err.h"
#include "dns_server.h"

#define NO_DEADLINE INT64_C(600000) /* none that a test would wait for */

static const struct zone_row zone[] = {
	{ "both.test", TYPE_A, ZONE_ANSWER, "192.0.2.1 192.0.2.2 192.0.2.3", 60 },
	{ "both.test", TYPE_AAAA, ZONE_ANSWER, "2001:db8::1", 60 },
	{ "four.test", TYPE_A, ZONE_ANSWER, "192.0.2.4", 60 },
	{ "four.test", TYPE_AAAA, ZONE_NODATA, NULL, 0 },
	{ "six.test", TYPE_A, ZONE_NODATA, NULL, 0 },
	{ "six.test", TYPE_AAAA, ZONE_ANSWER, "2001:db8::6", 60 },
	{ "chain.test", TYPE_A, ZONE_ANSWER, "a.cdn.test> b.cdn.test> 192.0.2.5", 60 },
	{ "chain.test", TYPE_AAAA, ZONE_NODATA, NULL, 0 },
	{ "aaaa-silent.test", TYPE_A, ZONE_ANSWER, "192.0.2.6", 60 },
	{ "aaaa-silent.test", TYPE_AAAA, ZONE_SILENT, NULL, 0 },
	{ "a-silent.test", TYPE_A, ZONE_SILENT, NULL, 0 },
	{ "a-silent.test", TYPE_AAAA, ZONE_ANSWER, "2001:db8::7", 60 },
	{ "aaaa-servfail.test", TYPE_A, ZONE_ANSWER, "192.0.2.7", 60 },
	{ "aaaa-servfail.test", TYPE_AAAA, ZONE_SERVFAIL, NULL, 0 },
	{ "aaaa-nxdomain.test", TYPE_A, ZONE_ANSWER, "192.0.2.8", 60 },
	{ "aaaa-nxdomain.test", TYPE_AAAA, ZONE_NXDOMAIN, NULL, 0 },
	{ "nodata.test", 0, ZONE_NODATA, NULL, 0 },
	{ "half-nxdomain.test", TYPE_A, ZONE_NXDOMAIN, NULL, 0 },
	{ "half-nxdomain.test", TYPE_AAAA, ZONE_NODATA, NULL, 0 },
	{ "nx-silent.test", TYPE_A, ZONE_NXDOMAIN, NULL, 0 },
	{ "nx-silent.test", TYPE_AAAA, ZONE_SILENT, NULL, 0 },
	{ "nodata-silent.test", TYPE_A, ZONE_NODATA, NULL, 0 },
	{ "nodata-silent.test", TYPE_AAAA, ZONE_SILENT, NULL, 0 },
	{ "servfail.test", 0, ZONE_SERVFAIL, NULL, 0 },
	{ "refused.test", 0, ZONE_REFUSED, NULL, 0 },
	{ "garbage.test", 0, ZONE_GARBAGE, NULL, 0 },
	{ "stray.test", TYPE_A, ZONE_STRAY, "192.0.2.66", 60 },
	{ "stray.test", TYPE_AAAA, ZONE_NODATA, NULL, 0 },
	{ "silent.test", 0, ZONE_SILENT, NULL, 0 },
	{ ".silence.test", 0, ZONE_SILENT, NULL, 0 },
	{ "wrong-id.test", 0, ZONE_WRONG_ID, "192.0.2.66", 60 },
	{ "wrong-question.test", 0, ZONE_WRONG_QUESTION, "192.0.2.66", 60 },
	{ "large.test", TYPE_A, ZONE_TRUNCATED, "192.0.2.9 192.0.2.10", 60 },
	{ "large.test", TYPE_AAAA, ZONE_NODATA, NULL, 0 },
	{ "large-both.test", TYPE_A, ZONE_TRUNCATED, "192.0.2.9", 60 },
	{ "large-both.test", TYPE_AAAA, ZONE_TRUNCATED, "2001:db8::9", 60 },
	{ "pieces.test", TYPE_A, ZONE_TRUNCATED_PIECES, "192.0.2.11", 60 },
	{ "pieces.test", TYPE_AAAA, ZONE_NODATA, NULL, 0 },
	{ "no-ttl.test", TYPE_A, ZONE_ANSWER, "192.0.2.12", 0 },
	{ "no-ttl.test", TYPE_AAAA, ZONE_NODATA, NULL, 0 },
	{ "short-ttl.test", TYPE_A, ZONE_ANSWER, "192.0.2.13", 1 },
	{ "short-ttl.test", TYPE_AAAA, ZONE_NODATA, NULL, 0 },
};

static const struct zone_row other_zone[] = {
	{ "both.test", TYPE_A, ZONE_ANSWER, "198.51.100.1", 60 },
	{ "both.test", TYPE_AAAA, ZONE_NODATA, NULL, 0 },
};

struct answer {
	struct loop *loop;
	int times, *waiting; /* of all; the loop stops at 0 */
	struct found found;
};

struct fixture {
	struct dns_server server;
	struct loop *loop;
	struct resolver *resolver;
	int waiting;
};

static void
on_found(void *arg, const struct found *found)
{
	struct answer *a = arg;

	a->times++;
	a->found = *found;
	if (--*a->waiting == 0)
		loop_stop(a->loop);
}

static struct host
host(const char *text)
{
	struct host h;

	assert_int_equal(host_parse_bare(&h, str_of(text)), HOST_OK);
	return h;
}

static struct resolver_options
options(struct fixture *f, const char *server[1], msec timeout_ms)
{
	server[0] = f->server.address;
	return (struct resolver_options){
		.server = server, .nserver = 1, .timeout_ms = timeout_ms
	};
}

static void
begin(struct fixture *f, msec timeout_ms)
{
	const char *server[1], *why = NULL;
	struct resolver_options o;

	dns_server_start(&f->server, zone, COUNT_OF(zone));
	f->loop = loop_new();
	f->waiting = 0;
	o = options(f, server, timeout_ms);
	f->resolver = resolver_new(f->loop, &o, &why);
	if (f->resolver == NULL)
		fail_msg("%s", why);
}

static void
end(struct fixture *f)
{
	resolver_free(f->resolver);
	dns_server_stop(&f->server);
	loop_free(f->loop);
}

static struct lookup *
ask(struct fixture *f, struct answer *a, const char *name)
{
	struct host h = host(name);
	struct lookup *l;

	*a = (struct answer){ .loop = f->loop, .waiting = &f->waiting };
	f->waiting++;
	l = resolver_start(f->resolver, STR("one"), &h, on_found, a);
	assert_non_null(l);
	assert_int_equal(a->times, 0); /* never inside start */
	return l;
}

static struct found
resolve(struct fixture *f, const char *name)
{
	struct answer a;

	ask(f, &a, name);
	wait_for_stop(f->loop);
	assert_int_equal(a.times, 1);
	return a.found;
}

/* What waited for the deadline here would be waited for in vain. */
static void
test_what_a_server_says_becomes_an_answer_or_a_reason(void **state)
{
	static const struct {
		const char *name;
		int err;
		const char *addr[4];
	} cases[] = {
		{ "both.test", 0,
		    { "2001:db8::1", "192.0.2.1", "192.0.2.2", "192.0.2.3" } },
		{ "four.test", 0, { "192.0.2.4" } },
		{ "six.test", 0, { "2001:db8::6" } },
		{ "chain.test", 0, { "192.0.2.5" } },
		{ "aaaa-silent.test", 0, { "192.0.2.6" } },
		{ "a-silent.test", 0, { "2001:db8::7" } },
		{ "aaaa-servfail.test", 0, { "192.0.2.7" } },
		{ "aaaa-nxdomain.test", 0, { "192.0.2.8" } },
		{ "unknown.test", ERR_NXDOMAIN, { NULL } },
		{ "nodata.test", ERR_NODATA, { NULL } },
		{ "half-nxdomain.test", ERR_NODATA, { NULL } },
		{ "nx-silent.test", ERR_NXDOMAIN, { NULL } },
		{ "servfail.test", ERR_SERVFAIL, { NULL } },
		{ "refused.test", ERR_SERVFAIL, { NULL } },
		{ "garbage.test", ERR_SERVFAIL, { NULL } },
		{ "stray.test", ERR_NODATA, { NULL } },
		{ "large.test", 0, { "192.0.2.9", "192.0.2.10" } },
		{ "large-both.test", 0, { "2001:db8::9", "192.0.2.9" } },
		{ "pieces.test", 0, { "192.0.2.11" } },
	};
	struct fixture f;

	(void)state;
	begin(&f, NO_DEADLINE);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct found found = resolve(&f, cases[i].name);
		size_t n = 0;

		if (found.err != cases[i].err)
			fail_msg("%s: %s", cases[i].name, err_text(found.err));
		for (; n < 4 && cases[i].addr[n] != NULL; n++) {
			struct addr a = address(cases[i].addr[n]);

			assert_row(cases[i].name,
			    n < found.count && addr_eq(&found.addr[n], &a));
		}
		assert_row(cases[i].name, found.count == n);
	}
	end(&f);
}

static void
test_a_silent_family_is_waited_for_a_moment_and_ipv6_for_a_shorter_one(void **state)
{
	static const struct {
		const char *name;
		msec least;
	} cases[] = { { "aaaa-silent.test", 50 }, { "a-silent.test", 250 },
		{ "nx-silent.test", 250 } };
	struct fixture f;
	struct answer v6_silent, v4_silent;

	(void)state;
	begin(&f, NO_DEADLINE);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		msec begun = loop_now(f.loop);

		resolve(&f, cases[i].name);
		assert_row(cases[i].name, loop_now(f.loop) - begun >= cases[i].least);
	}
	end(&f);
	begin(&f, NO_DEADLINE);
	ask(&f, &v6_silent, "aaaa-silent.test"); /* asked first, it is answered first */
	ask(&f, &v4_silent, "a-silent.test");
	f.waiting = 1;
	wait_for_stop(f.loop);
	assert_int_equal(v6_silent.times, 1);
	assert_int_equal(v4_silent.times, 0);
	end(&f);
}

/* Has its turn after whatever the deadline's timer has set off. */
static void
on_late(void *arg)
{
	struct fixture *f = arg;

	loop_post(f->loop, stop_loop, f->loop);
}

static void
test_silence_is_a_time_out_at_the_deadline_and_not_after_further_tries(void **state)
{
	static const char *const names[] = { "silent.test", "nodata-silent.test",
		"wrong-id.test", "wrong-question.test" };
	struct fixture f;

	(void)state;
	begin(&f, 600);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		msec begun = loop_now(f.loop);
		struct answer a;
		struct timer late;

		timer_init(&late, on_late, &f);
		ask(&f, &a, names[i]);
		timer_set(f.loop, &late, 600 + 2 * WHEEL_TICK_MS);
		wait_for_stop(f.loop);
		assert_row(names[i], a.times == 1 && a.found.err == ERR_DNS_TIMEOUT);
		assert_row(names[i], loop_now(f.loop) - begun >= 600);
		timer_clear(&late);
		turn(f.loop); /* what it may have posted */
	}
	end(&f);
}

static void
test_the_chain_is_followed_and_told(void **state)
{
	struct fixture f;
	struct host canonical = host("b.cdn.test"), self = host("four.test");
	struct found found;

	(void)state;
	begin(&f, NO_DEADLINE);
	for (int i = 0; i < 2; i++) { /* the second from the cache */
		found = resolve(&f, "chain.test");
		assert_true(host_eq(&found.canonical, &canonical));
		assert_int_equal(found.chain, 2);
	}
	found = resolve(&f, "four.test");
	assert_true(host_eq(&found.canonical, &self));
	assert_int_equal(found.chain, 0);
	end(&f);
}

static void
test_an_answer_is_kept_as_long_as_it_may_be(void **state)
{
	static const struct {
		const char *name;
		bool is_kept;
	} cases[] = {
		{ "both.test", true },
		{ "unknown.test", true },
		{ "nodata.test", true },
		{ "servfail.test", true },
		{ "no-ttl.test", false },
	};
	struct fixture f;
	struct found found;

	(void)state;
	begin(&f, NO_DEADLINE);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct host h = host(cases[i].name);
		int err = resolve(&f, cases[i].name).err;
		size_t asked = dns_server_seen(&f.server);

		assert_row(cases[i].name,
		    resolver_cached(f.resolver, &h, &found) == cases[i].is_kept);
		assert_row(cases[i].name, !cases[i].is_kept || found.err == err);
		assert_row(cases[i].name, resolve(&f, cases[i].name).err == err);
		assert_row(cases[i].name,
		    (dns_server_seen(&f.server) == asked) == cases[i].is_kept);
	}
	resolve(&f, "short-ttl.test");
	run_for(f.loop, 1050);
	assert_false(resolver_cached(f.resolver, &(struct host){ 0 }, &found));
	{
		struct host h = host("short-ttl.test");

		assert_false(resolver_cached(f.resolver, &h, &found));
	}
	end(&f);
}

static void
test_lookups_of_one_name_are_one_question(void **state)
{
	struct fixture f;
	struct answer a[10];

	(void)state;
	begin(&f, NO_DEADLINE);
	for (int i = 0; i < 10; i++)
		ask(&f, &a[i], "both.test");
	wait_for_stop(f.loop);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(a[i].times, 1);
		assert_int_equal(a[i].found.count, 4);
	}
	assert_int_equal(dns_server_seen(&f.server), 2); /* A and AAAA */
	end(&f);
}

static void
test_a_cancelled_lookup_is_not_called_and_the_others_are(void **state)
{
	struct fixture f;
	struct answer a[3];
	struct lookup *l[3];

	(void)state;
	begin(&f, NO_DEADLINE);
	for (int i = 0; i < 3; i++)
		l[i] = ask(&f, &a[i], "both.test");
	lookup_cancel(l[1]);
	f.waiting--;
	wait_for_stop(f.loop);
	assert_int_equal(a[0].times + a[2].times, 2);
	assert_int_equal(a[1].times, 0);
	l[0] = ask(&f, &a[0], "both.test"); /* delivered from the cache, from the loop */
	lookup_cancel(l[0]);
	run_for(f.loop, 20);
	assert_int_equal(a[0].times, 0);
	end(&f);
}

struct canceller {
	struct lookup *victim;
	struct resolver *doomed;
	struct loop *loop;
	int times;
};

static void
cancel_other(void *arg, const struct found *found)
{
	struct canceller *c = arg;

	(void)found;
	c->times++;
	lookup_cancel(c->victim);
	resolver_free(c->doomed);
	loop_stop(c->loop);
}

static void
test_done_may_cancel_its_neighbour_or_free_the_resolver(void **state)
{
	(void)state;
	for (int is_free = 0; is_free < 2; is_free++) {
		struct fixture f;
		struct host name = host("both.test"), slow = host("silent.test");
		struct canceller c = { 0 };
		struct answer a, b;

		begin(&f, NO_DEADLINE);
		c.loop = f.loop;
		resolver_start(f.resolver, STR("one"), &name, cancel_other, &c);
		c.victim = is_free ? NULL : ask(&f, &a, "both.test");
		if (is_free) {
			ask(&f, &a, "both.test");
			c.doomed = f.resolver;
			resolver_start(f.resolver, STR("one"), &slow, on_found, &b);
		}
		wait_for_stop(f.loop);
		run_for(f.loop, 20);
		assert_int_equal(c.times, 1);
		assert_int_equal(a.times, 0);
		if (is_free)
			f.resolver = NULL;
		end(&f);
	}
}

static void
test_freeing_it_leaves_nothing_to_be_called(void **state)
{
	struct fixture f;
	struct answer a[2];

	(void)state;
	begin(&f, 600);
	ask(&f, &a[0], "silent.test");
	ask(&f, &a[1], "both.test");
	resolver_free(f.resolver);
	f.resolver = NULL;
	run_for(f.loop, 700);
	assert_int_equal(a[0].times + a[1].times, 0);
	end(&f);
}

/* c-ares 1.18 appends search domains in spite of its flag, and reads these variables. */
static void
test_only_that_name_is_asked_for(void **state)
{
	struct fixture f;
	struct answer a;
	FILE *aliases = fopen("net_resolver_test.aliases", "w");

	(void)state;
	assert_non_null(aliases);
	fputs("single evil.test\n", aliases);
	fclose(aliases);
	setenv("LOCALDOMAIN", "corp.test", 1);
	setenv("RES_OPTIONS", "ndots:5 retrans:1 rotate", 1);
	setenv("HOSTALIASES", "net_resolver_test.aliases", 1);
	begin(&f, NO_DEADLINE);
	ask(&f, &a, "unknown.sub.test");
	wait_for_stop(f.loop);
	ask(&f, &a, "single");
	wait_for_stop(f.loop);
	ask(&f, &a, "localhost"); /* no hosts file either */
	wait_for_stop(f.loop);
	assert_int_equal(a.found.err, ERR_NXDOMAIN);
	assert_int_equal(dns_server_seen(&f.server), 6);
	for (size_t i = 0; i < 6; i++) {
		static const char *const names[] = { "unknown.sub.test ", "single ",
			"localhost " };

		assert_memory_equal(f.server.seen[i], names[i / 2], strlen(names[i / 2]));
	}
	end(&f);
	unsetenv("LOCALDOMAIN");
	unsetenv("RES_OPTIONS");
	unsetenv("HOSTALIASES");
	unlink("net_resolver_test.aliases");
}

static void
test_configured_hosts_and_literals_need_no_question(void **state)
{
	struct addr addrs[2] = { address("127.0.0.2"), address("2001:db8::2") };
	struct static_host fixed = {
		.host = host("api.example.test"), .addr = addrs, .naddr = 2
	};
	const char *server[1], *why;
	struct resolver_options o;
	struct fixture f;
	struct found found;

	(void)state;
	begin(&f, NO_DEADLINE);
	o = options(&f, server, NO_DEADLINE);
	o.host = &fixed;
	o.nhost = 1;
	assert_true(resolver_reconfigure(f.resolver, &o, &why));
	found = resolve(&f, "api.example.test");
	assert_int_equal(found.err, 0);
	assert_int_equal(found.count, 2);
	assert_true(addr_eq(&found.addr[0], &addrs[0]));
	found = resolve(&f, "192.0.2.77");
	assert_int_equal(found.count, 1);
	assert_int_equal(dns_server_seen(&f.server), 0);
	end(&f);
}

static void
test_a_reload_asks_the_new_servers_and_forgets_the_old_answers(void **state)
{
	struct dns_server other;
	const char *server[1], *why;
	struct resolver_options o;
	struct fixture f;
	struct answer early;
	struct found found;
	struct endpoint at[RESOLVER_SERVERS_MAX];
	struct addr want = address("198.51.100.1");

	(void)state;
	dns_server_start(&other, other_zone, COUNT_OF(other_zone));
	begin(&f, NO_DEADLINE);
	assert_int_equal(resolve(&f, "both.test").count, 4);
	ask(&f, &early, "four.test"); /* under way when the reload comes */
	o = options(&f, server, NO_DEADLINE);
	server[0] = other.address;
	assert_true(resolver_reconfigure(f.resolver, &o, &why));
	wait_for_stop(f.loop);
	assert_int_equal(early.found.err, 0);
	assert_int_equal(early.found.count, 1);
	found = resolve(&f, "both.test");
	assert_int_equal(found.count, 1);
	assert_true(addr_eq(&found.addr[0], &want));
	assert_int_equal(
	    resolve(&f, "four.test").err, ERR_NXDOMAIN); /* not the early answer */
	assert_int_equal(resolver_servers(&o, at), 1);
	assert_int_equal(at[0].port, other.endpoint.port);
	assert_true(addr_eq(&at[0].addr, &other.endpoint.addr));
	end(&f);
	dns_server_stop(&other);
}

static void
test_a_reload_that_cannot_be_leaves_the_old_one(void **state)
{
	const char *server[1], *why = NULL;
	struct resolver_options o;
	struct fixture f;

	(void)state;
	begin(&f, NO_DEADLINE);
	o = options(&f, server, NO_DEADLINE);
	server[0] = "dns.example.com";
	assert_false(resolver_reconfigure(f.resolver, &o, &why));
	assert_string_equal(
	    why, "a name server is neither an address nor an address and a port");
	assert_int_equal(resolve(&f, "both.test").count, 4);
	end(&f);
}

/* `each` names for each of `askers`; how many of them were refused for want of room. */
static int
ask_silent(struct fixture *f, int askers, int each, struct answer *a)
{
	int n = askers * each, full = 0;

	for (int i = 0; i < n; i++) {
		char name[32], asker[32];
		struct host h;

		snprintf(name, sizeof(name), "n%d.silence.test", i);
		snprintf(asker, sizeof(asker), "asker %d", i / each);
		h = host(name);
		a[i] = (struct answer){ .loop = f->loop, .waiting = &f->waiting };
		f->waiting++;
		resolver_start(f->resolver, str_of(asker), &h, on_found, &a[i]);
	}
	wait_for_stop(f->loop);
	for (int i = 0; i < n; i++) {
		full += a[i].found.err == ERR_FULL;
		assert_true(
		    a[i].found.err == ERR_FULL || a[i].found.err == ERR_DNS_TIMEOUT);
	}
	return full;
}

static void
test_too_many_questions_under_way_are_refused_not_queued(void **state)
{
	static struct answer a[20 * 250];
	struct fixture f;

	(void)state;
	begin(&f, 300);
	assert_int_equal(ask_silent(&f, 20, 250, a), 20 * 250 - 4096);
	end(&f);
}

static void
test_one_asker_leaves_room_for_the_others(void **state)
{
	static struct answer a[600];
	struct answer other;
	struct fixture f;
	struct lookup *l[300];
	char name[32];

	(void)state;
	begin(&f, 300);
	assert_int_equal(ask_silent(&f, 2, 300, a), 2 * (300 - 256));
	end(&f);

	/* not for ever: a burst may cost the other's question, which is then sent again
	 */
	begin(&f, PATIENCE_MS / 2);
	for (int i = 0; i < 300; i++) { /* going away takes no question back */
		snprintf(name, sizeof(name), "n%d.silence.test", i);
		l[i] = ask(&f, &a[i], name);
		if (i < 256)
			lookup_cancel(l[i]);
	}
	f.waiting = 300 - 256;
	wait_for_stop(f.loop);
	assert_int_equal(a[299].found.err, ERR_FULL);
	struct host h = host("both.test");
	other = (struct answer){ .loop = f.loop, .waiting = &f.waiting };
	/* there is room; on a busy machine the burst may cost its answer, too */
	for (int i = 0; i < 5 && other.found.count == 0; i++) {
		f.waiting = 1;
		resolver_start(f.resolver, STR("two"), &h, on_found, &other);
		wait_for_stop(f.loop);
		assert_int_not_equal(other.found.err, ERR_FULL);
	}
	assert_true(other.found.count > 0); /* one family may be late, and left out */
	end(&f);
}

static void
test_an_unreachable_server_is_a_failure_before_the_deadline(void **state)
{
	const char *server[1], *why;
	struct resolver_options o;
	struct fixture f;
	struct found found;
	uint16_t port = 0;
	char text[32];

	(void)state;
	begin(&f, 4000);
	close(listen_on("127.0.0.1", &port, 1));
	snprintf(text, sizeof(text), "127.0.0.1:%u", port);
	o = options(&f, server, 4000);
	server[0] = text;
	assert_true(resolver_reconfigure(f.resolver, &o, &why));
	found = resolve(&f, "both.test");
	assert_int_equal(found.err, ERR_SERVFAIL); /* the deadline's is another */
	end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_server_says_becomes_an_answer_or_a_reason),
		cmocka_unit_test(
		    test_a_silent_family_is_waited_for_a_moment_and_ipv6_for_a_shorter_one),
		cmocka_unit_test(
		    test_silence_is_a_time_out_at_the_deadline_and_not_after_further_tries),
		cmocka_unit_test(test_the_chain_is_followed_and_told),
		cmocka_unit_test(test_an_answer_is_kept_as_long_as_it_may_be),
		cmocka_unit_test(test_lookups_of_one_name_are_one_question),
		cmocka_unit_test(
		    test_a_cancelled_lookup_is_not_called_and_the_others_are),
		cmocka_unit_test(test_done_may_cancel_its_neighbour_or_free_the_resolver),
		cmocka_unit_test(test_freeing_it_leaves_nothing_to_be_called),
		cmocka_unit_test(test_only_that_name_is_asked_for),
		cmocka_unit_test(test_configured_hosts_and_literals_need_no_question),
		cmocka_unit_test(
		    test_a_reload_asks_the_new_servers_and_forgets_the_old_answers),
		cmocka_unit_test(test_a_reload_that_cannot_be_leaves_the_old_one),
		cmocka_unit_test(test_one_asker_leaves_room_for_the_others),
		cmocka_unit_test(
		    test_too_many_questions_under_way_are_refused_not_queued),
		cmocka_unit_test(
		    test_an_unreachable_server_is_a_failure_before_the_deadline),
	};

	return cmocka_run_group_tests_name("net/resolver", tests, NULL, NULL);
}
