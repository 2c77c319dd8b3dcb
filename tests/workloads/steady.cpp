/* SPDX-License-Identifier: MIT */
/*
 * steady MS [PERIOD_MS=20] [MODE=kernel]: work of 1 ms every PERIOD_MS, for MS in all.
 *
 * First prints "window" and what the profiler says is recorded (PROFILE_WINDOW), in ns by
 * CLOCK_MONOTONIC, then "work BEFORE AFTER" for each: it began and ended between these times.
 *
 * MODE: kernel | graph (a graph of one kernel, made at the start) | memory (a kernel, and 1 MiB
 * that is allocated at the start and never freed, and 1 KiB for each) | ahead (all kernels at the
 * start: they run without a pause, and only the last AFTER is right) | awake (never sleeps: it
 * computes until the next one, and waits for none; AFTER is not right) | endless (a kernel of an
 * hour at the start, on a stream of its own, which is not waited for; exits with 7) | again (then
 * runs itself once more, as long).
 */
#include "gpu.h"

#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORK_NS = 1000000 };

GPU_KERNEL(steady_work)
GPU_KERNEL(in_graph)
GPU_KERNEL(endless)

static gpu_ns now_ns()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (gpu_ns)t.tv_sec * 1000000000u + (gpu_ns)t.tv_nsec;
}

static cudaStream_t stream;
static cudaGraphExec_t graph;

NOINLINE static void launch_work()
{
	GPU_CHECK(GPU_LAUNCH(stream, WORK_NS, steady_work));
}

NOINLINE static void capture_work()
{
	GPU_CHECK(GPU_LAUNCH(stream, WORK_NS, in_graph));
}

NOINLINE static void make_graph()
{
	cudaGraph_t captured;

	GPU_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	capture_work();
	GPU_CHECK(cudaStreamEndCapture(stream, &captured));
	GPU_CHECK(cudaGraphInstantiate(&graph, captured, 0));
	GPU_CHECK(cudaGraphDestroy(captured));
}

NOINLINE static void launch_endless()
{
	cudaStream_t own;

	GPU_CHECK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
	GPU_CHECK(GPU_LAUNCH(own, 3600000000000, endless));
}

static void stay_awake(gpu_ns until)
{
	while (now_ns() < until)
		;
}

NOINLINE static void allocate(size_t bytes, bool keeps)
{
	void *memory;

	GPU_CHECK(cudaMalloc(&memory, bytes));
	if (!keeps)
		GPU_CHECK(cudaFree(memory));
}

int main(int argc, char **argv)
{
	gpu_ns until = now_ns(), before;
	pid_t child = 0;
	long ms = argc > 1 ? atol(argv[1]) : 0, period = argc > 2 ? atol(argv[2]) : 20;
	const char *mode = argc > 3 ? argv[3] : "kernel", *time_range = getenv("PROFILE_WINDOW");
	bool is_awake = strcmp(mode, "awake") == 0;

	if (ms <= 0 || period <= 0) {
		fprintf(stderr, "usage: %s MS [PERIOD_MS] [MODE]\n", argv[0]);
		return 1;
	}
	until += (gpu_ns)ms * 1000000u;
	printf("window %s\n", time_range ? time_range : "0 0");
	GPU_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	if (strcmp(mode, "graph") == 0)
		make_graph();
	if (strcmp(mode, "memory") == 0)
		allocate(1 << 20, true);
	if (strcmp(mode, "endless") == 0)
		launch_endless();
	for (long i = 0; strcmp(mode, "ahead") == 0 && i < ms; i++)
		launch_work();
	while (strcmp(mode, "ahead") != 0 && now_ns() < until) {
		before = now_ns();
		if (graph)
			GPU_CHECK(cudaGraphLaunch(graph, stream));
		else
			launch_work();
		if (strcmp(mode, "memory") == 0)
			allocate(1 << 10, false);
		if (!is_awake)
			GPU_CHECK(cudaStreamSynchronize(stream));
		printf("work %llu %llu\n", before, now_ns());
		if (is_awake)
			stay_awake(before + (gpu_ns)period * 1000000u);
		else
			usleep((useconds_t)period * 1000);
	}
	GPU_CHECK(cudaStreamSynchronize(stream));
	fflush(stdout);
	if (strcmp(mode, "again") == 0 && (child = fork()) == 0) {
		execl("/proc/self/exe", argv[0], argv[1], argv[2], "kernel", (char *)NULL);
		_exit(2);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
	if (strcmp(mode, "endless") == 0)
		_exit(7); /* nothing waits for the GPU */
	return 0;
}
