/* SPDX-License-Identifier: MIT */
/* See constructor.cpp. */
#include "../workloads/gpu.h"

#include <pthread.h>

GPU_KERNEL(from_constructor)

static void *launch(void *arg)
{
	for (int i = 0; i < 10; i++)
		GPU_CHECK(GPU_LAUNCH(0, 1000, from_constructor));
	return arg;
}

struct joiner {
	joiner()
	{
		pthread_t thread;

		if (pthread_create(&thread, nullptr, launch, nullptr) ||
		    pthread_join(thread, nullptr))
			abort();
	}
};
static joiner joins;
