/* SPDX-License-Identifier: MIT */
/*
 * many_ways FILE [graphs]: launches through its libcudart from several functions and on other
 * threads, through the copy of libcudart that the library FILE has in it, which is opened late, and
 * by the driver's own function; with "graphs" also into a graph that is replayed, and with a size
 * that is refused. All of it twice. Each launch is below the function that made it.
 */
#include "host.h"

#include <dlfcn.h>
#include <pthread.h>

#include "../workloads/ptx.h"
#define DRIVER_FUNCTIONS(X)    \
	X(cuModuleLoadData)    \
	X(cuModuleGetFunction) \
	X(cuLaunchKernel)
#include "../workloads/driver.h"

GPU_KERNEL(at_first)
GPU_KERNEL(elsewhere)
GPU_KERNEL(on_thread)
GPU_KERNEL(in_graph)
GPU_KERNEL(refused)

enum { MANY = 20 };

static long launches;
static CUfunction spin;

NOINLINE static void launch_at_first()
{
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, at_first));
	launches++;
}

NOINLINE static void launch_elsewhere()
{
	GPU_CHECK(GPU_LAUNCH(nullptr, 1000, elsewhere));
	launches++;
}

NOINLINE static void launch_on_thread()
{
	for (int i = 0; i < MANY; i++)
		GPU_CHECK(GPU_LAUNCH(nullptr, 1000, on_thread));
}

NOINLINE static void launch_in_driver()
{
	uint64_t ns = 1000;
	void *params[] = {&ns};

	for (int i = 0; i < MANY; i++)
		DRIVER_CHECK(
			cu.cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
	launches += MANY;
}

NOINLINE static void capture_in_graph(cudaStream_t stream)
{
	for (int i = 0; i < MANY; i++)
		GPU_CHECK(GPU_LAUNCH(stream, 1000, in_graph));
}

/* It is not counted: there is no kernel. */
NOINLINE static void launch_refused()
{
	void *args[] = {nullptr};

	HOST_CHECK(cudaLaunchKernel((const void *)refused, dim3(0), dim3(1), args, 0, nullptr));
	cudaGetLastError();
}

static void replay_graph()
{
	cudaGraphExec_t exec;
	cudaStream_t stream;
	cudaGraph_t graph;

	GPU_CHECK(cudaStreamCreate(&stream));
	GPU_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	capture_in_graph(stream);
	GPU_CHECK(cudaStreamEndCapture(stream, &graph));
	GPU_CHECK(cudaGraphInstantiate(&exec, graph, 0));
	GPU_CHECK(cudaGraphLaunch(exec, stream));
	GPU_CHECK(cudaStreamSynchronize(stream));
}

static void *thread_main(void *)
{
	launch_on_thread();
	return nullptr;
}

static void use_thread()
{
	pthread_t thread;

	HOST_CHECK(pthread_create(&thread, nullptr, thread_main, nullptr) == 0);
	pthread_join(thread, nullptr);
	launches += MANY;
}

int main(int argc, char **argv)
{
	void (*launch_in_library)(int) = nullptr;
	void *library = nullptr;
	CUmodule module;

	GPU_CHECK(cudaFree(nullptr));
	load_driver();
	DRIVER_CHECK(cu.cuModuleLoadData(&module, PTX_MODULE));
	DRIVER_CHECK(cu.cuModuleGetFunction(&spin, module, "driver_spin"));
	for (int again = 0; again < 2; again++) {
		for (int i = 0; i < MANY; i++)
			launch_at_first();
		for (int i = 0; i < MANY; i++)
			call_at_depth(i, launch_elsewhere);
		use_thread();
		if (argc > 2 && strcmp(argv[2], "graphs") == 0) {
			replay_graph();
			launch_refused();
		}
		if (!library)
			library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
		HOST_CHECK(library);
		launch_in_library = (void (*)(int))dlsym(library, "launch_in_library");
		HOST_CHECK(launch_in_library);
		for (int i = 0; i < MANY; i++)
			launch_in_library(i);
		launches += MANY;
		launch_in_driver();
		GPU_CHECK(cudaDeviceSynchronize());
	}
	printf("launches %ld\n", launches);
	return 0;
}
