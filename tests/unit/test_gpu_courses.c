/* SPDX-License-Identifier: MIT */
/* The course of each GPU's state: order, labels, parts of a run, readings of several ranks. */
#include "made_result.h"
#include "profiler/tables/gpu_courses.h"
#include "profiler/tables/report_table.h"

#define MS UINT64_C(1000000)
#define FIRST "GPU-01000000-0000-0000-0000-000000000000"
#define SECOND "GPU-02000000-0000-0000-0000-000000000000"

static struct made_result made;
static struct device devices[] = {
	{.process = 1, .id = 0, .is_described = true, .uuid = {2}, .label = "GPU 0"},
	{.process = 1, .id = 1, .is_described = true, .uuid = {1}, .label = "GPU 1"}};

static struct gpu_state reading(const char *gpu, uint64_t from_ms, uint64_t to_ms, uint32_t mhz,
				bool is_capped)
{
	const struct gpu_reading r = {.start_ns = from_ms * MS,
				      .end_ns = to_ms * MS,
				      .sm_mhz = mhz,
				      .most_sm_mhz = 1980,
				      .power_mw = 500000,
				      .energy_mj = 10,
				      .is_power_capped = is_capped};
	struct gpu_state row;

	gpu_state_of(&row, gpu, &r);
	return row;
}

static void begin(const struct gpu_state *rows, uint32_t count)
{
	made_begin(&made);
	made.result.totals.start_ns = 0;
	made.result.totals.elapsed_ns = 10000 * MS;
	made.result.devices = devices;
	made.result.device_count = 2;
	made_table(&made, &gpu_states_table, rows, count);
}

static void each_gpu_in_order(void **state)
{
	const struct gpu_state rows[] = {
		reading(FIRST, 200, 300, 1410, true), reading(SECOND, 100, 200, 1980, false),
		reading(FIRST, 100, 200, 1980, false), reading("MIG-x", 100, 200, 5, false)};
	struct gpu_courses c;

	(void)state;
	begin(rows, 4);
	assert_int_equal(gpu_courses_of(&made.result, &c), 0);
	assert_int_equal(c.count, 3);
	assert_string_equal(c.list[0].label, "GPU 0");
	assert_string_equal(c.list[1].label, "GPU 1");
	assert_string_equal(c.list[2].label, "MIG-x"); /* a device that is not known */
	assert_int_equal(c.list[1].count, 2);
	assert_true(c.list[1].rows[0].start_ns == 100 * MS);
	assert_true(c.list[1].times.all == 200 * MS);
	assert_true(c.list[1].times.power_capped == 100 * MS);
	assert_true(c.list[1].times.hot == 0);
	assert_float_equal(c.list[1].busy_mhz, 1695, 0.01);
	assert_float_equal(c.list[1].limited_mhz, 1410, 0.01);
	assert_float_equal(c.list[1].joules, 0.02, 0.0001);
	gpu_courses_release(&c);
	made_end(&made);
}

static void readings_of_two_ranks_count_once(void **state)
{
	const struct gpu_state rows[] = {
		reading(FIRST, 100, 200, 1980, false), reading(FIRST, 150, 250, 1980, false),
		reading(FIRST, 200, 300, 1980, false), reading(FIRST, 250, 350, 1980, false)};
	struct gpu_courses c;

	(void)state;
	begin(rows, 4);
	assert_int_equal(gpu_courses_of(&made.result, &c), 0);
	assert_int_equal(c.count, 1);
	assert_int_equal(c.list[0].count, 2);
	assert_true(c.list[0].times.all == 200 * MS);
	assert_float_equal(c.list[0].joules, 0.02, 0.0001);
	gpu_courses_release(&c);
	made_end(&made);
}

static void a_part_has_its_own(void **state)
{
	const struct gpu_state rows[] = {reading(FIRST, 100, 200, 1980, false),
					 reading(FIRST, 200, 300, 1410, false),
					 reading(FIRST, 300, 400, 1980, false)};
	struct gpu_courses c;

	(void)state;
	begin(rows, 3);
	made.result.shown_from_ns = 200 * MS;
	made.result.shown_to_ns = 300 * MS;
	assert_int_equal(gpu_courses_of(&made.result, &c), 0);
	assert_int_equal(c.count, 1);
	assert_int_equal(c.list[0].count, 1);
	assert_float_equal(c.list[0].busy_mhz, 1410, 0.01);
	gpu_courses_release(&c);
	made_end(&made);
}

