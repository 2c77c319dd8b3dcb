/* SPDX-License-Identifier: MIT */
/* Arguments of operations in traces, beyond their records. */
#include "made_timeline.h"
#include <math.h>
#include "profiler/formats/trace_arguments.h"
#include "profiler/tables/occupancy.h"

static struct made_timeline made;
static struct trace_arguments *arguments;

static int begin(void **state)
{
	const struct gpu_event_device device = {
		.id = 0, .name = "GPU", .limits = {132, 64, 32, 65536, 228u << 10, 9, 0}};

	(void)state;
	made_timeline_begin(&made);
	assert_int_equal(devices_describe(&made.made.devices, 1, &device), 0);
	made.made.result.timeline = made.timeline;
	return 0;
}

static int end(void **state)
{
	(void)state;
	trace_arguments_free(arguments);
	arguments = NULL;
	made_timeline_end(&made);
	return 0;
}

static struct trace_operation of(const struct timeline_record *record)
{
	if (!arguments)
		arguments = trace_arguments_new(&made.made.result);
	assert_non_null(arguments);
	return trace_arguments_of(arguments, record);
}

static struct timeline_record kernel(uint32_t process, uint32_t device, uint32_t correlation)
{
	return (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
					.work = GPU_WORK_KERNEL,
					.duration_ns = 10,
					.place = made_place(&made, process, 12, device, 7),
					.correlation = correlation};
}

static uint32_t shape(uint32_t blocks, uint32_t shared)
{
	const struct timeline_shape s = {.grid = {blocks, 1, 1},
					 .block = {256, 1, 1},
					 .dynamic_shared = shared,
					 .registers = 32};

	return timeline_number_shape(made.timeline, &s);
}

static void occupancy_is_that_of_the_shape_on_its_device(void **state)
{
	struct timeline_record record = kernel(1, 0, 1);
	struct trace_operation o;

	(void)state;
	record.shape = shape(1000, 0);
	for (int i = 0; i < 2; i++) {
		o = of(&record);
		assert_int_equal(o.shape->grid[0], 1000);
		assert_true(o.occupancy_percent == 100 && o.waves == 0.947);
		assert_int_equal(o.limits, OCCUPANCY_BY_WARPS | OCCUPANCY_BY_REGISTERS);
		assert_true(o.value_count == 0 && o.bytes_per_ns == 0);
	}
	record.shape = shape(1, 100 << 10);
	o = of(&record);
	assert_true(o.occupancy_percent == 25 && o.waves == 0.003788);
	assert_int_equal(o.limits, OCCUPANCY_BY_SHARED);
	record.place = made_place(&made, 1, 12, 1, 7); /* nothing is known of this device */
	o = of(&record);
	assert_non_null(o.shape);
	assert_true(o.limits == 0 && o.occupancy_percent == 0 && o.waves == 0);
	record = kernel(1, 0, 1); /* the shape was not kept */
	o = of(&record);
	assert_null(o.shape);
	assert_int_equal(o.limits, 0);
}

/* More shapes and devices than are remembered at once get no other's. */
static void many_shapes_are_not_confused(void **state)
{
	struct timeline_record record = kernel(1, 0, 1);

	(void)state;
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 1; i <= 5000; i++) {
			struct occupancy o;

			record.shape = shape(i, i);
			o = occupancy_of(&made.made.devices.list[0].limits,
					 timeline_shape(made.timeline, record.shape));
			assert_true(fabs(of(&record).waves / occupancy_waves(&o) - 1) < 0.001);
		}
}

static void values_belong_to_one_launch_and_are_given_once(void **state)
{
	static struct counter_value values[] = {
		{2, 7, 0, 1}, {1, 7, 1, 2}, {1, 7, 0, 3}, {1, 9, 0, 4}};
	struct counter_table counters = {.metrics = {{"a", ""}, {"b", ""}},
					 .metric_count = 2,
					 .values = values,
					 .value_count = 4};
	struct timeline_record record = kernel(1, 0, 7);
	struct trace_operation o;

	(void)state;
	made.made.result.counters = &counters;
	record.graph_node = 1;
	assert_int_equal(of(&record).value_count, 0);
	record.graph_node = 0;
	record.work = GPU_WORK_MEMSET;
	assert_int_equal(of(&record).value_count, 0);
	record.work = GPU_WORK_KERNEL;
	record.kind = TIMELINE_LAUNCH;
	assert_int_equal(of(&record).value_count, 0);
	record.kind = TIMELINE_GPU_OPERATION;
	o = of(&record);
	assert_int_equal(o.value_count, 2);
	assert_true(values[o.values[0]].value == 2 && values[o.values[1]].value == 3);
	assert_int_equal(of(&record).value_count, 0);
	record = kernel(2, 0, 7);
	o = of(&record);
	assert_int_equal(o.value_count, 1);
	assert_true(values[o.values[0]].value == 1);
	for (uint32_t id = 0; id < 12; id++) {
		record = kernel(1, 0, id);
		assert_int_equal(of(&record).value_count, id == 9);
	}
}

static void copies_have_a_rate_unless_they_are_cut(void **state)
{
	struct timeline_record record = kernel(1, 0, 1);

	(void)state;
	record.start_ns = 1000;
	record.duration_ns = 3000;
	record.bytes = 100000;
	assert_true(of(&record).bytes_per_ns == 0); /* a kernel's are no copy's */
	record.work = GPU_WORK_MEMCPY_DTOH;
	assert_true(of(&record).bytes_per_ns == 33.33);
	record.work = GPU_WORK_UVM_GPU_FAULTS;
	assert_true(of(&record).bytes_per_ns == 0);
	record.work = GPU_WORK_MEMSET;
	made.made.result.shown_from_ns = 500;
	made.made.result.shown_to_ns = 4001;
	assert_true(of(&record).bytes_per_ns == 33.33);
	made.made.result.shown_to_ns = 4000;
	assert_true(of(&record).bytes_per_ns == 0);
	made.made.result.shown_from_ns = 1000;
	made.made.result.shown_to_ns = 5000;
	assert_true(of(&record).bytes_per_ns == 0);
	record.duration_ns = 0;
	made.made.result.shown_to_ns = 0;
	assert_true(of(&record).bytes_per_ns == 0);
}

static void metrics_have_their_units(void **state)
{
	char text[TRACE_METRIC_BYTES], huge[1000];

	(void)state;
	memset(huge, 'x', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	assert_string_equal(trace_metric_name(&(struct counter_metric){"a.sum", "byte"}, text),
			    "a.sum (byte)");
	assert_string_equal(trace_metric_name(&(struct counter_metric){"a", ""}, text), "a");
	assert_int_equal(strlen(trace_metric_name(&(struct counter_metric){huge, huge}, text)),
			 TRACE_METRIC_BYTES - 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(occupancy_is_that_of_the_shape_on_its_device),
		TEST(many_shapes_are_not_confused),
		TEST(values_belong_to_one_launch_and_are_given_once),
		TEST(copies_have_a_rate_unless_they_are_cut),
		TEST(metrics_have_their_units),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
