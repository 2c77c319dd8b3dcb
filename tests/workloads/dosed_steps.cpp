/* SPDX-License-Identifier: MIT */
/*
 * dosed_steps CAUSE [DOSE=50] [OPTIONS]: a training loop that loses DOSE percent of its time to one
 * cause. Prints the truth (truth.h).
 *
 * CAUSE:
 *	loader_sleeps	load_batch sleeps; the program waits for the GPU at the end of each step
 *	loader_reads	load_batch reads from a pipe that a thread fills
 *	loader_computes	load_batch computes
 *	loader_late	load_batch runs beside the GPU, and takes longer than the step
 *	copy_pageable	each step copies its batch from pageable memory, and waits for it
 *	copy_async	copies from pinned memory on the stream of the kernels
 *	launching	many tiny kernels, faster than they are launched
 *	synchronizing	waits for the device after each kernel
 *	hot_kernel	nothing is lost; one kernel has DOSE percent of the GPU time
 *	autotune_first	nothing is lost; autotune() tries kernels in the first steps
 *	autotune_middle	in steps in the middle
 *	start_up	load_model takes DOSE percent of the run
 *	collectives	an all-reduce on the stream of the kernels
 *	collectives_hidden	nothing is lost; the all-reduce runs beside the kernels
 *	late_rank	two processes, with RANK=0 and 1 and --meet: rank 1 computes longer than
 *			rank 0, which waits in each all-reduce
 *
 * OPTIONS: --steps N (100) | --ms N: wall time of a step (10) | --nvtx: each step is an NVTX range
 * "step 17" | --write FILE: when each step began, its first launch, and when it ended
 * | --meet PATH: where ranks find each other
 *
 * Copies last as the stand-in is told: FAKE_CUDA_COPY_BYTES_PER_US=100 keeps them small.
 */
#include "gpu.h"
#include "burn.h"
#include "truth.h"

#include <pthread.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

enum {
	LAYERS = 6,
	VARIANTS = 8,
	TUNED_STEPS = 4,
	TINY_NS = 1000,
	CALL_NS = 5000,
	GAP_NS = 100000,
	LAST_NS = 300000
};

GPU_KERNEL(embedding)
GPU_KERNEL(gemm)
GPU_KERNEL(softmax)
GPU_KERNEL(gemm_backward)
GPU_KERNEL(adam)
GPU_KERNEL(attention)
GPU_KERNEL(pointwise)
GPU_KERNEL(ncclDevKernel_AllReduce_Sum_f32_RING_LL)
template <int BlockSize>
GPU_KERNEL(tuned_gemm)

static struct {
	const char *cause = "";
	unsigned dose = 50, steps = 100;
	uint64_t step_ns = 10000000;
	bool with_ranges = false;
	const char *write = nullptr, *meet = nullptr;
} options;

static cudaStream_t stream, beside;
static char *batch, *host_batch;
static size_t batch_bytes;
static int wanted[2], fed[2]; /* pipes */

static void sleep_ns(uint64_t ns)
{
	struct timespec ts = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	nanosleep(&ts, nullptr);
}

static uint64_t lost_ns()
{
	return options.step_ns * options.dose / 100;
}

static uint64_t useful_ns()
{
	return options.step_ns - lost_ns();
}

/* ---- what a step computes ---- */

NOINLINE static void forward(uint64_t ns)
{
	GPU_CHECK(GPU_LAUNCH(stream, ns / 10, embedding));
	for (int i = 0; i < LAYERS; i++) {
		GPU_CHECK(GPU_LAUNCH(stream, ns * 12 / 100, gemm));
		GPU_CHECK(GPU_LAUNCH(stream, ns * 3 / 100, softmax));
	}
}

NOINLINE static void backward(uint64_t ns)
{
	for (int i = 0; i < LAYERS; i++)
		GPU_CHECK(GPU_LAUNCH(stream, ns / LAYERS, gemm_backward));
}

NOINLINE static void optimize(uint64_t ns)
{
	GPU_CHECK(GPU_LAUNCH(stream, ns, adam));
}

