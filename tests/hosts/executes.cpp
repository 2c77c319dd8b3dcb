/* SPDX-License-Identifier: MIT */
/*
 * executes [TIMES=3]: launches 10 times, and executes itself in its place until that has been done
 * TIMES times. What was launched before is over by then.
 */
#include "host.h"

GPU_KERNEL(tiny)

enum { LAUNCHES = 10 };

int main(int argc, char **argv)
{
	int left = argc > 1 ? atoi(argv[1]) : 3, of_all = argc > 2 ? atoi(argv[2]) : left;
	std::string next = std::to_string(left - 1), all = std::to_string(of_all);

	for (int i = 0; i < LAUNCHES; i++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	GPU_CHECK(cudaDeviceSynchronize());
	if (left > 1) {
		await_flush();
		execl("/proc/self/exe", argv[0], next.c_str(), all.c_str(), nullptr);
		return 1;
	}
	printf("launches %d\n", LAUNCHES * of_all);
	return 0;
}
