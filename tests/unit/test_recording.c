/* SPDX-License-Identifier: MIT */
/*
 * Runs recorded on a real GPU (tests/golden/README.md), replayed through the whole collecting side:
 * the GPU part of the profile must be what it was, and the totals what CUPTI reported.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "profiler/collect/collect.h"
#include "profiler/report/accounts.h"
#include "profiler/sources/gpu_pipe.h"
#include "profiler/sources/recording.h"
#include "profiler/output/resolve.h"
#include "profiler/output/writer.h"

struct replay {
	struct collect collect;
	struct gpu_pipe *gpu;
	uint64_t goodbye_kernels, goodbye_ns;
};

static void on_gpu_event(void *context, uint32_t pid, const struct gpu_event *event,
			 const char *kernel)
{
	struct replay *r = context;

	if (event->type == GPU_EVENT_GOODBYE) {
		r->goodbye_kernels += event->goodbye.kernels;
		r->goodbye_ns += event->goodbye.kernel_ns;
	}
	collect_gpu_event(&r->collect, pid, event, kernel);
}

static FILE *open_golden(const char *name, const char *suffix)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "tests/golden/%s.%s", name, suffix);
	file = fopen(path, "re");
	if (!file)
		fail_msg("%s: %s (run from the top folder)", path, strerror(errno));
	return file;
}

static void replay_events(struct replay *r, const char *name)
{
	FILE *file = open_golden(name, "events");
	char *line = NULL;
	size_t capacity = 0;

	while (getline(&line, &capacity, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		assert_int_equal(recording_replay_line(&r->collect, line), 0);
	}
	free(line);
	fclose(file);
}

/* In pieces of `step` bytes, as a pipe may deliver them. */
static void replay_pipe(struct replay *r, const char *name, size_t step)
{
	FILE *file = open_golden(name, "pipe");
	char bytes[4096];
	size_t n;

	while ((n = fread(bytes, 1, step, file)) > 0)
		gpu_pipe_feed(r->gpu, bytes, n);
	gpu_pipe_finish(r->gpu);
	fclose(file);
}

/* The lines of GPU kernels; CPU lines end in this machine's kernel symbols. */
static char *gpu_lines(char *folded)
{
	char *out = calloc(strlen(folded) + 1, 1), *end = out, *state = NULL;

	assert_non_null(out);
	for (char *line = strtok_r(folded, "\n", &state); line;
	     line = strtok_r(NULL, "\n", &state)) {
		size_t n = strlen(line);

		if (!strstr(line, "[GPU_"))
			continue;
		memcpy(end, line, n);
		end[n] = '\n';
		end += n + 1;
	}
	return out;
}

static char *write_folded(struct replay *r, struct writer_result *result)
{
	struct resolve_input input = {.profile = r->collect.profile,
				      .stacks = r->collect.stacks,
				      .symbolizer = r->collect.symbolizer,
				      .strings = &r->collect.strings,
				      .sample_period_ns = 2e7};
	struct writer_options options = {.unit_ns = {1, 1}};
	struct call_tree *tree = resolve(&input);
	char *text = NULL, *lines;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(tree);
	assert_non_null(out);
	assert_int_equal(folded_writer.write(tree, &options, out, result), 0);
	fclose(out);
	call_tree_free(tree);
	lines = gpu_lines(text);
	free(text);
	return lines;
}

static char *read_all(FILE *file)
{
	char *text = NULL;
	size_t capacity = 0;

	if (getdelim(&text, &capacity, '\0', file) < 0) {
		free(text);
		text = strdup("");
	}
	fclose(file);
	return text;
}

/* What a recording holds. */
struct holds {
	const char *name;
	uint64_t launches;
	uint64_t spans;    /* operations with a duration, all launched */
	uint64_t instants; /* others */
	uint64_t staged;   /* spans that are part of a copy between devices through the host */
};

static uint64_t count_staged(const struct work_tally *counted)
{
	const struct work_sum *sum;
	uint64_t staged = 0;
	uint32_t at = 0;

	while ((sum = work_tally_next(counted, &at)))
		staged += sum->staged;
	return staged;
}

