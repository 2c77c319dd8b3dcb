/* SPDX-License-Identifier: MIT */
/* Readings of GPUs over a run: memory is bounded, and sums stay exact. */
#include "unit.h"
#include "profiler/addons/gpu_states.h"
#include "profiler/model/gpu_state.h"

#define PERIOD_NS UINT64_C(100000000)

struct bench {
	struct addon_parts parts;
	struct measure measure;
	struct ledger ledger;
	struct profile_sink sink;
	struct time_range time_range;
	struct result_tables tables;
	void *addon;
};

static struct bench *begin(void)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->measure.traces_gpu = true;
	b->sink.ledger = &b->ledger;
	b->parts = (struct addon_parts){.measure = &b->measure,
					.sink = &b->sink,
					.time_range = &b->time_range,
					.tables = &b->tables};
	result_tables_begin(&b->tables, &b->measure);
	assert_true(addon_gpu_states.is_wanted(&b->parts));
	b->addon = addon_gpu_states.begin(&b->parts);
	assert_non_null(b->addon);
	return b;
}

/* Takes the reading number `number` of a GPU: its time and its clock follow from that. */
static void take(struct bench *b, const char *gpu, uint64_t number)
{
	const struct gpu_reading reading = {.start_ns = number * PERIOD_NS,
					    .end_ns = (number + 1) * PERIOD_NS,
					    .energy_mj = 40,
					    .sm_mhz = 1000 + (uint32_t)(number % 7)};

	addon_gpu_states.state(b->addon, gpu, &reading);
}

static uint32_t complete(struct bench *b, uint64_t from_ns, uint64_t to_ns)
{
	addon_gpu_states.complete(b->addon, from_ns, to_ns);
	return result_tables_at(&b->tables, &gpu_states_table)->count;
}

static const struct gpu_state *row_at(const struct bench *b, uint32_t row)
{
	return result_table_row(result_tables_find(&b->tables, &gpu_states_table),
				&gpu_states_table, row);
}

static void end(struct bench *b)
{
	addon_gpu_states.release(b->addon);
	result_tables_release(&b->tables);
	free(b);
}

static void each_reading_has_a_row(void **state)
{
	struct bench *b = begin();

	(void)state;
	for (uint64_t i = 0; i < 10; i++) {
		take(b, "GPU-a", i);
		take(b, "GPU-b", i);
	}
	assert_int_equal(complete(b, 0, UINT64_MAX), 20);
	assert_int_equal(row_at(b, 3)->start_ns, 3 * PERIOD_NS);
	assert_string_equal(row_at(b, 3)->gpu, "GPU-a");
	assert_string_equal(row_at(b, 13)->gpu, "GPU-b");
	end(b);
}

static void a_day_takes_bounded_memory(void **state)
{
	const uint64_t readings = 864000;
	uint64_t sum = 0, energy = 0, expected = 0, next_ns = 0;
	struct bench *b = begin();
	uint32_t count, most = 0, least = UINT32_MAX;

	(void)state;
	for (uint64_t i = 0; i < readings; i++) {
		take(b, "GPU-a", i);
		expected += 1000 + i % 7;
	}
	count = complete(b, 0, UINT64_MAX);
	assert_in_range(count, GPU_STATES_ROWS / 2, GPU_STATES_ROWS);
	for (uint32_t i = 0; i < count; i++) {
		const struct gpu_state *row = row_at(b, i);

		assert_true(row->start_ns == next_ns);
		assert_true(row->ns == row->readings * PERIOD_NS);
		assert_int_equal(row->sm_least, 1000);
		assert_int_equal(row->sm_most, 1006);
		next_ns += row->ns;
		sum += row->sm_sum;
		energy += row->energy_mj;
		if (i + 1 < count && row->readings > most)
			most = row->readings;
		if (i + 1 < count && row->readings < least)
			least = row->readings;
	}
	assert_true(next_ns == readings * PERIOD_NS);
	assert_true(sum == expected && energy == 40 * readings);
	assert_int_equal(most, 256); /* 25.6 s */
	assert_int_equal(least, 256);
	end(b);
}

