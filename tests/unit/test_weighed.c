/* SPDX-License-Identifier: MIT */
/* Stacks by what was read of some of their launches. */
#include "unit.h"
#include <errno.h>
#include <float.h>
#include <math.h>
#include "made_result.h"
#include "profiler/model/memory_use.h"
#include "profiler/shape/weighed.h"

struct made_run {
	struct made_result m;
	struct counter_table counters;
	struct weighed weighed;
	struct result result; /* result with the weight */
};

static void begin(struct made_run *r)
{
	memset(r, 0, sizeof(*r));
	made_begin(&r->m);
	r->m.result.counters = &r->counters;
	assert_int_equal(counters_metric(&r->counters, "x__share.pct", "percent"), 0);
	assert_int_equal(counters_metric(&r->counters, "x__bytes.sum", "byte"), 1);
}

static void end(struct made_run *r)
{
	weighed_release(&r->weighed);
	counters_release(&r->counters);
	made_end(&r->m);
}

/* Adds main;CALLER;KERNEL with this number of launches, 10 ns each. `same` is a stack with that
 * kernel, or 0. */
static uint32_t launches(struct made_run *r, const char *caller, const char *kernel, uint32_t same,
			 uint64_t count)
{
	uint32_t stack = MADE_STACK(&r->m, "main", caller, kernel);
	uint32_t frame = r->m.stacks[same ? same : stack].frame;

	r->m.stacks[stack].frame = frame;
	r->m.frames[frame].class = CLASS_GPU_KERNEL;
	made_add(&r->m, stack, ROW_GPU, 10 * count);
	r->m.rows[r->m.result.row_count - 1].count = count;
	return stack;
}

static int weigh(struct made_run *r)
{
	r->result = r->m.result;
	return weighed_by_metric(&r->weighed, &r->result, "x__bytes.sum");
}

/* Returns the weight of a stack, or 0 if there is none. */
static uint64_t weight_of_stack(const struct made_run *r, uint32_t stack)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < r->result.row_count; i++)
		if (r->result.rows[i].stack == stack)
			sum += r->result.rows[i].ns;
	return sum;
}

static void launches_have_the_mean_of_their_stack_or_kernel(void **state)
{
	struct made_run r;
	uint32_t here, there, elsewhere;

	(void)state;
	begin(&r);
	here = launches(&r, "here", "kernel", 0, 100);
	there = launches(&r, "there", "kernel", here, 10);
	elsewhere = launches(&r, "elsewhere", "kernel", here, 3);
	counters_add(&r.counters, here, 1, 4);
	counters_add(&r.counters, here, 1, 8);
	counters_add(&r.counters, there, 1, 30);
	counters_add(&r.counters, there, 0, 99); /* another metric */
	assert_int_equal(weigh(&r), 0);
	assert_int_equal(weight_of_stack(&r, here), 600);
	assert_int_equal(weight_of_stack(&r, there), 300);
	assert_int_equal(weight_of_stack(&r, elsewhere), 42);
	assert_int_equal(r.weighed.launches.read, 3);
	assert_int_equal(r.weighed.launches.weighed, 113);
	assert_int_equal(r.weighed.launches.without, 0);
	assert_string_equal(r.result.weight->title, "x__bytes.sum");
	assert_string_equal(r.result.weight->unit, WEIGHT_BYTES);
	assert_string_equal(r.result.weight->note, "estimated from 3 of 113 launches");
	end(&r);
}

/* Counts from captures, up to 2^63 each, do not wrap. */
static void counts_do_not_wrap(void **state)
{
	struct made_run r;
	uint32_t here, there;

	(void)state;
	begin(&r);
	here = launches(&r, "here", "kernel", 0, 4);
	there = launches(&r, "there", "kernel", here, 4);
	counters_add_row(&r.counters,
			 &(struct counter_row){here, 1, UINT64_C(1) << 63, 0x1p63, 1, 1});
	counters_add_row(&r.counters,
			 &(struct counter_row){there, 1, UINT64_C(1) << 63, 0x1p63, 1, 1});
	assert_int_equal(weigh(&r), 0);
	assert_int_equal(weight_of_stack(&r, here), 4);
	assert_int_equal(weight_of_stack(&r, there), 4);
	assert_string_equal(r.result.weight->note, "measured at all 8 launches");
	end(&r);
}

