// SPDX-License-Identifier: MIT
/* Threads that receive no signals: their mask, their stack, and their creator's mask. */
#include "symbolize/util/worker_thread.h"

#include <errno.h>
#include <limits.h>
#include "unit.h"

struct seen {
	sigset_t mask;
	size_t stack_bytes;
};

static void *look(void *context)
{
	struct seen *seen = context;
	pthread_attr_t attributes;

	pthread_sigmask(SIG_SETMASK, NULL, &seen->mask);
	if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
		pthread_attr_getstacksize(&attributes, &seen->stack_bytes);
		pthread_attr_destroy(&attributes);
	}
	return NULL;
}

static void all_signals_are_blocked_in_the_thread_alone(void **state)
{
	const size_t stack_bytes = 1 << 20;
	sigset_t before, after;
	struct seen seen;
	pthread_t thread;

	(void)state;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(worker_thread_start(&thread, stack_bytes, look, &seen), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (int signal = 1; signal <= SIGRTMAX; signal++) {
		assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
		if (signal != SIGKILL && signal != SIGSTOP && (signal < 32 || signal >= SIGRTMIN))
			assert_int_equal(sigismember(&seen.mask, signal), 1);
	}
	assert_true(seen.stack_bytes >= stack_bytes && seen.stack_bytes < 2 * stack_bytes);
}

static void the_usual_stack_is_large_enough_for_libraries(void **state)
{
	struct seen seen = {.stack_bytes = 0};
	pthread_t thread;

	(void)state;
	assert_int_equal(worker_thread_start(&thread, 0, look, &seen), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(seen.stack_bytes >= (size_t)PTHREAD_STACK_MIN);
}

static void a_stack_that_is_too_small_is_refused(void **state)
{
	sigset_t before, after;
	pthread_t thread;

	(void)state;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(worker_thread_start(&thread, 1, look, NULL), -EINVAL);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	assert_int_equal(sigismember(&before, SIGUSR1), sigismember(&after, SIGUSR1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_signals_are_blocked_in_the_thread_alone),
		cmocka_unit_test(the_usual_stack_is_large_enough_for_libraries),
		cmocka_unit_test(a_stack_that_is_too_small_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
