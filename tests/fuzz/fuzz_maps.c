/* SPDX-License-Identifier: MIT */
/* Any bytes as /proc/PID/maps; the mappings go into a table, which must stay in order. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insert(struct map_table **table, const struct code_mapping *mapping)
{
	struct map_entry entry = {.start = mapping->start,
				  .end = mapping->end,
				  .file_offset = mapping->file_offset,
				  .module = 4};
	const struct map_entry *found;

	if (map_table_insert(table, entry) != 0)
		return;
	found = map_table_find(*table, mapping->start);
	if (!found || found->start != mapping->start || found->end != mapping->end)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *rest = text;
	struct map_table *table = map_table_new();
	struct code_mapping mapping;

	if (!text || !table)
		abort();
	while (maps_next(&rest, &mapping))
		insert(&table, &mapping);
	for (uint32_t i = 0; i < table->count; i++)
		if (table->entries[i].start >= table->entries[i].end ||
		    (i > 0 && table->entries[i - 1].end > table->entries[i].start))
			abort();
	map_table_drop(table);
	free(text);
	return 0;
}
