/* SPDX-License-Identifier: MIT */
/*
 * graph_nodes [LAUNCHES=4000 [NODES=500 [ROUNDS=5]]]: what a graph's kernels cost on their way from
 * CUPTI's buffers to the profile. The records pass the injection library's code and the profiler's
 * in turn, in one thread, without a GPU. Prints the median of the rounds: bytes through the pipe,
 * and CPU time of each side, for each node.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "cupti_trace/core/cupti_abi.h"
#include "cupti_trace/main/activity.h"
#include "profiler/join/collect.h"
#include "profiler/model/timeline.h"
#include "profiler/sources/gpu_pipe.h"

enum { ROUNDS_MAX = 99, NAMES = 40, SHAPES = 60, PER_BUFFER = 290, GRAPH = 3, PID = 4711 };
#define LEAD_NS UINT64_C(30000000000) /* the work was done so long ago: records are late */
#define PIPE_BYTES (1 << 20)

static char kernel_names[NAMES][128];
static uint32_t launches = 4000, nodes = 500, rounds = 5;

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "graph_nodes: %s\n", what);
	exit(1);
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the program's side ---- */

static int next_record(uint8_t *buffer, size_t valid_size, struct cupti_abi_activity **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + sizeof(struct cupti_abi_kernel) : buffer;

	if (next + sizeof(struct cupti_abi_kernel) > buffer + valid_size)
		return CUPTI_ABI_ERROR_MAX_LIMIT_REACHED;
	*record = (struct cupti_abi_activity *)next;
	return CUPTI_ABI_SUCCESS;
}

struct program {
	struct cupti_api api;
	struct sink sink;
	struct names names;
	struct work_tally tally;
	struct clock_map clock;
	uint32_t launched, node; /* the next record's launch, and its place in the graph */
	uint64_t end_ns, random;
};

/* Returns a number below `limit`; the same ones in each run. */
static uint32_t draw(struct program *p, uint32_t limit)
{
	p->random = p->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(p->random >> 33) % limit;
}

/* Returns the record of the next node: 0.6 to 1 us, or long as one in twenty is. */
static struct cupti_abi_kernel next_node(struct program *p)
{
	uint32_t shape = p->node * 7 % SHAPES;
	uint64_t start = p->end_ns + 300 + draw(p, 500);
	uint64_t end = start + 600 + draw(p, 400) + (p->node % 20 ? 0 : draw(p, 20000));

	p->end_ns = end;
	return (struct cupti_abi_kernel){.kind = CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL,
					 .start = start,
					 .end = end,
					 .device_id = 0,
					 .context_id = 1,
					 .stream_id = 13,
					 .grid_x = 16 << shape % 4,
					 .grid_y = 1,
					 .grid_z = 1,
					 .block_x = 256,
					 .block_y = 1,
					 .block_z = 1,
					 .static_shared_memory = 1024,
					 .registers_per_thread = 32,
					 .correlation_id = p->launched,
					 .graph_id = GRAPH,
					 .graph_node_id = (uint64_t)GRAPH << 32 | p->node++,
					 .name = kernel_names[shape % NAMES]};
}

/* Fills a buffer. Sends the launches before their records, as the library does. */
static uint32_t fill(struct program *p, struct cupti_abi_kernel *records)
{
	uint32_t n = 0;

	while (n < PER_BUFFER && (p->node < nodes || p->launched < launches)) {
		if (p->node == nodes || !p->launched) {
			if (n)
				break;
			p->launched++;
			p->node = 0;
			p->end_ns += 4000;
			sink_put(&p->sink,
				 &(struct gpu_event){.type = GPU_EVENT_LAUNCH,
						     .launch = {.time_ns = p->end_ns,
								.tid = PID,
								.correlation_id = p->launched,
								.family = GPU_LAUNCH_RUNTIME,
								.flags = GPU_LAUNCH_IS_GRAPH,
								.stack_id = 1}});
		}
		records[n++] = next_node(p);
	}
	return n;
}

static void introduce(struct program *p)
{
	const struct gpu_event_frame frames[] = {{0x550000001000, GPU_FRAME_RETURN, 0}};

	sink_put(&p->sink, &(struct gpu_event){.type = GPU_EVENT_HELLO,
					       .hello = {.version = GPU_WIRE_VERSION,
							 .pid = PID,
							 .instance = 1,
							 .executable = "/nowhere/program",
							 .cupti_path = "",
							 .libraries = ""}});
	sink_put(&p->sink, &(struct gpu_event){.type = GPU_EVENT_STACK,
					       .stack = {.id = 1,
							 .is_whole = 1,
							 .function = "cudaGraphLaunch",
							 .count = 1,
							 .frames = frames}});
	sink_put(&p->sink, &(struct gpu_event){.type = GPU_EVENT_DEVICE,
					       .device = {.uuid = {1}, .name = "GPU"}});
	for (uint32_t node = 0; node < nodes; node++)
		sink_put(&p->sink, &(struct gpu_event){.type = GPU_EVENT_NODE,
						       .node = {.id = (uint64_t)GRAPH << 32 | node,
								.stack_id = 1}});
}

/* ---- the profiler's side ---- */

struct reader {
	struct collect *collect;
	struct gpu_pipe *pipe;
	int fd;
	char *bytes; /* read, not yet taken */
	size_t used;
	uint64_t taken;
};

static struct collect *begin_collecting(struct timeline *timeline)
{
	struct code_mapping mapping = {.start = 0x550000000000,
				       .end = 0x550000100000,
				       .inode = 1,
				       .path = "/nowhere/program"};
	struct process_event map = {.type = PROCESS_MAP, .pid = PID, .mapping = mapping};
	struct collect *c =
		collect_new(&(struct collect_options){.sample_ns = 20000000, .timeline = timeline});

