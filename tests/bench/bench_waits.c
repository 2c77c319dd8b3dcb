/* SPDX-License-Identifier: MIT */
/*
 * The time to split waits by operation (profiler/addons/waits): 200,000 operations on 16 streams,
 * and 50,000 waits of 64 threads that wait all the time, half of them for one stream. Then the
 * worst case that a program can send: as many waits that all last from the first operation to the
 * last. `make bench`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "profiler/addons/waits.h"

enum { OPERATIONS = 200000, STREAMS = 16, WAITS = 50000, THREADS = 64, LASTS_NS = 10000 };
enum { RUN_NS = OPERATIONS / STREAMS * LASTS_NS };

struct sum {
	uint64_t ns, pieces;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void add_up(void *context, const struct waits_wait *wait, const struct waits_piece *piece)
{
	struct sum *sum = context;

	(void)wait;
	sum->ns += piece->ns;
	sum->pieces++;
}

/* Streams run beside each other; on each, one operation after the other, of random length. */
static void add_operations(struct waits *w)
{
	uint64_t at[STREAMS] = {0};

	for (uint32_t i = 0; i < OPERATIONS; i++) {
		uint32_t stream = i % STREAMS;
		uint64_t end = at[stream] + LASTS_NS / 2 + (uint64_t)rand() % LASTS_NS;

		waits_add_operation(w, &(struct waits_operation){.start_ns = at[stream],
								 .end_ns = end,
								 .process = 1,
								 .stream = stream});
		at[stream] = end;
	}
}

/* Returns their sum. */
static uint64_t add_waits(struct waits *w, bool all_long)
{
	const uint64_t lasts = RUN_NS / (WAITS / THREADS);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < WAITS; i++) {
		struct waits_wait wait = {.process = 1,
					  .has_stream = !all_long && i % 2,
					  .stream = i / 2 % STREAMS,
					  .start_ns =
						  i / THREADS * lasts + (uint64_t)rand() % 1000};

		wait.end_ns = all_long ? RUN_NS : wait.start_ns + lasts;
		if (all_long)
			wait.start_ns = 0;
		waits_add(w, &wait);
		sum += wait.end_ns - wait.start_ns;
	}
	return sum;
}

static void run(const char *what, bool all_long)
{
	struct sum sum = {0};
	struct waits *w = waits_new(&(struct waits_output){add_up, &sum});
	uint64_t waited;
	double start;

	if (!w)
		exit(1);
	srand(1);
	start = now_s();
	add_operations(w);
	waited = add_waits(w, all_long);
	waits_finish(w);
	printf("%d operations, %d %s: %.3f s, %" PRIu64 " pieces, %" PRIu64 " cut, %zu MiB\n",
	       OPERATIONS, WAITS, what, now_s() - start, sum.pieces, waits_cut(w),
	       waits_memory(w) >> 20);
	if (sum.ns != waited) {
		fprintf(stderr, "pieces sum up to %" PRIu64 " ns of %" PRIu64 "\n", sum.ns, waited);
		exit(1);
	}
	waits_free(w);
}

int main(void)
{
	run("waits", false);
	run("waits as long as the run", true);
	return 0;
}
