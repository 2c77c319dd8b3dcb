/* SPDX-License-Identifier: MIT */
/*
 * locked_out: launches 10 times, lets all be sent, closes all descriptors and becomes another user,
 * who may not open the library's pipe; then launches for 1.5 s. Ends with status 3. To be run by
 * root.
 */
#include "host.h"

#include <linux/close_range.h>
#include <sys/syscall.h>

GPU_KERNEL(before)
GPU_KERNEL(locked_out)

enum { BEFORE = 10, TIMES = 150, PAUSE_US = 10000, NOBODY = 65534 };

int main()
{
	for (int i = 0; i < BEFORE; i++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, before));
	GPU_CHECK(cudaDeviceSynchronize());
	await_flush();
	HOST_CHECK(syscall(SYS_close_range, 3, ~0u, 0) == 0);
	HOST_CHECK(setuid(NOBODY) == 0);
	for (int i = 0; i < TIMES; i++) {
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, locked_out));
		usleep(PAUSE_US);
	}
	printf("launches %d\n", BEFORE + TIMES);
	return 3;
}