/* Launches work of so many ns. */
NOINLINE static void compute(uint64_t ns)
{
	forward(ns * 3 / 10);
	backward(ns * 6 / 10);
	optimize(ns / 10);
}

/* Waits for the end of the step, as a program does that prints its loss. */
NOINLINE static void read_loss()
{
	truth::phase(truth::SYNCHRONIZING);
	GPU_CHECK(cudaStreamSynchronize(stream));
}

/* Waits until the step before the last one has ended, so that the GPU has work all the time. */
NOINLINE static void limit_queue()
{
	static cudaEvent_t events[2];
	static unsigned int step;
	cudaEvent_t &event = events[step++ % 2];

	truth::phase(truth::SYNCHRONIZING);
	if (event)
		GPU_CHECK(cudaEventSynchronize(event));
	else
		GPU_CHECK(cudaEventCreate(&event));
	GPU_CHECK(cudaEventRecord(event, stream));
	truth::phase(truth::LAUNCHING);
}

/* ---- loaders ---- */

NOINLINE static void decode(uint64_t ns)
{
	burn(ns);
}

static void *feed(void *)
{
	char byte;

	while (read(wanted[0], &byte, 1) == 1) {
		sleep_ns(lost_ns());
		if (write(fed[1], "", 1) != 1)
			exit(3);
	}
	return nullptr;
}

NOINLINE static void read_batch()
{
	char byte;

	if (write(wanted[1], "", 1) != 1 || read(fed[0], &byte, 1) != 1)
		exit(3);
}

NOINLINE static void load_batch(uint64_t ns)
{
	truth::phase(truth::LOADER);
	if (ns == 0)
		return;
	if (strcmp(options.cause, "loader_reads") == 0)
		read_batch();
	else if (strcmp(options.cause, "loader_computes") == 0)
		decode(ns);
	else
		sleep_ns(ns);
}

static void start_loader()
{
	pthread_t feeder;

	if (pipe(wanted) != 0 || pipe(fed) != 0 ||
	    pthread_create(&feeder, nullptr, feed, nullptr) != 0)
		exit(3);
}

NOINLINE static void loader_step(unsigned)
{
	load_batch(lost_ns());
	truth::phase(truth::LAUNCHING);
	compute(useful_ns());
	read_loss();
}

NOINLINE static void late_loader_step(unsigned)
{
	truth::phase(truth::LAUNCHING);
	compute(useful_ns());
	load_batch(options.dose ? options.step_ns : 0);
	if (!options.dose)
		limit_queue();
}

/* ---- copies ---- */

static void make_batch()
{
	const char *rate = getenv("FAKE_CUDA_COPY_BYTES_PER_US");

	batch_bytes = lost_ns() / 1000 * (rate ? strtoul(rate, nullptr, 10) : 10000);
	if (batch_bytes == 0)
		return;
	GPU_CHECK(cudaMalloc((void **)&batch, batch_bytes));
	if (strcmp(options.cause, "copy_async") == 0)
		GPU_CHECK(cudaMallocHost((void **)&host_batch, batch_bytes));
	else
		host_batch = (char *)calloc(1, batch_bytes);
}

NOINLINE static void copy_step(unsigned)
{
	truth::phase(truth::SYNCHRONIZING);
	if (batch_bytes)
		GPU_CHECK(cudaMemcpy(batch, host_batch, batch_bytes, cudaMemcpyHostToDevice));
	truth::phase(truth::LAUNCHING);
	compute(useful_ns());
	if (!batch_bytes)
		limit_queue();
}

NOINLINE static void async_copy_step(unsigned)
{
	truth::phase(truth::LAUNCHING);
	if (batch_bytes)
		GPU_CHECK(cudaMemcpyAsync(batch, host_batch, batch_bytes, cudaMemcpyHostToDevice,
					  stream));
	compute(useful_ns());
	limit_queue();
}

/* ---- launches ---- */

