/* SPDX-License-Identifier: MIT */
/* Call-frame tables of any bytes: rows, or errors; never a read outside the table. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_anything(void *context, uint64_t address, uint64_t *value)
{
	(void)context;
	*value = address * 3;
	return address & 1;
}

static void try_pc(const struct cfi_table *table, uint64_t pc)
{
	struct cfi_registers registers = {.known = 0x1ffff};
	struct cfi_simple_row simple;
	struct cfi_row row;

	if (cfi_find_row(table, pc, &row) != 0)
		return;
	cfi_simplify(&row, &simple);
	cfi_apply(&row, &registers, read_anything, NULL);
}

static void visit(void *context, const struct cfi_index_entry *entry)
{
	const struct cfi_table *table = context;
	struct cfi_row row;

	cfi_row_of_function(table, entry->fde, entry->start, &row);
	cfi_row_of_function(table, entry->fde, entry->end - 1, &row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_table table = {.frames_address = 0x1000, .index_address = 0x100};
	size_t index_size;

	if (size < 4)
		return 0;
	index_size = data[0] < size - 4 ? data[0] : 0;
	table.is_debug_frame = data[1] & 1;
	/* copies of their own: a read outside is seen */
	table.frames_size = size - 4 - index_size;
	table.frames = malloc(table.frames_size + 1);
	table.index = index_size ? malloc(index_size) : NULL;
	table.index_size = index_size;
	if (table.frames && (table.index || !index_size)) {
		memcpy((void *)(uintptr_t)table.frames, data + 4 + index_size, table.frames_size);
		if (index_size)
			memcpy((void *)(uintptr_t)table.index, data + 4, index_size);
		try_pc(&table, data[2] | data[3] << 8);
		try_pc(&table, 0x1000);
		cfi_each_function(&table, visit, &table);
	}
	free((void *)(uintptr_t)table.frames);
	free((void *)(uintptr_t)table.index);
	return 0;
}
