/* SPDX-License-Identifier: MIT */
/*
 * foreign_steps MODE [OPTIONS]: programs that are not like dosed_steps, each with an answer that is
 * known. Prints the truth (truth.h).
 *
 * MODE:
 *	server		requests from a socket, always one waiting; a tokenizer computes before each
 *	quiet_server	requests that come at random times, far apart
 *	decode		a CUDA graph for each token, which is then picked on the CPU
 *	replay		a CUDA graph, again and again
 *	two_threads	each launches on a stream of its own and waits for it: the GPU is busy
 *	queue		a slow producer thread; the trainer takes batches from its queue
 *	pool		threads of a pool prepare each batch, behind a barrier
 *	double_buffer	the next batch is copied beside the kernels, ordered by events
 *	offload		results are copied to pageable memory
 *	pageable_async	batches are copied asynchronously from pageable memory
 *	event_timing	waits for an event after each layer, to time it
 *	scalars		reads one number after each kernel
 *	eager		a slow interpreter between launches of short kernels
 *	ddp		gradients are reduced on a stream beside; the last ones in the way
 *	checkpoints	writes a file after each tenth step
 *	half_and_half	loses as much to copies as to loading
 *	epochs		steps of varying length, an evaluation after each epoch; the GPU is busy
 *	no_steps	work of random kinds at random times
 *	queued		with FAKE_CUDA_LATENCY_NS=3000000: work begins long after its launch
 *
 * OPTIONS: --steps N (100) | --nvtx | --write FILE, as dosed_steps has them
 */
#include "gpu.h"
#include "burn.h"
#include "truth.h"

#include <condition_variable>
#include <deque>
#include <pthread.h>
#include <random>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

GPU_KERNEL(rms_norm)
GPU_KERNEL(flash_attention)
GPU_KERNEL(swiglu)
GPU_KERNEL(conv2d)
GPU_KERNEL(conv2d_grad)
GPU_KERNEL(sgd)
GPU_KERNEL(elementwise_add)
GPU_KERNEL(reduce_mean)
GPU_KERNEL(render_tile)
GPU_KERNEL(ncclDevKernel_AllReduce_Sum_bf16_RING_LL)

enum : uint64_t { US = 1000, MS = 1000000 };

static unsigned steps = 100;
static bool with_ranges;
static cudaStream_t stream;

static void rest(uint64_t ns)
{
	struct timespec ts = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	nanosleep(&ts, nullptr);
}

static size_t bytes_of(uint64_t ns)
{
	const char *rate = getenv("FAKE_CUDA_COPY_BYTES_PER_US");

	return ns / 1000 * (rate ? strtoul(rate, nullptr, 10) : 10000);
}

/* Limits how far a stream's work may be ahead of the program, in calls of wait. */
class Throttle
{
      public:
	explicit Throttle(cudaStream_t of) : throttled(of)
	{
		for (cudaEvent_t &event : events)
			GPU_CHECK(cudaEventCreate(&event));
	}

	~Throttle()
	{
		for (cudaEvent_t event : events)
			GPU_CHECK(cudaEventDestroy(event));
	}

	NOINLINE void wait()
	{
		cudaEvent_t event = events[next++ % 2];

		truth::phase(truth::SYNCHRONIZING);
		GPU_CHECK(cudaEventSynchronize(event));
		GPU_CHECK(cudaEventRecord(event, throttled));
		truth::phase(truth::LAUNCHING);
	}

      private:
	cudaStream_t throttled;
	cudaEvent_t events[2];
	unsigned next = 0;
};

/* ---- a server ---- */

namespace serving
{

struct Request {
	uint64_t id, length;
};

class Tokenizer
{
      public:
	NOINLINE void encode(const Request &request)
	{
		truth::phase(truth::HOST_CODE);
		burn(request.length * 4 * US);
	}
};

class Engine
{
      public:
	NOINLINE void prefill(const Request &request)
	{
		truth::phase(truth::LAUNCHING);
		for (int layer = 0; layer < 8; layer++) {
			GPU_CHECK(GPU_LAUNCH(stream, 10 * US, rms_norm));
			GPU_CHECK(GPU_LAUNCH(stream, request.length * 300, flash_attention));
			GPU_CHECK(GPU_LAUNCH(stream, request.length * 200, swiglu));
		}
	}

