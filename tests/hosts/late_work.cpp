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

/* CUDA refuses work once it has shut down itself, which depends on the driver. */
static void tell(const char *where, int accepted)
{
	fprintf(stderr, "late_work: %s: %d of 10 launches accepted\n", where, accepted);
}

NOINLINE static void on_early_exit()
{
	bool unfinished = strcmp(mode, "unfinished") == 0;
	int accepted = 0;

	for (int i = 0; i < 10; i++)
		accepted +=
			GPU_LAUNCH(0, unfinished ? 3600000000000 : 1000, in_handler) == cudaSuccess;
	tell("exit handler", accepted);
	if (strcmp(mode, "leaves") == 0)
		_exit(3);
	if (!unfinished)
		cudaDeviceSynchronize();
}

struct late {
	~late()
	{
		int accepted = 0;

		for (int i = 0; i < 10; i++)
			accepted += GPU_LAUNCH(0, 1000, in_static_object) == cudaSuccess;
		tell("static object", accepted);
		if (strcmp(mode, "unfinished") != 0)
			cudaDeviceSynchronize();
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
