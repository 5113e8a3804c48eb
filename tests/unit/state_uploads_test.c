/*
 * What a session sends to a host is never more than its cap, from any thread.
 */
#include "state/uploads.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

#define KIB UINT64_C(1024)
#define DAY INT64_C(86400000)

static struct upload *
upload(struct uploads *all, const char *session, const char *host)
{
	const struct upload_owner owner = { str_of(session), UPLOAD_FOREVER, false };

	return upload_ref(all, &owner, str_of(host), 0);
}

static struct lease
lease(struct uploads *all, const char *session, const char *host, uint64_t cap)
{
	struct lease l = { .upload = NULL };

	lease_begin(&l, upload(all, session, host), cap);
	return l;
}

/* As one who sends: what may pass of it does. */
static size_t
pass(struct lease *l, size_t n)
{
	size_t may = quota_ask(&l->quota, n);

	quota_passed(&l->quota, may);
	return may;
}

static void
test_no_more_than_the_cap_passes(void **state)
{
	struct uploads *all = uploads_new();
	struct lease l = lease(all, "s", "a.test", 100);

	(void)state;
	assert_int_equal(pass(&l, 60), 60);
	assert_int_equal(pass(&l, 60), 40);
	assert_false(l.quota.is_over);
	assert_int_equal(pass(&l, 1), 0);
	assert_true(l.quota.is_over);
	lease_end(&l);
	uploads_free(all);
}

static void
test_without_a_cap_everything_does(void **state)
{
	struct lease none = { .upload = NULL };

	(void)state;
	assert_int_equal(pass(&none, SIZE_MAX), SIZE_MAX);
	assert_int_equal(quota_ask(NULL, SIZE_MAX), SIZE_MAX);
	quota_rest(NULL);
	quota_rest(&none.quota);
	lease_end(&none);
}

static void
test_it_is_counted_over_connections_and_for_each_host_and_session_alone(void **state)
{
	struct uploads *all = uploads_new();
	struct lease one = lease(all, "s", "a.test", 100);
	struct lease host = lease(all, "s", "b.test", 100);
	struct lease session = lease(all, "t", "a.test", 100);

	(void)state;
	assert_int_equal(pass(&one, 70), 70);
	lease_end(&one);
	one = lease(all, "s", "a.test", 100);
	assert_int_equal(pass(&one, 100), 30);
	assert_int_equal(pass(&host, 100), 100);
	assert_int_equal(pass(&session, 100), 100);
	lease_end(&one);
	lease_end(&host);
	lease_end(&session);
	uploads_free(all);
}

static void
test_each_is_held_by_its_own_cap(void **state)
{
	struct uploads *all = uploads_new();
	struct lease tight = lease(all, "s", "a.test", 10);
	struct lease wide = lease(all, "s", "a.test", 100);

	(void)state;
	assert_int_equal(pass(&wide, 50), 50);
	quota_rest(&wide.quota);
	assert_int_equal(pass(&tight, 1), 0);
	lease_limit(&wide, 60);
	assert_int_equal(pass(&wide, 50), 10);
	lease_limit(&wide, 70);
	assert_int_equal(pass(&wide, 50), 10);
	lease_end(&tight);
	lease_end(&wide);
	uploads_free(all);
}

static void
test_what_is_leased_and_not_sent_goes_back(void **state)
{
	struct uploads *all = uploads_new();
	struct lease one = lease(all, "s", "a.test", 1024 * KIB);
	struct lease two = lease(all, "s", "a.test", 1024 * KIB);

	(void)state;
	assert_int_equal(pass(&one, 1), 1);
	assert_int_equal(upload_taken(one.upload), 64 * KIB);
	quota_rest(&one.quota);
	assert_int_equal(upload_taken(one.upload), 1);
	assert_int_equal(pass(&two, 1024 * KIB), 1024 * KIB - 1);
	lease_end(&one);
	lease_end(&two);
	uploads_free(all);
}