/* Takes the time of a framework for one call. */
NOINLINE static void set_arguments()
{
	uint64_t until = truth::now() + CALL_NS;

	while (truth::now() < until)
		;
}

/* Launches kernels that end before the next one comes. Returns how long the GPU was idle. */
NOINLINE static uint64_t launch_tiny(unsigned count)
{
	uint64_t idle = 0, end;

	for (unsigned i = 0; i < count; i++) {
		set_arguments();
		end = truth::last().end;
		GPU_CHECK(GPU_LAUNCH(stream, TINY_NS, pointwise));
		truth::phase(truth::LAUNCHING);
		if (i > 0 && truth::last().start > end)
			idle += truth::last().start - end;
	}
	return idle;
}

/* Waits until the step has ended but for a last kernel, which hides the way back to the program. */
NOINLINE static void finish_step()
{
	static cudaEvent_t event;

	if (!event)
		GPU_CHECK(cudaEventCreate(&event));
	GPU_CHECK(cudaEventRecord(event, stream));
	GPU_CHECK(GPU_LAUNCH(stream, LAST_NS, adam));
	truth::phase(truth::SYNCHRONIZING);
	GPU_CHECK(cudaEventSynchronize(event));
}

NOINLINE static void launching_step(unsigned)
{
	static uint64_t idle_ns; /* of a typical step */
	unsigned count = options.dose * 20;
	uint64_t useful = useful_ns(), idle = launch_tiny(count),
		 others = count * TINY_NS + LAST_NS;

	idle_ns = idle_ns ? (idle_ns * 7 + idle) / 8 : idle;
	if (options.dose)
		useful = idle_ns * (100 - options.dose) / options.dose;
	compute(useful > others ? useful - others : 0);
	finish_step();
}

NOINLINE static void synchronize()
{
	truth::phase(truth::SYNCHRONIZING);
	GPU_CHECK(cudaDeviceSynchronize());
}

NOINLINE static void synchronizing_step(unsigned)
{
	static uint64_t gap_ns = GAP_NS; /* of a typical wait */
	uint64_t kernels = lost_ns() / GAP_NS, end, gap;

	if (!options.dose) {
		compute(useful_ns());
		limit_queue();
		return;
	}
	for (uint64_t i = 0; i < kernels; i++) {
		end = truth::last().end;
		GPU_CHECK(GPU_LAUNCH(stream, gap_ns * (100 - options.dose) / options.dose, gemm));
		gap = truth::last().start - end;
		if (end && gap < 100 * GAP_NS)
			gap_ns = (gap_ns * 15 + gap) / 16;
		synchronize();
	}
}

NOINLINE static void hot_step(unsigned)
{
	truth::phase(truth::LAUNCHING);
	if (options.dose)
		GPU_CHECK(GPU_LAUNCH(stream, lost_ns(), attention));
	compute(useful_ns());
	limit_queue();
}

/* ---- autotuning ---- */

template <int BlockSize> NOINLINE static void do_bench(uint64_t ns)
{
	enum { REPEATS = 5 };

	for (int i = 0; i < REPEATS; i++)
		GPU_CHECK(GPU_LAUNCH(stream, ns / VARIANTS / REPEATS, tuned_gemm<BlockSize>));
	synchronize();
}

NOINLINE static void autotune(uint64_t ns)
{
	do_bench<16>(ns);
	do_bench<32>(ns);
	do_bench<64>(ns);
	do_bench<128>(ns);
	do_bench<256>(ns);
	do_bench<512>(ns);
	do_bench<1024>(ns);
	do_bench<2048>(ns);
}

static unsigned tuned_from()
{
	return strcmp(options.cause, "autotune_first") == 0 ? 0 : options.steps / 2;
}

NOINLINE static void tuning_step(unsigned step)
{
	uint64_t tuning = 0;

	if (options.dose < 100)
		tuning = options.steps * options.step_ns * options.dose / (100 - options.dose) /
			 TUNED_STEPS;
	truth::phase(truth::LAUNCHING);
	if (options.dose && step >= tuned_from() && step < tuned_from() + TUNED_STEPS)
		autotune(tuning);
	compute(options.step_ns);
	limit_queue();
}

