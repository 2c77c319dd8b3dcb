/* SPDX-License-Identifier: MIT */
/*
 * timeline [FOLDER=.]: 25 million GPU operations added to a timeline in FOLDER and read again
 * (profiler/model/timeline): bytes, seconds, and the most memory that the process ever had; the
 * same for finding when the GPUs were busy (profiler/tables/busy).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include "profiler/tables/busy.h"
#include "profiler/model/timeline.h"

/* Eight GPUs with eight streams each, and a model with some hundred different launches. */
enum { OPERATIONS = 25000000, GPUS = 8, STREAMS = 8, SHAPES = 300 };

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct timeline_record record_of(struct timeline *t, uint32_t i)
{
	const struct timeline_shape shape = {.grid = {1 + i % SHAPES, 1, 1},
					     .block = {256, 1, 1},
					     .dynamic_shared = 1024,
					     .registers = 32};

	return (struct timeline_record){
		.kind = TIMELINE_GPU_OPERATION,
		.start_ns = UINT64_C(123456789000000) + i * UINT64_C(2000),
		.duration_ns = 1500 + i % 1000,
		.place = {i % (GPUS * STREAMS)},
		.stack = {i % 2000},
		.shape = timeline_number_shape(t, &shape),
		.correlation = i,
	};
}

static void fail(const char *what, int err)
{
	fprintf(stderr, "timeline: %s: %s\n", what, strerror(-err));
	exit(1);
}

static double write_all(struct timeline *t)
{
	double start = now_s();
	int err = 0;

	for (uint32_t i = 0; i < OPERATIONS && !err; i++) {
		struct timeline_record record = record_of(t, i);

		err = timeline_add(t, &record);
	}
	if (!err)
		err = timeline_finish(t);
	if (err)
		fail("cannot be written", err);
	return now_s() - start;
}

static double read_all(const struct timeline *t)
{
	double start = now_s();
	struct timeline_reader *r = timeline_reader_new(t);
	const struct timeline_record *record;
	uint64_t count = 0;
	int result;

	if (!r)
		exit(1);
	while ((result = timeline_reader_next(r, &record)) == 1) {
		if (record->correlation != count ||
		    record->place.number != count % (GPUS * STREAMS) ||
		    timeline_shape(t, record->shape)->grid[0] != 1 + count % SHAPES)
			break;
		count++;
	}
	timeline_reader_free(r);
	if (result < 0)
		fail("cannot be read", result);
	if (count != OPERATIONS)
		fail("gives back something else", 0);
	return now_s() - start;
}

static double find_busy(struct timeline *t)
{
	static struct place places[GPUS * STREAMS];
	static struct device devices[GPUS];
	struct result result = {.timeline = t,
				.places = places,
				.place_count = GPUS * STREAMS,
				.devices = devices,
				.device_count = GPUS,
				.totals.elapsed_ns = UINT64_MAX};
	double start = now_s();
	struct busy *busy;

	for (uint32_t i = 0; i < GPUS; i++)
		devices[i].id = i;
	for (uint32_t i = 0; i < GPUS * STREAMS; i++)
		places[i].part[PLACE_DEVICE] = i / STREAMS;
	busy = busy_new(&result, BUSY_SPANS_MAX);
	if (!busy || busy->device_count != GPUS)
		fail("cannot be summed up", 0);
	busy_free(busy);
	return now_s() - start;
}

static long peak_mib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss / 1024;
}

int main(int argc, char **argv)
{
	struct timeline *t = timeline_new(argc > 1 ? argv[1] : ".", NULL);
	double write_s, read_s, busy_s;
	long memory;

	if (!t) {
		perror("timeline");
		return 1;
	}
	write_s = write_all(t);
	read_s = read_all(t);
	memory = peak_mib();
	busy_s = find_busy(t);
	printf("timeline of %d operations: %zu MB, written in %.2f s, read in %.2f s, %ld MiB\n",
	       OPERATIONS, OPERATIONS * sizeof(struct timeline_record) / 1000000, write_s, read_s,
	       memory);
	printf("times when GPUs were busy found in %.2f s, %ld MiB\n", busy_s, peak_mib());
	timeline_free(t);
	return 0;
}
