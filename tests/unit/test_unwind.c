/* SPDX-License-Identifier: MIT */
/*
 * The injected library's unwinder, on the test's own stacks: it must find what glibc's backtrace(3)
 * finds, whole, in threads, below signal handlers and callbacks of libc, and on foreign stacks.
 */
#include "unit.h"
#include <execinfo.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "cupti_trace/unwind.h"

#define NOINLINE __attribute__((noinline, noclone))

static struct unwind_stack taken;
static void *expected[UNWIND_MAX_FRAMES];
static int expected_count;

/* backtrace's first entry is here, ours is the return address into here: from the second on equal.
 */
NOINLINE static void take(void)
{
	unwind_own_stack(&taken);
	expected_count = backtrace(expected, UNWIND_MAX_FRAMES);
}

/* A sanitizer's own backtrace() puts itself on top. */
static int extra_frames(void)
{
	return expected_count - (int)taken.count;
}

static void assert_as_expected_at(uint32_t i)
{
	assert_int_equal(taken.pcs[i], (uint64_t)(uintptr_t)expected[(int)i + extra_frames()]);
}

static void assert_as_expected(void)
{
	assert_true(taken.is_whole);
	assert_in_range(extra_frames(), 0, 1);
	for (uint32_t i = 1; i < taken.count; i++)
		assert_as_expected_at(i);
}

NOINLINE static void descend(int depth)
{
	volatile char local[40];

	local[depth % 40] = 1;
	if (depth == 0)
		take();
	else
		descend(depth - 1);
	local[0] = local[depth % 40];
}

static void deep_recursion(void **state)
{
	(void)state;
	for (int depth = 0; depth < 150; depth += 7) {
		descend(depth);
		assert_as_expected();
	}
}

static void the_same_twice(void **state)
{
	struct unwind_stack first;

	(void)state;
	descend(5);
	first = taken;
	unwind_forget();
	descend(5);
	assert_int_equal(first.count, taken.count);
	assert_as_expected();
}

static int compare(const void *a, const void *b)
{
	(void)a;
	(void)b;
	take();
	return 0;
}

static void below_a_callback_of_libc(void **state)
{
	int numbers[2] = {2, 1};

	(void)state;
	qsort(numbers, 2, sizeof(int), compare);
	assert_as_expected();
}

static void on_signal(int signal)
{
	(void)signal;
	take();
}

static void below_a_signal_handler(void **state)
{
	struct sigaction action = {.sa_handler = on_signal}, old;

	(void)state;
	sigaction(SIGUSR1, &action, &old);
	raise(SIGUSR1);
	sigaction(SIGUSR1, &old, NULL);
	assert_as_expected();
}

static void *in_thread(void *arg)
{
	descend(3);
	return arg;
}

static void in_another_thread(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, in_thread, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_as_expected();
}

static void too_deep_is_cut(void **state)
{
	(void)state;
	descend(UNWIND_MAX_FRAMES + 50);
	assert_false(taken.is_whole);
	assert_int_equal(taken.count, UNWIND_MAX_FRAMES);
}

#ifdef __SANITIZE_ADDRESS__
#define FOREIGN_EXTRA 1
#else
#define FOREIGN_EXTRA 0
#endif

/* A coroutine's stack is not the thread's: glibc does not mind, and neither may we. */
static ucontext_t back;

static void coroutine(void)
{
	descend(4);
}

static void on_a_foreign_stack(void **state)
{
	size_t size = 1 << 16;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ucontext_t context;

	(void)state;
	assert_true(stack != MAP_FAILED);
	getcontext(&context);
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = size;
	context.uc_link = &back;
	makecontext(&context, coroutine, 0);
	swapcontext(&back, &context);
	assert_true(taken.count >= 6);
	for (uint32_t i = 1; i < 5; i++)
		assert_int_equal(taken.pcs[i], (uint64_t)(uintptr_t)expected[i + FOREIGN_EXTRA]);
	munmap(stack, size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deep_recursion),
		cmocka_unit_test(the_same_twice),
		cmocka_unit_test(below_a_callback_of_libc),
		cmocka_unit_test(below_a_signal_handler),
		cmocka_unit_test(in_another_thread),
		cmocka_unit_test(too_deep_is_cut),
		cmocka_unit_test(on_a_foreign_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