/* ---- start-up ---- */

NOINLINE static void load_model()
{
	uint64_t run = options.steps * options.step_ns;

	if (options.dose < 100)
		sleep_ns(run * options.dose / (100 - options.dose));
}

NOINLINE static void plain_step(unsigned)
{
	truth::phase(truth::LAUNCHING);
	compute(options.step_ns);
	limit_queue();
}

/* ---- collectives ---- */

NOINLINE static void all_reduce(cudaStream_t on, uint64_t ns)
{
	GPU_CHECK(GPU_LAUNCH(on, ns, ncclDevKernel_AllReduce_Sum_f32_RING_LL));
}

NOINLINE static void collective_step(unsigned)
{
	truth::phase(truth::LAUNCHING);
	compute(useful_ns());
	if (options.dose)
		all_reduce(stream, lost_ns());
	limit_queue();
}

NOINLINE static void hidden_collective_step(unsigned)
{
	static cudaEvent_t before;

	truth::phase(truth::LAUNCHING);
	if (!before)
		GPU_CHECK(cudaEventCreate(&before));
	GPU_CHECK(cudaEventRecord(before, stream));
	GPU_CHECK(cudaStreamWaitEvent(beside, before, 0));
	compute(options.step_ns);
	if (options.dose)
		all_reduce(beside, lost_ns() * 9 / 10);
	limit_queue();
}

/*
 * Ranks keep to a schedule that both know: in step i the last rank comes to the all-reduce at
 * due_ns(i), and it ends REDUCE_NS later. The early rank's kernel lasts until then, as NCCL's do.
 */
enum { REDUCE_NS = 200000, MEET_NS = 300000000 };
static uint64_t met_ns;

static bool is_late_rank()
{
	const char *rank = getenv("RANK");

	return rank && strcmp(rank, "1") == 0;
}

static uint64_t due_ns(unsigned step)
{
	return met_ns + (step + 1) * options.step_ns - REDUCE_NS;
}

/* Returns when the rank wrote that it was ready; 0: not yet. */
static uint64_t ready_ns(const char *file)
{
	unsigned long long ns = 0;
	FILE *f = fopen(file, "r");

	if (f && fscanf(f, "%llu.", &ns) != 1)
		ns = 0;
	if (f)
		fclose(f);
	return ns;
}

NOINLINE static void meet()
{
	std::string path(options.meet ? options.meet : "");
	std::string mine = path + (is_late_rank() ? ".1" : ".0"), made = mine + ".new";
	std::string theirs = path + (is_late_rank() ? ".0" : ".1");
	uint64_t ready = truth::now(), other;
	FILE *f = path.empty() ? nullptr : fopen(made.c_str(), "w");

	if (!f || fprintf(f, "%llu.", (unsigned long long)ready) < 0 || fclose(f) != 0 ||
	    rename(made.c_str(), mine.c_str()) != 0) {
		fprintf(stderr, "ranks need --meet PATH\n");
		exit(2);
	}
	while ((other = ready_ns(theirs.c_str())) == 0)
		sleep_ns(1000000);
	met_ns = std::max(ready, other) + MEET_NS;
}

/* Launches computing that ends at `until`. */
NOINLINE static void compute_until(uint64_t until)
{
	uint64_t from = std::max(truth::last().end, truth::now());

	compute(until > from ? until - from : 0);
}

NOINLINE static void rank_step(unsigned step)
{
	uint64_t due = due_ns(step), end = due + REDUCE_NS, begun;

	truth::phase(truth::LAUNCHING);
	compute_until(is_late_rank() ? due : due - lost_ns());
	begun = truth::last().end;
	all_reduce(stream, end > begun ? end - begun : 0);
	truth::waits_for_rank(truth::last().start, due);
	limit_queue();
}

