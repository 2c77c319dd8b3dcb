/* SPDX-License-Identifier: MIT */
/*
 * graph_nodes [LAUNCHES=20000 [NODES=500]]: launches of a graph of short kernels, one behind the
 * other, the worst case for records of nodes. Prints what it took from the first launch to the end
 * of the last kernel: "NODES SECONDS CPU_SECONDS", the CPU time that of all its threads.
 */
#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>
#include <time.h>
#include "../workloads/gpu.h"

template <int N> __global__ void node(float *out, int n)
{
	if (n < 0)
		out[threadIdx.x] = N;
}

static double wall_s()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_s()
{
	rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Adds kernels of four names and eight shapes. */
static void add_node(cudaStream_t stream, int i)
{
	int blocks = 1 + i / 4 % 2;

	switch (i % 4) {
	case 0:
		node<0><<<blocks, 32, 0, stream>>>(nullptr, i);
		break;
	case 1:
		node<1><<<blocks, 64, 0, stream>>>(nullptr, i);
		break;
	case 2:
		node<2><<<blocks, 96, 0, stream>>>(nullptr, i);
		break;
	default:
		node<3><<<blocks, 128, 0, stream>>>(nullptr, i);
		break;
	}
}

static cudaGraphExec_t make_graph(cudaStream_t stream, int nodes)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	GPU_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < nodes; i++)
		add_node(stream, i);
	GPU_CHECK(cudaStreamEndCapture(stream, &graph));
	GPU_CHECK(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

int main(int argc, char **argv)
{
	long launches = argc > 1 ? strtol(argv[1], nullptr, 10) : 20000;
	int nodes = argc > 2 ? (int)strtol(argv[2], nullptr, 10) : 500;
	cudaGraphExec_t exec;
	cudaStream_t stream;
	double wall, cpu;

	GPU_CHECK(cudaStreamCreate(&stream));
	exec = make_graph(stream, nodes);
	GPU_CHECK(cudaGraphLaunch(exec, stream));
	GPU_CHECK(cudaStreamSynchronize(stream));
	wall = wall_s();
	cpu = cpu_s();
	for (long i = 1; i < launches; i++)
		GPU_CHECK(cudaGraphLaunch(exec, stream));
	GPU_CHECK(cudaStreamSynchronize(stream));
	printf("%ld %.3f %.3f\n", launches * nodes, wall_s() - wall, cpu_s() - cpu);
	return 0;
}