/* `pipe_first`: the two streams are independent, so either may be taken in first. */
static void check_all(const struct holds *holds, size_t step, bool pipe_first)
{
	const char *name = holds->name;
	struct replay r = {.goodbye_ns = 0};
	struct writer_result result;
	struct join_stats stats;
	struct accounts accounts;
	char *lines, *expected;

	assert_int_equal(collect_init(&r.collect), 0);
	r.gpu = gpu_pipe_new(&r.collect.strings, on_gpu_event, &r);
	assert_non_null(r.gpu);
	if (pipe_first)
		replay_pipe(&r, name, step);
	replay_events(&r, name);
	if (!pipe_first)
		replay_pipe(&r, name, step);
	join_finish(r.collect.join);

	stats = join_stats(r.collect.join);
	assert_int_equal(stats.launches, holds->launches);
	assert_int_equal(stats.matched, holds->spans + holds->instants);
	assert_int_equal(stats.unmatched, 0);
	assert_int_equal(gpu_pipe_stats(r.gpu).malformed, 0);
	assert_int_equal(gpu_pipe_stats(r.gpu).missing_kernels, 0);
	assert_int_equal(gpu_pipe_stats(r.gpu).without_goodbye, 0);
	assert_int_equal(r.goodbye_kernels, holds->spans + holds->instants);
	assert_int_equal(count_staged(&r.collect.counted), holds->staged);

	accounts = accounts_of(&r.collect.counted, &r.collect.told);
	assert_int_equal(accounts.equal, accounts.sums);
	assert_int_equal(accounts.unmatched, 0);

	lines = write_folded(&r, &result);
	assert_int_equal(result.total[WEIGHT_GPU], r.goodbye_ns);
	assert_int_equal(result.total[WEIGHT_CPU], r.collect.stats.cpu_samples * 20000000);
	expected = read_all(open_golden(name, "folded"));
	if (getenv("PRINT_GOLDEN"))
		fputs(lines, stderr);
	assert_string_equal(lines, expected);
	free(lines);
	free(expected);
	gpu_pipe_free(r.gpu);
	collect_release(&r.collect);
}

/* Kernels only. */
static void check(const char *name, size_t step, bool pipe_first, uint64_t launches,
		  uint64_t kernels)
{
	check_all(&(struct holds){name, launches, kernels, 0, 0}, step, pipe_first);
}

static void kernels_graphs_and_cooperative_launches(void **state)
{
	(void)state;
	check("h100_mixed", 4096, false, 206, 300);
}

static void launches_through_the_driver_alone(void **state)
{
	(void)state;
	check("h100_driver", 4096, false, 100, 100);
}

/* The same program with stacks taken in the process, nodes of graphs and CUPTI's sums. */
static void graph_nodes_and_sums(void **state)
{
	(void)state;
	check("h100_graphs", 4096, false, 206, 300);
	check("h100_graphs", 7, true, 206, 300);
}

/* Two GPUs, at first without access to each other's memory: a copy is two operations then. */
static void copies_between_devices(void **state)
{
	const struct holds peers = {"h200_peers", 82, 66, 22, 4};

	(void)state;
	check_all(&peers, 4096, false);
	check_all(&peers, 7, true);
}

static void the_pipe_in_small_pieces(void **state)
{
	(void)state;
	check("h100_mixed", 7, false, 206, 300);
}

static void the_pipe_before_the_stacks(void **state)
{
	(void)state;
	check("h100_mixed", 4096, true, 206, 300);
	check("h100_driver", 4096, true, 100, 100);
}

static void bad_lines_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"stack",
		"stack 1",
		"stack x 1 1 1 0 0 0 0",
		"stack 1 1 1 1 0 0 65535 65535 1",
		"stack 1 1 1 1 0 0 2 0 ff",
		"map 1 2 3",
		"fork 1",
		"nothing 1 2",
		"exec 99999999999999999999999 1",
	};
	struct collect collect;

	(void)state;
	assert_int_equal(collect_init(&collect), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char line[128];

		snprintf(line, sizeof(line), "%s", bad[i]);
		assert_int_equal(recording_replay_line(&collect, line), -EBADMSG);
	}
	collect_release(&collect);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_graphs_and_cooperative_launches),
		cmocka_unit_test(launches_through_the_driver_alone),
		cmocka_unit_test(graph_nodes_and_sums),
		cmocka_unit_test(copies_between_devices),
		cmocka_unit_test(the_pipe_in_small_pieces),
		cmocka_unit_test(the_pipe_before_the_stacks),
		cmocka_unit_test(bad_lines_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