/* Keeps the GPU busy just before the first step, so that no rank is idle in it. */
NOINLINE static void wait_for_ranks()
{
	enum { AHEAD_NS = 20000000 };

	meet();
	while (truth::now() + AHEAD_NS < met_ns)
		sleep_ns(AHEAD_NS / 4);
	if (met_ns > truth::now())
		GPU_CHECK(GPU_LAUNCH(stream, met_ns - truth::now(), embedding));
}

/* ---- the loop ---- */

static const struct cause {
	const char *name;
	void (*prepare)(); /* may be NULL */
	void (*step)(unsigned step);
	const char *want; /* a finding besides the verdict, for large doses */
} causes[] = {
	{"loader_sleeps", nullptr, loader_step, nullptr},
	{"loader_reads", start_loader, loader_step, nullptr},
	{"loader_computes", nullptr, loader_step, nullptr},
	{"loader_late", nullptr, late_loader_step, nullptr},
	{"copy_pageable", make_batch, copy_step, nullptr},
	{"copy_async", make_batch, async_copy_step, nullptr},
	{"launching", nullptr, launching_step, nullptr},
	{"synchronizing", nullptr, synchronizing_step, nullptr},
	{"hot_kernel", nullptr, hot_step, "kernel"},
	{"autotune_first", nullptr, tuning_step, "autotuning"},
	{"autotune_middle", nullptr, tuning_step, "autotuning"},
	{"start_up", nullptr, plain_step, "start_up"},
	{"collectives", nullptr, collective_step, nullptr},
	{"collectives_hidden", nullptr, hidden_collective_step, nullptr},
	{"late_rank", wait_for_ranks, rank_step, nullptr},
};

NOINLINE static void train(const struct cause *cause)
{
	if (cause->prepare)
		cause->prepare();
	for (unsigned i = 0; i < options.steps; i++) {
		truth::step();
		cause->step(i);
	}
	truth::end_step();
	GPU_CHECK(cudaDeviceSynchronize());
}

static void usage()
{
	fprintf(stderr, "usage: dosed_steps CAUSE [DOSE] [--steps N] [--ms N] [--nvtx] "
			"[--write FILE] [--meet PATH]\nCAUSE:");
	for (const struct cause &c : causes)
		fprintf(stderr, " %s", c.name);
	fprintf(stderr, "\n");
	exit(2);
}

static void read_option(char **&at)
{
	std::string name = *at++;

	if (name == "--nvtx") {
		options.with_ranges = true;
		return;
	}
	if (name.rfind("--", 0) != 0) {
		options.dose = (unsigned)atoi(name.c_str());
		return;
	}
	if (!*at)
		usage();
	if (name == "--steps")
		options.steps = (unsigned)atoi(*at);
	else if (name == "--ms")
		options.step_ns = strtoull(*at, nullptr, 10) * 1000000;
	else if (name == "--write")
		options.write = *at;
	else if (name == "--meet")
		options.meet = *at;
	else
		usage();
	at++;
}

static void read_options(char **argv)
{
	char **at = argv + 1;

	if (!*at)
		usage();
	options.cause = *at++;
	while (*at)
		read_option(at);
	if (options.dose > 95 || options.steps == 0 || options.step_ns == 0)
		usage();
}

int main(int, char **argv)
{
	const struct cause *cause = nullptr;
	size_t warm_up = 0;

	read_options(argv);
	for (const struct cause &c : causes)
		if (strcmp(c.name, options.cause) == 0)
			cause = &c;
	if (!cause)
		usage();
	truth::begin(options.with_ranges);
	if (strcmp(options.cause, "start_up") == 0)
		load_model();
	GPU_CHECK(cudaStreamCreate(&stream));
	GPU_CHECK(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
	/* copies that are not asynchronous run on the default stream */
	train(cause);
	if (strcmp(options.cause, "autotune_first") == 0 && options.dose)
		warm_up = TUNED_STEPS;
	truth::print(nullptr, warm_up, options.dose >= 20 ? cause->want : nullptr);
	if (options.write)
		truth::write_steps(options.write);
	return 0;
}