	NOINLINE void finish()
	{
		truth::phase(truth::SYNCHRONIZING);
		GPU_CHECK(cudaStreamSynchronize(stream));
	}
};

class Server
{
      public:
	explicit Server(uint64_t pause) : pause_ns(pause)
	{
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
			exit(3);
	}

	void serve()
	{
		std::thread client([this] { send_requests(); });

		for (unsigned i = 0; i < steps; i++) {
			Request request = accept_request();

			truth::step();
			handle(request);
		}
		client.join();
	}

      private:
	void send_requests()
	{
		std::mt19937 random(1);
		std::exponential_distribution<double> part(1.0);

		for (unsigned i = 0; i < steps; i++) {
			Request request = {i, 900 + random() % 200};

			if (pause_ns)
				rest((uint64_t)((double)pause_ns * part(random)));
			if (write(ends[1], &request, sizeof(request)) != sizeof(request))
				exit(3);
		}
	}

	NOINLINE Request accept_request()
	{
		Request request;

		truth::phase(truth::HOST_CODE);
		if (read(ends[0], &request, sizeof(request)) != sizeof(request))
			exit(3);
		return request;
	}

	NOINLINE void handle(const Request &request)
	{
		if (!pause_ns)
			tokenizer.encode(request);
		engine.prefill(request);
		engine.finish();
	}

	uint64_t pause_ns;
	int ends[2];
	Tokenizer tokenizer;
	Engine engine;
};

static void run_server()
{
	Server(0).serve();
}

static void run_quiet_server()
{
	Server(14 * MS).serve();
}

} // namespace serving

/* ---- graphs ---- */

namespace graphs
{

NOINLINE static cudaGraphExec_t record_model()
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	GPU_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int layer = 0; layer < 8; layer++) {
		GPU_CHECK(GPU_LAUNCH(stream, 100 * US, rms_norm));
		GPU_CHECK(GPU_LAUNCH(stream, 250 * US, flash_attention));
		GPU_CHECK(GPU_LAUNCH(stream, 150 * US, swiglu));
	}
	GPU_CHECK(cudaStreamEndCapture(stream, &graph));
	GPU_CHECK(cudaGraphInstantiate(&exec, graph, 0));
	GPU_CHECK(cudaGraphDestroy(graph));
	return exec;
}

NOINLINE static void pick_token()
{
	truth::phase(truth::HOST_CODE);
	burn(2 * MS);
}

static void run_decode()
{
	cudaGraphExec_t exec = record_model();

	for (unsigned i = 0; i < steps; i++) {
		truth::step();
		truth::phase(truth::LAUNCHING);
		GPU_CHECK(cudaGraphLaunch(exec, stream));
		truth::phase(truth::SYNCHRONIZING);
		GPU_CHECK(cudaStreamSynchronize(stream));
		pick_token();
	}
	GPU_CHECK(cudaGraphExecDestroy(exec));
}

static void run_replay()
{
	cudaGraphExec_t exec = record_model();
	Throttle throttle(stream);

	for (unsigned i = 0; i < steps; i++) {
		truth::step();
		GPU_CHECK(cudaGraphLaunch(exec, stream));
		throttle.wait();
	}
	GPU_CHECK(cudaStreamSynchronize(stream));
	GPU_CHECK(cudaGraphExecDestroy(exec));
}

} // namespace graphs

/* ---- threads ---- */

namespace threads
{

NOINLINE static void work_alone(cudaStream_t own, bool has_steps)
{
	for (unsigned i = 0; i < steps; i++) {
		if (has_steps)
			truth::step();
		truth::phase(truth::LAUNCHING);
		for (int k = 0; k < 4; k++)
			GPU_CHECK(GPU_LAUNCH(own, 2 * MS, conv2d));
		truth::phase(truth::SYNCHRONIZING);
		GPU_CHECK(cudaStreamSynchronize(own));
	}
}

static void run_two_threads()
{
	std::thread threads[2];
	cudaStream_t own[2];

	for (int i = 0; i < 2; i++) {
		GPU_CHECK(cudaStreamCreateWithFlags(&own[i], cudaStreamNonBlocking));
		threads[i] = std::thread(work_alone, own[i], i == 0);
		rest(4 * MS);
	}
	for (std::thread &t : threads)
		t.join();
}

/* Frames that a thread reads, in a queue of a few. */
class FrameSource
{
      public:
	FrameSource() : reader([this] { read_all(); })
	{
	}

