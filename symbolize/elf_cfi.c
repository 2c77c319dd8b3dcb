// SPDX-License-Identifier: MIT
#include "symbolize/elf_cfi.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/elf_file.h"
#include "symbolize/elf_table.h"
#include "symbolize/go_frames.h"
#include "symbolize/util/array.h"
#include "symbolize/util/sorted.h"

#define ENTRY_BYTES 256u /* bytes of code at an entry point: a call and, in a loader, a jump */

/* A section, with an index of its functions if the file has no search table. */
struct section {
	struct cfi_table table;
	char *frames, *search; /* data of the table */
	struct cfi_index_entry *index;
	uint32_t index_count, index_capacity;
};

/* Addresses in the file. */
struct function {
	uint64_t start, end;
};

struct elf_cfi {
	struct elf_segments segments;
	struct section eh_frame;
	struct section debug_frame;
	struct go_table go;
	char *go_section; /* section with the table of Go; NULL: none, or not needed */
	/* functions that only symbols tell: sorted by start, then end */
	struct function *undescribed;
	uint32_t undescribed_count, undescribed_capacity;
	uint64_t entry; /* entry point; 0: none */
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
	free(cfi->undescribed);
	free(cfi->segments.list);
	free(cfi);
}

/* Reads a section. `header` gets the size of the data. */
static char *read_named(const struct elf_file *file, const char *name, GElf_Shdr *header)
{
	if (!elf_file_find_unwind_section(file, name, header))
		return NULL;
	return header->sh_flags & SHF_COMPRESSED ? elf_file_read_compressed(file, header)
						 : elf_file_read_section(file, header);
}

/* Reads .debug_frame, under its name or that of the old compressed form, as read_named does. */
static char *read_debug_frame(const struct elf_file *file, GElf_Shdr *header)
{
	if (elf_file_find_section(file, SHT_PROGBITS, ".zdebug_frame", header))
		return elf_file_read_compressed(file, header);
	return read_named(file, ".debug_frame", header);
}

/* An index under construction. */
struct indexing {
	struct section *section;
	struct quota_share *share;
	bool is_full; /* no room: further functions are omitted */
};

static void note_function(void *context, const struct cfi_index_entry *entry)
{
	struct indexing *indexing = context;
	struct section *s = indexing->section;

	if (indexing->is_full || !quota_share_take(indexing->share, 2 * sizeof(*entry)) ||
	    !array_make_room(&s->index, s->index_count, &s->index_capacity, sizeof(*entry))) {
		indexing->is_full = true;
		return;
	}
	s->index[s->index_count++] = *entry;
}

static void build_index(struct section *s, struct quota_share *share)
{
	struct indexing indexing = {.section = s, .share = share};

	/* a malformed section keeps the functions before the fault */
	cfi_each_function(&s->table, note_function, &indexing);
	if (s->index_count == 0)
		return;
	qsort(s->index, s->index_count, sizeof(*s->index),
	      sorted_compare); /* sorting needs as much again */
	quota_share_return(share, s->index_count * sizeof(*s->index));
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

	s->frames = is_debug_frame ? read_debug_frame(file, &header)
				   : read_named(file, ".eh_frame", &header);
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

/* Reads Go's own table, in a program without .debug_frame. */
static void read_go_table(struct elf_cfi *cfi, const struct elf_file *file)
{
	GElf_Shdr header;

	cfi->go_section = go_table_read(&cfi->go, file, &header);
	if (!cfi->go_section || go_frames_are_in(&cfi->go))
		return;
	elf_file_free_section(file, &header, cfi->go_section);
	cfi->go_section = NULL;
}

static struct cfi_bounds bounds_in_section(const struct section *s, uint64_t address)
{
	struct cfi_bounds bounds = {.end = UINT64_MAX};
	size_t count;

	if (!s->frames)
		return bounds;
	if (s->search)
		return cfi_find_bounds(&s->table, address);
	count = sorted_count(s->index, s->index_count, sizeof(*s->index), address);
	if (count < s->index_count)
		bounds.end = s->index[count].start;
	if (count > 0 && address < s->index[count - 1].end)
		return (struct cfi_bounds){s->index[count - 1].start, s->index[count - 1].end,
					   true};
	if (count > 0)
		bounds.start = s->index[count - 1].end;
	return bounds;
}

/* Returns the function that a table describes at `address`, or the gap around it. */
static struct cfi_bounds described_at(const struct elf_cfi *cfi, uint64_t address)
{
	struct cfi_bounds bounds = bounds_in_section(&cfi->eh_frame, address), other;

	other = cfi->go_section ? go_frames_find_bounds(&cfi->go, address)
				: bounds_in_section(&cfi->debug_frame, address);
	if (bounds.is_function)
		return bounds;
	if (other.is_function)
		return other;
	bounds.start = larger_of(bounds.start, other.start);
	bounds.end = smaller_of(bounds.end, other.end);
	return bounds;
}

/* ---- functions that only symbols tell ---- */

static bool is_undescribed(const struct elf_cfi *cfi, const GElf_Sym *symbol)
{
	uint8_t type = GELF_ST_TYPE(symbol->st_info);
	struct cfi_bounds gap;

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF ||
	    symbol->st_size == 0)
		return false;
	gap = described_at(cfi, symbol->st_value);
	return !gap.is_function && symbol->st_value >= gap.start && gap.end > symbol->st_value &&
	       symbol->st_size <= gap.end - symbol->st_value;
}

