/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as /proc/PID/maps; the mappings go into a table, which must stay in order, and their
 * neighbours are looked for.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/maps.h"
#include "symbolize/moved_text.h"

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

static void find_near(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	uint32_t count;
	struct maps_line *lines = text ? moved_text_read_lines(text, &count) : NULL;

	if (!lines)
		abort();
	for (uint32_t i = 0; i < count; i++) {
		const struct maps_line *near = moved_text_near_line(lines, count, i);

		if (near && (near == &lines[i] || !near->is_of_file))
			abort();
	}
	free(lines);
	free(text);
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
	find_near(data, size);
	return 0;
}
