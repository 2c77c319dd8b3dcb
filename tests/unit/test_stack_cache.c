/* SPDX-License-Identifier: MIT */
/*
 * A thread's stacks of late, where a signal's handler launches while they are written: whenever it
 * comes, each stack has its own id or none. The handler comes at the fences of the inline
 * functions.
 */
#include <stdatomic.h>
#include "unit.h"

static void (*handler)(void);
static uint32_t fences;

static void at_fence(void)
{
	if (--fences == 0 && handler)
		handler();
}

#undef atomic_signal_fence
#define atomic_signal_fence(order) (at_fence(), __atomic_signal_fence(order))
#include "cupti_trace/launch/stack_cache.h"

static struct stack_cache cache;
static uint64_t outer, inner;
static uint32_t taken; /* ways of their set */

/* Returns the stack's id, or 0 if it is absent. */
static uint32_t id_of(uint64_t hash)
{
	uint32_t id;

	return stack_cache_find(&cache, hash, &id) ? id : 0;
}

/* Hashes that come to lie in one set; `way` is the one that gives way when it is full. */
static uint64_t hash_in_set(uint32_t number, uint32_t way)
{
	return UINT64_C(1) << 48 | (uint64_t)way << 32 | number;
}

/* Launches as a signal handler would. Existing stacks have their ids, or are not found. */
static void launch_inside(void)
{
	for (uint32_t i = 0; i < taken; i++) {
		uint32_t id = id_of(hash_in_set(100 + i, i));

		assert_true(id == 100 + i || id == 0);
	}
	stack_cache_keep(&cache, inner, 2);
}

static void a_handler_may_launch_at_any_time(void **state)
{
	(void)state;
	handler = launch_inside;
	for (taken = 0; taken <= 4; taken++)
		for (uint32_t fence = 1; fence <= 3; fence++)
			for (uint32_t way = 0; way < 4; way++) {
				memset(&cache, 0, sizeof(cache));
				fences = 0;
				for (uint32_t i = 0; i < taken; i++)
					stack_cache_keep(&cache, hash_in_set(100 + i, i), 100 + i);
				outer = hash_in_set(1, 1);
				inner = hash_in_set(2, way);
				fences = fence;
				stack_cache_keep(&cache, outer, 1);
				assert_true((int32_t)fences <= 0);
				fences = 0;
				assert_true(id_of(outer) == 1 || id_of(outer) == 0);
				assert_true(id_of(inner) == 2 || id_of(inner) == 0);
				for (uint32_t i = 0; i < taken; i++) {
					uint32_t id = id_of(hash_in_set(100 + i, i));

					assert_true(id == 100 + i || id == 0);
				}
			}
	taken = 0;
	/* without a handler's launch, the stack is kept */
	fences = 0;
	stack_cache_keep(&cache, outer, 7);
	assert_int_equal(id_of(outer), 7);
}

/* A handler's launch may replace the stack that is being looked up. */
static void a_handler_may_launch_in_a_look_up(void **state)
{
	(void)state;
	handler = launch_inside;
	memset(&cache, 0, sizeof(cache));
	fences = 0;
	outer = hash_in_set(1, 0);
	stack_cache_keep(&cache, outer, 1);
	for (uint32_t i = 1; i < 4; i++)
		stack_cache_keep(&cache, hash_in_set(100 + i, i), 100 + i);
	inner = hash_in_set(2, 0);
	fences = 1;
	assert_int_equal(id_of(outer), 0);
	assert_int_equal(id_of(inner), 2);
	/* a handler before or after the lookup has no effect */
	inner = hash_in_set(3, 1);
	fences = 1;
	assert_int_equal(id_of(hash_in_set(2, 0)), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handler_may_launch_at_any_time),
		cmocka_unit_test(a_handler_may_launch_in_a_look_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