/* Adds functions without a description, as many as fit. */
static void add_undescribed(struct elf_cfi *cfi, const struct elf_file *file, uint32_t type)
{
	struct elf_raw_symbols raw;
	GElf_Sym symbol;

	if (!elf_raw_symbols_read(&raw, file, type))
		return;
	for (uint32_t i = 1; elf_raw_symbols_get(&raw, i, &symbol); i++) {
		if (!is_undescribed(cfi, &symbol))
			continue;
		if (!quota_share_take(file->share, 2 * sizeof(*cfi->undescribed)) ||
		    !array_make_room(&cfi->undescribed, cfi->undescribed_count,
				     &cfi->undescribed_capacity, sizeof(*cfi->undescribed)))
			break;
		cfi->undescribed[cfi->undescribed_count++] =
			(struct function){symbol.st_value, symbol.st_value + symbol.st_size};
	}
	elf_raw_symbols_free(&raw, file);
}

static void read_undescribed(struct elf_cfi *cfi, const struct elf_file *file)
{
	add_undescribed(cfi, file, SHT_SYMTAB);
	add_undescribed(cfi, file, SHT_DYNSYM);
	if (cfi->undescribed_count > 0)
		qsort(cfi->undescribed, cfi->undescribed_count, sizeof(*cfi->undescribed),
		      sorted_compare_pairs);
}

/* ---- loading ---- */

static int load(struct elf_file *file, struct elf_cfi **result)
{
	struct elf_cfi *cfi = calloc(1, sizeof(*cfi));
	int err = cfi ? elf_file_read_segments(file, &cfi->segments) : -ENOMEM;
	GElf_Ehdr header;

	if (!err) {
		read_section(&cfi->eh_frame, file, false);
		read_section(&cfi->debug_frame, file, true);
		if (!cfi->debug_frame.frames)
			read_go_table(cfi, file);
	}
	if (!err && !cfi->eh_frame.frames && !cfi->debug_frame.frames && !cfi->go_section)
		err = -ENOENT;
	if (!err)
		read_undescribed(cfi, file);
	if (!err && gelf_getehdr(file->elf, &header))
		cfi->entry = header.e_entry;
	elf_file_close(file);
	if (err)
		elf_cfi_free(cfi);
	else
		*result = cfi;
	return err;
}

int elf_cfi_load(int fd, struct quota_share *share, struct elf_cfi **cfi)
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
	size_t count = sorted_count(s->index, s->index_count, sizeof(*s->index), address);

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

/* Finds the executable segment that has a byte of the file, and its address. NULL: there is none.
 */
static const struct elf_segment *segment_at(const struct elf_cfi *cfi, uint64_t file_offset,
					    uint64_t *address)
{
	for (uint32_t i = 0; i < cfi->segments.count; i++) {
		const struct elf_segment *s = &cfi->segments.list[i];

		if (s->is_executable && file_offset >= s->offset &&
		    file_offset - s->offset < s->size) {
			*address = s->address + (file_offset - s->offset);
			return s;
		}
	}
	return NULL;
}

struct cfi_bounds elf_cfi_find_bounds(const struct elf_cfi *cfi, uint64_t file_offset)
{
	uint64_t address;
	const struct elf_segment *segment = segment_at(cfi, file_offset, &address);
	struct cfi_bounds bounds;

	if (!segment)
		return (struct cfi_bounds){0};
	bounds = described_at(cfi, address);
	bounds.start = larger_of(bounds.start, segment->address);
	bounds.end = smaller_of(bounds.end, segment->address + segment->size);
	bounds.start += segment->offset - segment->address;
	bounds.end += segment->offset - segment->address;
	return bounds;
}

bool elf_cfi_find_symbol(const struct elf_cfi *cfi, uint64_t file_offset, uint64_t *start)
{
	uint64_t address;
	const struct elf_segment *segment = segment_at(cfi, file_offset, &address);
	const struct function *function;
	size_t count;

	if (!segment)
		return false;
	count = sorted_count(cfi->undescribed, cfi->undescribed_count, sizeof(*function), address);
	if (count == 0)
		return false;
	function = &cfi->undescribed[count - 1];
	if (address >= function->end || function->start < segment->address)
		return false;
	*start = function->start - segment->address + segment->offset;
	return true;
}

bool elf_cfi_is_entry(const struct elf_cfi *cfi, uint64_t file_offset)
{
	uint64_t address;
	const struct elf_segment *segment = segment_at(cfi, file_offset, &address);
	struct cfi_bounds bounds;

	if (!segment || cfi->entry == 0)
		return false;
	if (address < cfi->entry || address - cfi->entry >= ENTRY_BYTES)
		return false;
	bounds = described_at(cfi, address);
	return !bounds.is_function && bounds.start <= cfi->entry;
}
