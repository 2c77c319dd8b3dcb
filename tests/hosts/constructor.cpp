/* SPDX-License-Identifier: MIT */
/*
 * constructor FILE: loads a plugin whose constructor waits for a thread that makes the program's
 * first launch. The constructor's thread holds the loader's lock meanwhile, so nothing that happens
 * at a launch may need it.
 */
#include "../workloads/gpu.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
	if (argc != 2)
		return 1;
	GPU_CHECK(cudaDeviceSynchronize());
	if (!dlopen(argv[1], RTLD_NOW)) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	GPU_CHECK(cudaDeviceSynchronize());
	puts("launches 10");
	return 0;
}
