// SPDX-License-Identifier: MIT
#include "profiler/model/copied_memory.h"

static bool is_measured(const struct measure *measure)
{
	return measure->traces_gpu && !measure->kernels_only && !measure->last_ns;
}

static const struct table_column columns[] = {
	TABLE_SHOWN(copied_memory, ns, "ns", "Time", .unit = UNIT_NS, .join = JOIN_SUM),
	TABLE_SHOWN(copied_memory, copies, "copies", "Copies", .join = JOIN_SUM),
	TABLE_SHOWN(copied_memory, bytes, "bytes", "Bytes", .unit = UNIT_BYTES, .join = JOIN_SUM),
	TABLE_SHOWN(copied_memory, direction, "direction", "Direction", .cell = CELL_TEXT,
		    .join = JOIN_KEY, .width = 10),
	TABLE_SHOWN(copied_memory, memory, "host_memory", "Host memory", .cell = CELL_TEXT,
		    .join = JOIN_KEY),
	TABLE_SHOWN(copied_memory, stack, "copied_by", "Copied by", .cell = CELL_STACK,
		    .join = JOIN_KEY),
};

const struct table_kind copied_memory_table = {
	TABLE_KIND(copied_memory, columns), .field = 27,
	.is_measured = is_measured,         .key = "copied_memory",
	.title = "Copies by host memory",   .is_detail = true};
