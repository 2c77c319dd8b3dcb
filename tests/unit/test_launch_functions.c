/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "bpf/stack_event.h"
#include "profiler/base/launch_functions.h"

static void names_and_numbers_agree(void **state)
{
	(void)state;
	for (uint16_t f = LAUNCH_NONE + 1; f < LAUNCH_FUNCTIONS; f++) {
		const char *plain = launch_function_name(f);
		const char *ptsz = launch_function_name(f | LAUNCH_PTSZ);

		assert_int_equal(launch_function_of(plain), f);
		assert_int_equal(launch_function_of(ptsz), f | LAUNCH_PTSZ);
		assert_int_equal(strlen(ptsz), strlen(plain) + 5);
		assert_memory_equal(ptsz, plain, strlen(plain));
		assert_string_equal(ptsz + strlen(plain), "_ptsz");
		/* the runtime's come first: their names begin with "cuda" */
		assert_int_equal(strncmp(plain, "cuda", 4) == 0, f < LAUNCH_FIRST_DRIVER);
	}
}

static void well_known_ones(void **state)
{
	(void)state;
	assert_string_equal(launch_function_name(LAUNCH_CUDA_KERNEL), "cudaLaunchKernel");
	assert_string_equal(launch_function_name(LAUNCH_CU_KERNEL_EX | LAUNCH_PTSZ),
			    "cuLaunchKernelEx_ptsz");
	assert_int_equal(launch_function_of("cudaGraphLaunch"), LAUNCH_CUDA_GRAPH);
}

static void others_are_none(void **state)
{
	static const char *const others[] = {"",
					     "c",
					     "cu",
					     "cudaLaunch",
					     "cudaLaunchKernel_",
					     "cudaLaunchKernel_pts",
					     "cudaLaunchKernel_ptszz",
					     "CudaLaunchKernel",
					     "xcudaLaunchKernel",
					     "main",
					     "cudaMalloc",
					     "_ptsz"};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(launch_function_of(others[i]), LAUNCH_NONE);
}

/* Whatever number comes from the kernel side has a name. */
static void every_number_has_a_name(void **state)
{
	(void)state;
	for (uint32_t f = 0; f <= UINT16_MAX; f++)
		assert_true(strlen(launch_function_name((uint16_t)f)) > 0);
	assert_string_equal(launch_function_name(LAUNCH_NONE), "[unknown launch function]");
	assert_string_equal(launch_function_name(LAUNCH_FUNCTIONS), "[unknown launch function]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_numbers_agree),
		cmocka_unit_test(well_known_ones),
		cmocka_unit_test(others_are_none),
		cmocka_unit_test(every_number_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
