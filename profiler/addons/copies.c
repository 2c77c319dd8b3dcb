// SPDX-License-Identifier: MIT
#include "profiler/addons/copies.h"

#include <stddef.h>
#include "cupti_trace/wire/gpu_work.h"
#include "profiler/model/copied_memory.h"
#include "symbolize/util/saturate.h"

static bool is_wanted(const struct addon_parts *parts)
{
	return copied_memory_table.is_measured(parts->measure);
}

/*
 * Returns the word for a kind of host memory, a literal with one address. Returns NULL for others.
 */
static const char *host_memory_word(uint32_t kind)
{
	if (kind == GPU_MEMORY_PAGEABLE)
		return COPIED_PAGEABLE;
	if (kind == GPU_MEMORY_PINNED)
		return "pinned";
	return gpu_memory_is_unified(kind) ? "managed" : NULL;
}

static void take_operation(void *addon, const struct addon_operation *operation)
{
	const struct addon_parts *parts = addon;
	const struct gpu_operation *o = operation->operation;
	const char *word = gpu_work_is_from_host(o->work) || gpu_work_is_to_host(o->work)
				   ? host_memory_word(o->shape)
				   : NULL;
	struct copied_memory row = {.stack = operation->stack.number,
				    .copies = operation->represents,
				    .bytes = saturated_product(o->bytes, operation->represents)};

	if (!word || o->staged)
		return;
	row.direction = gpu_work_is_from_host(o->work) ? "HtoD" : "DtoH";
	row.memory = word;
	row.ns = o->bad_time ? 0 : saturated_product(o->duration_ns, operation->represents);
	result_tables_count(parts->tables, &copied_memory_table, &row, parts->sink->ledger);
}

const struct addon addon_copies = {.is_wanted = is_wanted, .operation = take_operation};