	check(c, "no memory");
	collect_know_tree(c);
	collect_start_target(c, PID);
	collect_process_event(c, &(struct process_event){.type = PROCESS_EXEC, .pid = PID});
	collect_process_event(c, &map);
	return c;
}

/* Empties the pipe into memory: that is not measured. */
static void receive(struct reader *r)
{
	ssize_t n;

	while ((n = read(r->fd, r->bytes + r->used, PIPE_BYTES)) > 0)
		r->used += (size_t)n;
}

/* Takes what was received, as a session does it. */
static void take(struct reader *r)
{
	const struct gpu_event *event;
	struct process *process;
	struct tracee *tracee;
	const char *kernel;

	gpu_pipe_feed(r->pipe, r->bytes, r->used);
	while ((event = gpu_pipe_next(r->pipe, &tracee, &kernel))) {
		if (event->type != GPU_EVENT_HELLO) {
			collect_gpu_event(r->collect, tracee_process(tracee), event, kernel);
			continue;
		}
		process = collect_hello(r->collect, &event->hello);
		check(process, "hello refused");
		gpu_pipe_accept(r->pipe, tracee, process);
	}
	r->taken += r->used;
	r->used = 0;
}

/* ---- rounds ---- */

struct figures {
	double bytes, program_ns, profiler_ns;
};

/* Sends buffers until all launches are done; the two sides take turns. */
static struct figures send_all(struct program *p, struct reader *r)
{
	static struct cupti_abi_kernel records[PER_BUFFER];
	double program_s = 0, profiler_s = 0, total = (double)launches * nodes, start;
	struct activity_output output = {.clock = &p->clock,
					 .api = &p->api,
					 .names = &p->names,
					 .tally = &p->tally,
					 .sink = &p->sink};
	uint32_t n;

	while ((n = fill(p, records)) > 0) {
		output.now_ns = p->end_ns + 1000;
		start = cpu_s();
		activity_send_buffer(&output, (uint8_t *)records, n * sizeof(records[0]));
		program_s += cpu_s() - start;
		if (p->node == nodes && p->launched == launches)
			sink_flush(&p->sink);
		receive(r);
		start = cpu_s();
		take(r);
		collect_advance(r->collect, p->end_ns);
		profiler_s += cpu_s() - start;
	}
	collect_finish(r->collect, UINT64_C(1) << 62);
	check(collect_ledger(r->collect)->gpu.matched == (uint64_t)launches * nodes,
	      "kernels without a launch");
	return (struct figures){(double)r->taken / total, program_s * 1e9 / total,
				profiler_s * 1e9 / total};
}

static struct figures run_round(const char *path, bool draws)
{
	struct program *p = calloc(1, sizeof(*p));
	struct timeline *timeline = draws ? timeline_new("build/tests/bench", NULL) : NULL;
	struct reader r = {.collect = begin_collecting(timeline), .bytes = malloc(2 * PIPE_BYTES)};
	struct figures f;

	r.pipe = gpu_pipe_new(r.collect);
	r.fd = open(path, O_RDONLY | O_NONBLOCK);
	check(p && r.pipe && r.bytes && r.fd >= 0, "no memory or no pipe");
	check(fcntl(r.fd, F_SETPIPE_SZ, PIPE_BYTES) > 0, "no large pipe");
	check(sink_open(&p->sink, path, PID, 1) == 0, "pipe not opened");
	p->api.cuptiActivityGetNextRecord = next_record;
	p->end_ns = clock_now_ns() - LEAD_NS;
	clock_map_add(&p->clock, &(struct clock_point){.at_ns = 1000000, .offset_ns = 0});
	introduce(p);
	f = send_all(p, &r);
	sink_close(&p->sink);
	sink_start_over(&p->sink);
	names_release(&p->names);
	work_tally_release(&p->tally);
	gpu_pipe_free(r.pipe);
	collect_free(r.collect);
	timeline_free(timeline);
	close(r.fd);
	free(r.bytes);
	free(p);
	return f;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *values)
{
	qsort(values, rounds, sizeof(*values), by_value);
	return values[rounds / 2];
}

static void measure(const char *path, bool draws)
{
	double bytes[ROUNDS_MAX], program[ROUNDS_MAX], profiler[ROUNDS_MAX];

	for (uint32_t i = 0; i < rounds; i++) {
		struct figures f = run_round(path, draws);

		bytes[i] = f.bytes;
		program[i] = f.program_ns;
		profiler[i] = f.profiler_ns;
	}
	printf("%-16s %.1f bytes, %.0f ns in the program, %.0f ns in the profiler\n",
	       draws ? "with a timeline:" : "a node:", median(bytes), median(program),
	       median(profiler));
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/graph_nodes.XXXXXX", path[64];
	uint32_t *settings[] = {&launches, &nodes, &rounds};

	for (int i = 1; i < argc && i <= 3; i++)
		*settings[i - 1] = (uint32_t)strtoul(argv[i], NULL, 10);
	check(launches && nodes && rounds && rounds <= ROUNDS_MAX, "wrong numbers");
	for (int i = 0; i < NAMES; i++)
		snprintf(kernel_names[i], sizeof(kernel_names[i]),
			 "_ZN2at6native29vectorized_elementwise_kernelILi%dENS0_13BinaryFunctorIfff"
			 "NS0_15binary_internal10MulFunctorIfEEEE",
			 i);
	check(mkdtemp(folder), "no folder");
	snprintf(path, sizeof(path), "%s/pipe", folder);
	check(mkfifo(path, 0600) == 0, "no pipe");
	measure(path, false);
	measure(path, true);
	unlink(path);
	rmdir(folder);
	return 0;
}
