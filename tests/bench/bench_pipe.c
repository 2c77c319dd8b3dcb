/* SPDX-License-Identifier: MIT */
/*
 * The profiler's throughput of events from the pipe, and of stacks from the kernel, on one core,
 * without a target: `make bench`. Prints events per second, median of several rounds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "profiler/base/cuda_functions.h"
#include "profiler/join/collect.h"
#include "profiler/sources/gpu_pipe.h"

enum { ROUNDS = 5, LAUNCHES = 200000, PID = 4711, DEPTH = 30, DISTINCT = 500 };
enum { GRAPH_LAUNCHES = 250000, GRAPH_NODES = 100 };

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct text {
	char *bytes;
	size_t used;
};

static void append_event(struct text *text, const struct gpu_event *event)
{
	int n = gpu_wire_encode(event, text->bytes + text->used, GPU_WIRE_LINE_MAX);

	if (n > 0)
		text->used += (size_t)n;
}

static void put_batch(struct text *text, uint64_t sequence)
{
	append_event(text, &(struct gpu_event){
				   .type = GPU_EVENT_BATCH,
				   .batch = {.pid = PID, .instance = 1, .sequence = sequence}});
}

/* A program's first events. */
static void put_program(struct text *text)
{
	put_batch(text, 0);
	append_event(text, &(struct gpu_event){.type = GPU_EVENT_HELLO,
					       .hello = {.version = GPU_WIRE_VERSION,
							 .pid = PID,
							 .instance = 1,
							 .executable = "/nowhere/program",
							 .cupti_path = "",
							 .libraries = "",
							 .wants_ack = 1}});
	append_event(text,
		     &(struct gpu_event){.type = GPU_EVENT_NAME, .name = {1, 0, "_Z6kernelPf"}});
}

/* A launch and its kernel for each correlation id, in the order in which the library sends them. */
static struct text make_pipe(void)
{
	struct text text = {.bytes = malloc((size_t)LAUNCHES * 256 + (1 << 20))};

	if (!text.bytes)
		exit(1);
	put_program(&text);
	for (uint32_t i = 1; i <= LAUNCHES; i++) {
		uint64_t time_ns = UINT64_C(123456789000000) + i * UINT64_C(5000);
		struct gpu_event launch = {.type = GPU_EVENT_LAUNCH,
					   .launch = {time_ns, PID + 1, i, GPU_LAUNCH_RUNTIME, 0}};
		struct gpu_event kernel = {.type = GPU_EVENT_KERNEL,
					   .kernel = {.start_ns = time_ns + 4000,
						      .duration_ns = 2000 + i % 100,
						      .name_id = 1,
						      .correlation_id = i,
						      .context_id = 1,
						      .stream_id = 7,
						      .grid = {128, 1, 1},
						      .block = {256, 1, 1},
						      .registers = 32}};

		append_event(&text, &launch);
		append_event(&text, &kernel);
	}
	return text;
}

/* As a session does it. */
static void take_in(struct collect *c, struct gpu_pipe *gpu, const struct text *text)
{
	const struct gpu_event *event;
	struct process *process;
	struct tracee *tracee;
	const char *kernel;

	gpu_pipe_feed(gpu, text->bytes, text->used);
	while ((event = gpu_pipe_next(gpu, &tracee, &kernel))) {
		if (event->type != GPU_EVENT_HELLO) {
			collect_gpu_event(c, tracee_process(tracee), event, kernel);
			continue;
		}
		process = collect_hello(c, &event->hello);
		if (!process)
			exit(1);
		gpu_pipe_accept(gpu, tracee, process);
	}
}

static void expect_matched(struct collect *c, uint64_t operations)
{
	if (collect_ledger(c)->gpu.matched == operations)
		return;
	fprintf(stderr, "matched %" PRIu64 " of %" PRIu64 "\n", collect_ledger(c)->gpu.matched,
		operations);
	exit(1);
}

static void add_stack(struct collect *c, uint32_t i)
{
	__u64 frames[DEPTH];
	struct stack_event event = {
		.time_ns = UINT64_C(123456789000000) + i * UINT64_C(5000) - 1000,
		.pid = PID,
		.tid = PID + 1,
		.kind = STACK_EVENT_LAUNCH,
		.launch_function = cuda_launch_function_of("cudaLaunchKernel"),
		.user_frames = DEPTH,
	};

	for (uint32_t f = 0; f < DEPTH; f++)
		frames[f] = UINT64_C(0x550000001000) + f * 64 + (f == 1 ? i % DISTINCT : 0) * 8;
	collect_addresses(c, &event, frames, "cudaLaunchKernel");
}

struct result {
	double pipe_s, stacks_s, end_s;
};

/* A process of the target's tree that runs a program; NULL: out of memory. */
static struct collect *begin_collecting(void)
{
	struct code_mapping mapping = {.start = 0x550000000000,
				       .end = 0x550000100000,
				       .inode = 1,
				       .path = "/nowhere/program"};
	struct process_event map = {.type = PROCESS_MAP, .pid = PID, .mapping = mapping};
	struct collect *c = collect_new(&(struct collect_options){.sample_ns = 20000000});

	if (!c)
		return NULL;
	collect_know_tree(c);
	collect_start_target(c, PID);
	collect_process_event(c, &(struct process_event){.type = PROCESS_EXEC, .pid = PID});
	collect_process_event(c, &map);
	return c;
}