static void
test_what_no_lease_sent_counts_beyond_the_cap_too(void **state)
{
	struct uploads *all = uploads_new();
	struct upload *u = upload(all, "s", "a.test");
	struct lease l = { .upload = NULL };

	(void)state;
	upload_add(u, 60);
	upload_add(u, 0);
	lease_begin(&l, u, 100);
	assert_int_equal(pass(&l, 100), 40);
	upload_add(u, 60);
	lease_limit(&l, 150);
	assert_int_equal(pass(&l, 1), 0);
	assert_int_equal(upload_taken(u), 160);
	lease_end(&l);
	uploads_free(all);
}

/* Who sends little leaves enough for others, even of a small cap. */
static void
test_one_connection_does_not_hold_all_of_a_small_cap(void **state)
{
	struct uploads *all = uploads_new();
	struct lease one = lease(all, "s", "a.test", 8 * KIB);
	struct lease two = lease(all, "s", "a.test", 8 * KIB);

	(void)state;
	assert_int_equal(pass(&one, 1), 1);
	assert_int_equal(pass(&two, 4 * KIB), 4 * KIB);
	lease_end(&one);
	lease_end(&two);
	uploads_free(all);
}

static void
test_many_hosts_are_no_way_round(void **state)
{
	struct uploads *all = uploads_new();
	size_t sent = 0;
	char host[32];

	(void)state;
	for (int i = 0; i < 2 * UPLOAD_HOSTS_MOST; i++) {
		struct lease l;

		snprintf(host, sizeof(host), "h%d.test", i);
		l = lease(all, "s", host, 10);
		sent += pass(&l, 10);
		lease_end(&l);
	}
	assert_int_equal(sent, 10 * (UPLOAD_HOSTS_MOST + 1));
	uploads_free(all);
}

#define MANY 80000 /* more than there is room for */
#define SOME 1000

/* So many new sessions; how many of them there was room for. */
static int
come(struct uploads *all, int n, int64_t until, int64_t now)
{
	int found = 0;

	for (int i = 0; i < n; i++) {
		struct lease l = { .upload = NULL };
		struct upload *u;
		char session[32];

		snprintf(session, sizeof(session), "%d at %lld", i, (long long)now);
		const struct upload_owner owner = { str_of(session), until, false };
		u = upload_ref(all, &owner, STR("a.test"), now);
		if (u == NULL)
			continue;
		lease_begin(&l, u, 10);
		lease_end(&l);
		found++;
	}
	return found;
}

static size_t
pass_late(struct uploads *all, int64_t now)
{
	const struct upload_owner owner = { STR("late"), 1 << 20, false };
	struct lease l = { .upload = NULL };
	size_t n;

	lease_begin(&l, upload_ref(all, &owner, STR("a.test"), now), 10);
	n = pass(&l, 10);
	lease_end(&l);
	return n;
}

/* A count that went before its session did would give the session another one. */
static void
test_a_session_is_forgotten_when_it_is_over_and_not_before(void **state)
{
	struct uploads *all = uploads_new();

	(void)state;
	assert_in_range(come(all, MANY, 1000, 0), SOME, MANY - 1);
	assert_int_equal(come(all, SOME, 2000, 999), 0);
	assert_int_equal(come(all, SOME, 2000, 1001), SOME);
	assert_int_equal(pass_late(all, 1002), 10);
	assert_in_range(come(all, MANY, 5000, 4000), SOME, MANY - 1);
	assert_int_equal(pass_late(all, 4001), 0);
	uploads_free(all);
}

static void
test_one_without_an_end_makes_room_after_a_day(void **state)
{
	struct uploads *all = uploads_new();

	(void)state;
	assert_true(come(all, MANY, UPLOAD_FOREVER, 1) < MANY);
	assert_int_equal(come(all, SOME, UPLOAD_FOREVER, DAY), 0);
	assert_int_equal(come(all, SOME, UPLOAD_FOREVER, DAY + 1), SOME);
	uploads_free(all);
}

/* ---- beyond this process */

/* A store, and what it was told last. */
struct store {
	struct upload_sum more[2];
	size_t nmore, told;
};

