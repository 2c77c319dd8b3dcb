/* SPDX-License-Identifier: MIT */
/*
 * Adds the functions of Go programs, which keep their names when stripped (-ldflags="-s -w").
 *
 * The runtime's own table has them (go_table.h). The description of a function has its address,
 * then 4 bytes: the offset of its name. An entry that is not code, or out of order, ends the table:
 * names before it stay.
 */
#include "symbolize/elf_table.h"

#include <stdlib.h>
#include "symbolize/go_table.h"

static const char *read_name(const struct go_table *t, uint64_t i)
{
	uint64_t description, name;

	if (!go_table_description(t, i, &description) ||
	    !go_table_number(t, description + t->width, 4, &name) || name >= t->size - t->names)
		return NULL;
	return t->bytes + t->names + name;
}

static bool is_code(const struct elf_segments *segments, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < segments->count; i++) {
		const struct elf_segment *s = &segments->list[i];

		if (s->is_executable && start >= s->address && end > start &&
		    end - s->address <= s->size)
			return true;
	}
	return false;
}

static int add_functions(struct elf_table *table, const struct elf_file *file,
			 const struct go_table *t)
{
	struct elf_segments segments;
	int err = elf_file_read_segments(file, &segments);
	uint64_t start, end;

	for (uint64_t i = 0; i < t->count && !err; i++) {
		struct elf_candidate function = {.type = STT_FUNC, .binding = STB_LOCAL};

		if (!go_table_entry(t, i, &start) || !go_table_entry(t, i + 1, &end) ||
		    !is_code(&segments, start, end))
			break;
		function.address = start;
		function.size = end - start;
		function.name = read_name(t, i);
		if (!function.name || !function.name[0])
			continue;
		if (!quota_share_take(file->share, ELF_TABLE_COST))
			break;
		err = elf_table_push(table, &function);
	}
	free(segments.list);
	return err;
}

int elf_table_add_go(struct elf_table *table, const struct elf_file *file)
{
	uint32_t before = table->count;
	struct go_table t;
	GElf_Shdr header;
	char *bytes;
	int err;

	if (table->string_count == ELF_TABLE_STRINGS)
		return 0;
	bytes = go_table_read(&t, file, &header);
	if (!bytes)
		return 0;
	err = add_functions(table, file, &t);
	if (table->count > before)
		table->strings[table->string_count++] =
			(struct elf_strings){.text = bytes, .size = header.sh_size, .fd = -1};
	else
		elf_file_free_section(file, &header, bytes);
	return err;
}
