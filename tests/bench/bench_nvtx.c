/* SPDX-License-Identifier: MIT */
/*
 * nvtx [DEPTH=36] [ROUNDS=1000000]: the cost of NVTX ranges in ns: a push with its pop, of a
 * message and of a registered string, and a launch stack with three open ranges. Without CUDA,
 * without NVTX and without a profiler.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "cupti_trace/wire/trace_config.h"
#include "cupti_trace/launch/launch_stack.h"
#include "cupti_trace/launch/nvtx_abi.h"

static struct sink sink = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .broken = true};
static nvtx_abi_function core[NVTX_ABI_CORE_SIZE], core2[NVTX_ABI_CORE2_SIZE];

static int get_table(uint32_t module, nvtx_abi_function ***table, unsigned int *size)
{
	static nvtx_abi_function *places[2][NVTX_ABI_CORE_SIZE];
	int second = module == NVTX_ABI_MODULE_CORE2;

	for (int i = 1; i < NVTX_ABI_CORE_SIZE; i++)
		places[second][i] = second ? &core2[i] : &core[i];
	*table = places[second];
	*size = NVTX_ABI_CORE_SIZE;
	return 1;
}

static const void *get_export_table(uint32_t id)
{
	static const struct nvtx_abi_callbacks callbacks = {sizeof(callbacks), get_table};

	(void)id;
	return &callbacks;
}

static int push(const char *message)
{
	return ((int (*)(const char *))core[NVTX_ABI_RANGE_PUSH_A])(message);
}

static int pop(void)
{
	return ((int (*)(void))core[NVTX_ABI_RANGE_POP])();
}

static int push_registered(const struct nvtx_abi_attributes *a)
{
	return ((int (*)(void *, const struct nvtx_abi_attributes *))
			core2[NVTX_ABI_DOMAIN_RANGE_PUSH_EX])(NULL, a);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void measure_ranges(long rounds)
{
	struct nvtx_abi_attributes a = {
		.version = 3, .size = sizeof(a), .message_type = NVTX_ABI_MESSAGE_REGISTERED};
	double start;

	a.message.registered =
		((void *(*)(void *, const char *))core2[NVTX_ABI_DOMAIN_REGISTER_STRING_A])(
			NULL, "forward pass of layer 12");
	start = now_ns();
	for (long i = 0; i < rounds; i++) {
		push("forward pass of layer 12");
		pop();
	}
	printf("NVTX push and pop:                       %.0f ns, ",
	       (now_ns() - start) / (double)rounds);
	start = now_ns();
	for (long i = 0; i < rounds; i++) {
		push_registered(&a);
		pop();
	}
	printf("of a registered string %.0f ns\n", (now_ns() - start) / (double)rounds);
}

static __attribute__((noinline)) void measure(long rounds)
{
	double start;

	measure_ranges(rounds);
	push("epoch");
	push("step");
	push("forward");
	launch_stack_capture(launch_stack_thread(), &sink, "bench", __builtin_frame_address(0), 1);
	start = now_ns();
	for (long i = 0; i < rounds / 5; i++)
		launch_stack_capture(launch_stack_thread(), &sink, "bench",
				     __builtin_frame_address(0), 1);
	printf("launch stack with three NVTX ranges:     %.0f ns\n",
	       (now_ns() - start) / (double)(rounds / 5));
}

static __attribute__((noinline)) void descend(int depth, long rounds)
{
	volatile char local[100];

	local[0] = 1;
	if (depth == 0)
		measure(rounds);
	else
		descend(depth - 1, rounds);
	local[1] = local[0];
}

int main(int argc, char **argv)
{
	setenv(TRACE_CONFIG_ENV, "nvtx", 1);
	InitializeInjectionNvtx2(get_export_table);
	descend(argc > 1 ? (int)strtol(argv[1], NULL, 10) : 36,
		argc > 2 ? strtol(argv[2], NULL, 10) : 1000000);
	return 0;
}