static size_t
take_told(
    void *arg, const struct upload_owner *owner, const struct upload_sum *more, size_t n)
{
	struct store *s = arg;

	assert_true(str_eq(owner->session, STR("s")) && owner->until == 1000);
	assert_in_range(n, 1, 2);
	memcpy(s->more, more, n * sizeof(*more));
	s->nmore = n;
	s->told++;
	return n;
}

static const struct upload_owner kept = { STR("s"), 1000, true };

static struct lease
kept_lease(struct uploads *all, const char *host, uint64_t cap)
{
	struct lease l = { .upload = NULL };
	struct upload *u = upload_ref(all, &kept, str_of(host), 1);

	assert_non_null(u);
	lease_begin(&l, u, cap);
	return l;
}

static struct upload_said
said(const char *host, int64_t bytes, int64_t revision)
{
	return (struct upload_said){
		.n = bytes > 0,
		.sum = { { str_of(host), bytes } },
		.revision = revision,
		.at = revision,
	};
}

static size_t
pass_kept(struct uploads *all, const char *host, size_t n)
{
	struct lease l = kept_lease(all, host, 100);

	n = pass(&l, n);
	lease_end(&l);
	return n;
}

static void
test_what_is_kept_counts_only_when_it_was_loaded(void **state)
{
	struct upload_said before = said("a.test", 90, 1);
	struct uploads *all = uploads_new();

	(void)state;
	assert_null(upload_ref(all, &kept, STR("a.test"), 1));
	assert_true(upload_loaded_at(all, STR("s")) == UPLOAD_NEVER);
	assert_true(upload_load(all, &kept, &before));
	assert_true(upload_load(all, &kept, &before)); /* another asked, too */
	assert_int_equal(upload_loaded_at(all, STR("s")), 1);
	assert_int_equal(pass_kept(all, "a.test", 60), 10);
	assert_int_equal(pass_kept(all, "b.test", 60), 60);
	uploads_free(all);
}

static void
test_the_store_is_told_what_was_sent_once_and_says_what_others_sent(void **state)
{
	struct upload_said none = said("", 0, 1), some = said("a.test", 85, 2);
	struct uploads *all = uploads_new();
	struct store store = { .told = 0 };

	(void)state;
	assert_true(upload_load(all, &kept, &none));
	uploads_tell(all, take_told, &store);
	assert_int_equal(store.told, 0);
	assert_int_equal(pass_kept(all, "a.test", 40), 40);
	uploads_tell(all, take_told, &store);
	assert_int_equal(store.told, 1);
	assert_int_equal(store.more[0].bytes, 40);
	uploads_tell(all, take_told, &store); /* not before it has answered */
	assert_int_equal(store.told, 1);
	upload_told(all, STR("s"), store.more, store.nmore, &some);
	uploads_tell(all, take_told, &store);
	assert_int_equal(store.told, 1);
	assert_int_equal(pass_kept(all, "a.test", 40), 15); /* 45 by others */
	uploads_tell(all, take_told, &store);
	assert_int_equal(store.more[0].bytes, 15);
	some = said("a.test", 100, 3);
	upload_told(all, STR("s"), store.more, store.nmore, &some);
	uploads_free(all);
}

static void
test_what_the_store_did_not_take_it_is_told_again(void **state)
{
	struct upload_said none = said("", 0, 1), some = said("a.test", 20, 2);
	struct uploads *all = uploads_new();
	struct store store = { .told = 0 };

	(void)state;
	assert_true(upload_load(all, &kept, &none));
	struct lease l = kept_lease(all, "a.test", 100);
	assert_int_equal(pass(&l, 10), 10);
	uploads_tell(all, take_told, &store);
	assert_in_range(store.more[0].bytes, 10, 100); /* with what is leased */
	assert_int_equal(pass(&l, 10), 10);
	lease_end(&l);
	upload_told(all, STR("s"), store.more, store.nmore, NULL);
	uploads_tell(all, take_told, &store);
	assert_int_equal(store.told, 2);
	assert_int_equal(store.more[0].bytes, 20);
	upload_told(all, STR("s"), store.more, store.nmore, &some);
	assert_int_equal(pass_kept(all, "a.test", 100), 80);
	uploads_free(all);
}

