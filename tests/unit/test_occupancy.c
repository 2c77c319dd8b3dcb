/* SPDX-License-Identifier: MIT */
/* Occupancy by launch shape, compared with hand calculations and NVIDIA's cuda_occupancy.h. */
#include "unit.h"
#include "profiler/tables/occupancy.h"

#if defined(__has_include) && __has_include(<cuda_occupancy.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop
#define HAS_HEADER 1
#endif

static const struct gpu_limits h200 = {132, 64, 32, 65536, 228u << 10, 9, 0};

static struct occupancy of(uint32_t blocks, uint32_t threads, uint32_t registers, uint32_t shared)
{
	const struct timeline_shape shape = {.grid = {blocks, 1, 1},
					     .block = {threads, 1, 1},
					     .dynamic_shared = shared,
					     .registers = registers};

	return occupancy_of(&h200, &shape);
}

/* Occupancy by the tables of the programming guide, for compute capability 9.0. */
static void agrees_with_calculations_by_hand(void **state)
{
	struct occupancy o = of(1320, 256, 32, 0);

	(void)state;
	assert_int_equal(o.resident, 8); /* 64 warps of 8 each */
	assert_int_equal(o.warps, 64);
	assert_int_equal(o.limits, OCCUPANCY_BY_WARPS | OCCUPANCY_BY_REGISTERS);
	assert_int_equal(o.at_once, 1056);
	assert_int_equal(occupancy_tail(&o), 264);
	assert_true(occupancy_waves(&o) == 1.25);
	o = of(1, 32, 16, 0);
	assert_int_equal(o.resident, 32);
	assert_int_equal(o.limits, OCCUPANCY_BY_BLOCKS);
	assert_true(occupancy_share(&o) == 0.5);
	o = of(1, 1024, 128, 0); /* needs 131072 registers */
	assert_int_equal(o.resident, 0);
	o = of(1, 512, 128, 0);
	assert_int_equal(o.resident, 1);
	assert_int_equal(o.limits, OCCUPANCY_BY_REGISTERS);
	o = of(1, 128, 16, 100u << 10); /* 101 KiB with CUDA's own, of 228 */
	assert_int_equal(o.resident, 2);
	assert_int_equal(o.limits, OCCUPANCY_BY_SHARED);
}

static void numbers_of_programs_overflow_nothing(void **state)
{
	static const struct gpu_limits none,
		forged = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, 9, 0};
	struct timeline_shape shape;
	struct occupancy o;

	(void)state;
	memset(&shape, 0xff, sizeof(shape));
	o = occupancy_of(&h200, &shape);
	assert_true(o.blocks == UINT64_MAX && o.threads == UINT64_MAX);
	assert_int_equal(o.at_once, 0);
	assert_int_equal(occupancy_of(&forged, &shape).at_once, 0);
	memset(&shape, 0, sizeof(shape));
	o = occupancy_of(&h200, &shape);
	assert_int_equal(o.at_once, 0);
	assert_true(occupancy_waves(&o) == 0 && occupancy_share(&o) == 0);
	shape.grid[0] = shape.grid[1] = shape.grid[2] = 1;
	shape.block[0] = shape.block[1] = shape.block[2] = 1;
	o = occupancy_of(&none, &shape);
	assert_int_equal(o.threads, 1);
	assert_int_equal(o.at_once, 0);
}

static void advises(void **state)
{
	char text[OCCUPANCY_ADVICE_BYTES];
	struct occupancy o = of(32, 256, 32, 0);

	(void)state;
	assert_string_equal(occupancy_advice(&o, text),
			    "100 of 132 multiprocessors have no block: launch more or smaller "
			    "blocks");
	o = of(1057, 256, 32, 0);
	assert_string_equal(occupancy_advice(&o, text),
			    "the last wave has 1 of 1056 blocks, so 50 % of the GPU idles: fit "
			    "the grid to whole waves");
	o = of(1056, 33, 32, 0);
	assert_string_equal(occupancy_advice(&o, text),
			    "31 of the 64 threads of a block's warps do nothing: use a multiple of "
			    "32 threads");
	o = of(264, 512, 128, 0);
	assert_string_equal(occupancy_advice(&o, text),
			    "only 16 of 64 warps fit on a multiprocessor, limited by registers");
	o = of(1056, 256, 32, 0);
	assert_string_equal(occupancy_advice(&o, text), "");
}