static void gaps_are_no_rows(void **state)
{
	struct bench *b = begin();
	uint32_t count;

	(void)state;
	for (uint64_t i = 0; i < GPU_STATES_ROWS + 1; i++)
		take(b, "GPU-a", i);
	take(b, "GPU-a", 10 * GPU_STATES_ROWS);
	count = complete(b, 0, UINT64_MAX);
	assert_true(row_at(b, count - 1)->start_ns == 10 * GPU_STATES_ROWS * PERIOD_NS);
	assert_int_equal(row_at(b, count - 1)->readings, 1);
	end(b);
}

static void the_last_seconds_alone(void **state)
{
	struct bench *b = begin();

	(void)state;
	/* with --last earlier rows are dropped, so that none become one */
	for (uint64_t i = 0; i < 10 * GPU_STATES_ROWS; i++) {
		take(b, "GPU-a", i);
		addon_gpu_states.forget(b->addon, i > 100 ? (i - 100) * PERIOD_NS : 0);
	}
	b->time_range.from_ns = (10 * GPU_STATES_ROWS - 50) * PERIOD_NS;
	assert_int_equal(complete(b, 0, UINT64_MAX), 50);
	assert_int_equal(row_at(b, 0)->readings, 1);
	assert_true(row_at(b, 0)->start_ns == b->time_range.from_ns);
	end(b);
}

static void the_recorded_part_alone(void **state)
{
	struct bench *b = begin();

	(void)state;
	b->time_range = (struct time_range){.from_ns = 20 * PERIOD_NS, .to_ns = 30 * PERIOD_NS};
	for (uint64_t i = 0; i < 100; i++)
		take(b, "GPU-a", i);
	assert_int_equal(complete(b, 0, UINT64_MAX), 10);
	assert_true(row_at(b, 0)->start_ns == 20 * PERIOD_NS);
	end(b);
}

static void too_many_gpus_are_left_out(void **state)
{
	static const char names[GPU_NOW_MAX + 5];
	struct bench *b = begin();

	(void)state;
	for (uint32_t i = 0; i < sizeof(names); i++)
		take(b, &names[i], 1);
	assert_int_equal(complete(b, 0, UINT64_MAX), GPU_NOW_MAX);
	end(b);
}

static void the_run_shows_the_last_reading(void **state)
{
	struct bench *b = begin();
	struct collected collected = {.gpus = NULL};
	struct gpu_reading reading = {.start_ns = 0, .end_ns = 100, .is_hot = 1, .energy_mj = 3};

	(void)state;
	addon_gpu_states.state(b->addon, "GPU-a", &reading);
	reading = (struct gpu_reading){.start_ns = 100,
				       .end_ns = 250,
				       .is_idle = 1,
				       .is_hot = 1,
				       .energy_mj = 4,
				       .celsius = 60};
	addon_gpu_states.state(b->addon, "GPU-a", &reading);
	addon_gpu_states.show(b->addon, &collected);
	assert_int_equal(collected.gpus->count, 1);
	assert_string_equal(collected.gpus->list[0].gpu, "GPU-a");
	assert_int_equal(collected.gpus->list[0].last.celsius, 60);
	assert_int_equal(collected.gpus->list[0].energy_mj, 7);
	assert_int_equal(collected.gpus->list[0].hot_ns, 100); /* idle GPUs are not limited */
	complete(b, 0, UINT64_MAX);
	assert_int_equal(collected.gpus->list[0].energy_mj, 7); /* the file is written again */
	end(b);
}

static void cpu_runs_have_none(void **state)
{
	const struct measure measure = {.samples_cpu = true};

	(void)state;
	assert_false(addon_gpu_states.is_wanted(&(struct addon_parts){.measure = &measure}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_reading_has_a_row),
		cmocka_unit_test(a_day_takes_bounded_memory),
		cmocka_unit_test(gaps_are_no_rows),
		cmocka_unit_test(the_last_seconds_alone),
		cmocka_unit_test(the_recorded_part_alone),
		cmocka_unit_test(too_many_gpus_are_left_out),
		cmocka_unit_test(the_run_shows_the_last_reading),
		cmocka_unit_test(cpu_runs_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