static void what_has_no_value_is_told(void **state)
{
	struct made_run r;
	uint32_t read, negative, copy;

	(void)state;
	begin(&r);
	read = launches(&r, "a", "read", 0, 2);
	launches(&r, "b", "never", 0, 7);
	negative = launches(&r, "c", "negative", 0, 5);
	copy = MADE_STACK(&r.m, "main", "copy");
	r.m.frames[r.m.stacks[copy].frame].class = CLASS_GPU_WORK;
	made_add(&r.m, copy, ROW_GPU, 1000);
	made_add(&r.m, copy, ROW_CPU, 5000);
	made_add(&r.m, RESULT_ROOT, ROW_GPU, 1);
	counters_add(&r.counters, read, 1, 1);
	counters_add(&r.counters, read, 1, 2);
	counters_add(&r.counters, negative, 1, -1);
	counters_add(&r.counters, copy, 1, 1);
	assert_int_equal(weigh(&r), 0);
	assert_int_equal(r.result.row_count, 1);
	assert_int_equal(weight_of_stack(&r, read), 3);
	assert_int_equal(r.weighed.launches.weighed, 2);
	assert_int_equal(r.weighed.launches.without, 12);
	assert_int_equal(r.weighed.launches.without_ns, 120);
	assert_int_equal(r.weighed.launches.other_ns, 1001);
	assert_int_equal(r.weighed.launches.gpu_ns, 1141);
	assert_int_equal(r.weighed.launches.read, 2);
	assert_string_equal(r.result.weight->note, "measured at all 2 launches");
	end(&r);
}

static void nothing_was_read(void **state)
{
	struct made_run r;

	(void)state;
	begin(&r);
	launches(&r, "a", "kernel", 0, 2);
	assert_int_equal(weigh(&r), 0);
	assert_int_equal(r.result.row_count, 0);
	assert_int_equal(r.weighed.launches.without, 2);
	assert_string_equal(r.result.weight->note, "of which no launch was measured");
	weighed_release(&r.weighed);
	r.m.result.counters = NULL;
	assert_int_equal(weigh(&r), 0);
	assert_int_equal(r.result.row_count, 0);
	end(&r);
}

/* Three rows of a third each: rounding keeps the sum. */
static void rounding_keeps_the_sum(void **state)
{
	struct made_run r;
	uint32_t a, stacks[3];

	(void)state;
	begin(&r);
	a = launches(&r, "a", "kernel", 0, 1);
	for (int i = 0; i < 3; i++)
		stacks[i] = launches(&r, "b", "kernel", a, 1);
	for (int i = 0; i < 3; i++)
		counters_add(&r.counters, a, 1, i == 0); /* a third on average */
	assert_int_equal(weigh(&r), 0);
	assert_int_equal(weight_of_stack(&r, a) + weight_of_stack(&r, stacks[0]) +
				 weight_of_stack(&r, stacks[1]) + weight_of_stack(&r, stacks[2]),
			 1);
	end(&r);
}

/* A program may claim any value: values that are too large are cut, and others stay. */
static void values_that_are_too_large_are_cut(void **state)
{
	const double values[] = {0x1p61, 0x1p63, 1e308, DBL_MAX};

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct made_run r;
		uint32_t large, larger, small;

		begin(&r);
		large = launches(&r, "a", "kernel", 0, 2);
		larger = launches(&r, "b", "another", 0, 2);
		small = launches(&r, "c", "small", 0, 3);
		counters_add(&r.counters, large, 1, values[i]);
		counters_add(&r.counters, larger, 1, i ? values[i] : 5);
		counters_add(&r.counters, small, 1, 7);
		assert_int_equal(weigh(&r), 0);
		assert_int_equal(r.weighed.launches.cut, i ? 2 : 0);
		assert_int_equal(weight_of_stack(&r, small), 21);
		assert_int_equal(weight_of_stack(&r, larger), i ? weight_of_stack(&r, large) : 10);
		assert_in_range(weight_of_stack(&r, large), UINT64_C(1) << 60, UINT64_C(1) << 62);
		end(&r);
	}
}

