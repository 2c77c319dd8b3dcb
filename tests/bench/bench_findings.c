/* SPDX-License-Identifier: MIT */
/*
 * findings [FOLDER=.]: steps and verdict (profiler/findings) of 10 million launches and as many
 * kernels, in a timeline in FOLDER: seconds, and the most memory beyond what the process had. First
 * each kernel has a launch site of its own, then all have the same one, whose stacks tell nothing.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include "profiler/findings/findings.h"

/* Training steps of 1,000 launches on each of four threads, that take turns. */
enum { LAUNCHES = 10000000, STEP = 1000, THREADS = 4, DEPTH = 20 };
enum { STACKS = 1 + DEPTH + 2 * STEP };

static struct frame_info frames[DEPTH + 2 * STEP];
static char names[DEPTH + 2 * STEP][24];
static struct stack_info stacks[STACKS];
static struct place places[2 * THREADS];
static bool has_sites; /* each kernel has its own */

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

/* Returns the stack of a launch. */
static uint32_t launch_stack(uint32_t kind)
{
	return has_sites ? 1 + DEPTH + kind : DEPTH;
}

/* Makes DEPTH functions that all launches share, then for each kernel a function, and itself. */
static void make_stacks(void)
{
	for (uint32_t i = 0; i < DEPTH + 2 * STEP; i++) {
		bool is_kernel = i >= DEPTH + STEP;

		snprintf(names[i], sizeof(names[i]), is_kernel ? "kernel_%u" : "function_%u", i);
		frames[i] =
			(struct frame_info){.class = is_kernel ? CLASS_GPU_KERNEL : CLASS_NATIVE,
					    .name = names[i],
					    .short_name = names[i]};
		stacks[1 + i] = (struct stack_info){i == 0       ? RESULT_ROOT
						    : i < DEPTH  ? i
						    : !is_kernel ? DEPTH
								 : launch_stack(i - DEPTH - STEP),
						    i};
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
						 .stack = {1 + DEPTH + STEP + kind},
						 .correlation = i + 1};

		err = timeline_add(t, &launch);
		if (!err)
			err = timeline_add(t, &kernel);
	}
	return err ? err : timeline_finish(t);
}

/* Returns 0, or 1 after printing the reason. */
static int measure(const char *folder)
{
	static struct ledger ledger;
	struct timeline *t = timeline_new(folder, NULL);
	struct device device = {.process = 1, .id = 0, .is_used = true};
	struct result result = {.frames = frames,
				.frame_count = DEPTH + 2 * STEP,
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
	printf("findings of %d launches and kernels, %s: %.2f s, %" PRIu64 " MiB, %u steps\n",
	       LAUNCHES, has_sites ? "1,000 launch sites" : "one launch site", now_s() - start,
	       (peak_bytes() - before) >> 20,
	       findings && findings->steps.count ? findings->steps.list[0].count : 0);
	for (uint32_t i = 0; findings && i < findings->count; i++)
		printf("  %s\n", findings->list[i].claim);
	findings_free(findings);
	timeline_free(t);
	return 0;
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : ".";

	for (uint32_t i = 0; i < 2 * THREADS; i++)
		places[i] = (struct place){{1, 100 + i % THREADS, i < THREADS ? PLACE_UNKNOWN : 0,
					    PLACE_UNKNOWN, i < THREADS ? PLACE_UNKNOWN : 7}};
	has_sites = true;
	if (measure(folder) != 0)
		return 1;
	has_sites = false;
	return measure(folder); /* its memory is what it takes more than the first */
}
