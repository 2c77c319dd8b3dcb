/* SPDX-License-Identifier: MIT */
/*
 * findings [FOLDER=.]: steps and verdict (profiler/findings) of 10 million launches and as many
 * kernels, in a timeline in FOLDER: seconds, and the most memory beyond what the process had.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include "profiler/findings/findings.h"

/* Training steps of 1,000 launches on each of four threads, that take turns. */
enum { LAUNCHES = 10000000, STEP = 1000, THREADS = 4, DEPTH = 20 };
enum { STACKS = 1 + STEP * (DEPTH + 1) };

static struct frame_info frames[2 + DEPTH + STEP];
static char names[2 + DEPTH + STEP][24];
static struct stack_info stacks[STACKS];
static struct place places[2 * THREADS];

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t peak_bytes(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_maxrss * 1024;
}

/* Returns the number of the innermost frame of a launch's stack; its kernel is the next one. */
static uint32_t launch_stack(uint32_t kind)
{
	return 1 + kind * (DEPTH + 1) + DEPTH - 1;
}

static void make_stacks(void)
{
	for (uint32_t i = 0; i < 2 + DEPTH + STEP; i++) {
		snprintf(names[i], sizeof(names[i]), i < DEPTH ? "function_%u" : "kernel_%u", i);
		frames[i] =
			(struct frame_info){.class = i < DEPTH ? CLASS_NATIVE : CLASS_GPU_KERNEL,
					    .name = names[i],
					    .short_name = names[i]};
	}
	for (uint32_t kind = 0; kind < STEP; kind++)
		for (uint32_t depth = 0; depth <= DEPTH; depth++) {
			uint32_t at = 1 + kind * (DEPTH + 1) + depth;

			stacks[at] = (struct stack_info){depth ? at - 1 : RESULT_ROOT,
							 depth < DEPTH ? depth : DEPTH + kind};
		}
}

static int write_records(struct timeline *t)
{
	int err = 0;

	for (uint32_t i = 0; i < LAUNCHES && !err; i++) {
		uint32_t thread = i / (STEP / THREADS) % THREADS, kind = i % STEP;
		uint64_t ns = UINT64_C(1000000000) + i * UINT64_C(5000);
		struct timeline_record launch = {.kind = TIMELINE_LAUNCH,
						 .start_ns = ns,
						 .duration_ns = 3000,
						 .place = {thread},
						 .stack = {launch_stack(kind)},
						 .correlation = i + 1};
		struct timeline_record kernel = {.kind = TIMELINE_GPU_OPERATION,
						 .start_ns = ns + 5000 + i % 7 * 100,
						 .duration_ns = 2000 + kind,
						 .place = {THREADS + thread},
						 .stack = {launch_stack(kind) + 1},
						 .correlation = i + 1};

		err = timeline_add(t, &launch);
		if (!err)
			err = timeline_add(t, &kernel);
	}
	return err ? err : timeline_finish(t);
}

int main(int argc, char **argv)
{
	static struct ledger ledger;
	struct timeline *t = timeline_new(argc > 1 ? argv[1] : ".", NULL);
	struct device device = {.process = 1, .id = 0, .is_used = true};
	struct result result = {.frames = frames,
				.frame_count = 2 + DEPTH + STEP,
				.stacks = stacks,
				.stack_count = STACKS,
				.places = places,
				.place_count = 2 * THREADS,
				.devices = &device,
				.device_count = 1,
				.timeline = t};
	struct findings *findings;
	uint64_t before;
	double start;

	make_stacks();
	for (uint32_t i = 0; i < 2 * THREADS; i++)
		places[i] = (struct place){{1, 100 + i % THREADS, i < THREADS ? PLACE_UNKNOWN : 0,
					    PLACE_UNKNOWN, i < THREADS ? PLACE_UNKNOWN : 7}};
	if (!t || write_records(t) != 0) {
		fprintf(stderr, "findings: cannot write the timeline\n");
		return 1;
	}
	result.totals.ledger = &ledger;
	result.totals.elapsed_ns = UINT64_C(60000000000);
	result.totals.sample_ns = 20000000;
	before = peak_bytes();
	start = now_s();
	findings = findings_new(&result, NULL);
	printf("findings of %d launches and kernels: %.2f s, %" PRIu64 " MiB, %u steps\n", LAUNCHES,
	       now_s() - start, (peak_bytes() - before) >> 20,
	       findings && findings->steps.count ? findings->steps.list[0].count : 0);
	for (uint32_t i = 0; findings && i < findings->count; i++)
		printf("  %s\n", findings->list[i].claim);
	findings_free(findings);
	timeline_free(t);
	return 0;
}