/* --stalls splits a kernel's time by what lies below it; the launches are the kernel's. */
static void stalls_are_of_their_kernel(void **state)
{
	struct made_run r;
	uint32_t kernel, stall;

	(void)state;
	begin(&r);
	kernel = launches(&r, "a", "kernel", 0, 4);
	stall = made_push(&r.m, kernel, "[selected]");
	r.m.frames[r.m.stacks[stall].frame].class = CLASS_STALL;
	made_add(&r.m, stall, ROW_GPU, 60);
	r.m.rows[r.m.result.row_count - 1].count = 0;
	counters_add(&r.counters, kernel, 1, 5);
	assert_int_equal(weigh(&r), 0);
	assert_int_equal(weight_of_stack(&r, kernel), 20);
	assert_int_equal(r.result.row_count, 1);
	assert_int_equal(r.weighed.launches.other_ns, 0);
	assert_int_equal(r.weighed.launches.gpu_ns, 100);
	end(&r);
}

/* Units come from the program, and go into pictures. */
static void odd_units_are_left_out(void **state)
{
	const char *const units[] = {"nanosecond", "</script>", "sector of all sorts", "gpc_cycle"};
	const char *const want[] = {"nanosecond", "", "", "gpc_cycle"};

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct made_run r;
		uint32_t stack;

		begin(&r);
		r.counters.metrics[1].unit = units[i];
		stack = launches(&r, "a", "kernel", 0, 1);
		counters_add(&r.counters, stack, 1, 5);
		assert_int_equal(weigh(&r), 0);
		assert_string_equal(r.result.weight->unit, want[i]);
		end(&r);
	}
}

/* Memory of devices, managed memory and memory of the host: at the process and device, after the
 * run's own places. */
static void memory_of_all_kinds_has_its_place(void **state)
{
	struct memory_total totals[] = {{.process = 1, .device = 3, .kind = MEMORY_OF_DEVICE},
					{.process = 2, .device = 0, .kind = MEMORY_OF_HOST},
					{.process = 2, .device = 0, .kind = MEMORY_MANAGED}};
	struct memory_row rows[] = {{.total = 0, .peak_bytes = 10, .at_peak = 2},
				    {.total = 1, .peak_bytes = 7, .left_bytes = 5, .left = 1},
				    {.total = 2, .left_bytes = 3, .left = 1}};
	struct memory_use use = {.totals = totals, .total_count = 3, .rows = rows, .row_count = 3};
	struct made_run r;
	uint32_t before;

	(void)state;
	begin(&r);
	launches(&r, "a", "kernel", 0, 1);
	before = r.m.result.place_count;
	assert_true(before > 0);
	for (uint32_t i = 0; i < 3; i++)
		rows[i].stack = MADE_STACK(&r.m, "main", "cudaMalloc", "[GPU_Alloc]");
	memory_use_show(&use, &r.m.tables);
	for (int i = 0; i < 2; i++) {
		const struct row *row;

		r.result = r.m.result;
		assert_int_equal(
			weighed_by_memory(&r.weighed, &r.result, i ? WEIGHT_LEFT : WEIGHT_PEAK), 0);
		assert_int_equal(r.result.row_count, 2);
		assert_int_equal(r.result.place_count, before + 3);
		assert_memory_equal(r.result.places, r.m.result.places,
				    before * sizeof(*r.result.places));
		for (uint32_t k = 0; k < 2; k++) {
			const struct memory_total *total = &totals[k + (uint32_t)i];
			const uint32_t *part;

			row = &r.result.rows[k];
			part = r.result.places[row->place].part;
			assert_int_equal(part[PLACE_PROCESS], total->process);
			assert_int_equal(part[PLACE_DEVICE], total->device);
			assert_int_equal(part[PLACE_THREAD], PLACE_UNKNOWN);
			assert_int_equal(row->stack, rows[k + (uint32_t)i].stack);
			assert_int_equal(row->ns, i ? rows[k + 1].left_bytes : rows[k].peak_bytes);
		}
		weighed_release(&r.weighed);
	}
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launches_have_the_mean_of_their_stack_or_kernel),
		cmocka_unit_test(counts_do_not_wrap),
		cmocka_unit_test(what_has_no_value_is_told),
		cmocka_unit_test(nothing_was_read),
		cmocka_unit_test(rounding_keeps_the_sum),
		cmocka_unit_test(values_that_are_too_large_are_cut),
		cmocka_unit_test(stalls_are_of_their_kernel),
		cmocka_unit_test(odd_units_are_left_out),
		cmocka_unit_test(memory_of_all_kinds_has_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