	~FrameSource()
	{
		reader.join();
	}

	NOINLINE int next_frame()
	{
		std::unique_lock<std::mutex> guard(lock);
		int frame;

		truth::phase(truth::LOADER);
		changed.wait(guard, [this] { return !frames.empty(); });
		frame = frames.front();
		frames.pop_front();
		changed.notify_all();
		truth::phase(truth::LAUNCHING);
		return frame;
	}

      private:
	NOINLINE void read_all()
	{
		for (unsigned i = 0; i < steps; i++) {
			rest(9 * MS); /* a slow disk */
			std::unique_lock<std::mutex> guard(lock);
			changed.wait(guard, [this] { return frames.size() < 4; });
			frames.push_back((int)i);
			changed.notify_all();
		}
	}

	std::mutex lock;
	std::condition_variable changed;
	std::deque<int> frames;
	std::thread reader;
};

static void run_queue()
{
	FrameSource source;

	for (unsigned i = 0; i < steps; i++) {
		source.next_frame();
		truth::step();
		for (int k = 0; k < 10; k++)
			GPU_CHECK(GPU_LAUNCH(stream, 500 * US, conv2d));
	}
	GPU_CHECK(cudaStreamSynchronize(stream));
}

/* Threads that do parts of a loop, as OpenMP's: the caller has a part, too. */
class Team
{
      public:
	Team()
	{
		pthread_barrier_init(&begin, nullptr, SIZE);
		pthread_barrier_init(&end, nullptr, SIZE);
		for (std::thread &t : members)
			t = std::thread([this] { follow(); });
	}

	~Team()
	{
		done = true;
		pthread_barrier_wait(&begin);
		for (std::thread &t : members)
			t.join();
	}

	NOINLINE void parallel_for()
	{
		pthread_barrier_wait(&begin);
		augment_images(MS);
		pthread_barrier_wait(&end);
	}

      private:
	enum { SIZE = 3 };

	NOINLINE static void augment_images(uint64_t ns)
	{
		burn(ns);
	}

	void follow()
	{
		for (;;) {
			pthread_barrier_wait(&begin);
			if (done)
				return;
			augment_images(3 * MS);
			pthread_barrier_wait(&end);
		}
	}

	pthread_barrier_t begin, end;
	bool done = false;
	std::thread members[SIZE - 1];
};

static void run_pool()
{
	Team team;

	for (unsigned i = 0; i < steps; i++) {
		truth::step();
		truth::phase(truth::LOADER);
		team.parallel_for();
		truth::phase(truth::LAUNCHING);
		for (int k = 0; k < 8; k++)
			GPU_CHECK(GPU_LAUNCH(stream, 500 * US, conv2d));
		truth::phase(truth::SYNCHRONIZING);
		GPU_CHECK(cudaStreamSynchronize(stream));
	}
}

} // namespace threads

/* ---- copies ---- */

namespace copies
{

/* A buffer on the device and one on the host. */
struct Pair {
	Pair(uint64_t ns, bool is_pinned) : size(bytes_of(ns))
	{
		GPU_CHECK(cudaMalloc((void **)&device, size));
		if (is_pinned)
			GPU_CHECK(cudaMallocHost((void **)&host, size));
		else
			host = (char *)calloc(1, size);
	}

