/* SPDX-License-Identifier: MIT */
/*
 * swapped FIRST SECOND: loads the one library and the other by turns, each into the place that the
 * one before has left. They have no kernels, but call back, and launches follow at once.
 */
#include "host.h"

#include <dlfcn.h>
#include <iostream> /* libstdc++ is there already: it would hold the library that brings it */

GPU_KERNEL(tiny)

enum { TIMES = 200 };

static void *place;
static int same;

NOINLINE static void launch()
{
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	asm volatile("");
}

NOINLINE static void use(const char *file)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	void (*call_back)(void (*)());

	HOST_CHECK(library);
	*(void **)&call_back = dlsym(library, "call_back");
	HOST_CHECK(call_back);
	same += place == (void *)call_back;
	place = (void *)call_back;
	call_back(launch);
	HOST_CHECK(dlclose(library) == 0);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 1;
	GPU_CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < TIMES; i++)
		use(argv[1 + i % 2]);
	GPU_CHECK(cudaDeviceSynchronize());
	HOST_CHECK(same > TIMES / 2);
	printf("launches %d\n", TIMES);
	return 0;
}
