/* SPDX-License-Identifier: MIT */
/*
 * gpu_work [THREADS=4] [STREAMS=4] [ROUNDS=10] [GRAPH_NODES=200] [GRAPH_LAUNCHES=50] [fork]: all
 * kinds of GPU work at once, in exactly known numbers.
 *
 * Each thread, in each round, on each of its own streams: a kernel, copies between host and device
 * from pinned and from pageable memory, one within the device, one of a rectangle, a set
 * (use_runtime), and a kernel, two copies and a set by the driver API (use_driver). Threads share
 * out the devices. Meanwhile main replays a graph: GRAPH_NODES kernels, a copy and a set, captured
 * half in capture_left and half in capture_right. With two devices or more, main ends with ROUNDS
 * copies from the first to the second, which go through host memory and are two for CUPTI
 * (copy_staged), and, if they can have access to each other's memory, ROUNDS with it (copy_peer).
 *
 * fork: a child does the same, through fork and exec of this program.
 *
 * Prints what has been done, by all processes: kernels, memcpys and memsets with those of the
 * graph's nodes, graph_nodes all nodes that ran, then allocations and releases.
 */
#include "gpu.h"
#include "ptx.h"

#define DRIVER_FUNCTIONS(X)     \
	X(cuModuleLoadData)     \
	X(cuModuleGetFunction)  \
	X(cuLaunchKernel)       \
	X(cuMemcpyHtoDAsync_v2) \
	X(cuMemcpyDtoHAsync_v2) \
	X(cuMemsetD8Async)
#include "driver.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

enum { BYTES = 65536, ROWS = 64, WIDTH = 256, PITCH = 512 };
enum { KERNEL_NS = 5000, NODE_NS = 1000 };

GPU_KERNEL(work_kernel)
GPU_KERNEL(node_kernel)

struct counts {
	long kernels, memcpys, memsets, graph_nodes, allocations, releases;
};

struct worker {
	pthread_t thread;
	int device, streams, rounds;
	struct counts done; /* out */
};

/* Device and host memory of one stream. */
struct buffers {
	char *device, *other, *pinned, *pageable;
};

static char *allocate_device(struct counts *done)
{
	void *memory;

	GPU_CHECK(cudaMalloc(&memory, BYTES));
	done->allocations++;
	return (char *)memory;
}

static char *allocate_pinned(struct counts *done)
{
	void *memory;

	GPU_CHECK(cudaMallocHost(&memory, BYTES));
	done->allocations++;
	return (char *)memory;
}

static struct buffers allocate_buffers(struct counts *done)
{
	struct buffers b;

	b.device = allocate_device(done);
	b.other = allocate_device(done);
	b.pinned = allocate_pinned(done);
	b.pageable = (char *)calloc(1, BYTES);
	memset(b.pinned, 'p', BYTES);
	return b;
}

static void release_buffers(const struct buffers &b, struct counts *done)
{
	GPU_CHECK(cudaFree(b.device));
	GPU_CHECK(cudaFree(b.other));
	GPU_CHECK(cudaFreeHost(b.pinned));
	free(b.pageable);
	done->releases += 3;
}

NOINLINE static void copy_pinned(const struct buffers &b, cudaStream_t stream)
{
	GPU_CHECK(cudaMemcpyAsync(b.device, b.pinned, BYTES, cudaMemcpyHostToDevice, stream));
	GPU_CHECK(cudaMemcpyAsync(b.other, b.device, BYTES, cudaMemcpyDeviceToDevice, stream));
	GPU_CHECK(cudaMemcpyAsync(b.pinned, b.other, BYTES, cudaMemcpyDeviceToHost, stream));
}

NOINLINE static void copy_pageable(const struct buffers &b, cudaStream_t stream)
{
	GPU_CHECK(cudaMemcpyAsync(b.pageable, b.other, BYTES, cudaMemcpyDeviceToHost, stream));
	GPU_CHECK(cudaMemcpyAsync(b.device, b.pageable, BYTES, cudaMemcpyHostToDevice, stream));
}

NOINLINE static void copy_rectangle(const struct buffers &b, cudaStream_t stream)
{
	GPU_CHECK(cudaMemcpy2DAsync(b.other, PITCH, b.device, PITCH, WIDTH, ROWS,
				    cudaMemcpyDeviceToDevice, stream));
}

NOINLINE static void use_runtime(const struct buffers &b, cudaStream_t stream, struct counts *done)
{
	GPU_CHECK(GPU_LAUNCH(stream, KERNEL_NS, work_kernel));
	copy_pinned(b, stream);
	copy_pageable(b, stream);
	copy_rectangle(b, stream);
	GPU_CHECK(cudaMemsetAsync(b.device, 0, BYTES, stream));
	done->kernels++;
	done->memcpys += 6;
	done->memsets++;
}