	size_t size;
	char *device, *host;
};

static void train(uint64_t ns)
{
	for (int k = 0; k < 10; k++)
		GPU_CHECK(GPU_LAUNCH(stream, ns / 20, conv2d));
	for (int k = 0; k < 5; k++)
		GPU_CHECK(GPU_LAUNCH(stream, ns / 10, conv2d_grad));
}

static void run_double_buffer()
{
	Pair buffers[2] = {{3 * MS, true}, {3 * MS, true}};
	cudaEvent_t copied[2], used[2];
	cudaStream_t copying;
	Throttle throttle(stream);

	GPU_CHECK(cudaStreamCreateWithFlags(&copying, cudaStreamNonBlocking));
	for (int i = 0; i < 2; i++) {
		GPU_CHECK(cudaEventCreate(&copied[i]));
		GPU_CHECK(cudaEventCreate(&used[i]));
	}
	for (unsigned i = 0; i < steps; i++) {
		Pair &b = buffers[i % 2];

		truth::step();
		GPU_CHECK(cudaStreamWaitEvent(copying, used[i % 2], 0));
		GPU_CHECK(
			cudaMemcpyAsync(b.device, b.host, b.size, cudaMemcpyHostToDevice, copying));
		GPU_CHECK(cudaEventRecord(copied[i % 2], copying));
		GPU_CHECK(cudaStreamWaitEvent(stream, copied[i % 2], 0));
		train(8 * MS);
		GPU_CHECK(cudaEventRecord(used[i % 2], stream));
		throttle.wait();
	}
	GPU_CHECK(cudaStreamSynchronize(stream));
}

static void run_offload()
{
	Pair results(4 * MS, false);

	for (unsigned i = 0; i < steps; i++) {
		truth::step();
		truth::phase(truth::LAUNCHING);
		for (int k = 0; k < 16; k++)
			GPU_CHECK(GPU_LAUNCH(stream, 500 * US, render_tile));
		truth::phase(truth::SYNCHRONIZING);
		GPU_CHECK(cudaMemcpy(results.host, results.device, results.size,
				     cudaMemcpyDeviceToHost));
	}
}

static void run_pageable_async()
{
	Pair batch(4 * MS, false);
	Throttle throttle(stream);

	for (unsigned i = 0; i < steps; i++) {
		truth::step();
		GPU_CHECK(cudaMemcpyAsync(batch.device, batch.host, batch.size,
					  cudaMemcpyHostToDevice, stream));
		train(6 * MS);
		throttle.wait();
	}
	GPU_CHECK(cudaStreamSynchronize(stream));
}

NOINLINE static void fetch_shard()
{
	truth::phase(truth::LOADER);
	rest(3 * MS);
	truth::phase(truth::LAUNCHING);
}

static void run_half_and_half()
{
	Pair batch(3 * MS, true);

	for (unsigned i = 0; i < steps; i++) {
		truth::step();
		fetch_shard();
		GPU_CHECK(cudaMemcpyAsync(batch.device, batch.host, batch.size,
					  cudaMemcpyHostToDevice, stream));
		train(6 * MS);
		truth::phase(truth::SYNCHRONIZING);
		GPU_CHECK(cudaStreamSynchronize(stream));
	}
}

} // namespace copies

/* ---- waits and launches ---- */

namespace calls
{

static void run_event_timing()
{
	cudaEvent_t before, after;
	float ms, sum = 0;

	GPU_CHECK(cudaEventCreate(&before));
	GPU_CHECK(cudaEventCreate(&after));
	for (unsigned i = 0; i < steps; i++) {
		truth::step();
		for (int layer = 0; layer < 20; layer++) {
			GPU_CHECK(cudaEventRecord(before, stream));
			GPU_CHECK(GPU_LAUNCH(stream, 100 * US, conv2d));
			GPU_CHECK(GPU_LAUNCH(stream, 20 * US, elementwise_add));
			GPU_CHECK(cudaEventRecord(after, stream));
			truth::phase(truth::SYNCHRONIZING);
			GPU_CHECK(cudaEventSynchronize(after));
			GPU_CHECK(cudaEventElapsedTime(&ms, before, after));
			sum += ms;
		}
	}
	fprintf(stderr, "%.0f ms in layers\n", (double)sum);
}

NOINLINE static float item(const float *device)
{
	float value = 0;

	truth::phase(truth::SYNCHRONIZING);
	GPU_CHECK(cudaMemcpy(&value, device, sizeof(value), cudaMemcpyDeviceToHost));
	return value;
}

static void run_scalars()
{
	float *value, sum = 0;

	GPU_CHECK(cudaMalloc((void **)&value, sizeof(*value)));
	GPU_CHECK(cudaMemset(value, 0, sizeof(*value)));
	for (unsigned i = 0; i < steps; i++) {
		truth::step();
		for (int k = 0; k < 25; k++) {
			GPU_CHECK(GPU_LAUNCH(stream, 90 * US, reduce_mean));
			sum += item(value);
		}
	}
	fprintf(stderr, "sum %.0f\n", (double)sum);
}

/* Takes the time of an interpreter for one call. */
NOINLINE static void dispatch(uint64_t ns)
{
	uint64_t until = truth::now() + ns;

	while (truth::now() < until)
		;
}

static void run_eager()
{
	for (unsigned i = 0; i < steps; i++) {
		truth::step();
		truth::phase(truth::LAUNCHING);
		for (int op = 0; op < 200; op++) {
			dispatch(25 * US);
			GPU_CHECK(GPU_LAUNCH(stream, 12 * US, elementwise_add));
		}
		truth::phase(truth::SYNCHRONIZING);
		GPU_CHECK(cudaStreamSynchronize(stream));
	}
}

static void run_queued()
{
	for (unsigned i = 0; i < steps; i++) {
		truth::step();
		truth::phase(truth::LAUNCHING);
		for (int k = 0; k < 10; k++)
			GPU_CHECK(GPU_LAUNCH(stream, 500 * US, conv2d));
		truth::phase(truth::SYNCHRONIZING);
		GPU_CHECK(cudaStreamSynchronize(stream));
	}
}

} // namespace calls

