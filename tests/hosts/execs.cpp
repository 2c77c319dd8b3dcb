/* SPDX-License-Identifier: MIT */
/*
 * execs: launches, lets all be sent, and executes itself, which launches again: the same process,
 * but another program, which inherits no descriptor of the library's.
 */
#include "host.h"

GPU_KERNEL(before_exec)
GPU_KERNEL(after_exec)

enum { BEFORE = 300, AFTER = 500 };

static int count_descriptors()
{
	DIR *folder = opendir("/proc/self/fd");
	int count = -1; /* the folder itself */

	HOST_CHECK(folder);
	while (struct dirent *entry = readdir(folder))
		count += isdigit(entry->d_name[0]) != 0;
	closedir(folder);
	return count;
}

static void launch(int count, cudaError_t (*launch_one)())
{
	for (int i = 0; i < count; i++)
		GPU_CHECK(launch_one());
	GPU_CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
	char descriptors[16], *again[] = {argv[0], descriptors, nullptr};

	if (argc > 1) {
		HOST_CHECK(count_descriptors() == atoi(argv[1]));
		launch(AFTER, [] { return GPU_LAUNCH(nullptr, 1000, after_exec); });
		printf("launches %d\n", BEFORE + AFTER);
		return 0;
	}
	snprintf(descriptors, sizeof(descriptors), "%d", count_descriptors());
	launch(BEFORE, [] { return GPU_LAUNCH(nullptr, 1000, before_exec); });
	await_flush();
	execv("/proc/self/exe", again);
	return 1;
}