static void impossible_rows_do_no_harm(void **state)
{
	struct gpu_state rows[2] = {reading(FIRST, 1, 2, 1, false), reading(FIRST, 3, 4, 1, false)};
	struct gpu_courses c;

	(void)state;
	rows[0].ns = UINT64_MAX;
	rows[0].busy = rows[0].power_capped = rows[0].hot = UINT32_MAX;
	rows[0].limited = UINT16_MAX;
	rows[0].sm_sum = rows[0].sm_busy_sum = UINT32_MAX;
	begin(rows, 2);
	assert_int_equal(gpu_courses_of(&made.result, &c), 0);
	assert_int_equal(c.count, 1);
	assert_int_equal(c.list[0].count, 1); /* the second one is within the first */
	assert_true(c.list[0].times.power_capped == UINT64_MAX);
	gpu_courses_release(&c);
	made_end(&made);
}

static void endless_gpus_are_cut(void **state)
{
	static char names[GPU_COURSES_MAX + 10][16];
	static struct gpu_state rows[GPU_COURSES_MAX + 10];
	struct gpu_courses c;

	(void)state;
	for (uint32_t i = 0; i < GPU_COURSES_MAX + 10; i++) {
		snprintf(names[i], sizeof(names[i]), "GPU-%u", i);
		rows[i] = reading(names[i], 1, 2, 1, false);
	}
	begin(rows, GPU_COURSES_MAX + 10);
	assert_int_equal(gpu_courses_of(&made.result, &c), 0);
	assert_int_equal(c.count, GPU_COURSES_MAX);
	gpu_courses_release(&c);
	made_end(&made);
}

static void a_table_tells(void **state)
{
	const struct gpu_state rows[] = {reading(FIRST, 100, 200, 1980, false),
					 reading(FIRST, 200, 300, 1410, true)};
	const union report_cell *cells;
	struct report_table *f;

	(void)state;
	begin(rows, 2);
	f = gpu_state_report_table(&made.result);
	assert_non_null(f);
	assert_int_equal(f->count, 1);
	cells = report_table_row(f, 0);
	assert_string_equal(cells[0].text, "GPU 1");
	assert_int_equal(cells[1].number, 1695);
	assert_int_equal(cells[4].number, 500000); /* mW */
	assert_int_equal(cells[8].number, 500);    /* thousandths */
	report_table_free(f);
	made_end(&made);
}

static void the_clock_of_several_runs(void **state)
{
	const struct gpu_state rows[] = {reading(FIRST, 100, 200, 1980, false),
					 reading(FIRST, 200, 300, 1410, true),
					 reading(SECOND, 100, 300, 1410, true)};
	struct made_result other;
	const struct result *results[2] = {&made.result, &other.result};

	(void)state;
	begin(rows, 3);
	made_begin(&other);
	other.result.totals.elapsed_ns = 10000 * MS;
	made_table(&other, &gpu_states_table, rows, 1);
	assert_float_equal(gpu_courses_busy_mhz(results, 1), (1980 + 3 * 1410) / 4.0, 0.01);
	assert_float_equal(gpu_courses_busy_mhz(results, 2), (2 * 1980 + 3 * 1410) / 5.0, 0.01);
	made_table(&other, &gpu_states_table, rows, 0); /* one does not tell */
	assert_float_equal(gpu_courses_busy_mhz(results, 2), 0, 0);
	made_end(&other);
	made_end(&made);
}

static void without_readings_there_is_nothing(void **state)
{
	struct gpu_courses c;

	(void)state;
	begin(NULL, 0);
	assert_int_equal(gpu_courses_of(&made.result, &c), 0);
	assert_int_equal(c.count, 0);
	gpu_courses_release(&c);
	made_end(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_gpu_in_order),
		cmocka_unit_test(readings_of_two_ranks_count_once),
		cmocka_unit_test(a_part_has_its_own),
		cmocka_unit_test(impossible_rows_do_no_harm),
		cmocka_unit_test(endless_gpus_are_cut),
		cmocka_unit_test(a_table_tells),
		cmocka_unit_test(the_clock_of_several_runs),
		cmocka_unit_test(without_readings_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
