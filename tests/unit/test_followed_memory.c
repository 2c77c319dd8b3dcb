/* SPDX-License-Identifier: MIT */
/* Calls whose memory is followed otherwise: known until many more have come. */
#include "unit.h"
#include "cupti_trace/memory/followed_memory.h"

static void the_last_calls_are_known(void **state)
{
	(void)state;
	assert_false(followed_memory_has(7));
	for (uint32_t i = 1; i <= 3 * FOLLOWED_CALLS_MAX; i++) {
		followed_memory_note(3 * i);
		followed_memory_note(3 * i); /* by the runtime, and by the driver inside */
		assert_true(followed_memory_has(3 * i));
		assert_false(followed_memory_has(3 * i + 1));
		assert_int_equal(followed_memory_has(3 * (i - FOLLOWED_CALLS_MAX + 1)),
				 i >= FOLLOWED_CALLS_MAX);
		assert_false(followed_memory_has(3 * (i - FOLLOWED_CALLS_MAX)));
	}
}

static void numbers_differ(void **state)
{
	uint64_t first = followed_memory_new_id();

	(void)state;
	assert_true(first > 0);
	assert_int_equal(followed_memory_new_id(), first + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_calls_are_known),
		cmocka_unit_test(numbers_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