/* ---- training ---- */

namespace training
{

/* Reduces buckets of gradients on a stream of its own, as DistributedDataParallel does. */
class Reducer
{
      public:
	Reducer()
	{
		GPU_CHECK(cudaStreamCreateWithFlags(&comm, cudaStreamNonBlocking));
		GPU_CHECK(cudaEventCreate(&ready));
		GPU_CHECK(cudaEventCreate(&reduced));
	}

	NOINLINE void mark_ready()
	{
		GPU_CHECK(cudaEventRecord(ready, stream));
		GPU_CHECK(cudaStreamWaitEvent(comm, ready, 0));
		GPU_CHECK(GPU_LAUNCH(comm, 2500 * US, ncclDevKernel_AllReduce_Sum_bf16_RING_LL));
	}

	NOINLINE void finalize()
	{
		GPU_CHECK(cudaEventRecord(reduced, comm));
		GPU_CHECK(cudaStreamWaitEvent(stream, reduced, 0));
	}

      private:
	cudaStream_t comm;
	cudaEvent_t ready, reduced;
};

/* Computes for 6 ms; the last two of three reductions of 2.5 ms are in the way. */
static void run_ddp()
{
	Reducer reducer;
	Throttle throttle(stream);

	for (unsigned i = 0; i < steps; i++) {
		truth::step();
		for (int k = 0; k < 8; k++)
			GPU_CHECK(GPU_LAUNCH(stream, 300 * US, conv2d));
		for (int bucket = 0; bucket < 3; bucket++) {
			for (int k = 0; k < 4; k++)
				GPU_CHECK(GPU_LAUNCH(stream, 250 * US, conv2d_grad));
			reducer.mark_ready();
		}
		reducer.finalize();
		GPU_CHECK(GPU_LAUNCH(stream, 600 * US, sgd));
		throttle.wait();
	}
	GPU_CHECK(cudaStreamSynchronize(stream));
}

NOINLINE static void forward_backward(int layers)
{
	for (int k = 0; k < layers; k++)
		GPU_CHECK(GPU_LAUNCH(stream, 400 * US, conv2d));
	for (int k = 0; k < layers; k++)
		GPU_CHECK(GPU_LAUNCH(stream, 600 * US, conv2d_grad));
	GPU_CHECK(GPU_LAUNCH(stream, 300 * US, sgd));
}

NOINLINE static void save_checkpoint()
{
	truth::phase(truth::SYNCHRONIZING);
	GPU_CHECK(cudaDeviceSynchronize());
	truth::phase(truth::HOST_CODE);
	rest(45 * MS);
	truth::phase(truth::LAUNCHING);
}

static void run_checkpoints()
{
	Throttle throttle(stream);

	for (unsigned i = 0; i < steps; i++) {
		truth::step();
		forward_backward(8);
		if (i % 10 == 9)
			save_checkpoint();
		else
			throttle.wait();
	}
	GPU_CHECK(cudaStreamSynchronize(stream));
}

NOINLINE static void evaluate()
{
	for (int k = 0; k < 40; k++)
		GPU_CHECK(GPU_LAUNCH(stream, 400 * US, conv2d));
	GPU_CHECK(GPU_LAUNCH(stream, 100 * US, reduce_mean));
}

static void run_epochs()
{
	Throttle throttle(stream);
	std::mt19937 random(2);

	for (unsigned i = 0; i < steps; i++) {
		truth::step();
		forward_backward(5 + (int)(random() % 4));
		throttle.wait();
		if (i % 20 == 19)
			evaluate();
	}
	GPU_CHECK(cudaStreamSynchronize(stream));
}

NOINLINE static void handle_event(unsigned kind)
{
	truth::phase(truth::LAUNCHING);
	switch (kind) {
	case 0:
		GPU_CHECK(GPU_LAUNCH(stream, 900 * US, render_tile));
		break;
	case 1:
		forward_backward(2);
		break;
	case 2:
		GPU_CHECK(GPU_LAUNCH(stream, 300 * US, conv2d));
		GPU_CHECK(GPU_LAUNCH(stream, 300 * US, reduce_mean));
		break;
	default:
		for (unsigned k = 0; k < kind; k++)
			GPU_CHECK(GPU_LAUNCH(stream, 100 * US, elementwise_add));
	}
	truth::phase(truth::HOST_CODE);
}

static void run_no_steps()
{
	std::mt19937 random(3);
	std::exponential_distribution<double> pause(1.0);

	truth::step(); /* one, so that there is a first launch */
	for (unsigned i = 0; i < steps; i++) {
		handle_event(random() % 9);
		rest((uint64_t)(5e6 * pause(random)));
	}
	GPU_CHECK(cudaStreamSynchronize(stream));
}

} // namespace training

