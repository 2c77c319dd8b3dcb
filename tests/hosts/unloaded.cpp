/* SPDX-License-Identifier: MIT */
/*
 * unloaded FIRST SECOND [TIMES=20]: loads the one library of kernels and the other by turns, each
 * into the place that the one before has left, and unloads it while its kernels are queued.
 */
#include "host.h"

#include <dlfcn.h>
#include <iostream> /* libstdc++ is there already: it would hold the library that brings it */

static void *place;

/* Returns how often it launched. */
static int use(const char *file)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	int (*launch_all)();
	int count;

	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	HOST_CHECK(library);
	*(void **)&launch_all = dlsym(library, "launch_all");
	HOST_CHECK(launch_all);
	fprintf(stderr, "unloaded: %s\n",
		place == (void *)launch_all ? "same place" : "other place");
	place = (void *)launch_all;
	count = launch_all();
	HOST_CHECK(dlclose(library) == 0);
	return count;
}

int main(int argc, char **argv)
{
	int times = argc > 3 ? atoi(argv[3]) : 20;
	long launches = 0;

	if (argc < 3)
		return 1;
	GPU_CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < times; i++)
		launches += use(argv[1 + i % 2]);
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches);
	return 0;
}
