/* SPDX-License-Identifier: MIT */
/* Choice of measured launches: the first, second, fourth and so on of each kernel, up to a
 * limit. */
#include "unit.h"
#include "cupti_trace/hw/counter_choice.h"

/* Launches `name` this many times. Returns the measured launches as bits. */
static uint64_t launch(struct counter_choice *c, const char *name, uint32_t count)
{
	uint64_t measured = 0;

	for (uint32_t i = 1; i <= count; i++) {
		uint32_t kernel;

		if (counter_choice_launch(c, name, &kernel) != COUNTER_MEASURE)
			continue;
		measured |= UINT64_C(1) << i;
		counter_choice_done(c, kernel, true);
	}
	return measured;
}

#define BIT(n) (UINT64_C(1) << (n))

static void powers_of_two_up_to_the_limit(void **state)
{
	struct counter_choice c;

	(void)state;
	assert_int_equal(counter_choice_init(&c, NULL, 3), 0);
	assert_int_equal(launch(&c, "_Z1av", 60), BIT(1) | BIT(2) | BIT(4));
	assert_int_equal(launch(&c, "_Z1bv", 3), BIT(1) | BIT(2));
	assert_int_equal(launch(&c, "_Z1bv", 3), BIT(1)); /* the fourth */
	counter_choice_release(&c);
	assert_int_equal(counter_choice_init(&c, NULL, 0), 0);
	assert_int_equal(launch(&c, "_Z1av", 5), BIT(1) | BIT(2) | BIT(3) | BIT(4) | BIT(5));
	counter_choice_release(&c);
}

static void only_kernels_that_match(void **state)
{
	struct counter_choice c;

	(void)state;
	assert_int_equal(counter_choice_init(&c, "gemm|^_Z4copy", 1), 0);
	assert_int_equal(launch(&c, "ampere_sgemm_128x64", 4), BIT(1));
	assert_int_equal(launch(&c, "_Z4copyPi", 4), BIT(1));
	assert_int_equal(launch(&c, "_Z5_Z4copyPi", 4), 0);
	counter_choice_release(&c);
	assert_int_equal(counter_choice_init(&c, "(", 1), -EINVAL);
}

static void never_kernels_that_wait_for_other_gpus(void **state)
{
	const char *const names[] = {"_Z40ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevArgs",
				     "ncclKernel_Broadcast_RING_LL_Sum_int8_t",
				     "_Z20nvshmem_barrier_kernel"};
	struct counter_choice c;
	uint32_t kernel;

	(void)state;
	assert_int_equal(counter_choice_init(&c, NULL, 0), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(counter_choice_launch(&c, names[i], &kernel), COUNTER_LEFT_OUT);
	assert_int_equal(counter_choice_launch(&c, NULL, &kernel), COUNTER_PASS);
	counter_choice_release(&c);
}

/* After a failed measurement the next launch is measured instead, for a limited number of times. */
static void failures_are_tried_again(void **state)
{
	struct counter_choice c;
	uint32_t kernel, tries = 0;

	(void)state;
	assert_int_equal(counter_choice_init(&c, NULL, 5), 0);
	assert_int_equal(counter_choice_launch(&c, "a", &kernel), COUNTER_MEASURE);
	counter_choice_done(&c, kernel, false);
	assert_int_equal(counter_choice_launch(&c, "a", &kernel), COUNTER_MEASURE);
	counter_choice_done(&c, kernel, true);
	for (uint32_t i = 0; i < 100; i++) {
		if (counter_choice_launch(&c, "a", &kernel) != COUNTER_MEASURE)
			continue;
		counter_choice_done(&c, kernel, false);
		tries++;
	}
	assert_int_equal(tries, COUNTER_CHOICE_TRIES);
	counter_choice_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(powers_of_two_up_to_the_limit),
		cmocka_unit_test(only_kernels_that_match),
		cmocka_unit_test(never_kernels_that_wait_for_other_gpus),
		cmocka_unit_test(failures_are_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
