// SPDX-License-Identifier: MIT
/*
 * cupti_stays WHAT: what CUPTI leaves behind in a program that has used it and has turned all off
 * again, without `profile`. WHAT: nothing (it is not used), subscriber (a subscriber comes and
 * goes, which asks for no callback), kernels (kernels are recorded for a while), finalize (and then
 * cuptiFinalize is called). Prints "WHAT before US meanwhile US after US": medians of a step, which
 * is that of attach_graphs.cu with the same pause after it: a graph of 20 kernels and 5 kernels
 * launched one by one. The longer the pause, the more of CUPTI has left the caches by the next
 * step. If a call of CUDA fails, the line says so and ends there.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cupti.h>
#include <unistd.h>
#include <vector>

enum { IN_GRAPH = 20, ALONE = 5, STEPS = 400, PAUSE_US = 2000, BUFFER_BYTES = 1 << 20 };

#define CHECK(call)                                              \
	do {                                                     \
		int error = (int)(call);                         \
		if (error != 0) {                                \
			printf(" %s: error %d\n", #call, error); \
			fflush(stdout);                          \
			_exit(1);                                \
		}                                                \
	} while (0)

__global__ void work(float *x)
{
	x[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

static double now_us()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static void steps(const char *when, cudaGraphExec_t graph, cudaStream_t stream, float *x)
{
	std::vector<double> took;

	for (int i = 0; i < STEPS; i++) {
		double began_us = now_us();

		CHECK(cudaGraphLaunch(graph, stream));
		for (int k = 0; k < ALONE; k++)
			work<<<64, 256, 0, stream>>>(x);
		CHECK(cudaStreamSynchronize(stream));
		took.push_back(now_us() - began_us);
		usleep(PAUSE_US);
	}
	std::sort(took.begin(), took.end());
	printf(" %s %.1f", when, took[STEPS / 2]);
}

static void CUPTIAPI give(uint8_t **buffer, size_t *size, size_t *most_records)
{
	*buffer = (uint8_t *)aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*most_records = 0;
}

static void CUPTIAPI take(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t)
{
	free(buffer);
}

static void CUPTIAPI called(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *)
{
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "nothing";
	bool ends = strcmp(what, "finalize") == 0, records = ends || strcmp(what, "kernels") == 0;
	CUpti_SubscriberHandle subscriber;
	cudaGraphExec_t exec;
	cudaStream_t stream;
	cudaGraph_t graph;
	float *x;

	CHECK(cudaMalloc(&x, 1 << 20));
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < IN_GRAPH; i++)
		work<<<64, 256, 0, stream>>>(x);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	printf("%s", what);
	steps("before", exec, stream, x);
	if (strcmp(what, "subscriber") == 0) {
		CHECK(cuptiSubscribe(&subscriber, called, NULL));
		steps("meanwhile", exec, stream, x);
		CHECK(cuptiUnsubscribe(subscriber));
	} else if (records) {
		CHECK(cuptiActivityRegisterCallbacks(give, take));
		CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
		steps("meanwhile", exec, stream, x);
		CHECK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
		CHECK(cuptiActivityFlushAll(1));
		if (ends)
			CHECK(cuptiFinalize());
	} else {
		steps("meanwhile", exec, stream, x);
	}
	steps("after", exec, stream, x);
	printf("\n");
	return 0;
}
