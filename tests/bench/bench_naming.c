/* SPDX-License-Identifier: MIT */
/*
 * Measures how long names take: 10,000 distinct stacks of 50 frames at random places in the code of
 * ordinary libraries, located, named and written as folded stacks; median of several rounds, each
 * from nothing. `make bench`.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "profiler/shape/result_naming.h"
#include "profiler/formats/writer.h"

enum { ROUNDS = 5, STACKS = 10000, DEPTH = 50, RANGES = 256 };

/* Loaded where they are installed, so that there is code of several kinds: C, C++, tables. */
static const char *const libraries[] = {
	"libc.so.6",         "libm.so.6",    "libstdc++.so.6",       "libcrypto.so.3",
	"libsqlite3.so.0",   "libz.so.1",    "libpython3.11.so.1.0", "libLLVM-14.so.1",
	"libprotobuf.so.32", "libcurl.so.4", "libxml2.so.2",
};

struct range {
	uint64_t start, end;
};

static struct range ranges[RANGES];
static uint32_t range_count;
static uint64_t code_bytes;
static uint32_t seed;

static uint32_t next_random(void)
{
	seed = seed * 1664525u + 1013904223u;
	return seed >> 8;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void find_code(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4352], path[4096], mode[8];
	uint64_t start, end;

	while (f && range_count < RANGES && fgets(line, sizeof(line), f)) {
		path[0] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %4095s", &start, &end,
			   mode, path) < 3 ||
		    mode[2] != 'x' || path[0] != '/')
			continue;
		ranges[range_count++] = (struct range){start, end};
		code_bytes += end - start;
	}
	if (f)
		fclose(f);
}

static void add_stack(struct collected *c, struct address_space *space, struct stack_table *stacks,
		      struct profile *profile)
{
	struct frame frames[DEPTH];

	memset(frames, 0, sizeof(frames));
	for (uint32_t i = 0; i < DEPTH; i++) {
		const struct range *r = &ranges[next_random() % range_count];
		uint64_t address = r->start + next_random() % (r->end - r->start);

		frames[i].kind = i ? FRAME_RETURN : FRAME_CODE;
		frames[i].code = symbolizer_locate(c->symbolizer, space, address);
	}
	profile_add(profile, ROW_CPU, stack_table_add(stacks, STACK_EMPTY, frames, DEPTH),
		    PLACE_NOWHERE, 1, 0);
}

/* False: out of memory, or /proc cannot be read. */
static bool name_and_write(struct collected *c, struct address_space *space, FILE *out)
{
	const struct writer_options options = {.unit_ns = 1};
	const struct naming_options naming = {.inlines = false};
	const struct totals totals = {.ledger = c->ledger};
	struct stack_table *stacks = stack_table_new();
	struct profile *profile = profile_new();
	struct result *result = NULL;
	struct written written;
	bool is_written = false;

	if (stacks && profile && symbolizer_snapshot(c->symbolizer, space) == 0) {
		for (int i = 0; i < STACKS; i++)
			add_stack(c, space, stacks, profile);
		c->stacks = stacks;
		c->profile = profile;
		result = result_new(c, &naming, &totals);
	}
	if (result)
		is_written = folded_writer.write(result, &options, out, &written) == 0;
	result_free(result);
	profile_free(profile);
	stack_table_free(stacks);
	return is_written;
}

static double run_round(void)
{
	struct places places;
	struct place_names place_names = {0};
	struct devices devices = {0};
	struct ledger ledger = {0};
	struct collected collected = {.places = &places,
				      .place_names = &place_names,
				      .devices = &devices,
				      .symbolizer = symbolizer_new(),
				      .ledger = &ledger};
	struct address_space *space = address_space_new(1, getpid(), false);
	FILE *out = fopen("/dev/null", "w");
	double start = now_s();

	if (!collected.symbolizer || !space || !out || places_init(&places, 0) != 0 ||
	    !name_and_write(&collected, space, out))
		exit(1);
	start = now_s() - start;
	places_release(&places);
	address_space_free(space);
	symbolizer_free(collected.symbolizer);
	fclose(out);
	return start;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(void)
{
	double seconds[ROUNDS];
	struct rusage usage;

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		dlopen(libraries[i], RTLD_LAZY); /* stays */
	find_code();
	if (range_count == 0)
		return 1;
	for (int i = 0; i < ROUNDS; i++) {
		seed = (uint32_t)i;
		seconds[i] = run_round();
	}
	qsort(seconds, ROUNDS, sizeof(*seconds), by_value);
	getrusage(RUSAGE_SELF, &usage);
	printf("%d stacks of %d frames in %u files (%.0f MB of code) named: %.2f s, %ld MiB\n",
	       STACKS, DEPTH, range_count, (double)code_bytes / 1e6, seconds[ROUNDS / 2],
	       usage.ru_maxrss / 1024);
	return 0;
}
