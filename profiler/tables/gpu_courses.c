// SPDX-License-Identifier: MIT
#include "profiler/tables/gpu_courses.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/quantity.h"
#include "profiler/tables/report_table.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"

/* ---- rows in order ---- */

static int by_gpu_and_time(const void *a, const void *b)
{
	const struct gpu_state *x = a, *y = b;
	int order = x->gpu == y->gpu ? 0 : strcmp(x->gpu, y->gpu);

	order = order ? order : compare_numbers(x->start_ns, y->start_ns);
	return order ? order : compare_numbers(y->ns, x->ns);
}

/* Copies the rows that begin in the shown time, in order. Returns their number. */
static uint32_t copy_rows(const struct result *result, const struct result_table *table,
			  struct gpu_state *rows)
{
	uint64_t from_ns, to_ns, end_ns = 0;
	uint32_t count = 0, kept = 0;

	result_time_range(result, &from_ns, &to_ns);
	for (uint32_t i = 0; i < table->count; i++) {
		const struct gpu_state *row = result_table_row(table, &gpu_states_table, i);

		if (row->start_ns >= from_ns && row->start_ns < to_ns)
			rows[count++] = *row;
	}
	qsort(rows, count, sizeof(*rows), by_gpu_and_time);
	for (uint32_t i = 0; i < count; i++) {
		bool is_same = kept && strcmp(rows[kept - 1].gpu, rows[i].gpu) == 0;

		if (is_same && rows[i].start_ns < end_ns)
			continue;
		end_ns = saturated_sum(rows[i].start_ns, rows[i].ns);
		rows[kept++] = rows[i];
	}
	return kept;
}

/* ---- courses ---- */

static void find_label(const struct result *result, const char *gpu, char label[DEVICE_LABEL_BYTES])
{
	char uuid[DEVICE_UUID_BYTES];

	snprintf(label, DEVICE_LABEL_BYTES, "%s", gpu);
	for (uint32_t i = 0; i < result->device_count; i++)
		if (device_has_uuid(&result->devices[i]) &&
		    strcmp(device_uuid(&result->devices[i], uuid), gpu) == 0) {
			device_label(&result->devices[i], label);
			return;
		}
}

static uint64_t part_ns(const struct gpu_state *row, uint32_t part)
{
	return part < row->readings ? (uint64_t)((unsigned __int128)row->ns * part / row->readings)
				    : row->ns;
}

static void sum_up(struct gpu_course *c)
{
	double busy = 0, limited = 0;

	c->sum = c->rows[0];
	for (uint32_t i = 0; i < c->count; i++) {
		const struct gpu_state *row = &c->rows[i];
		uint64_t busy_ns = part_ns(row, row->busy), limited_ns = part_ns(row, row->limited);

		if (i)
			gpu_state_append(&c->sum, row);
		saturated_add(&c->times.all, row->ns);
		saturated_add(&c->times.busy, busy_ns);
		saturated_add(&c->times.limited, limited_ns);
		saturated_add(&c->times.power_capped, part_ns(row, row->power_capped));
		saturated_add(&c->times.hot, part_ns(row, row->hot));
		saturated_add(&c->times.slowed, part_ns(row, row->slowed));
		busy += row->busy ? (double)row->sm_busy_sum / row->busy * (double)busy_ns : 0;
		limited += row->limited
				   ? (double)row->sm_limited_sum / row->limited * (double)limited_ns
				   : 0;
	}
	c->busy_mhz = c->times.busy ? busy / (double)c->times.busy : 0;
	c->limited_mhz = c->times.limited ? limited / (double)c->times.limited : 0;
	c->joules = (double)c->sum.energy_mj / 1e3;
}

static int by_label(const void *a, const void *b)
{
	const struct gpu_course *x = a, *y = b;
	int order = device_label_compare(x->label, y->label);

	return order ? order : strcmp(x->rows->gpu, y->rows->gpu);
}

/* Returns the number of GPUs of sorted rows, at most GPU_COURSES_MAX. */
static uint32_t count_gpus(const struct gpu_state *rows, uint32_t count)
{
	uint32_t gpus = 0;

	for (uint32_t i = 0; i < count && gpus < GPU_COURSES_MAX; i++)
		gpus += i == 0 || strcmp(rows[i - 1].gpu, rows[i].gpu) != 0;
	return gpus;
}

static void make_courses(const struct result *result, struct gpu_courses *courses, uint32_t rows,
			 uint32_t gpus)
{
	for (uint32_t i = 0, next; i < rows && courses->count < gpus; i = next) {
		struct gpu_course *course = &courses->list[courses->count++];

		course->rows = &courses->rows[i];
		for (next = i + 1;
		     next < rows && strcmp(courses->rows[i].gpu, courses->rows[next].gpu) == 0;)
			next++;
		course->count = next - i;
		find_label(result, course->rows->gpu, course->label);
		sum_up(course);
	}
	qsort(courses->list, courses->count, sizeof(*courses->list), by_label);
}