static const struct mode {
	const char *name;
	void (*run)();
	const char *answers; /* words that are right */
} modes[] = {
	{"server", serving::run_server, "host_code"},
	{"quiet_server", serving::run_quiet_server, "host_code loader"},
	{"decode", graphs::run_decode, "host_code"},
	{"replay", graphs::run_replay, "computing"},
	{"two_threads", threads::run_two_threads, "computing"},
	{"queue", threads::run_queue, "loader host_code"},
	{"pool", threads::run_pool, "loader host_code"},
	{"double_buffer", copies::run_double_buffer, "computing"},
	{"offload", copies::run_offload, "exposed_copies"},
	{"pageable_async", copies::run_pageable_async, "exposed_copies"},
	{"event_timing", calls::run_event_timing, "synchronizing"},
	{"scalars", calls::run_scalars, "synchronizing"},
	{"eager", calls::run_eager, "launching"},
	{"ddp", training::run_ddp, "exposed_collectives"},
	{"checkpoints", training::run_checkpoints, "host_code"},
	{"half_and_half", copies::run_half_and_half, "mixed loader exposed_copies"},
	{"epochs", training::run_epochs, "computing"},
	{"no_steps", training::run_no_steps, "host_code"},
	{"queued", calls::run_queued, "queued"},
};

static void usage()
{
	fprintf(stderr, "usage: foreign_steps MODE [--steps N] [--nvtx] [--write FILE]\nMODE:");
	for (const struct mode &m : modes)
		fprintf(stderr, " %s", m.name);
	fprintf(stderr, "\n");
	exit(2);
}

int main(int argc, char **argv)
{
	const struct mode *mode = nullptr;
	const char *write = nullptr;

	for (const struct mode &m : modes)
		if (argc > 1 && strcmp(m.name, argv[1]) == 0)
			mode = &m;
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], "--nvtx") == 0)
			with_ranges = true;
		else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
			steps = (unsigned)atoi(argv[++i]);
		else if (strcmp(argv[i], "--write") == 0 && i + 1 < argc)
			write = argv[++i];
		else
			usage();
	}
	if (!mode || steps == 0)
		usage();
	truth::begin(with_ranges);
	GPU_CHECK(cudaStreamCreate(&stream));
	mode->run();
	GPU_CHECK(cudaDeviceSynchronize());
	truth::print(mode->answers);
	if (write)
		truth::write_steps(write);
	return 0;
}
