// SPDX-License-Identifier: MIT
#include "symbolize/elf_cfi.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/array.h"
#include "symbolize/elf_file.h"
#include "symbolize/go_frames.h"

#ifndef SHT_X86_64_UNWIND
#define SHT_X86_64_UNWIND 0x70000001
#endif

/* A section, with an index of its functions if the file has none. */
struct section {
	struct cfi_table table;
	char *frames, *search; /* the table's data */
	struct cfi_index_entry *index;
	uint32_t index_count, index_capacity;
};

struct elf_cfi {
	struct elf_segments segments;
	struct section eh_frame;
	struct section debug_frame;
	struct go_table go;
	char *go_section; /* that has it; NULL: none, or not needed */
};

static void release_section(struct section *s)
{
	free(s->frames);
	free(s->search);
	free(s->index);
}

void elf_cfi_free(struct elf_cfi *cfi)
{
	if (!cfi)
		return;
	release_section(&cfi->eh_frame);
	release_section(&cfi->debug_frame);
	free(cfi->go_section);
	free(cfi->segments.list);
	free(cfi);
}

/* `header` then has the size of what was read. */
static char *read_named(const struct elf_file *file, const char *name, GElf_Shdr *header)
{
	if (elf_file_find_section(file, SHT_PROGBITS, name, header) ||
	    elf_file_find_section(file, SHT_X86_64_UNWIND, name, header))
		return header->sh_flags & SHF_COMPRESSED ? elf_file_read_compressed(file, header)
							 : elf_file_read_section(file, header);
	return NULL;
}

/* An index under construction. */
struct indexing {
	struct section *section;
	struct budget_share *share;
	bool is_full; /* functions that do not fit are left out */
};

static void note_function(void *context, const struct cfi_index_entry *entry)
{
	struct indexing *indexing = context;
	struct section *s = indexing->section;

	if (indexing->is_full || !budget_take(indexing->share, 2 * sizeof(*entry)) ||
	    !array_make_room(&s->index, s->index_count, &s->index_capacity, sizeof(*entry))) {
		indexing->is_full = true;
		return;
	}
	s->index[s->index_count++] = *entry;
}