/* It would be taken for less than there is. */
static void
test_what_the_store_said_before_it_was_told_is_no_news(void **state)
{
	struct upload_said none = said("", 0, 1), some = said("a.test", 60, 3);
	struct uploads *all = uploads_new();
	struct store store = { .told = 0 };

	(void)state;
	assert_true(upload_load(all, &kept, &none));
	assert_int_equal(pass_kept(all, "a.test", 40), 40);
	uploads_tell(all, take_told, &store);
	none.revision = 2;
	assert_true(upload_load(all, &kept, &none)); /* while it is on its way */
	assert_int_equal(pass_kept(all, "a.test", 20), 20);
	upload_told(all, STR("s"), store.more, store.nmore, &some); /* 20 by others */
	assert_true(upload_load(all, &kept, &none)); /* asked before, and late */
	assert_int_equal(pass_kept(all, "a.test", 100), 20);
	uploads_free(all);
}

/* Names that send nothing fill the table here, and not elsewhere. */
static void
test_what_is_counted_with_the_rest_counts_for_each(void **state)
{
	struct upload_said rest = said(UPLOAD_OTHERS, 90, 1);
	struct uploads *all = uploads_new();

	(void)state;
	assert_true(upload_load(all, &kept, &rest));
	struct lease l = kept_lease(all, "victim.test", 100);
	assert_int_equal(upload_taken(l.upload), 90);
	assert_int_equal(pass(&l, 60), 10);
	lease_end(&l);
	assert_int_equal(pass_kept(all, "other.test", 60), 10);
	uploads_free(all);
}

#define THREADS 4
#define CAP (4 * 1024 * KIB)

struct racer {
	pthread_t thread;
	struct uploads *all;
	size_t sent;
};

static void *
race(void *arg)
{
	struct racer *r = arg;

	for (int i = 0; i < 4096 / UNIT_LESS; i++) {
		struct lease l = lease(r->all, "s", "a.test", CAP);

		r->sent += pass(&l, 1000);
		if (i % 3 == 0)
			quota_rest(&l.quota);
		r->sent += pass(&l, 70000);
		lease_end(&l);
	}
	return NULL;
}

static void
test_threads_together_send_no_more_than_the_cap(void **state)
{
	struct uploads *all = uploads_new();
	struct racer racer[THREADS];
	size_t sent = 0;
	struct lease l;

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		racer[i] = (struct racer){ .all = all };
		pthread_create(&racer[i].thread, NULL, race, &racer[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(racer[i].thread, NULL);
		sent += racer[i].sent;
	}
	l = lease(all, "s", "a.test", CAP);
	sent += pass(&l, CAP);
	assert_int_equal(sent, CAP);
	lease_end(&l);
	uploads_free(all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_more_than_the_cap_passes),
		cmocka_unit_test(test_without_a_cap_everything_does),
		cmocka_unit_test(
		    test_it_is_counted_over_connections_and_for_each_host_and_session_alone),
		cmocka_unit_test(test_each_is_held_by_its_own_cap),
		cmocka_unit_test(test_what_is_leased_and_not_sent_goes_back),
		cmocka_unit_test(test_what_no_lease_sent_counts_beyond_the_cap_too),
		cmocka_unit_test(test_one_connection_does_not_hold_all_of_a_small_cap),
		cmocka_unit_test(test_many_hosts_are_no_way_round),
		cmocka_unit_test(
		    test_a_session_is_forgotten_when_it_is_over_and_not_before),
		cmocka_unit_test(test_one_without_an_end_makes_room_after_a_day),
		cmocka_unit_test(test_what_is_kept_counts_only_when_it_was_loaded),
		cmocka_unit_test(
		    test_the_store_is_told_what_was_sent_once_and_says_what_others_sent),
		cmocka_unit_test(test_what_the_store_did_not_take_it_is_told_again),
		cmocka_unit_test(test_what_the_store_said_before_it_was_told_is_no_news),
		cmocka_unit_test(test_what_is_counted_with_the_rest_counts_for_each),
		cmocka_unit_test(test_threads_together_send_no_more_than_the_cap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
