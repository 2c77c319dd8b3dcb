/* SPDX-License-Identifier: MIT */
/*
 * shifted_clock SECONDS: the wall clock that all parts of the process see is that far ahead of the
 * kernel's, as it is for code that reads it and then waits in the kernel until a later time, if it
 * was set in between. The library's thread must go on with its work, and sleep meanwhile.
 */
#include "host.h"

#include <sys/syscall.h>
#include <time.h>

GPU_KERNEL(tiny)

enum { LAUNCHES = 1000 };

static long ahead_s;

extern "C" int clock_gettime(clockid_t clock, struct timespec *now) noexcept
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);

	if (clock == CLOCK_REALTIME)
		now->tv_sec += ahead_s;
	return result;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 1;
	ahead_s = atol(argv[1]);
	for (int i = 0; i < LAUNCHES; i++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, tiny));
	GPU_CHECK(cudaDeviceSynchronize());
	await_flush();
	printf("launches %d\n", LAUNCHES);
	return 0;
}
