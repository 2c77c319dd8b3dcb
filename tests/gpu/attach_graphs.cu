// SPDX-License-Identifier: MIT
/*
 * attach_graphs SECONDS: steps of a graph of 20 kernels and 5 kernels launched one by one, with a
 * pause of 2 ms after each. Prints "kernels 25", then "step BEFORE AFTER" for each, in ns since
 * 1970; until it is killed, or for SECONDS.
 */
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <unistd.h>

enum { IN_GRAPH = 20, ALONE = 5 };

#define CHECK(call)                                                                    \
	do {                                                                           \
		cudaError_t error = (call);                                            \
		if (error != cudaSuccess) {                                            \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

__global__ void in_graph(float *x)
{
	x[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

__global__ void alone(float *x)
{
	x[blockIdx.x * blockDim.x + threadIdx.x] *= 0.5f;
}

static unsigned long long now_ns()
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

int main(int argc, char **argv)
{
	time_t until = time(NULL) + (argc > 1 ? atol(argv[1]) : 60);
	cudaGraphExec_t exec;
	cudaStream_t stream;
	cudaGraph_t graph;
	float *x;

	CHECK(cudaMalloc(&x, 1 << 20));
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < IN_GRAPH; i++)
		in_graph<<<64, 256, 0, stream>>>(x);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	printf("kernels %d\n", IN_GRAPH + ALONE);
	while (time(NULL) < until) {
		unsigned long long before = now_ns();

		CHECK(cudaGraphLaunch(exec, stream));
		for (int i = 0; i < ALONE; i++)
			alone<<<64, 256, 0, stream>>>(x);
		CHECK(cudaStreamSynchronize(stream));
		printf("step %llu %llu\n", before, now_ns());
		fflush(stdout);
		usleep(2000);
	}
	return 0;
}
