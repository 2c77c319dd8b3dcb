/* SPDX-License-Identifier: MIT */
/*
 * nvtx_ranges: launches kernels of 1000 ns from within NVTX ranges of all kinds, opened by the
 * function that launches, by its callers, and by wrappers that have returned since. Prints what
 * push and pop return: 0 1 1 0 -2 where ranges are followed, else -2 each.
 */
#include "gpu.h"
#include "../fake_cuda/fake_nvtx.h"

#include <stdint.h>
#include <string.h>
#include <thread>

GPU_KERNEL(plain)
GPU_KERNEL(direct)
GPU_KERNEL(nested)
GPU_KERNEL(guarded)
GPU_KERNEL(colored)
GPU_KERNEL(wide)
GPU_KERNEL(threaded)
GPU_KERNEL(started)
GPU_KERNEL(ended)
GPU_KERNEL(before)

static cudaStream_t stream;
static void *train, *forward_text;

static nvtxEventAttributes_t attributes_of(const void *text, int32_t type)
{
	nvtxEventAttributes_t a;

	memset(&a, 0, sizeof(a));
	a.version = 3;
	a.size = sizeof(a);
	a.color_type = NVTX_ABI_COLOR_ARGB;
	a.color = 0xff00ff00;
	a.message_type = type;
	a.message.registered = text;
	return a;
}

/* As C++ programs do it: much of the stack is used, and given back before the first launch. */
struct Range {
	NOINLINE Range()
	{
		char text[2000];
		nvtxEventAttributes_t a = attributes_of(forward_text, NVTX_ABI_MESSAGE_REGISTERED);

		snprintf(text, sizeof(text), "not used");
		asm volatile("" : : "r"(text) : "memory");
		nvtxDomainRangePushEx(train, &a);
	}
	NOINLINE ~Range()
	{
		nvtxDomainRangePop(train);
	}
};

NOINLINE static void launch_plain()
{
	GPU_CHECK(GPU_LAUNCH(stream, 1000, plain));
}

NOINLINE static void launch_direct()
{
	nvtxRangePushA("direct");
	GPU_CHECK(GPU_LAUNCH(stream, 1000, direct));
	nvtxRangePop();
}

NOINLINE static void inner()
{
	int inner = nvtxRangePushA("inner");

	GPU_CHECK(GPU_LAUNCH(stream, 1000, nested));
	printf("%d ", inner);
	printf("%d ", nvtxRangePop());
}

NOINLINE static void between()
{
	inner();
	asm volatile("");
}

NOINLINE static void outer()
{
	printf("%d ", nvtxRangePushA("outer"));
	between();
	printf("%d ", nvtxRangePop());
	printf("%d\n", nvtxRangePop());
}

NOINLINE static void deep_guarded(int depth)
{
	volatile char local[200];

	local[0] = 1;
	if (depth > 0)
		deep_guarded(depth - 1);
	else
		GPU_CHECK(GPU_LAUNCH(stream, 1000, guarded));
	local[1] = local[0];
}

NOINLINE static void with_guard()
{
	Range range;

	deep_guarded(2);
}

NOINLINE static void with_color()
{
	nvtxEventAttributes_t a = attributes_of("color; 1", NVTX_ABI_MESSAGE_ASCII);

	nvtxRangePushEx(&a);
	nvtxMarkA("not a range");
	GPU_CHECK(GPU_LAUNCH(stream, 1000, colored));
	nvtxRangePop();
	nvtxRangePushW(L"größe Ж");
	GPU_CHECK(GPU_LAUNCH(stream, 1000, wide));
	nvtxRangePop();
}

NOINLINE static void in_thread(const char *name)
{
	nvtxRangePushA(name);
	GPU_CHECK(GPU_LAUNCH(stream, 1000, threaded));
	nvtxRangePop();
}

NOINLINE static void start_and_end()
{
	uint64_t range = nvtxRangeStartA("started");

	GPU_CHECK(GPU_LAUNCH(stream, 1000, started));
	std::thread([range] { nvtxRangeEnd(range); }).join();
	GPU_CHECK(GPU_LAUNCH(stream, 1000, ended));
}

int main()
{
	nvtxRangePushA("before CUDA");
	GPU_CHECK(cudaStreamCreate(&stream));
	GPU_CHECK(GPU_LAUNCH(stream, 1000, before));
	nvtxRangePop();
	train = nvtxDomainCreateA("train");
	forward_text = nvtxDomainRegisterStringA(train, "forward");
	launch_plain();
	launch_direct();
	outer();
	with_guard();
	with_color();
	start_and_end();
	nvtxRangePushA("of main alone");
	std::thread one(in_thread, "one"), two(in_thread, "two");
	one.join();
	two.join();
	nvtxRangePop();
	launch_plain();
	GPU_CHECK(cudaStreamSynchronize(stream));
	return 0;
}
