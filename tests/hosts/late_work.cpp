/* SPDX-License-Identifier: MIT */
/*
 * late_work FILE [unfinished|leaves]: 100 kernels in main, then 10 in each of these, which all run
 * after what a tracer that came with the first call of CUDA can register for the exit: a handler
 * registered before, the destructor of a static object, the destructors of the library FILE.
 * Each waits for its kernels; unfinished, the handler's take an hour, and nobody waits. The
 * handler may also leave by _exit(2), so that the rest does not happen.
 */
#include "../workloads/gpu.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

GPU_KERNEL(in_main)
GPU_KERNEL(in_handler)
GPU_KERNEL(in_static_object)

static const char *mode = "";

NOINLINE static void on_early_exit()
{
	bool unfinished = strcmp(mode, "unfinished") == 0;

	for (int i = 0; i < 10; i++)
		GPU_CHECK(GPU_LAUNCH(0, unfinished ? 3600000000000 : 1000, in_handler));
	if (strcmp(mode, "leaves") == 0)
		_exit(3);
	if (!unfinished)
		GPU_CHECK(cudaDeviceSynchronize());
}

struct late {
	~late()
	{
		for (int i = 0; i < 10; i++)
			GPU_CHECK(GPU_LAUNCH(0, 1000, in_static_object));
		if (strcmp(mode, "unfinished") != 0)
			GPU_CHECK(cudaDeviceSynchronize());
	}
};
static late late;

int main(int argc, char **argv)
{
	if (argc > 2)
		mode = argv[2];
	if (argc < 2 || !dlopen(argv[1], RTLD_NOW) || atexit(on_early_exit))
		return 1;
	for (int i = 0; i < 100; i++)
		GPU_CHECK(GPU_LAUNCH(0, 1000, in_main));
	GPU_CHECK(cudaDeviceSynchronize());
	puts("launches 130");
	fflush(stdout);
	return 0;
}
