/* SPDX-License-Identifier: MIT */
/*
 * launches N [THREADS=1] [STREAMS=1] [MODE=kernel]: exactly N launches of a tiny kernel, shared
 * out over threads (the first ones launch one more if N does not divide), each thread going round
 * its own streams. Prints what it did.
 *
 * MODE: kernel | ex (cudaLaunchKernelExC) | cooperative | graph (N launches of a graph that holds
 * GRAPH_NODES kernels) | mixed (all in turn) | refused (kernel, and after each a launch that fails)
 * | cancelled (kernel; all threads but main are cancelled in their last launch, if it lets them)
 * | endless (kernels of an hour; says "ready" when they have long been launched) | beside (kernel,
 * when another thread has launched a kernel of an hour).
 */
#include "gpu.h"

#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>
#include <string>
#include <vector>

enum { TINY_NS = 1000, GRAPH_NODES = 3 };

GPU_KERNEL(tiny)
GPU_KERNEL(tiny_in_graph)

enum mode {
	MODE_KERNEL,
	MODE_EX,
	MODE_COOPERATIVE,
	MODE_GRAPH,
	MODE_MIXED,
	MODE_REFUSED,
	MODE_CANCELLED,
	MODE_ENDLESS,
	MODE_BESIDE,
	MODES
};
static const char *const mode_names[] = {"kernel",  "ex",        "cooperative", "graph", "mixed",
					 "refused", "cancelled", "endless",     "beside"};

struct work {
	pthread_t thread;
	long launches;
	int streams;
	enum mode mode;
	long kernels;    /* out */
	sem_t cancelled; /* a cancellation waits for the thread */
};

NOINLINE static void launch_kernel(cudaStream_t stream)
{
	GPU_CHECK(GPU_LAUNCH(stream, TINY_NS, tiny));
}

NOINLINE static void launch_refused(cudaStream_t stream)
{
	gpu_ns ns = TINY_NS;
	void *args[] = {&ns};

	/* an empty grid */
	if (cudaLaunchKernel((const void *)tiny, dim3(0), dim3(1), args, 0, stream) == cudaSuccess)
		exit(3);
}

NOINLINE static void launch_endless(cudaStream_t stream)
{
	GPU_CHECK(GPU_LAUNCH(stream, 3600000000000, tiny));
}

NOINLINE static void launch_ex(cudaStream_t stream)
{
	gpu_ns ns = TINY_NS;
	void *args[] = {&ns};
	cudaLaunchConfig_t config = {};

	config.gridDim = dim3(1);
	config.blockDim = dim3(1);
	config.stream = stream;
	GPU_CHECK(cudaLaunchKernelExC(&config, (const void *)tiny, args));
}

NOINLINE static void launch_cooperative(cudaStream_t stream)
{
	GPU_CHECK(GPU_LAUNCH_BY(cudaLaunchCooperativeKernel, stream, TINY_NS, tiny));
}

NOINLINE static void launch_graph(cudaGraphExec_t graph, cudaStream_t stream)
{
	GPU_CHECK(cudaGraphLaunch(graph, stream));
}

NOINLINE static cudaGraphExec_t make_graph(cudaStream_t stream)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	GPU_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < GRAPH_NODES; i++)
		GPU_CHECK(GPU_LAUNCH(stream, TINY_NS, tiny_in_graph));
	GPU_CHECK(cudaStreamEndCapture(stream, &graph));
	GPU_CHECK(cudaGraphInstantiate(&exec, graph, 0));
	GPU_CHECK(cudaGraphDestroy(graph));
	return exec;
}

