/* SPDX-License-Identifier: MIT */
/*
 * trace [FOLDER=. [OPERATIONS=5000000]]: that many launches of one kernel each, on 8 GPUs, written
 * to FOLDER in the formats of timelines: seconds, bytes, and the most memory that each took, the
 * timeline's file apart.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "profiler/formats/spans.h"
#include "profiler/formats/writer.h"

/* Eight GPUs with eight streams each; threads launch in turn, some 100 launches ahead. */
enum { GPUS = 8, STREAMS = 8, THREADS = 8, SHAPES = 300, STACKS = 2000, AHEAD_NS = 200000 };

struct made {
	struct result result;
	struct frame_info frames[STACKS + 1];
	struct stack_info stacks[2 * STACKS + 2];
	char names[STACKS + 1][64];
	struct places places;
	struct place_names place_names;
	struct devices devices;
	struct ledger ledger;
};

static struct made made;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const char *what, int err)
{
	fprintf(stderr, "trace: %s: %s\n", what, strerror(-err));
	exit(1);
}

/* Stacks: 0 is the root, then the launches, then each with a kernel inside. */
static void make_result(void)
{
	struct result *r = &made.result;

	for (uint32_t i = 0; i <= STACKS; i++) {
		snprintf(made.names[i], sizeof(made.names[i]),
			 "void model::kernel_%u<float, 4>(float*)", i);
		made.frames[i] = (struct frame_info){.class = i ? CLASS_GPU_KERNEL : CLASS_API,
						     .name = made.names[i],
						     .short_name = made.names[i] + 5};
		made.stacks[i] = (struct stack_info){.outer = 0, .frame = 0};
		made.stacks[STACKS + 1 + i] = (struct stack_info){.outer = i, .frame = i};
	}
	if (places_init(&made.places, PLACES_ALL) != 0)
		exit(1);
	place_names_add_process(
		&made.place_names,
		&(struct process_info){.id = 1, .pid = 4711, .name = "train.py 4711"});
	r->frames = made.frames;
	r->frame_count = STACKS + 1;
	r->stacks = made.stacks;
	r->stack_count = 2 * STACKS + 2;
	r->place_names = &made.place_names;
	r->device_names = &made.devices;
	r->totals = (struct totals){.ledger = &made.ledger, .command = "train.py", .start_ns = 1};
}

static struct place_id place_of(uint32_t thread, uint32_t gpu, uint32_t stream)
{
	return places_add(&made.places, &(struct place){{1, 4711 + thread, gpu, 1, stream}});
}

static void make_timeline(struct timeline *t, uint32_t operations)
{
	struct place_id threads[THREADS], streams[GPUS][STREAMS];
	int err = 0;

	for (uint32_t i = 0; i < THREADS; i++)
		threads[i] = place_of(i, PLACE_UNKNOWN, PLACE_UNKNOWN);
	for (uint32_t i = 0; i < GPUS * STREAMS; i++)
		streams[i / STREAMS][i % STREAMS] = place_of(i / STREAMS, i / STREAMS, i % STREAMS);
	for (uint32_t i = 0; i < operations && !err; i++) {
		const struct timeline_shape shape = {.grid = {1 + i % SHAPES, 1, 1},
						     .block = {256, 1, 1},
						     .dynamic_shared = 1024,
						     .registers = 32};
		uint64_t start = UINT64_C(123456789000000) + i * UINT64_C(2000);
		struct timeline_record launch = {.kind = TIMELINE_LAUNCH,
						 .start_ns = start,
						 .duration_ns = 1500,
						 .place = threads[i % THREADS],
						 .stack = {1 + i % STACKS},
						 .correlation = 1 + i};
		struct timeline_record work = {.kind = TIMELINE_GPU_OPERATION,
					       .start_ns = start + AHEAD_NS,
					       .duration_ns = 1500 + i % 1000,
					       .place = streams[i % GPUS][i / GPUS % STREAMS],
					       .stack = {STACKS + 2 + i % STACKS},
					       .shape = timeline_number_shape(t, &shape),
					       .correlation = 1 + i};

		err = timeline_add(t, &launch);
		if (!err)
			err = timeline_add(t, &work);
	}
	if (!err)
		err = timeline_finish(t);
	if (err)
		fail("no timeline", err);
	made.result.timeline = t;
	made.result.places = made.places.list;
	made.result.place_count = made.places.count;
}

static struct span_options spans;

static void write_one(const struct writer *writer, const char *folder)
{
	char *path = NULL;
	struct written written;
	double start = now_s();
	struct rusage usage;
	FILE *out;
	int err;

	if (asprintf(&path, "%s/bench%s", folder, writer->suffix) < 0)
		exit(1);
	out = fopen(path, "w");
	if (!out)
		fail(path, -errno);
	err = writer->write(&made.result, &(struct writer_options){.unit_ns = 1, .spans = &spans},
			    out, &written);
	if (err)
		fail(path, err);
	getrusage(RUSAGE_SELF, &usage);
	printf("%-8s %" PRIu64 " events: %ld MB in %.2f s, %ld MiB\n", writer->name, written.items,
	       ftell(out) / 1000000, now_s() - start, usage.ru_maxrss / 1024);
	fclose(out);
	unlink(path);
	free(path);
}

int main(int argc, char **argv)
{
	static const struct writer *const formats[] = {&html_writer, &perfetto_writer,
						       &chrome_writer, &otlp_protobuf_writer,
						       &otlp_json_writer};
	const char *folder = argc > 1 ? argv[1] : ".";
	uint32_t operations = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 5000000;
	struct timeline *t = timeline_new(folder, NULL);

	if (!t)
		fail(folder, -errno);
	make_result();
	make_timeline(t, operations);
	if (trace_context_begin(&spans.context) != 0)
		fail("no random numbers", -EIO);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		pid_t child = fork(); /* each with its own peak of memory */

		if (child == 0) {
			write_one(formats[i], folder);
			return 0;
		}
		if (child < 0 || waitpid(child, NULL, 0) != child)
			fail("fork", -errno);
	}
	timeline_free(t);
	return 0;
}