static struct result run_round(const struct text *text)
{
	struct collect *c = begin_collecting();
	struct gpu_pipe *gpu = c ? gpu_pipe_new(c) : NULL;
	struct result r;
	double start;

	if (!gpu)
		exit(1);
	start = now_s();
	for (uint32_t i = 1; i <= LAUNCHES; i++)
		add_stack(c, i);
	r.stacks_s = now_s() - start;
	start = now_s();
	take_in(c, gpu, text);
	r.pipe_s = now_s() - start;
	start = now_s();
	collect_finish(c, UINT64_C(1) << 62);
	r.end_s = now_s() - start;
	expect_matched(c, LAUNCHES);
	gpu_pipe_free(gpu);
	collect_free(c);
	return r;
}

/* ---- scale ---- */

enum { GRAPH = 3 };
#define NODE_ID(node) ((uint64_t)GRAPH << 32 | (node))

/* Sends the stacks that made the graph's nodes. */
static void put_nodes(struct text *text)
{
	for (uint32_t node = 0; node < GRAPH_NODES; node++)
		append_event(text,
			     &(struct gpu_event){.type = GPU_EVENT_NODE,
						 .node = {.id = NODE_ID(node), .stack_id = 1}});
}

/* One launch of a graph, in the process's own words, and all that it runs. */
static void put_graph(struct text *text, uint32_t i)
{
	uint64_t time_ns = UINT64_C(123456789000000) + i * UINT64_C(100000);
	struct gpu_event launch = {.type = GPU_EVENT_LAUNCH,
				   .launch = {.time_ns = time_ns,
					      .tid = PID + 1,
					      .correlation_id = i,
					      .family = GPU_LAUNCH_RUNTIME,
					      .flags = GPU_LAUNCH_IS_GRAPH,
					      .stack_id = 1}};

	put_batch(text, i);
	append_event(text, &launch);
	for (uint32_t node = 0; node < GRAPH_NODES; node++) {
		struct gpu_event kernel = {.type = GPU_EVENT_KERNEL,
					   .kernel = {.start_ns = time_ns + 4000 + node * 900,
						      .duration_ns = 800 + node,
						      .name_id = 1,
						      .correlation_id = i,
						      .context_id = 1,
						      .stream_id = 7,
						      .grid = {128, 1, 1},
						      .block = {256, 1, 1},
						      .registers = 32,
						      .graph_id = GRAPH,
						      .graph_node_id = NODE_ID(node)}};

		append_event(text, &kernel);
	}
}

struct scale {
	double seconds;
	long peak_kib;
};

/* Many kernels of few stacks, piece by piece: only the profiler's part of the time counts. */
static struct scale replay_graphs(void)
{
	struct text text = {.bytes = malloc((GRAPH_NODES + 4) * GPU_WIRE_LINE_MAX)};
	struct gpu_event stack = {.type = GPU_EVENT_STACK,
				  .stack = {.id = 1, .is_whole = 1, .function = "cudaGraphLaunch"}};
	struct collect *c = begin_collecting();
	struct gpu_pipe *gpu = c ? gpu_pipe_new(c) : NULL;
	struct scale scale = {0};
	struct rusage usage;

	if (!text.bytes || !gpu)
		exit(1);
	put_program(&text);
	append_event(&text, &stack);
	put_nodes(&text);
	for (uint32_t i = 1; i <= GRAPH_LAUNCHES; i++) {
		double start;

		put_graph(&text, i);
		start = now_s();
		take_in(c, gpu, &text);
		collect_advance(c, UINT64_C(123456789000000) + i * UINT64_C(100000));
		scale.seconds += now_s() - start;
		text.used = 0;
	}
	collect_finish(c, UINT64_C(1) << 62);
	expect_matched(c, (uint64_t)GRAPH_LAUNCHES * GRAPH_NODES);
	getrusage(RUSAGE_SELF, &usage);
	scale.peak_kib = usage.ru_maxrss;
	gpu_pipe_free(gpu);
	collect_free(c);
	free(text.bytes);
	return scale;
}

/* ---- */

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), by_value);
	return values[ROUNDS / 2];
}

int main(void)
{
	/* first: the peak is of the whole process */
	struct scale scale = replay_graphs();
	struct text text = make_pipe();
	double pipe_s[ROUNDS], stacks_s[ROUNDS], end_s[ROUNDS], join_s;

	for (int i = 0; i < ROUNDS; i++) {
		struct result r = run_round(&text);

		pipe_s[i] = r.pipe_s;
		stacks_s[i] = r.stacks_s;
		end_s[i] = r.end_s;
	}
	join_s = median(end_s);
	printf("bytes a launch and its kernel:          %.0f\n", (double)text.used / LAUNCHES);
	printf("pipe lines decoded and queued, a second: %.2f million\n",
	       2 * LAUNCHES / median(pipe_s) / 1e6);
	printf("launches joined, a second:               %.2f million\n", LAUNCHES / join_s / 1e6);
	printf("launch stacks of %d frames, a second:    %.2f million\n", DEPTH,
	       LAUNCHES / median(stacks_s) / 1e6);
	printf("graph replay: %d M kernels decoded and joined at %.2f million/s, %ld MiB\n",
	       GRAPH_LAUNCHES / 10000 * GRAPH_NODES / 100,
	       GRAPH_LAUNCHES / scale.seconds * GRAPH_NODES / 1e6, scale.peak_kib / 1024);
	free(text.bytes);
	return 0;
}
