/* SPDX-License-Identifier: MIT */
/* Metrics: where values fall, how many labels there may be, and how they are written. */
#include "unit.h"

#include "cupti_trace/wire/gpu_work.h"
#include "profiler/formats/prometheus.h"

static char *text; /* the last one written */
static struct devices devices;

static const char *write_metrics(const struct metrics *m)
{
	struct ledger ledger = {.gpu.sums = 3, .gpu.equal = 2};
	size_t size;
	FILE *out;

	free(text);
	text = NULL;
	out = open_memstream(&text, &size);
	assert_non_null(out);
	prometheus_write(out, m, &ledger, &devices, NULL);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void expect_text(const struct metrics *m, const char *wanted)
{
	if (!strstr(write_metrics(m), wanted))
		fail_msg("no '%s' in\n%s", wanted, text);
}

static const struct gpu_event_kernel one = {
	.duration_ns = 1000, .grid = {2, 1, 1}, .block = {16, 4, 1}};

static void values_fall_into_the_first_bucket_that_holds_them(void **state)
{
	struct metrics *m = metrics_new();
	struct gpu_event_kernel k = one;

	(void)state;
	metrics_process(m, 7, 4711, "/bin/app");
	metrics_kernel(m, 7, &k, "k");
	k.duration_ns = 1001;
	metrics_kernel(m, 7, &k, "k");
	k.duration_ns = UINT64_C(20000000000);
	k.grid[0] = k.grid[1] = k.grid[2] = UINT32_MAX;
	metrics_kernel(m, 7, &k, "k");
	k.bad_time = 1;
	metrics_kernel(m, 7, &k, "k");
#define L "pid=\"4711\",process=\"app\",device=\"0\",kernel=\"k\""
	expect_text(m, "kernel_duration_seconds_bucket{" L ",le=\"1e-06\"} 1\n");
	expect_text(m, "kernel_duration_seconds_bucket{" L ",le=\"5e-06\"} 2\n");
	expect_text(m, "kernel_duration_seconds_bucket{" L ",le=\"10\"} 2\n");
	expect_text(m, "kernel_duration_seconds_bucket{" L ",le=\"+Inf\"} 3\n");
	expect_text(m, "kernel_duration_seconds_sum{" L "} 20.000002001\n");
	expect_text(m, "kernel_grid_blocks_bucket{" L ",le=\"1\"} 0\n");
	expect_text(m, "kernel_grid_blocks_bucket{" L ",le=\"8\"} 2\n");
	expect_text(m, "kernel_grid_blocks_sum{" L "} 18446744073709551615\n");
	expect_text(m, "kernel_grid_blocks_count{" L "} 4\n");
	expect_text(m, "kernel_block_threads_bucket{" L ",le=\"64\"} 4\n");
	expect_text(m, "kernels_untimed_total{" L "} 1\n");
	expect_text(m, "losses{what=\"gpu_sums_differing\"} 1\n");
#undef L
	metrics_free(m);
}

/* Compares two lines: names and labels of samples, without values. */
static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void expect_no_sample_twice(const struct metrics *m)
{
	static char *lines[65536];
	size_t count = 0;

	write_metrics(m);
	for (char *rest = text, *line; (line = strsep(&rest, "\n")) && *line;) {
		char *value = strrchr(line, ' ');

		if (line[0] == '#')
			continue;
		*value = '\0';
		assert_true(count < 65536);
		lines[count++] = line;
	}
	qsort(lines, count, sizeof(lines[0]), compare_lines);
	for (size_t i = 1; i < count; i++)
		if (strcmp(lines[i - 1], lines[i]) == 0)
			fail_msg("twice: %s", lines[i]);
}

/* Adds up the kernels of all series. */
static uint64_t count_kernels(const struct metrics *m)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < m->kernel_count; i++)
		sum += m->kernels[i].durations.count + m->kernels[i].untimed;
	return sum;
}

static void a_million_kernels_are_few_series(void **state)
{
	struct metrics *m;
	char *names;
	uint64_t labels;

	(void)state;
	SKIP_UNDER_VALGRIND();
	m = metrics_new();
	names = malloc(1000000);
	memset(names, 'k', 1000000);
	names[999999] = '\0';
	metrics_process(m, 1, 1, "a");
	metrics_process(m, 2, 2, "a");
	/* each address is a name: from the longest to the shortest */
	for (uint32_t i = 0; i < 1000000; i++)
		metrics_kernel(m, 1 + i % 2, &one, names + (i < 999700 ? 999000 : i));
	for (uint32_t i = 0; i < 1000000; i++) {
		struct gpu_event_kernel k = one;

		k.device_id = i;
		metrics_kernel(m, 1 + i % 3, &k, names + 999990 + i % 10);
	}
	assert_int_equal(count_kernels(m), 2000000);
	assert_true(m->kernel_count <= METRICS_KERNELS + METRICS_PROCESSES + 2);
	assert_true(m->other_kernels > 999000);
	labels = m->labels.bytes;
	assert_true(labels < 200000);
	expect_no_sample_twice(m);
	metrics_free(m);
	free(names);
}