NOINLINE static void launch_all(struct work *w, const std::vector<cudaStream_t> &streams)
{
	cudaGraphExec_t graph = nullptr;

	if (w->mode == MODE_GRAPH || w->mode == MODE_MIXED)
		graph = make_graph(streams[0]);
	for (long i = 0; i < w->launches; i++) {
		cudaStream_t stream = streams[(size_t)i % streams.size()];
		int mode = w->mode == MODE_MIXED ? (int)(i % MODE_MIXED) : w->mode;

		if (mode == MODE_KERNEL || mode == MODE_CANCELLED || mode == MODE_BESIDE)
			launch_kernel(stream);
		else if (mode == MODE_EX)
			launch_ex(stream);
		else if (mode == MODE_COOPERATIVE)
			launch_cooperative(stream);
		else if (mode == MODE_REFUSED) {
			launch_kernel(stream);
			launch_refused(stream);
		} else if (mode == MODE_ENDLESS)
			launch_endless(stream);
		else
			launch_graph(graph, stream);
		w->kernels += mode == MODE_GRAPH ? GRAPH_NODES : 1;
	}
	if (w->mode == MODE_ENDLESS) {
		sleep(1);
		puts("ready");
		fflush(stdout);
	}
	for (auto stream : streams) /* the device's is refused while another thread captures */
		GPU_CHECK(cudaStreamSynchronize(stream));
	if (graph)
		GPU_CHECK(cudaGraphExecDestroy(graph));
}

static void *thread_main(void *arg)
{
	struct work *w = (struct work *)arg;
	std::vector<cudaStream_t> streams((size_t)w->streams);

	for (auto &s : streams)
		GPU_CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	launch_all(w, streams);
	for (auto &s : streams)
		GPU_CHECK(cudaStreamDestroy(s));
	return nullptr;
}

static void *cancelled_main(void *arg)
{
	struct work *w = (struct work *)arg;
	cudaStream_t stream;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
	GPU_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (; w->kernels < w->launches - 1; w->kernels++)
		launch_kernel(stream);
	sem_wait(&w->cancelled);
	w->kernels++;
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
	launch_kernel(stream);
	pthread_testcancel();
	return nullptr;
}

/* Its launch may not return. */
static void *endless_main(void *arg)
{
	cudaStream_t stream;

	(void)arg;
	GPU_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	launch_endless(stream);
	return nullptr;
}

static void launch_beside()
{
	pthread_t thread;

	if (pthread_create(&thread, nullptr, endless_main, nullptr))
		exit(2);
	sleep(1);
}

/* Waits for the threads after the first; of those that were cancelled, for their kernels too. */
static void join_all(std::vector<struct work> &work)
{
	bool cancel = work[0].mode == MODE_CANCELLED;
	void *result;

	for (size_t i = 1; i < work.size(); i++) {
		if (cancel) {
			pthread_cancel(work[i].thread);
			sem_post(&work[i].cancelled);
		}
		pthread_join(work[i].thread, &result);
		if (result != (cancel ? PTHREAD_CANCELED : nullptr))
			exit(3);
	}
	if (cancel)
		GPU_CHECK(cudaDeviceSynchronize());
}

static int parse_mode(const char *name)
{
	for (int i = 0; i < MODES; i++)
		if (strcmp(name, mode_names[i]) == 0)
			return i;
	return -1;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : -1, kernels = 0;
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	int streams = argc > 3 ? atoi(argv[3]) : 1;
	int mode = argc > 4 ? parse_mode(argv[4]) : MODE_KERNEL;

	if (n < 0 || threads < 1 || streams < 1 || mode < 0) {
		fprintf(stderr, "usage: %s N [THREADS] [STREAMS] [MODE]\n", argv[0]);
		return 1;
	}
	std::vector<struct work> work((size_t)threads);
	for (int i = 0; i < threads; i++) {
		work[(size_t)i].launches = n / threads + (i < n % threads);
		work[(size_t)i].streams = streams;
		work[(size_t)i].mode = (enum mode)mode;
		sem_init(&work[(size_t)i].cancelled, 0, 0);
	}
	for (int i = 1; i < threads; i++)
		if (pthread_create(&work[(size_t)i].thread, nullptr,
				   mode == MODE_CANCELLED ? cancelled_main : thread_main,
				   &work[(size_t)i]))
			return 2;
	if (mode == MODE_BESIDE)
		launch_beside();
	thread_main(&work[0]);
	join_all(work);
	for (const auto &w : work)
		kernels += w.kernels;
	printf("launches %ld kernels %ld threads %d streams %d mode %s\n", n, kernels, threads,
	       streams, mode_names[mode]);
	return 0;
}
