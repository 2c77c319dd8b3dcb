/* SPDX-License-Identifier: MIT */
/*
 * cancelled: threads with a cancellation pending load device code after other code was mapped, and
 * launch from stacks that are new. They must get through, and be cancelled where they ask for it;
 * the others must go on.
 *
 * On a GPU only launches are made with a cancellation pending, and not the first of a kernel:
 * NVIDIA's driver opens, reads and writes files when it loads code, and does not survive to be
 * cancelled there.
 */
#define DRIVER_FUNCTIONS(X)    \
	X(cuCtxSynchronize)    \
	X(cuModuleLoadData)    \
	X(cuModuleGetFunction) \
	X(cuLaunchKernel)
#include "../workloads/driver.h"
#include "../workloads/ptx.h"
#include "host.h"

#include <pthread.h>

enum { THREADS = 20 };

static CUcontext context;
static long launches, loaded, first_launches;

NOINLINE static void launch_at_depth(CUfunction kernel, int depth)
{
	uint64_t ns = 1000;
	void *params[] = {&ns};

	if (depth > 0)
		launch_at_depth(kernel, depth - 1);
	else
		DRIVER_CHECK(
			cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
	asm volatile("");
}

static CUfunction load_module()
{
	CUmodule module;
	CUfunction kernel;

	DRIVER_CHECK(cu.cuModuleLoadData(&module, PTX_MODULE));
	DRIVER_CHECK(cu.cuModuleGetFunction(&kernel, module, "driver_spin"));
	return kernel;
}

static void *thread_main(void *depth)
{
	CUfunction kernel;

#ifndef __CUDACC__
	pthread_cancel(pthread_self());
#endif
	DRIVER_CHECK(cu.cuCtxSetCurrent(context));
	kernel = load_module();
	loaded++;
#ifdef __CUDACC__
	launch_at_depth(kernel, 0);
	first_launches++;
	pthread_cancel(pthread_self());
#endif
	launch_at_depth(kernel, (int)(intptr_t)depth);
	launches++;
	pthread_testcancel();
	HOST_CHECK(false);
	return nullptr;
}

int main()
{
	context = start_driver();
	for (int i = 0; i < THREADS; i++) {
		void *library = dlopen("libresolv.so.2", RTLD_NOW), *result;
		pthread_t thread;

		HOST_CHECK(library);
		HOST_CHECK(pthread_create(&thread, nullptr, thread_main, (void *)(intptr_t)i) == 0);
		pthread_join(thread, &result);
		HOST_CHECK(result == PTHREAD_CANCELED);
		HOST_CHECK(loaded == i + 1 && launches == 2 * i + 1);
		launch_at_depth(load_module(), i);
		launches++;
		dlclose(library);
	}
	DRIVER_CHECK(cu.cuCtxSynchronize());
	printf("launches %ld\n", launches + first_launches);
	return 0;
}
