// SPDX-License-Identifier: MIT
#include "symbolize/elf_cfi.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/array.h"
#include "symbolize/elf_file.h"

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
	free(cfi->segments.list);
	free(cfi);
}

static char *read_named(const struct elf_file *file, const char *name, GElf_Shdr *header)
{
	if (elf_file_find_section(file, SHT_PROGBITS, name, header) ||
	    elf_file_find_section(file, SHT_X86_64_UNWIND, name, header))
		return elf_file_read_section(file, header);
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

static void read_section(struct section *s, const struct elf_file *file, bool is_debug_frame)
{
	GElf_Shdr header, search;

	s->frames = read_named(file, is_debug_frame ? ".debug_frame" : ".eh_frame", &header);
	if (!s->frames)
		return;
	s->table.frames = (const uint8_t *)s->frames;
	s->table.frames_size = header.sh_size;
	s->table.frames_address = header.sh_addr;
	s->table.is_debug_frame = is_debug_frame;
	if (!is_debug_frame)
		s->search = read_named(file, ".eh_frame_hdr", &search);
	if (!s->search) {
		build_index(s, file->share);
		return;
	}
	s->table.index = (const uint8_t *)s->search;
	s->table.index_size = search.sh_size;
	s->table.index_address = search.sh_addr;
}

static int load(struct elf_file *file, struct elf_cfi **result)
{
	struct elf_cfi *cfi = calloc(1, sizeof(*cfi));
	int err = cfi ? elf_file_read_segments(file, &cfi->segments) : -ENOMEM;

	if (!err) {
		read_section(&cfi->eh_frame, file, false);
		read_section(&cfi->debug_frame, file, true);
	}
	if (!err && !cfi->eh_frame.frames && !cfi->debug_frame.frames)
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

static int find_by_index(const struct section *s, uint64_t address, struct cfi_row *row)
{
	uint32_t low = 0, high = s->index_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->index[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address >= s->index[low - 1].end)
		return -ENOENT;
	return cfi_row_of_function(&s->table, s->index[low - 1].fde, address, row);
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
	return err ? find_in_section(&cfi->debug_frame, address, row) : 0;
}