/* A stream of the runtime's is one of the driver's. */
NOINLINE static void use_driver(const struct buffers &b, CUfunction f, cudaStream_t runtime_stream,
				struct counts *done)
{
	CUstream stream = reinterpret_cast<CUstream>(runtime_stream);
	CUdeviceptr device = (uintptr_t)b.other;
	uint64_t ns = KERNEL_NS;
	void *params[] = {&ns};

	DRIVER_CHECK(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr));
	DRIVER_CHECK(cu.cuMemcpyHtoDAsync_v2(device, b.pinned, BYTES / 2, stream));
	DRIVER_CHECK(cu.cuMemcpyDtoHAsync_v2(b.pageable, device, BYTES / 2, stream));
	DRIVER_CHECK(cu.cuMemsetD8Async(device, 1, BYTES, stream));
	done->kernels++;
	done->memcpys += 2;
	done->memsets++;
}

/* Bytes have gone from pinned memory over the device to pageable memory. */
static void check_bytes(const struct buffers &b)
{
	for (int i = 0; i < BYTES / 2; i++) {
		if (b.pageable[i] != 'p') {
			fprintf(stderr, "byte %d is %d\n", i, b.pageable[i]);
			exit(2);
		}
	}
}

NOINLINE static void work_rounds(struct worker *w, const std::vector<cudaStream_t> &streams,
				 const std::vector<struct buffers> &buffers, CUfunction f)
{
	for (int round = 0; round < w->rounds; round++) {
		for (size_t i = 0; i < streams.size(); i++) {
			use_runtime(buffers[i], streams[i], &w->done);
			use_driver(buffers[i], f, streams[i], &w->done);
		}
	}
	for (auto stream : streams) /* the device's is refused while main captures */
		GPU_CHECK(cudaStreamSynchronize(stream));
}

static void *thread_main(void *arg)
{
	struct worker *w = (struct worker *)arg;
	std::vector<struct buffers> buffers;
	std::vector<cudaStream_t> streams((size_t)w->streams);
	CUmodule module;
	CUfunction f;

	GPU_CHECK(cudaSetDevice(w->device));
	for (auto &s : streams) {
		GPU_CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
		buffers.push_back(allocate_buffers(&w->done));
	}
	DRIVER_CHECK(cu.cuModuleLoadData(&module, PTX_MODULE));
	DRIVER_CHECK(cu.cuModuleGetFunction(&f, module, "driver_spin"));
	work_rounds(w, streams, buffers, f);
	for (size_t i = 0; i < streams.size(); i++) {
		if (w->rounds)
			check_bytes(buffers[i]);
		release_buffers(buffers[i], &w->done);
		GPU_CHECK(cudaStreamDestroy(streams[i]));
	}
	return nullptr;
}

NOINLINE static void capture_left(cudaStream_t stream, const struct buffers &b, int kernels)
{
	for (int i = 0; i < kernels; i++)
		GPU_CHECK(GPU_LAUNCH(stream, NODE_NS, node_kernel));
	GPU_CHECK(cudaMemcpyAsync(b.device, b.pinned, BYTES, cudaMemcpyHostToDevice, stream));
}

NOINLINE static void capture_right(cudaStream_t stream, const struct buffers &b, int kernels)
{
	GPU_CHECK(cudaMemsetAsync(b.other, 0, BYTES, stream));
	for (int i = 0; i < kernels; i++)
		GPU_CHECK(GPU_LAUNCH(stream, NODE_NS, node_kernel));
}

NOINLINE static cudaGraphExec_t make_graph(cudaStream_t stream, const struct buffers &b, int nodes)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	/* Others allocate meanwhile, which a global capture forbids. */
	GPU_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	capture_left(stream, b, nodes / 2);
	capture_right(stream, b, nodes - nodes / 2);
	GPU_CHECK(cudaStreamEndCapture(stream, &graph));
	GPU_CHECK(cudaGraphInstantiate(&exec, graph, 0));
	GPU_CHECK(cudaGraphDestroy(graph));
	return exec;
}

NOINLINE static void replay(cudaGraphExec_t exec, cudaStream_t stream, int launches)
{
	for (int i = 0; i < launches; i++)
		GPU_CHECK(cudaGraphLaunch(exec, stream));
	GPU_CHECK(cudaStreamSynchronize(stream));
}