static void other_work_and_errors_are_bounded_and_kept(void **state)
{
	struct metrics *m = metrics_new();
	uint64_t count = 0, bytes = 0, errors = 0;
	char name[32];

	(void)state;
	for (uint32_t i = 1; i <= 300; i++)
		metrics_process(m, i, (pid_t)i, "p");
	for (uint32_t i = 0; i < 20000; i++) {
		const struct gpu_event_work work = {
			.work = 1 + i % (GPU_WORKS - 1), .device_id = i, .bytes = 10};
		struct gpu_event_error error = {.code = i, .function = name};

		snprintf(name, sizeof(name), "cuda%u\"", i % 500);
		metrics_work(m, i % 400, &work);
		metrics_error(m, i % 400, &error);
		metrics_launch(m, i % 400);
	}
	for (uint32_t i = 0; i < m->work_count; i++) {
		count += m->works[i].sizes.count;
		bytes += m->works[i].sizes.sum;
	}
	for (uint32_t i = 0; i < m->error_count; i++)
		errors += m->errors[i].count;
	assert_int_equal(count, 20000);
	assert_int_equal(bytes, 200000);
	assert_int_equal(errors, 20000);
	count = 0;
	for (uint32_t i = 0; i < m->process_count; i++)
		count += m->processes[i].launches;
	assert_int_equal(count, 20000);
	assert_int_equal(m->process_count, METRICS_PROCESSES + 1);
	expect_no_sample_twice(m);
	metrics_free(m);
}

/* A program that executes itself has one pid and name, but its kernels are another program's. */
static void programs_of_one_name_and_pid_are_one(void **state)
{
	struct metrics *m = metrics_new();

	(void)state;
	metrics_process(m, 1, 5, "/a/app");
	metrics_process(m, 2, 5, "/b/app");
	metrics_process(m, 3, 5, "/b/other");
	for (uint32_t id = 1; id <= 3; id++) {
		metrics_kernel(m, id, &one, "k");
		metrics_launch(m, id);
	}
	expect_text(m, "launches_total{pid=\"5\",process=\"app\"} 2\n");
	expect_text(m, "launches_total{pid=\"5\",process=\"other\"} 1\n");
	expect_text(m, "process=\"app\",device=\"0\",kernel=\"k\"} 2\n");
	expect_no_sample_twice(m);
	metrics_free(m);
}

static void labels_are_escaped_clean_and_short(void **state)
{
	struct metrics *m = metrics_new();
	char *huge = malloc(1 << 20);

	(void)state;
	metrics_process(m, 1, 5, "/a \"b\"\\\n\xff");
	metrics_kernel(m, 1, &one, "x\"y\\z\n\x80\xe2\x80\xa8");
	expect_text(m, "process=\"a \\\"b\\\"\\\\??\"");
	expect_text(m, "kernel=\"x\\\"y\\\\z??\xe2\x80\xa8\"");
	/* cut between characters */
	for (uint32_t i = 0; i < (1 << 20) - 3; i += 3)
		memcpy(huge + i, "\xe2\x82\xac", 4);
	metrics_kernel(m, 1, &one, huge);
	for (uint32_t i = 0; i < m->kernel_count; i++)
		assert_true(strlen(m->kernels[i].name) <= METRICS_LABEL_BYTES);
	expect_text(m, "\xe2\x82\xac...#");
	metrics_kernel(m, 1, &one, NULL);
	expect_text(m, "kernel=\"[unknown]\"");
	metrics_kernel(m, 1, &one, "_Z3addPf");
	expect_text(m, "kernel=\"add(float*)\"");
	metrics_free(m);
	free(huge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_fall_into_the_first_bucket_that_holds_them),
		cmocka_unit_test(a_million_kernels_are_few_series),
		cmocka_unit_test(other_work_and_errors_are_bounded_and_kept),
		cmocka_unit_test(programs_of_one_name_and_pid_are_one),
		cmocka_unit_test(labels_are_escaped_clean_and_short),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(text);
	return failed;
}
