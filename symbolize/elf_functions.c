/* SPDX-License-Identifier: MIT */
#include "symbolize/elf_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/cfi.h"
#include "symbolize/util/array.h"
#include "symbolize/util/sorted.h"

/* Cost of a function: the array has twice its size while it grows. */
#define FUNCTION_COST (2 * sizeof(struct elf_function))

struct reading {
	struct elf_functions *functions;
	struct quota_share *share;
	uint64_t taken;
	bool is_full;
	bool has_failed; /* out of memory */
};

static void add_function(void *context, const struct cfi_index_entry *entry)
{
	struct reading *r = context;
	struct elf_functions *f = r->functions;

	if (r->is_full || !quota_share_take(r->share, FUNCTION_COST)) {
		r->is_full = true;
		return;
	}
	r->taken += FUNCTION_COST;
	if (!array_make_room(&f->list, f->count, &f->capacity, sizeof(*f->list))) {
		r->is_full = r->has_failed = true;
		return;
	}
	f->list[f->count++] = (struct elf_function){entry->start, entry->end};
}

/* Keeps the longest of functions with one start; cuts each where the next begins. */
static void make_disjoint(struct elf_functions *f)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < f->count; i++) {
		if (i + 1 < f->count && f->list[i + 1].start == f->list[i].start)
			continue;
		if (i + 1 < f->count && f->list[i + 1].start < f->list[i].end)
			f->list[i].end = f->list[i + 1].start;
		f->list[kept++] = f->list[i];
	}
	f->count = kept;
}

int elf_functions_read(struct elf_functions *functions, const struct elf_file *file)
{
	struct reading reading = {.functions = functions, .share = file->share};
	struct cfi_table table = {0};
	struct elf_function *fitting;
	GElf_Shdr header;
	char *frames;

	*functions = (struct elf_functions){0};
	if (gelf_getclass(file->elf) != ELFCLASS64 ||
	    !elf_file_find_unwind_section(file, ".eh_frame", &header))
		return 0;
	frames = elf_file_read_section(file, &header);
	if (!frames)
		return 0;
	table.frames = (const uint8_t *)frames;
	table.frames_size = header.sh_size;
	table.frames_address = header.sh_addr;
	cfi_each_function(&table, add_function, &reading); /* up to a malformed entry */
	elf_file_free_section(file, &header, frames);
	if (functions->count > 0)
		qsort(functions->list, functions->count, sizeof(*functions->list),
		      sorted_compare_pairs);
	make_disjoint(functions);
	fitting = realloc(functions->list, (functions->count + 1) * sizeof(*fitting));
	if (fitting)
		functions->list = fitting;
	quota_share_return(file->share, reading.taken - functions->count * sizeof(*fitting));
	if (reading.has_failed)
		elf_functions_release(functions);
	return reading.has_failed ? -ENOMEM : 0;
}

const struct elf_function *elf_functions_find(const struct elf_functions *f, uint64_t address)
{
	size_t count = sorted_count(f->list, f->count, sizeof(*f->list), address);

	return count > 0 && address < f->list[count - 1].end ? &f->list[count - 1] : NULL;
}

uint64_t elf_functions_next(const struct elf_functions *f, uint64_t address)
{
	size_t count = sorted_count(f->list, f->count, sizeof(*f->list), address);

	return count < f->count ? f->list[count].start : UINT64_MAX;
}

void elf_functions_release(struct elf_functions *f)
{
	free(f->list);
	*f = (struct elf_functions){0};
}
