/* SPDX-License-Identifier: MIT */
/* The summary for programs is parsed again, by cJSON: every sum and loss in its place. */
#include "made_result.h"
#include <cjson/cJSON.h>
#include "profiler/formats/writer.h"

static cJSON *write_and_parse(const struct made_result *m, struct written *written)
{
	const struct writer_options options = {.unit_ns = 20e6};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	cJSON *tree;

	assert_non_null(out);
	memset(written, 0xff, sizeof(*written)); /* says nothing yet */
	assert_int_equal(json_summary_writer.write(&m->result, &options, out, written), 0);
	fclose(out);
	assert_int_equal(strlen(text), size);
	tree = cJSON_ParseWithOpts(text, NULL, true);
	assert_non_null(tree);
	free(text);
	return tree;
}

static uint64_t number(const cJSON *object, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	assert_true(cJSON_IsNumber(value));
	return (uint64_t)value->valuedouble;
}

static const char *text_of(const cJSON *object, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static const cJSON *list(const cJSON *tree, const char *key, int count)
{
	const cJSON *found = cJSON_GetObjectItemCaseSensitive(tree, key);

	assert_true(cJSON_IsArray(found));
	assert_int_equal(cJSON_GetArraySize(found), count);
	return found;
}

static uint32_t push(struct made_result *m, uint32_t outer, enum frame_class class,
		     const char *name)
{
	uint32_t stack = made_push(m, outer, name);

	m->frames[m->stacks[stack].frame].class = class;
	return stack;
}

static void an_empty_run(void **state)
{
	struct ledger ledger = {.cpu.dropped = 0};
	struct made_result m;
	struct written written;
	cJSON *tree;

	(void)state;
	made_begin(&m);
	m.result.totals.ledger = &ledger;
	tree = write_and_parse(&m, &written);
	assert_string_equal(text_of(tree, "format"), "profile summary");
	assert_int_equal(number(tree, "version"), 1);
	list(tree, "kernels", 0);
	list(tree, "gpu_work", 0);
	assert_int_equal(number(cJSON_GetObjectItem(tree, "losses"), "cpu_samples_dropped"), 0);
	assert_int_equal(written.items, 0);
	cJSON_Delete(tree);
	made_end(&m);
}

/* Launch stacks are in the summary only if they are limited. */
static void launch_stacks(void **state)
{
	struct ledger ledger = {.launches = {.with_stack = 3, .skipped = 40},
				.spread = {.operations = 5,
					   .ns = 600,
					   .borrowed_ns = 70,
					   .left_ns = 8,
					   .error_ns = 9}};
	struct made_result m;
	struct written written;
	const cJSON *stacks;
	cJSON *tree;

	(void)state;
	made_begin(&m);
	m.result.totals.ledger = &ledger;
	tree = write_and_parse(&m, &written);
	assert_null(cJSON_GetObjectItem(tree, "launch_stacks"));
	cJSON_Delete(tree);
	m.result.totals.measure.max_overhead = 2500;
	tree = write_and_parse(&m, &written);
	stacks = cJSON_GetObjectItem(tree, "launch_stacks");
	assert_int_equal(number(stacks, "limit_millipercent"), 2500);
	assert_int_equal(number(stacks, "launches_with_stack"), 3);
	assert_int_equal(number(stacks, "launches_without_stack"), 40);
	assert_int_equal(number(stacks, "spread_operations"), 5);
	assert_int_equal(number(stacks, "spread_ns"), 600);
	assert_int_equal(number(stacks, "borrowed_ns"), 70);
	assert_int_equal(number(stacks, "not_sampled_ns"), 8);
	assert_int_equal(number(stacks, "standard_error_ns"), 9);
	cJSON_Delete(tree);
	made_end(&m);
}

static void all_sums_and_losses(void **state)
{
	struct gpu_row work = {.work = GPU_WORK_MEMCPY_HTOD,
			       .count = 4,
			       .ns = 40,
			       .bytes = 4096,
			       .unmatched = 1,
			       .unmatched_ns = 10};
	struct ledger ledger = {.gpu = {.rows = &work, .row_count = 1, .dropped = 7},
				.pipe.refused = UINT32_MAX};
	struct made_result m;
	struct written written;
	static const char *const tables[] = {"kernels", "other_gpu_work", "launch_sites",
					     "functions", "waits"};
	uint64_t rows = 0;
	const cJSON *item, *totals;
	uint32_t main, call;
	cJSON *tree;

	(void)state;
	ledger.cost = (struct ledger_cost){8, 9, 10};
	made_begin(&m);
	work.device = devices_key(&m.devices, 7, 1);
	m.result.totals = (struct totals){.ledger = &ledger,
					  .command = "./app 'a b'",
					  .start_unix_ns = 6,
					  .elapsed_ns = 5,
					  .command_cpu_ns = 4,
					  .own_cpu_ns = 3,
					  .own_memory_bytes = 7,
					  .sample_ns = 2};
	main = push(&m, RESULT_ROOT, CLASS_PYTHON, "main (a.py)");
	m.frames[m.stacks[main].frame].file = "/app/a.py";
	call = push(&m, main, CLASS_API, "cudaLaunchKernel");
	made_add(&m, push(&m, call, CLASS_GPU_KERNEL, "[GPU_Kernel]k"), ROW_GPU, 100);
	m.rows[0].count = 5;
	made_add(&m, push(&m, call, CLASS_GPU_WORK, "[GPU_Memcpy HtoD]"), ROW_GPU, 40);
	m.rows[1].bytes = 4096;
	made_add(&m, main, ROW_CPU, 60);
	made_add(&m, push(&m, call, CLASS_WAIT, "[waiting for GPU]"), ROW_WAIT, 30);
	tree = write_and_parse(&m, &written);
	assert_string_equal(text_of(tree, "command"), "./app 'a b'");
	assert_int_equal(number(tree, "started_unix_ns"), 6);
	assert_int_equal(number(tree, "elapsed_ns"), 5);
	assert_int_equal(number(tree, "sample_ns"), 2);
	assert_int_equal(number(tree, "profiler_cpu_ns"), 3);
	assert_int_equal(number(tree, "profiler_memory_bytes"), 7);
	assert_int_equal(number(tree, "library_cpu_ns"), 8);
	assert_int_equal(number(tree, "kernel_cpu_ns"), 9);
	assert_int_equal(number(tree, "pipe_bytes"), 10);
	totals = cJSON_GetObjectItem(tree, "totals");
	assert_int_equal(number(totals, "cpu_ns"), 60);
	assert_int_equal(number(totals, "gpu_ns"), 140);
	assert_int_equal(number(totals, "waiting_ns"), 30);
	assert_int_equal(number(totals, "gpu_kernels"), 5);
	item = cJSON_GetArrayItem(list(tree, "kernels", 1), 0);
	assert_string_equal(text_of(item, "name"), "[GPU_Kernel]k");
	assert_int_equal(number(item, "calls"), 5);
	assert_int_equal(number(item, "ns"), 100);
	item = cJSON_GetArrayItem(list(tree, "other_gpu_work", 1), 0);
	assert_int_equal(number(item, "bytes"), 4096);
	item = cJSON_GetArrayItem(list(tree, "launch_sites", 1), 0);
	assert_string_equal(text_of(item, "file"), "/app/a.py");
	assert_int_equal(number(item, "ns"), 140);
	assert_int_equal(number(cJSON_GetArrayItem(list(tree, "functions", 1), 0), "samples"), 1);
	assert_int_equal(number(cJSON_GetArrayItem(list(tree, "functions", 1), 0), "total_ns"),
			 number(cJSON_GetArrayItem(list(tree, "functions", 1), 0), "ns"));
	item = cJSON_GetArrayItem(list(tree, "waits", 1), 0);
	assert_null(cJSON_GetObjectItem(item, "calls"));
	item = cJSON_GetArrayItem(list(tree, "gpu_work", 1), 0);
	assert_int_equal(number(item, "device"), 1);
	assert_string_equal(text_of(item, "kind"), "memcpy HtoD");
	assert_int_equal(number(item, "unmatched_ns"), 10);
	item = cJSON_GetObjectItem(tree, "losses");
	assert_int_equal(number(item, "gpu_operations_dropped"), 7);
	assert_int_equal(number(item, "lines_refused"), UINT32_MAX);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		rows += (uint64_t)cJSON_GetArraySize(cJSON_GetObjectItem(tree, tables[i]));
	assert_int_equal(written.items, rows);
	assert_int_equal(written.total[ROW_GPU], 140);
	cJSON_Delete(tree);
	made_end(&m);
}

static void hostile_names_break_nothing(void **state)
{
	static const char name[] = "a\"\\\n\x01</script>\xe2\x80\xa8\xff";
	struct ledger ledger = {.cpu.dropped = 0};
	struct made_result m;
	struct written written;
	cJSON *tree;

	(void)state;
	made_begin(&m);
	m.result.totals.ledger = &ledger;
	made_add(&m, push(&m, RESULT_ROOT, CLASS_NATIVE, name), ROW_CPU, 1);
	tree = write_and_parse(&m, &written);
	assert_string_equal(text_of(cJSON_GetArrayItem(list(tree, "functions", 1), 0), "name"),
			    "a\"\\\n\x01</script>\xe2\x80\xa8?");
	cJSON_Delete(tree);
	made_end(&m);
}

static void a_full_disk_is_an_error(void **state)
{
	const struct writer_options options = {.unit_ns = 1};
	struct ledger ledger = {.cpu.dropped = 0};
	FILE *full = fopen("/dev/full", "w");
	struct made_result m;
	struct written written;

	(void)state;
	assert_non_null(full);
	setvbuf(full, NULL, _IONBF, 0);
	made_begin(&m);
	m.result.totals.ledger = &ledger;
	assert_int_equal(json_summary_writer.write(&m.result, &options, full, &written), -EIO);
	fclose(full);
	made_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_run),
		cmocka_unit_test(launch_stacks),
		cmocka_unit_test(all_sums_and_losses),
		cmocka_unit_test(hostile_names_break_nothing),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
