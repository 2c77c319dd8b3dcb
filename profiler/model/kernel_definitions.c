// SPDX-License-Identifier: MIT
#include "profiler/model/kernel_definitions.h"

static bool is_measured(const struct measure *measure)
{
	return measure->traces_gpu;
}

static const struct table_column columns[] = {
	TABLE_SHOWN(kernel_definition, ns, "ns", "Time", .unit = UNIT_NS, .join = JOIN_SUM),
	TABLE_SHOWN(kernel_definition, calls, "calls", "Calls", .join = JOIN_SUM),
	TABLE_SHOWN(kernel_definition, kernel, "kernel", "Kernel", .cell = CELL_KERNEL,
		    .join = JOIN_KEY, .width = 44),
	TABLE_SHOWN(kernel_definition, operators, "operators", "Operators", .cell = CELL_TEXT,
		    .join = JOIN_KEY, .width = 32),
	TABLE_SHOWN(kernel_definition, nodes, "source_nodes", "Source nodes", .cell = CELL_TEXT,
		    .join = JOIN_KEY),
	TABLE_SHOWN(kernel_definition, unknown, "unknown", "Unknown because", .cell = CELL_TEXT,
		    .join = JOIN_KEY),
	TABLE_SHOWN(kernel_definition, line, "line", "Line", .join = JOIN_KEY),
	TABLE_SHOWN(kernel_definition, file, "file", "Defined in", .cell = CELL_TEXT,
		    .join = JOIN_KEY),
};

const struct table_kind kernel_definitions_table = {TABLE_KIND(kernel_definition, columns),
						    .field = 28,
						    .most_rows = 1u << 14,
						    .is_measured = is_measured,
						    .key = "kernel_definitions",
						    .title = "Where Triton's kernels are defined",
						    .is_detail = true};
