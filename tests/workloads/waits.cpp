/* SPDX-License-Identifier: MIT */
/*
 * waits [ROUNDS=5] [THREADS=2] [KERNEL_US=20000]: threads that wait for kernels of known duration,
 * in each way there is.
 *
 * In each round main launches a kernel and waits for it: for its stream (wait_stream), the device
 * (wait_device), an event (wait_event), and by a copy on the default stream, which comes after it
 * (wait_copy). Then THREADS threads do that each for a stream of its own (wait_thread).
 *
 * Prints "WAY KNOWN_NS WALL_NS" a line: for so long the kernels ran while they were waited for, and
 * so long the calls took.
 */
#include "gpu.h"

#include <pthread.h>
#include <time.h>

enum { MOST_THREADS = 64 };

GPU_KERNEL(stream_kernel)
GPU_KERNEL(device_kernel)
GPU_KERNEL(event_kernel)
GPU_KERNEL(copy_kernel)
GPU_KERNEL(thread_kernel)

static long long kernel_ns = 20000000;

struct sums {
	long long known, wall;
};

static long long now()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Launches, then waits as `call` does; both in the function that contains this. */
#define LAUNCH_AND_WAIT(sums, stream, kernel, before_wait, call)                         \
	do {                                                                             \
		long long launched = now(), waits, known;                                \
		GPU_CHECK(GPU_LAUNCH(stream, kernel_ns, kernel));                        \
		before_wait;                                                             \
		waits = now();                                                           \
		GPU_CHECK(call);                                                         \
		(sums).wall += now() - waits;                                            \
		known = launched + kernel_ns - waits; /* it began no sooner than that */ \
		(sums).known += known > 0 ? known : 0;                                   \
	} while (0)

NOINLINE static void wait_stream(cudaStream_t stream, struct sums &sums)
{
	LAUNCH_AND_WAIT(sums, stream, stream_kernel, (void)0, cudaStreamSynchronize(stream));
}

NOINLINE static void wait_device(cudaStream_t stream, struct sums &sums)
{
	LAUNCH_AND_WAIT(sums, stream, device_kernel, (void)0, cudaDeviceSynchronize());
}

NOINLINE static void wait_event(cudaStream_t stream, cudaEvent_t event, struct sums &sums)
{
	LAUNCH_AND_WAIT(sums, stream, event_kernel, GPU_CHECK(cudaEventRecord(event, stream)),
			cudaEventSynchronize(event));
}

NOINLINE static void wait_copy(void *device, struct sums &sums)
{
	char bytes[64];

	LAUNCH_AND_WAIT(sums, nullptr, copy_kernel, (void)0,
			cudaMemcpy(bytes, device, sizeof(bytes), cudaMemcpyDeviceToHost));
}

NOINLINE static void wait_thread(cudaStream_t stream, struct sums &sums)
{
	LAUNCH_AND_WAIT(sums, stream, thread_kernel, (void)0, cudaStreamSynchronize(stream));
}

static int rounds = 5;

static void *thread_main(void *arg)
{
	struct sums *sums = (struct sums *)arg;
	cudaStream_t stream;

	GPU_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (int i = 0; i < rounds; i++)
		wait_thread(stream, *sums);
	GPU_CHECK(cudaStreamDestroy(stream));
	return nullptr;
}

static void run_threads(int count)
{
	pthread_t threads[MOST_THREADS];
	struct sums sums[MOST_THREADS] = {}, all = {};

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], nullptr, thread_main, &sums[i]);
	for (int i = 0; i < count; i++) {
		pthread_join(threads[i], nullptr);
		all.known += sums[i].known;
		all.wall += sums[i].wall;
	}
	printf("thread %lld %lld\n", all.known, all.wall);
}

static void run_main()
{
	struct sums stream_sums = {}, device_sums = {}, event_sums = {}, copy_sums = {};
	cudaStream_t stream;
	cudaEvent_t event;
	void *device;

	GPU_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	GPU_CHECK(cudaEventCreate(&event));
	GPU_CHECK(cudaMalloc(&device, 64));
	for (int i = 0; i < rounds; i++) {
		wait_stream(stream, stream_sums);
		wait_device(stream, device_sums);
		wait_event(stream, event, event_sums);
		wait_copy(device, copy_sums);
	}
	printf("stream %lld %lld\n", stream_sums.known, stream_sums.wall);
	printf("device %lld %lld\n", device_sums.known, device_sums.wall);
	printf("event %lld %lld\n", event_sums.known, event_sums.wall);
	printf("copy %lld %lld\n", copy_sums.known, copy_sums.wall);
	GPU_CHECK(cudaFree(device));
	GPU_CHECK(cudaEventDestroy(event));
	GPU_CHECK(cudaStreamDestroy(stream));
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 2;

	if (argc > 1)
		rounds = atoi(argv[1]);
	if (argc > 3)
		kernel_ns = 1000LL * atoi(argv[3]);
	if (rounds <= 0 || kernel_ns <= 0 || threads < 0 || threads > MOST_THREADS) {
		fprintf(stderr, "usage: %s [ROUNDS] [THREADS] [KERNEL_US]\n", argv[0]);
		return 1;
	}
	run_main();
	run_threads(threads);
	return 0;
}
