// SPDX-License-Identifier: MIT
#include "profiler/model/estimates.h"

static bool is_measured(const struct measure *measure)
{
	return measure->budget != 0;
}

static const struct table_column kernel_columns[] = {
	TABLE_SHOWN(kernel_estimate, ns, "ns", "Estimate", .unit = UNIT_NS, .join = JOIN_SUM),
	TABLE_SHOWN(kernel_estimate, error_ns, "error_ns", "+/-", .unit = UNIT_NS,
		    .join = JOIN_SUM),
	TABLE_SHOWN(kernel_estimate, most_ns, "at_most_ns", "At most", .unit = UNIT_NS,
		    .join = JOIN_SUM),
	TABLE_SHOWN(kernel_estimate, share, "percent", "%", .cell = CELL_REAL),
	TABLE_SHOWN(kernel_estimate, share_error, "percent_error", "+/- %", .cell = CELL_REAL),
	TABLE_SHOWN(kernel_estimate, windows, "windows", "Windows", .join = JOIN_SUM),
	TABLE_SHOWN(kernel_estimate, kernel, "kernel", "Kernel", .cell = CELL_KERNEL,
		    .join = JOIN_KEY),
};

const struct table_kind kernel_estimates_table = {
	TABLE_KIND(kernel_estimate, kernel_columns), .field = 29, .is_measured = is_measured,
	.key = "estimates", .title = "Estimated GPU time"};

static const struct table_column stack_columns[] = {
	TABLE_SHOWN(stack_estimate, ns, "ns", "Estimate", .unit = UNIT_NS, .join = JOIN_SUM),
	TABLE_SHOWN(stack_estimate, error_ns, "error_ns", "+/-", .unit = UNIT_NS, .join = JOIN_SUM),
	TABLE_SHOWN(stack_estimate, most_ns, "at_most_ns", "At most", .unit = UNIT_NS,
		    .join = JOIN_SUM),
	TABLE_SHOWN(stack_estimate, windows, "windows", "Windows", .join = JOIN_SUM),
	TABLE_SHOWN(stack_estimate, stack, "launched_by", "Launched by", .cell = CELL_STACK,
		    .join = JOIN_KEY),
};

const struct table_kind stack_estimates_table = {TABLE_KIND(stack_estimate, stack_columns),
						 .field = 30,
						 .is_measured = is_measured,
						 .key = "stack_estimates",
						 .title = "Estimated GPU time by stack",
						 .is_detail = true};

const struct kernel_estimate *estimates_all(const struct result_tables *tables)
{
	const struct result_table *table = result_tables_find(tables, &kernel_estimates_table);

	for (uint32_t i = 0; table && i < table->count; i++) {
		const struct kernel_estimate *row =
			result_table_row(table, &kernel_estimates_table, i);

		if (strcmp(row->kernel, ESTIMATES_ALL) == 0)
			return row;
	}
	return NULL;
}
