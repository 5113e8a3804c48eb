/*
 * A token verified once is known until it expires, the keys change, or there is no room.
 */
#include "state/tokens.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "unit.h"

static atomic_int held;

static void
ref(void *value)
{
	(void)value;
	atomic_fetch_add(&held, 1);
}

static void
unref(void *value)
{
	(void)value;
	atomic_fetch_sub(&held, 1);
}

static const struct tokens_ops ops = { ref, unref };

static const uint8_t *
digest_of(int i)
{
	static _Thread_local uint8_t out[TOKENS_DIGEST];

	memset(out, 0, sizeof(out));
	memcpy(out, &i, sizeof(i));
	return out;
}

static void
test_a_token_is_known_until_it_expires(void **state)
{
	struct tokens *t = tokens_new(100, &ops);
	int value;

	(void)state;
	assert_null(tokens_get(t, digest_of(1), 1, 0));
	tokens_put(t, digest_of(1), 1, 100, &value);
	assert_ptr_equal(tokens_get(t, digest_of(1), 1, 99), &value);
	unref(&value);
	assert_null(tokens_get(t, digest_of(2), 1, 99));
	assert_null(tokens_get(t, digest_of(1), 1, 100));
	assert_int_equal(tokens_count(t), 0);
	assert_int_equal(atomic_load(&held), 0);
	tokens_free(t);
}

static void
test_other_keys_have_other_tokens(void **state)
{
	struct tokens *t = tokens_new(100, &ops);
	int old, new;

	(void)state;
	tokens_put(t, digest_of(1), 1, 100, &old);
	assert_null(tokens_get(t, digest_of(1), 2, 0));
	tokens_put(t, digest_of(1), 2, 100, &new);
	/* an exchange that began before the reload does not throw the new one out */
	assert_null(tokens_get(t, digest_of(1), 1, 0));
	assert_ptr_equal(tokens_get(t, digest_of(1), 2, 0), &new);
	unref(&new);
	tokens_free(t);
	assert_int_equal(atomic_load(&held), 0);
}

static void
test_who_comes_back_stays_when_there_is_no_room(void **state)
{
	struct tokens *t = tokens_new(160, &ops);
	int value;

	(void)state;
	tokens_put(t, digest_of(0), 1, 100, &value);
	for (int i = 1; i < 10000; i++) {
		tokens_put(t, digest_of(i), 1, 100, &value);
		assert_non_null(tokens_get(t, digest_of(0), 1, 0));
		unref(&value);
	}
	assert_in_range(tokens_count(t), 1, 16 * 11);
	assert_int_equal(atomic_load(&held), tokens_count(t));
	tokens_free(t);
	assert_int_equal(atomic_load(&held), 0);
}

static void *
use(void *arg)
{
	struct tokens *t = arg;
	static int value;

	for (int i = 0; i < 20000; i++) {
		void *found = tokens_get(t, digest_of(i % 50), 1, i % 7);
		if (found != NULL)
			unref(found);
		else
			tokens_put(t, digest_of(i % 50), 1, 5, &value);
	}
	return NULL;
}

static void
test_no_race_loses_a_reference(void **state)
{
	struct tokens *t = tokens_new(20, &ops);
	pthread_t thread[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, use, t), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	tokens_free(t);
	assert_int_equal(atomic_load(&held), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_token_is_known_until_it_expires),
		cmocka_unit_test(test_other_keys_have_other_tokens),
		cmocka_unit_test(test_who_comes_back_stays_when_there_is_no_room),
		cmocka_unit_test(test_no_race_loses_a_reference),
	};

	return cmocka_run_group_tests_name("state/tokens", tests, NULL, NULL);
}
