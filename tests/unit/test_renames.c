// SPDX-License-Identifier: MIT
#include "unit.h"
#include "profiler/cpu/renames.h"

static void renames_wait_for_time(void **state)
{
	struct renames r = {0};
	struct quota quota = {.limit = 1000};
	char comm[PROCESS_COMM_BYTES] = "";

	(void)state;
	assert_false(renames_take(&r, &quota, 7, UINT64_MAX, comm));
	for (uint64_t i = 1; i <= RENAMES_KEPT + 2; i++) {
		snprintf(comm, sizeof(comm), "n%u", (unsigned)i);
		assert_int_equal(renames_add(&r, &quota, 7, 10 * i, comm), 0);
	}
	/* the oldest are dropped */
	assert_false(renames_take(&r, &quota, 7, 29, comm));
	assert_false(renames_take(&r, &quota, 8, 1000, comm));
	assert_true(renames_take(&r, &quota, 7, 45, comm));
	assert_string_equal(comm, "n4");
	assert_false(renames_take(&r, &quota, 7, 45, comm));
	assert_true(renames_take(&r, &quota, 7, 60, comm));
	assert_string_equal(comm, "n6");
	assert_int_equal(quota.used, 0);
	for (uint32_t i = 0; i < 50; i++)
		assert_int_equal(renames_add(&r, &quota, i, 1, "a name that is too long"), 0);
	assert_in_range(quota.used, 100, 1000);
	assert_in_range(quota.refused, 1, 49);
	assert_true(renames_take(&r, &quota, 0, 1, comm));
	assert_string_equal(comm, "a name that is ");
	renames_forget(&r, &quota, 1);
	assert_false(renames_take(&r, &quota, 1, 1, comm));
	renames_release(&r, &quota);
	assert_int_equal(quota.used, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(renames_wait_for_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