static int by_start(const void *a, const void *b)
{
	const struct cfi_index_entry *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void build_index(struct section *s, struct budget_share *share)
{
	struct indexing indexing = {.section = s, .share = share};

	/* a malformed section keeps its functions up to there */
	cfi_each_function(&s->table, note_function, &indexing);
	if (s->index_count == 0)
		return;
	qsort(s->index, s->index_count, sizeof(*s->index), by_start); /* needs as much again */
	budget_return(share, s->index_count * sizeof(*s->index));
}

static void read_search_table(struct section *s, const struct elf_file *file)
{
	GElf_Shdr header;

	s->search = read_named(file, ".eh_frame_hdr", &header);
	if (!s->search)
		return;
	s->table.index = (const uint8_t *)s->search;
	s->table.index_size = header.sh_size;
	s->table.index_address = header.sh_addr;
	if (cfi_index_is_usable(&s->table))
		return;
	elf_file_free_section(file, &header, s->search);
	s->search = NULL;
	s->table.index = NULL;
}

static void read_section(struct section *s, const struct elf_file *file, bool is_debug_frame)
{
	GElf_Shdr header;

	s->frames = read_named(file, is_debug_frame ? ".debug_frame" : ".eh_frame", &header);
	if (!s->frames)
		return;
	s->table.frames = (const uint8_t *)s->frames;
	s->table.frames_size = header.sh_size;
	s->table.frames_address = header.sh_addr;
	s->table.is_debug_frame = is_debug_frame;
	if (!is_debug_frame)
		read_search_table(s, file);
	if (!s->search)
		build_index(s, file->share);
}

/* Go's own table, in a program whose .debug_frame is gone. */
static void read_go_table(struct elf_cfi *cfi, const struct elf_file *file)
{
	GElf_Shdr header;

	cfi->go_section = go_table_read(&cfi->go, file, &header);
	if (!cfi->go_section || go_frames_are_in(&cfi->go))
		return;
	elf_file_free_section(file, &header, cfi->go_section);
	cfi->go_section = NULL;
}

static int load(struct elf_file *file, struct elf_cfi **result)
{
	struct elf_cfi *cfi = calloc(1, sizeof(*cfi));
	int err = cfi ? elf_file_read_segments(file, &cfi->segments) : -ENOMEM;

	if (!err) {
		read_section(&cfi->eh_frame, file, false);
		read_section(&cfi->debug_frame, file, true);
		if (!cfi->debug_frame.frames)
			read_go_table(cfi, file);
	}
	if (!err && !cfi->eh_frame.frames && !cfi->debug_frame.frames && !cfi->go_section)
		err = -ENOENT;
	elf_file_close(file);
	if (err) {
		elf_cfi_free(cfi);
		return err;
	}
	*result = cfi;
	return 0;
}

int elf_cfi_load(int fd, struct budget_share *share, struct elf_cfi **cfi)
{
	struct elf_file file;
	int err = elf_file_open(&file, fd);

	file.share = share;
	return err ? err : load(&file, cfi);
}

int elf_cfi_load_memory(const void *image, size_t size, struct elf_cfi **cfi)
{
	struct elf_file file;
	int err = elf_file_open_memory(&file, image, size);

	return err ? err : load(&file, cfi);
}

/* How many functions start at or before `address`. */
static uint32_t count_up_to(const struct section *s, uint64_t address)
{
	uint32_t low = 0, high = s->index_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->index[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int find_by_index(const struct section *s, uint64_t address, struct cfi_row *row)
{
	uint32_t count = count_up_to(s, address);

	if (count == 0)
		return -ENOENT;
	return cfi_row_of_function(&s->table, s->index[count - 1].fde, address, row);
}

static int find_in_section(const struct section *s, uint64_t address, struct cfi_row *row)
{
	if (!s->frames)
		return -ENOENT;
	return s->search ? cfi_find_row(&s->table, address, row) : find_by_index(s, address, row);
}

int elf_cfi_find_row(const struct elf_cfi *cfi, uint64_t file_offset, struct cfi_row *row)
{
	uint64_t address;
	int err;

	if (!elf_segments_address(&cfi->segments, file_offset, &address))
		return -ENOENT;
	err = find_in_section(&cfi->eh_frame, address, row);
	if (err)
		err = find_in_section(&cfi->debug_frame, address, row);
	return err && cfi->go_section ? go_frames_find_row(&cfi->go, address, row) : err;
}

static struct cfi_bounds bounds_in_section(const struct section *s, uint64_t address)
{
	struct cfi_bounds bounds = {.end = UINT64_MAX};
	uint32_t count;

	if (!s->frames)
		return bounds;
	if (s->search)
		return cfi_find_bounds(&s->table, address);
	count = count_up_to(s, address);
	if (count < s->index_count)
		bounds.end = s->index[count].start;
	if (count > 0 && address < s->index[count - 1].end)
		return (struct cfi_bounds){s->index[count - 1].start, s->index[count - 1].end,
					   true};
	if (count > 0)
		bounds.start = s->index[count - 1].end;
	return bounds;
}

static uint64_t highest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t lowest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The executable segment that has the byte, or NULL. */
static const struct elf_segment *segment_at(const struct elf_cfi *cfi, uint64_t file_offset)
{
	for (uint32_t i = 0; i < cfi->segments.count; i++) {
		const struct elf_segment *s = &cfi->segments.list[i];

		if (s->is_executable && file_offset >= s->offset &&
		    file_offset - s->offset < s->size)
			return s;
	}
	return NULL;
}

struct cfi_bounds elf_cfi_find_bounds(const struct elf_cfi *cfi, uint64_t file_offset)
{
	const struct elf_segment *segment = segment_at(cfi, file_offset);
	struct cfi_bounds bounds, other;
	uint64_t address;

	if (!segment)
		return (struct cfi_bounds){0};
	address = segment->address + (file_offset - segment->offset);
	bounds = bounds_in_section(&cfi->eh_frame, address);
	other = cfi->go_section ? go_frames_find_bounds(&cfi->go, address)
				: bounds_in_section(&cfi->debug_frame, address);
	if (!bounds.is_function && other.is_function) {
		bounds = other;
	} else if (!bounds.is_function) {
		bounds.start = highest(bounds.start, other.start);
		bounds.end = lowest(bounds.end, other.end);
	}
	bounds.start = highest(bounds.start, segment->address);
	bounds.end = lowest(bounds.end, segment->address + segment->size);
	bounds.start += segment->offset - segment->address;
	bounds.end += segment->offset - segment->address;
	return bounds;
}
