// SPDX-License-Identifier: MIT
/* cJSON parses the written trace. test_trace_model.c tests the events. */
#include "made_timeline.h"
#include "profiler/output/writers.h"
#include <cjson/cJSON.h>

static cJSON *write_and_parse(struct made_timeline *m, struct written *written)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	cJSON *tree;

	assert_non_null(out);
	assert_int_equal(made_write(m, &chrome_writer, out, written), 0);
	fclose(out);
	assert_int_equal(strlen(text), size);
	tree = cJSON_ParseWithOpts(text, NULL, true);
	assert_non_null(tree);
	free(text);
	return tree;
}

static const cJSON *item(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const char *text_of(const cJSON *object, const char *key)
{
	return cJSON_GetStringValue(item(object, key));
}

static double number_of(const cJSON *object, const char *key)
{
	assert_true(cJSON_IsNumber(item(object, key)));
	return item(object, key)->valuedouble;
}

/* Returns event number `n` of a phase, or NULL if there are fewer. */
static const cJSON *event(const cJSON *tree, const char *phase, int n)
{
	const cJSON *e;

	cJSON_ArrayForEach(e, item(tree, "traceEvents"))
	{
		if (strcmp(text_of(e, "ph"), phase) == 0 && n-- == 0)
			return e;
	}
	return NULL;
}

static void the_format_is_known_by_its_name(void **state)
{
	(void)state;
	assert_string_equal(chrome_writer.name, "chrome");
	assert_int_equal(chrome_writer.needs, NEEDS_TIMELINE);
	assert_ptr_equal(writer_for_path("a.trace.json"), &chrome_writer);
	assert_null(writer_for_path("a.tracejson"));
	assert_ptr_equal(writer_for_path("trace.json"), &json_summary_writer);
}

static void a_launch_and_its_kernel(void **state)
{
	struct made_timeline m;
	struct written written;
	const cJSON *e, *args;
	char number[16];
	cJSON *tree;

	(void)state;
	made_timeline_begin(&m);
	made_kernel(&m, "[GPU_Kernel]void short<float>(float*)");
	tree = write_and_parse(&m, &written);
	assert_int_equal(written.items, 2);
	assert_int_equal(written.total[ROW_GPU], 2345);
	assert_true(number_of(tree, "baseTimeNanoseconds") == 5000000);
	e = event(tree, "X", 0);
	assert_string_equal(text_of(e, "name"), "cudaLaunchKernel");
	assert_string_equal(text_of(e, "cat"), "cuda_runtime");
	assert_true(number_of(e, "ts") == 1 && number_of(e, "dur") == 1.5);
	assert_true(number_of(e, "pid") == 4711 && number_of(e, "tid") == 12);
	e = event(tree, "X", 1);
	args = item(e, "args");
	assert_string_equal(text_of(e, "name"), "short");
	assert_string_equal(text_of(e, "cat"), "kernel");
	assert_true(number_of(e, "ts") == 3.001 && number_of(e, "dur") == 2.345);
	assert_true(number_of(e, "pid") > 4194304 && number_of(e, "tid") > 4194304);
	assert_true(number_of(args, "stream") == 7 && number_of(args, "correlation") == 9);
	assert_true(number_of(args, "shared memory") == 8);
	assert_true(number_of(args, "graph") == 3 && number_of(args, "graph node") == 4);
	assert_true(cJSON_GetArrayItem(item(args, "grid"), 0)->valuedouble == 4);
	assert_true(number_of(e, "bind_id") == 1 && cJSON_IsTrue(item(e, "flow_in")));
	assert_null(item(e, "flow_out"));
	assert_true(number_of(event(tree, "X", 0), "bind_id") == 1);
	assert_true(cJSON_IsTrue(item(event(tree, "X", 0), "flow_out")));
	assert_null(item(event(tree, "X", 0), "flow_in"));
	assert_string_equal(text_of(item(event(tree, "M", 0), "args"), "name"), "app");
	assert_string_equal(text_of(item(event(tree, "M", 2), "args"), "name"), "[thread 12]");
	assert_string_equal(text_of(item(event(tree, "M", 4), "args"), "name"),
			    "GPU 0 of app 4711");
	assert_string_equal(text_of(item(event(tree, "M", 6), "args"), "name"),
			    "stream 7, context 1");
	snprintf(number, sizeof(number), "%.0f", number_of(e, "sf"));
	e = item(item(tree, "stackFrames"), number);
	assert_string_equal(text_of(e, "name"), "[GPU_Kernel]void short<float>(float*)");
	snprintf(number, sizeof(number), "%.0f", number_of(e, "parent"));
	assert_string_equal(text_of(item(item(tree, "stackFrames"), number), "name"),
			    "cudaLaunchKernel");
	cJSON_Delete(tree);
	made_timeline_end(&m);
}

static void a_kernel_says_what_its_launch_was(void **state)
{
	const struct gpu_event_device device = {
		.id = 0, .name = "GPU", .limits = {132, 64, 32, 65536, 228u << 10, 9, 0}};
	struct counter_value value = {1, 9, 0, -0.1};
	struct counter_table counters = {.metrics = {{"a\"\xff", "b"}, {"x", ""}},
					 .metric_count = 2,
					 .values = &value,
					 .value_count = 1};
	struct made_timeline m;
	struct written written;
	const cJSON *args;
	cJSON *tree;

	(void)state;
	made_timeline_begin(&m);
	assert_int_equal(devices_describe(&m.made.devices, 1, &device), 0);
	m.made.result.counters = &counters;
	m.ledger.counters.unlisted = 6;
	made_kernel_of(&m, "k", 0);
	made_record(&m, (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
						 .work = GPU_WORK_MEMCPY_HTOD,
						 .start_ns = 9000,
						 .duration_ns = 10,
						 .bytes = 125,
						 .place = made_place(&m, 1, 12, 0, 7)});
	tree = write_and_parse(&m, &written);
	args = item(event(tree, "X", 1), "args");
	assert_true(number_of(args, "theoretical occupancy %") == 100);
	assert_true(number_of(args, "waves per SM") == 0.003788);
	assert_string_equal(text_of(args, "occupancy limited by"), "warps, registers");
	assert_true(number_of(args, "dynamic shared memory") == 8);
	assert_null(item(args, "static shared memory"));
	assert_true(number_of(args, "a\"? (b)") == -0.1);
	assert_null(item(args, "x"));
	assert_null(item(args, "memory bandwidth (GB/s)"));
	args = item(event(tree, "X", 2), "args");
	assert_true(number_of(args, "memory bandwidth (GB/s)") == 12.5);
	assert_null(item(args, "waves per SM"));
	assert_true(number_of(item(tree, "otherData"), "timeline_counters_lost") == 6);
	cJSON_Delete(tree);
	made_timeline_end(&m);
}

/* Two graphs of two kernels, which run in turns, and a kernel without a launch. */
static void all_operations_of_a_launch_are_bound_to_it(void **state)
{
	static const uint32_t correlations[] = {9, 10, 9, 10, 11};
	struct made_timeline m;
	struct written written;
	uint32_t place;
	cJSON *tree;

	(void)state;
	made_timeline_begin(&m);
	place_names_add_process(&m.made.place_names,
				&(struct process_info){.id = 1, .pid = 4711, .name = "app 4711"});
	place = made_place(&m, 1, 12, 0, 7).number;
	for (uint32_t i = 9; i <= 10; i++)
		made_record(&m, (struct timeline_record){.kind = TIMELINE_LAUNCH,
							 .start_ns = 1000 + i,
							 .place = made_place(&m, 1, 12, NOT, NOT),
							 .correlation = i});
	for (uint32_t i = 0; i < 5; i++)
		made_record(&m, (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
							 .start_ns = 2000 + 10 * i,
							 .duration_ns = 10,
							 .place = {place},
							 .correlation = correlations[i]});
	tree = write_and_parse(&m, &written);
	for (int i = 0; i < 6; i++) {
		const cJSON *e = event(tree, "X", i);

		assert_true(number_of(e, "bind_id") ==
			    number_of(event(tree, "X", i % 2), "bind_id"));
		assert_non_null(item(e, i < 2 ? "flow_out" : "flow_in"));
	}
	assert_true(number_of(event(tree, "X", 0), "bind_id") !=
		    number_of(event(tree, "X", 1), "bind_id"));
	assert_null(item(event(tree, "X", 6), "bind_id"));
	cJSON_Delete(tree);
	made_timeline_end(&m);
}

/* Two processes with one pid; a record before the run; a thread that cannot be. */
static void odd_places_and_times(void **state)
{
	struct made_timeline m;
	struct written written;
	cJSON *tree;

	(void)state;
	made_timeline_begin(&m);
	for (uint32_t id = 1; id <= 2; id++) {
		place_names_add_process(&m.made.place_names,
					&(struct process_info){.id = id, .pid = 5, .name = "a 5"});
		made_record(&m, (struct timeline_record){
					.kind = TIMELINE_CPU_SAMPLE,
					.start_ns = 400 + id,
					.duration_ns = 20,
					.place = made_place(&m, id, 4000000000 + id, NOT, NOT)});
	}
	tree = write_and_parse(&m, &written);
	assert_true(number_of(event(tree, "P", 0), "ts") == 0);
	assert_true(number_of(tree, "baseTimeNanoseconds") == 5000000 - 599);
	assert_string_equal(text_of(event(tree, "P", 0), "name"), "CPU sample");
	assert_true(number_of(event(tree, "P", 0), "pid") == 5);
	assert_true(number_of(event(tree, "P", 1), "pid") == 5);
	assert_true(number_of(event(tree, "P", 0), "tid") > 4194304);
	assert_true(number_of(event(tree, "P", 0), "tid") < 4194314);
	cJSON_Delete(tree);
	made_timeline_end(&m);
}

static void losses_are_said(void **state)
{
	struct made_timeline m;
	struct written written;
	struct gpu_row row = {.bad_times = 3};
	cJSON *tree;

	(void)state;
	made_timeline_begin(&m);
	made_kernel(&m, "k");
	m.ledger.timeline.lost = 7;
	m.ledger.gpu.dropped = 8;
	m.ledger.gpu.rows = &row;
	m.ledger.gpu.row_count = 1;
	made_add(&m.made, RESULT_ROOT, ROW_GPU, 9999);
	tree = write_and_parse(&m, &written);
	assert_true(number_of(item(tree, "otherData"), "timeline_records_lost") == 7);
	assert_true(number_of(item(tree, "otherData"), "gpu_operations_dropped") == 8);
	assert_true(number_of(item(tree, "otherData"), "gpu_operations_without_times") == 3);
	assert_true(number_of(item(tree, "otherData"), "gpu_ns") == 2345);
	assert_true(number_of(item(tree, "otherData"), "gpu_ns_of_the_run") == 9999);
	cJSON_Delete(tree);
	made_timeline_end(&m);
}

static void hostile_names(void **state)
{
	enum { SIZE = 1 << 20 };
	char *huge = malloc(SIZE + 1);
	struct made_timeline m;
	struct written written;
	const cJSON *frames, *found = NULL, *f;
	cJSON *tree;

	(void)state;
	assert_non_null(huge);
	memset(huge, '\xe2', SIZE);
	huge[SIZE] = '\0';
	made_timeline_begin(&m);
	made_kernel(&m, huge);
	m.made.frames[2].short_name = "a\"\\\n</script>\xe2\x80\xa8\xff";
	m.made.result.totals.command = "\xc3\"";
	tree = write_and_parse(&m, &written);
	assert_string_equal(text_of(event(tree, "X", 0), "name"), "a\"\\\n</script>\xe2\x80\xa8?");
	assert_string_equal(text_of(item(tree, "otherData"), "command"), "?\"");
	memset(huge, '?', SIZE);
	frames = item(tree, "stackFrames");
	cJSON_ArrayForEach(f, frames)
	{
		if (strcmp(text_of(f, "name"), huge) == 0)
			found = f;
	}
	assert_non_null(found);
	cJSON_Delete(tree);
	made_timeline_end(&m);
	free(huge);
}

static void an_empty_run(void **state)
{
	struct made_timeline m;
	struct written written;
	cJSON *tree;

	(void)state;
	made_timeline_begin(&m);
	m.made.result.totals = (struct totals){0};
	tree = write_and_parse(&m, &written);
	assert_int_equal(cJSON_GetArraySize(item(tree, "traceEvents")), 0);
	assert_null(item(tree, "baseTimeNanoseconds"));
	assert_int_equal(written.items, 0);
	cJSON_Delete(tree);
	made_timeline_end(&m);
}

static void a_full_disk_is_an_error(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct made_timeline m;
	struct written written;

	(void)state;
	if (!full)
		SKIP("no /dev/full here");
	setvbuf(full, NULL, _IONBF, 0);
	made_timeline_begin(&m);
	made_kernel(&m, "k");
	assert_int_equal(made_write(&m, &chrome_writer, full, &written), -EIO);
	made_timeline_end(&m);
	fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_format_is_known_by_its_name),
		cmocka_unit_test(a_launch_and_its_kernel),
		cmocka_unit_test(a_kernel_says_what_its_launch_was),
		cmocka_unit_test(all_operations_of_a_launch_are_bound_to_it),
		cmocka_unit_test(odd_places_and_times),
		cmocka_unit_test(losses_are_said),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(an_empty_run),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
