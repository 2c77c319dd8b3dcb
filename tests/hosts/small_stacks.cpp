/* SPDX-License-Identifier: MIT */
/*
 * small_stacks [THREADS=200 [KIB [LEFT_KIB]]]: threads with a small stack (default: the smallest
 * there may be), each of which launches 40 times; then threads that have taken all of their stack
 * but a little (default: 8). NVIDIA's driver and CUPTI need more: 256 and 128, on a GPU.
 */
#include "host.h"

#include <alloca.h>
#include <limits.h>
#include <pthread.h>

GPU_KERNEL(tiny)

enum { PAGE = 4096, EACH = 40 };

#ifdef __CUDACC__
static size_t stack_bytes = 256 << 10, left_bytes = 128 << 10;
#else
static size_t stack_bytes = (size_t)PTHREAD_STACK_MIN, left_bytes = 8 << 10;
#endif
static long launches;

NOINLINE static void launch_some()
{
	for (int i = 0; i < EACH; i++, launches++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
}

static void *launch_on_little(void *)
{
	launch_some();
	return nullptr;
}

/* `lowest`: of the thread's stack. */
NOINLINE static void launch_at_end(const char *lowest)
{
	size_t bytes = (size_t)((const char *)__builtin_frame_address(0) - lowest) - left_bytes;
	volatile char *taken = (volatile char *)alloca(bytes);

	/* from above, as a stack grows */
	for (size_t at = bytes; at >= PAGE; at -= PAGE)
		taken[at - PAGE] = 1;
	launch_some();
}

static void *launch_at_end_of_thread(void *)
{
	pthread_attr_t attributes;
	void *lowest;
	size_t size;

	HOST_CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0 &&
		   pthread_attr_getstack(&attributes, &lowest, &size) == 0);
	pthread_attr_destroy(&attributes);
	launch_at_end((const char *)lowest);
	return nullptr;
}

static void run_thread(size_t bytes, void *(*function)(void *))
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	HOST_CHECK(pthread_attr_setstacksize(&attributes, bytes) == 0 &&
		   pthread_create(&thread, &attributes, function, nullptr) == 0);
	pthread_join(thread, nullptr);
	pthread_attr_destroy(&attributes);
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 200;

	if (argc > 2)
		stack_bytes = (size_t)atoi(argv[2]) << 10;
	if (argc > 3)
		left_bytes = (size_t)atoi(argv[3]) << 10;
	launch_some();
	for (int i = 0; i < threads; i++)
		run_thread(stack_bytes, launch_on_little);
	for (int i = 0; i < 10; i++)
		run_thread(1 << 20, launch_at_end_of_thread);
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches);
	return 0;
}
