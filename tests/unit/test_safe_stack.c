/* SPDX-License-Identifier: MIT */
/* Stacks of whole threads are in test_inject_process. */
#include "unit.h"

#include "profiler/attach/safe_stack.h"

#define LIBC "/usr/lib/x86_64-linux-gnu/libc.so.6"

static void allocators_and_forks_are_unsafe(void **state)
{
	(void)state;
	assert_true(safe_stack_forbids(LIBC, "malloc"));
	assert_true(safe_stack_forbids("/app", "operator new[](unsigned long)"));
	assert_true(safe_stack_forbids(LIBC, "pthread_create@@GLIBC_2.34"));
	assert_true(safe_stack_forbids(LIBC, "__libc_fork"));
	assert_true(safe_stack_forbids(LIBC, "dl_iterate_phdr"));
}

static void all_of_some_libraries_is_unsafe(void **state)
{
	(void)state;
	assert_true(safe_stack_forbids("/lib64/ld-linux-x86-64.so.2", "[ld-linux-x86-64.so.2]"));
	assert_true(safe_stack_forbids("/usr/lib/libcuda.so.550.54", "cuLaunchKernel"));
	assert_true(safe_stack_forbids("libjemalloc.so.2", "je_arena"));
}

static void other_code_is_safe(void **state)
{
	(void)state;
	assert_false(safe_stack_forbids(LIBC, "poll"));
	assert_false(safe_stack_forbids(LIBC, "clone"));
	assert_false(safe_stack_forbids("/app", "my_malloc"));
	assert_false(safe_stack_forbids("/app", "mallocate"));
	assert_false(safe_stack_forbids("/ld-linux/app", "main"));
	assert_false(safe_stack_forbids("", "[unknown]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocators_and_forks_are_unsafe),
		cmocka_unit_test(all_of_some_libraries_is_unsafe),
		cmocka_unit_test(other_code_is_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