int gpu_courses_of(const struct result *result, struct gpu_courses *courses)
{
	const struct result_table *table = result_tables_find(result->tables, &gpu_states_table);
	uint32_t rows, gpus;

	*courses = (struct gpu_courses){.count = 0};
	if (!table || !table->count)
		return 0;
	courses->rows = malloc(table->count * sizeof(*courses->rows));
	if (!courses->rows)
		return -ENOMEM;
	rows = copy_rows(result, table, courses->rows);
	gpus = count_gpus(courses->rows, rows);
	courses->list = calloc(gpus + 1u, sizeof(*courses->list));
	if (courses->list) {
		make_courses(result, courses, rows, gpus);
		return 0;
	}
	gpu_courses_release(courses);
	return -ENOMEM;
}

void gpu_courses_release(struct gpu_courses *courses)
{
	free(courses->list);
	free(courses->rows);
	*courses = (struct gpu_courses){.count = 0};
}

double gpu_courses_busy_mhz(const struct result *const *results, uint32_t count)
{
	double cycles = 0, ns = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct gpu_courses courses;
		double before = cycles;

		if (gpu_courses_of(results[i], &courses) != 0)
			return 0;
		for (uint32_t k = 0; k < courses.count; k++) {
			cycles += courses.list[k].busy_mhz * (double)courses.list[k].times.busy;
			ns += (double)courses.list[k].times.busy;
		}
		gpu_courses_release(&courses);
		if (cycles <= before)
			return 0;
	}
	return ns > 0 ? cycles / ns : 0;
}

/* ---- as a table ---- */

struct state_row {
	const char *gpu, *uuid;
	struct gpu_state sum;
	uint64_t busy_mhz, power_mw;
	uint64_t power_capped, hot, slowed; /* thousandths of the time */
	uint64_t ns;
};

static const struct report_column columns[] = {
	REPORT_COLUMN(state_row, gpu, "gpu", "GPU", TEXT, 12),
	REPORT_COLUMN(state_row, busy_mhz, "sm_mhz", "SM MHz", COUNT, 7),
	REPORT_COLUMN(state_row, sum.sm_least, "sm_least_mhz", "least", COUNT, 6),
	REPORT_COLUMN(state_row, sum.sm_most, "sm_most_mhz", "most", COUNT, 6),
	REPORT_COLUMN(state_row, power_mw, "power_milliwatts", "Power W", THOUSANDTHS, 9),
	REPORT_COLUMN(state_row, sum.watts_most, "power_most_watts", "most", COUNT, 6),
	REPORT_COLUMN(state_row, sum.celsius_most, "celsius_most", "Celsius", COUNT, 7),
	REPORT_COLUMN(state_row, sum.memory_most, "memory_bytes", "Memory", BYTES, 11),
	REPORT_COLUMN(state_row, power_capped, "power_cap_permille", "Power cap", SHARE, 9),
	REPORT_COLUMN(state_row, hot, "thermal_permille", "Thermal", SHARE, 8),
	REPORT_COLUMN(state_row, slowed, "slowdown_permille", "Slowdown", SHARE, 8),
	REPORT_COLUMN(state_row, sum.energy_mj, "millijoules", "Energy J", THOUSANDTHS, 10),
	REPORT_COLUMN(state_row, sum.pcie_sent, "pcie_sent_bytes", "PCIe sent", BYTES, 11),
	REPORT_COLUMN(state_row, sum.pcie_received, "pcie_received_bytes", "received", BYTES, 11),
	REPORT_COLUMN(state_row, sum.nvlink_sent, "nvlink_sent_bytes", "NVLink sent", BYTES, 11),
	REPORT_COLUMN(state_row, sum.nvlink_received, "nvlink_received_bytes", "received", BYTES,
		      UINT8_MAX),
	REPORT_COLUMN(state_row, sum.sm_possible, "sm_possible_mhz", "SM MHz possible", COUNT, 0),
	REPORT_COLUMN(state_row, sum.readings, "readings", "Readings", COUNT, 0),
	REPORT_COLUMN(state_row, ns, "ns", "Time", TIME, 0),
	REPORT_COLUMN(state_row, uuid, "uuid", "UUID", TEXT, 0),
};

static void add_course(struct report_table *f, const struct gpu_course *c)
{
	double watts = 0;

	for (uint32_t i = 0; i < c->count; i++)
		watts += gpu_state_watts(&c->rows[i]) * (double)c->rows[i].ns;
	if (c->times.all)
		watts /= (double)c->times.all;
	report_table_add(f,
			 &(struct state_row){
				 .gpu = c->label,
				 .uuid = c->rows->gpu,
				 .sum = c->sum,
				 .busy_mhz = (uint64_t)(c->busy_mhz + 0.5),
				 .power_mw = (uint64_t)(watts * 1000 + 0.5),
				 .power_capped = permille_of(c->times.power_capped, c->times.all),
				 .hot = permille_of(c->times.hot, c->times.all),
				 .slowed = permille_of(c->times.slowed, c->times.all),
				 .ns = c->times.all});
}

struct report_table *gpu_state_report_table(const struct result *result)
{
	struct gpu_courses courses;
	int err = gpu_courses_of(result, &courses);
	struct report_table *f =
		err ? NULL : REPORT_TABLE_NEW("gpu_state", "State of the GPUs", columns);

	for (uint32_t i = 0; f && i < courses.count; i++)
		add_course(f, &courses.list[i]);
	gpu_courses_release(&courses);
	errno = ENOMEM;
	return f;
}
