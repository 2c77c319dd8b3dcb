/* SPDX-License-Identifier: MIT */
/* Any bytes as /proc/PID/maps; what is read goes into a table, which has to stay in order. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int visit(void *context, const struct code_mapping *mapping)
{
	struct map_table **table = context;
	struct map_entry entry = {mapping->start, mapping->end, mapping->file_offset, 4};
	const struct map_entry *found;

	if (strlen(mapping->path) > MAPS_LINE_MAX)
		abort();
	if (map_table_insert(table, entry) != 0)
		return 0;
	found = map_table_find(*table, mapping->start);
	if (!found || found->start != mapping->start || found->end != mapping->end)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct map_table *table = map_table_new();

	if (fd < 0 || !table || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	maps_read(fd, visit, &table);
	for (uint32_t i = 0; i < table->count; i++)
		if (table->entries[i].start >= table->entries[i].end ||
		    (i > 0 && table->entries[i - 1].end > table->entries[i].start))
			abort();
	map_table_drop(table);
	close(fd);
	return 0;
}
