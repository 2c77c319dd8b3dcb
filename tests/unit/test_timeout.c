/* SPDX-License-Identifier: MIT */
/* Waiting at exit: what is free is taken, what is not is given up. */
#include "unit.h"
#include "cupti_trace/core/timeout.h"

#define SHORT_MS 20

static void a_free_lock_is_taken(void **state)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	(void)state;
	assert_true(timeout_lock(&lock, TIMEOUT_MS));
	assert_int_equal(pthread_mutex_trylock(&lock), EBUSY);
	assert_false(timeout_lock(&lock, SHORT_MS));
	pthread_mutex_unlock(&lock);
}

static void *take_lock(void *lock)
{
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
	return NULL;
}

static void only_a_thread_that_ends_is_joined(void **state)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread;

	(void)state;
	pthread_mutex_lock(&lock);
	assert_int_equal(pthread_create(&thread, NULL, take_lock, &lock), 0);
	assert_false(timeout_join(thread, SHORT_MS));
	pthread_mutex_unlock(&lock);
	while (!timeout_join(thread, TIMEOUT_MS))
		;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_free_lock_is_taken),
		cmocka_unit_test(only_a_thread_that_ends_is_joined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