static void use_graph(int nodes, int launches, struct counts *done)
{
	struct buffers b = allocate_buffers(done);
	cudaGraphExec_t exec;
	cudaStream_t stream;

	GPU_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	exec = make_graph(stream, b, nodes);
	replay(exec, stream, launches);
	GPU_CHECK(cudaGraphExecDestroy(exec));
	GPU_CHECK(cudaStreamDestroy(stream));
	release_buffers(b, done);
	done->kernels += (long)nodes * launches;
	done->memcpys += launches;
	done->memsets += launches;
	done->graph_nodes += (long)(nodes + 2) * launches;
}

NOINLINE static void copy_staged(char *to, const char *from, int rounds, struct counts *done)
{
	for (int i = 0; i < rounds; i++)
		GPU_CHECK(cudaMemcpyPeerAsync(to, 1, from, 0, BYTES, nullptr));
	done->memcpys += 2 * rounds;
}

NOINLINE static void copy_peer(char *to, const char *from, int rounds, struct counts *done)
{
	for (int i = 0; i < rounds; i++)
		GPU_CHECK(cudaMemcpyPeerAsync(to, 1, from, 0, BYTES, nullptr));
	done->memcpys += rounds;
}

static void use_peers(int rounds, struct counts *done)
{
	char *to, *from = allocate_device(done);
	int can;

	GPU_CHECK(cudaDeviceCanAccessPeer(&can, 0, 1));
	GPU_CHECK(cudaSetDevice(1));
	to = allocate_device(done);
	copy_staged(to, from, rounds, done);
	GPU_CHECK(cudaDeviceSynchronize());
	GPU_CHECK(cudaSetDevice(0));
	if (can) {
		GPU_CHECK(cudaDeviceEnablePeerAccess(1, 0));
		copy_peer(to, from, rounds, done);
		GPU_CHECK(cudaDeviceSynchronize());
	}
	GPU_CHECK(cudaFree(from));
	GPU_CHECK(cudaSetDevice(1));
	GPU_CHECK(cudaFree(to));
	done->releases += 2;
}

static pid_t start_child(char **argv, int last)
{
	static char child[] = "child";
	pid_t pid;

	argv[last] = child;
	pid = fork();
	if (pid == 0) {
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	return pid;
}

static void wait_for_child(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("child");
		exit(2);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "child: wait status %d\n", status);
		exit(2);
	}
}

static void add(struct counts *sum, const struct counts &c)
{
	sum->kernels += c.kernels;
	sum->memcpys += c.memcpys;
	sum->memsets += c.memsets;
	sum->graph_nodes += c.graph_nodes;
	sum->allocations += c.allocations;
	sum->releases += c.releases;
}

static struct counts work(const int *numbers, int devices)
{
	std::vector<struct worker> workers((size_t)numbers[0]);
	struct counts done = {};

	for (size_t i = 0; i < workers.size(); i++) {
		workers[i] = {};
		workers[i].device = (int)(i % (size_t)devices);
		workers[i].streams = numbers[1];
		workers[i].rounds = numbers[2];
		if (pthread_create(&workers[i].thread, nullptr, thread_main, &workers[i]))
			exit(2);
	}
	use_graph(numbers[3], numbers[4], &done);
	for (const auto &w : workers) {
		pthread_join(w.thread, nullptr);
		add(&done, w.done);
	}
	if (devices > 1)
		use_peers(numbers[2], &done);
	return done;
}

int main(int argc, char **argv)
{
	const char *last = argc > 1 ? argv[argc - 1] : "";
	bool forks = strcmp(last, "fork") == 0, is_child = strcmp(last, "child") == 0;
	int numbers[5] = {4, 4, 10, 200, 50}, devices;
	int given = argc - 1 - (forks || is_child);
	struct counts done;
	pid_t child = 0;

	for (int i = 0; i < 5 && i < given; i++)
		numbers[i] = atoi(argv[i + 1]);
	if (given > 5 || numbers[0] < 0 || numbers[1] < 1 || numbers[2] < 0 || numbers[3] < 0 ||
	    numbers[4] < 0) {
		fprintf(stderr,
			"usage: %s [THREADS] [STREAMS] [ROUNDS] [GRAPH_NODES] [GRAPH_LAUNCHES] "
			"[fork]\n",
			argv[0]);
		return 1;
	}
	GPU_CHECK(cudaGetDeviceCount(&devices));
	GPU_CHECK(cudaSetDevice(0));
	load_driver();
	if (forks)
		child = start_child(argv, argc - 1);
	done = work(numbers, devices);
	if (forks) {
		wait_for_child(child);
		add(&done, done);
	}
	if (!is_child)
		printf("kernels %ld memcpys %ld memsets %ld graph_nodes %ld allocations %ld "
		       "releases %ld\n",
		       done.kernels, done.memcpys, done.memsets, done.graph_nodes, done.allocations,
		       done.releases);
	return 0;
}
