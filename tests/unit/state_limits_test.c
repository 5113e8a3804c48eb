/*
 * What one client may hold is counted for that client alone, exactly, from any thread.
 */
#include "state/limits.h"

#include <pthread.h>
#include <stdio.h>

#include "unit.h"

static void
test_a_client_is_found_again_by_its_key(void **state)
{
	struct limits *l = limits_new();
	struct client *a = client_ref(l, STR("10.0.0.1"), 0);
	struct client *b = client_ref(l, STR("10.0.0.2"), 0);

	(void)state;
	assert_ptr_equal(client_ref(l, STR("10.0.0.1"), 0), a);
	assert_ptr_not_equal(a, b);
	client_unref(a);
	client_unref(a);
	client_unref(b);
	limits_free(l);
}

static void
test_the_cap_is_one_clients_alone(void **state)
{
	struct limits *l = limits_new();
	struct client *a = client_ref(l, STR("a"), 0), *b = client_ref(l, STR("b"), 0);

	(void)state;
	assert_true(client_take(a, CLIENT_CONNECTION, 2));
	assert_true(client_take(a, CLIENT_CONNECTION, 2));
	assert_false(client_take(a, CLIENT_CONNECTION, 2));
	assert_true(client_take(a, CLIENT_TUNNEL, 2)); /* counted apart */
	assert_true(client_take(b, CLIENT_CONNECTION, 2));
	client_give(a, CLIENT_CONNECTION);
	assert_true(client_take(a, CLIENT_CONNECTION, 2));
	assert_true(client_take(a, CLIENT_CONNECTION, 0)); /* no limit */
	client_unref(a);
	client_unref(b);
	limits_free(l);
}

static void
test_so_many_bytes_are_kept_for_one_and_for_all(void **state)
{
	struct limits *l = limits_new();
	struct client *a = client_ref(l, STR("a"), 0), *b = client_ref(l, STR("b"), 0);

	(void)state;
	assert_true(client_keep(a, 60, 100, 150));
	assert_false(client_keep(a, 41, 100, 150));
	assert_true(client_keep(a, 40, 100, 150));
	assert_false(client_keep(a, 1, 100, 150));
	assert_true(client_keep(b, 50, 100, 150));
	assert_false(client_keep(b, 1, 100, 150)); /* of all there are */
	client_drop(a, 40);
	assert_true(client_keep(b, 40, 100, 150));
	assert_true(client_keep(b, SIZE_MAX / 4, 0, 0));
	client_drop(b, SIZE_MAX / 4);
	client_drop(b, 90);
	client_drop(a, 60);
	client_unref(a);
	client_unref(b);
	limits_free(l);
}

static void
test_a_burst_passes_and_then_the_rate_holds(void **state)
{
	struct limits *l = limits_new();
	struct client *c = client_ref(l, STR("c"), 1000);

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(client_delay(c, 100, 1000), 0);
	assert_int_equal(client_delay(c, 100, 1000), 10);
	assert_int_equal(client_delay(c, 100, 1000), 20);
	assert_int_equal(client_delay(c, 100, 1030), 0); /* three more have come due */
	assert_int_equal(client_delay(c, 100, 1030), 10);
	for (int i = 0; i < 1000; i++)
		assert_true(client_delay(c, 100, 1030) <= 1000);
	assert_int_equal(client_delay(c, 0, 1030), 0);    /* no limit */
	assert_int_equal(client_delay(c, 100, 10000), 0); /* full again */
	client_unref(c);
	limits_free(l);
}

static void
test_a_minutes_worth_may_come_at_once(void **state)
{
	struct limits *l = limits_new();
	struct client *c = client_ref(l, STR("c"), 1000);

	(void)state;
	for (int i = 0; i < 120; i++)
		assert_int_equal(client_delay_minute(c, 120, 1000), 0);
	assert_int_equal(client_delay_minute(c, 120, 1000), 500);
	assert_int_equal(client_delay_minute(c, 120, 1000), 1000);
	assert_int_equal(client_delay_minute(c, 120, 1000), 1000); /* never longer */
	assert_int_equal(client_delay_minute(c, 120, 61000), 0);
	assert_int_equal(client_delay_minute(c, 0, 61000), 0); /* no limit */
	client_unref(c);
	limits_free(l);
}

static void
test_leaving_and_coming_back_does_not_refill_the_bucket(void **state)
{
	struct limits *l = limits_new();

	(void)state;
	for (int i = 0; i < 20; i++) {
		struct client *c = client_ref(l, STR("c"), 1000);

		assert_int_equal(client_delay(c, 10, 1000), i < 10 ? 0 : (i - 9) * 100);
		client_unref(c);
	}
	limits_free(l);
}

static void
test_strangers_without_end_do_not_displace_who_is_connected(void **state)
{
	struct limits *l = limits_new();
	struct client *c = client_ref(l, STR("here"), 0);
	char key[32];

	(void)state;
	assert_true(client_take(c, CLIENT_CONNECTION, 1));
	for (int i = 0; i < 300000; i++) {
		int n = snprintf(key, sizeof(key), "2001:db8::%x", (unsigned)i);
		struct client *stranger =
		    client_ref(l, (struct str){ key, (size_t)n }, i);

		(void)client_delay(stranger, 1, i); /* its bucket is not full for long */
		client_unref(stranger);
	}
	assert_ptr_equal(client_ref(l, STR("here"), 300000), c);
	assert_false(client_take(c, CLIENT_CONNECTION, 1));
	client_unref(c);
	client_unref(c);
	limits_free(l);
}

struct racer {
	struct limits *limits;
	atomic_int *inside, *most;
};

static void *
race(void *arg)
{
	struct racer *r = arg;
	struct client *c = client_ref(r->limits, STR("one"), 0);

	for (int i = 0; i < 20000; i++) {
		if (!client_take(c, CLIENT_CONNECTING, 3))
			continue;

		int now = atomic_fetch_add(r->inside, 1) + 1, most = atomic_load(r->most);

		while (now > most && !atomic_compare_exchange_weak(r->most, &most, now))
			;
		atomic_fetch_sub(r->inside, 1);
		client_give(c, CLIENT_CONNECTING);
	}
	client_unref(c);
	return NULL;
}

static void
test_no_race_gets_past_the_cap(void **state)
{
	struct limits *l = limits_new();
	atomic_int inside = 0, most = 0;
	struct racer racer = { l, &inside, &most };
	pthread_t thread[4];
	struct client *c;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, race, &racer), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	assert_in_range(atomic_load(&most), 1, 3);
	c = client_ref(l, STR("one"), 0);
	for (int i = 0; i < 3; i++)
		assert_true(client_take(c, CLIENT_CONNECTING, 3)); /* nothing leaked */
	client_unref(c);
	limits_free(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_client_is_found_again_by_its_key),
		cmocka_unit_test(test_the_cap_is_one_clients_alone),
		cmocka_unit_test(test_so_many_bytes_are_kept_for_one_and_for_all),
		cmocka_unit_test(test_a_burst_passes_and_then_the_rate_holds),
		cmocka_unit_test(test_a_minutes_worth_may_come_at_once),
		cmocka_unit_test(test_leaving_and_coming_back_does_not_refill_the_bucket),
		cmocka_unit_test(
		    test_strangers_without_end_do_not_displace_who_is_connected),
		cmocka_unit_test(test_no_race_gets_past_the_cap),
	};

	return cmocka_run_group_tests_name("state/limits", tests, NULL, NULL);
}