/* Blocks of a warp cannot be divided, and smaller ones have threads that do nothing. */
static void never_advises_blocks_of_less_than_a_warp(void **state)
{
	static const struct {
		uint32_t blocks, threads;
		const char *advice;
	} launches[] = {
		{1, 1,
		 "131 of 132 multiprocessors have no block: launch more blocks, each of 32 threads "
		 "or more"},
		{131, 31,
		 "1 of 132 multiprocessors have no block: launch more blocks, each of 32 threads "
		 "or more"},
		{2, 32, "130 of 132 multiprocessors have no block: launch more blocks"},
		{2, 33, "130 of 132 multiprocessors have no block: launch more or smaller blocks"},
		/* more than one wave: idle threads of warps cost more than its tail */
		{132 * 32 + 1, 1,
		 "31 of the 32 threads of a block's warps do nothing: use a multiple of 32 "
		 "threads"},
	};
	char text[OCCUPANCY_ADVICE_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++) {
		struct occupancy o = of(launches[i].blocks, launches[i].threads, 32, 0);

		assert_string_equal(occupancy_advice(&o, text), launches[i].advice);
	}
}

#ifdef HAS_HEADER
static void agrees_with_nvidias_header(void **state)
{
	static const struct {
		int major, minor, warps, shared;
	} devices[] = {{7, 0, 64, 96 << 10},  {7, 5, 32, 64 << 10},  {8, 0, 64, 164 << 10},
		       {8, 6, 48, 100 << 10}, {9, 0, 64, 228 << 10}, {10, 0, 64, 228 << 10},
		       {12, 0, 48, 100 << 10}};
	uint64_t fitting = 0;

	(void)state;
	for (uint64_t round = 0; round < unit_rounds(20000); round++) {
		struct prng p = prng_round(round);
		const size_t at = prng_below(&p, sizeof(devices) / sizeof(devices[0]));
		const size_t most =
			(size_t)devices[at].shared - (devices[at].major >= 8 ? 1024 : 0);
		const cudaOccDeviceProp properties = {
			.computeMajor = devices[at].major,
			.computeMinor = devices[at].minor,
			.maxThreadsPerBlock = 1024,
			.maxThreadsPerMultiprocessor = 32 * devices[at].warps,
			.regsPerBlock = 65536,
			.regsPerMultiprocessor = 65536,
			.warpSize = 32,
			.sharedMemPerBlock = 48 << 10,
			.sharedMemPerMultiprocessor = (size_t)devices[at].shared,
			.numSms = 132,
			.sharedMemPerBlockOptin = most,
			.reservedSharedMemPerBlock = devices[at].major >= 8 ? 1024 : 0};
		const struct timeline_shape shape = {
			.grid = {1, 1, 1},
			.block = {1 + (uint32_t)prng_below(&p, 1024), 1, 1},
			.static_shared = (uint32_t)prng_below(&p, 2) * 4096,
			.dynamic_shared = (uint32_t)prng_below(&p, most - 4096),
			.registers = (uint32_t)prng_below(&p, 256)};
		const cudaOccFuncAttributes attributes = {
			.maxThreadsPerBlock = 1024,
			.numRegs = (int)shape.registers,
			.sharedSizeBytes = shape.static_shared,
			.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
			.maxDynamicSharedSizeBytes = most - shape.static_shared,
			.numBlockBarriers = 1};
		const cudaOccDeviceState carveout = {.carveoutConfig =
							     SHAREDMEM_CARVEOUT_MAX_SHARED};
		cudaOccResult result = {0};
		int blocks = 0;
		struct occupancy o;

		assert_int_equal(cudaOccMaxActiveBlocksPerMultiprocessor(
					 &result, &properties, &attributes, &carveout,
					 (int)shape.block[0], shape.dynamic_shared),
				 CUDA_OCC_SUCCESS);
		assert_int_equal(cudaOccMaxBlocksPerMultiprocessor(&blocks, &properties), 0);
		o = occupancy_of(&(struct gpu_limits){132, (uint32_t)devices[at].warps,
						      (uint32_t)blocks, 65536,
						      (uint32_t)devices[at].shared,
						      (uint32_t)devices[at].major,
						      (uint32_t)devices[at].minor},
				 &shape);
		if (o.resident != (uint32_t)result.activeBlocksPerMultiprocessor)
			fail_msg("seed %" PRIu64 ": %u, not %d", p.seed, o.resident,
				 result.activeBlocksPerMultiprocessor);
		fitting += o.resident > 0;
	}
	assert_true(fitting > 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_calculations_by_hand),
		cmocka_unit_test(numbers_of_programs_overflow_nothing),
		cmocka_unit_test(advises),
		cmocka_unit_test(never_advises_blocks_of_less_than_a_warp),
#ifdef HAS_HEADER
		cmocka_unit_test(agrees_with_nvidias_header),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
