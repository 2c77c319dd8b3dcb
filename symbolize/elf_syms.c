/* SPDX-License-Identifier: MIT */
#include "symbolize/elf_syms.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/elf_file.h"
#include "symbolize/elf_functions.h"
#include "symbolize/elf_table.h"
#include "symbolize/util/range_table.h"
#include "symbolize/util/sorted.h"

/*
 * Length up to which aliases are compared: names in a hostile file can all be as long as the file.
 */
#define COMPARED_NAME 4096

struct elf_syms {
	struct elf_table symbols; /* sorted; ranges have positions in its list as ids */
	struct range_table table;
	struct elf_segments segments;
	struct elf_functions functions;
	bool is_stripped; /* no .symtab was found */
	char build_id[BUILD_ID_TEXT];
};

bool elf_syms_address(const struct elf_syms *syms, uint64_t offset, uint64_t *address)
{
	return elf_segments_address(&syms->segments, offset, address);
}

static int binding_rank(uint8_t binding)
{
	switch (binding) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return 0;
	case STB_WEAK:
		return 1;
	default:
		return 2;
	}
}

static size_t leading_underscores(const char *name)
{
	size_t count = 0;

	while (count < COMPARED_NAME && name[count] == '_')
		count++;
	return count;
}

/* Compares two symbols at one address by preference: negative if `x` is preferred. */
static int compare_aliases(const struct elf_candidate *x, const struct elf_candidate *y)
{
	size_t length_x, length_y;
	int order;

	order = (x->type == STT_NOTYPE) - (y->type == STT_NOTYPE);
	if (!order)
		order = binding_rank(x->binding) - binding_rank(y->binding);
	if (!order)
		order = (x->size == 0) - (y->size == 0);
	if (order || x->name == y->name)
		return order;
	length_x = leading_underscores(x->name);
	length_y = leading_underscores(y->name);
	if (length_x == length_y) {
		length_x = strnlen(x->name, COMPARED_NAME);
		length_y = strnlen(y->name, COMPARED_NAME);
	}
	if (length_x != length_y)
		return length_x < length_y ? -1 : 1;
	return strncmp(x->name, y->name, COMPARED_NAME);
}

/*
 * Keeps one symbol per address. If it has no size, it inherits size and section end from its
 * aliases.
 */
static void choose_names(struct elf_table *symbols)
{
	struct elf_candidate *list = symbols->list;
	size_t kept = 0;

	for (size_t i = 0; i < symbols->count;) {
		struct elf_candidate best = list[i];
		uint64_t size = best.size, limit = best.limit;

		for (i++; i < symbols->count && list[i].address == best.address; i++) {
			if (list[i].size > size)
				size = list[i].size;
			if (list[i].limit > limit)
				limit = list[i].limit;
			if (compare_aliases(&list[i], &best) < 0)
				best = list[i];
		}
		if (best.size == 0)
			best.size = size;
		best.limit = limit;
		list[kept++] = best;
	}
	symbols->count = kept;
}

/* Returns the end of a symbol without a size; 0: the symbol is unusable. */
static uint64_t end_of_unsized(const struct elf_syms *syms, size_t i, uint64_t sized_end)
{
	const struct elf_candidate *symbol = &syms->symbols.list[i];
	const struct elf_function *function;
	uint64_t end = symbol->limit;

	if (symbol->address < sized_end)
		return 0;
	if (i + 1 < syms->symbols.count)
		end = smaller_of(end, symbol[1].address);
	function = elf_functions_find(&syms->functions, symbol->address);
	if (function)
		return smaller_of(end, function->end);
	if (syms->is_stripped)
		end = smaller_of(end,
				 symbol->address +
					 (symbol->type == STT_NOTYPE ? 1 : ELF_SYMS_UNSIZED_MAX));
	return smaller_of(end, elf_functions_next(&syms->functions, symbol->address));
}

static int build_table(struct elf_syms *syms, struct quota_share *share)
{
	struct elf_table *symbols = &syms->symbols;
	uint64_t sized_end = 0;
	uint32_t before = symbols->count;
	struct range *ranges;
	size_t count = 0;
	int err;

	if (symbols->count == 0)
		return 0;
	qsort(symbols->list, symbols->count, sizeof(*symbols->list), sorted_compare);
	choose_names(symbols);
	ranges = calloc(symbols->count, sizeof(*ranges));
	if (!ranges)
		return -ENOMEM;
	for (size_t i = 0; i < symbols->count; i++) {
		const struct elf_candidate *symbol = &symbols->list[i];
		uint64_t end;

		if (symbol->size == 0) {
			end = end_of_unsized(syms, i, sized_end);
		} else {
			end = symbol->address + symbol->size;
			if (end < symbol->address)
				end = UINT64_MAX;
			if (end > sized_end)
				sized_end = end;
		}
		/* Sorted by start: of nested symbols the inner one has the higher priority. */
		if (end > symbol->address)
			ranges[count++] = (struct range){
				.start = symbol->address,
				.end = end,
				.priority = (uint32_t)i,
				.id = (uint32_t)i,
			};
	}
	err = range_table_build(&syms->table, ranges, count);
	free(ranges);
	if (!err)
		quota_share_return(share, before * ELF_TABLE_BUILDING -
						  syms->table.count * sizeof(struct range));
	return err;
}

/* Adds the .symtab of the separate debug file, as elf_table_add does. */
static int add_debug_file(struct elf_syms *syms, const struct elf_file *file,
			  struct debug_file_search *search)
{
	struct elf_file debug;
	int err = 0, fd;

	fd = debug_file_open(file, search);
	if (fd < 0)
		return 0;
	if (elf_file_open(&debug, fd) == 0) {
		debug.share = file->share;
		err = elf_table_add(&syms->symbols, &debug, SHT_SYMTAB);
		elf_file_close(&debug);
	}
	close(fd);
	return err;
}

/* Unpacked xz data. */
struct unpacked {
	char *image;
	size_t size, capacity;
};

/* Doubles the buffer. Returns false if there is no room. */
static bool grow(struct unpacked *out, struct quota_share *share)
{
	size_t more = out->capacity ? out->capacity : 1u << 20;
	char *bigger;

	if (!quota_share_take(share, more))
		return false;
	bigger = realloc(out->image, out->capacity + more);
	if (!bigger) {
		quota_share_return(share, more);
		return false;
	}
	out->image = bigger;
	out->capacity += more;
	return true;
}

/*
 * Decompresses xz data. Returns false if the data is not xz, or too large. The caller frees `out`
 * in any case.
 */
static bool unxz(const void *packed, size_t packed_size, struct quota_share *share,
		 struct unpacked *out)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret ret = LZMA_OK;

	if (lzma_stream_decoder(&stream, DEBUGDATA_MEMORY, 0) != LZMA_OK)
		return false;
	stream.next_in = packed;
	stream.avail_in = packed_size;
	while (ret == LZMA_OK && stream.avail_out == 0 && grow(out, share)) {
		stream.next_out = (uint8_t *)out->image + stream.total_out;
		stream.avail_out = out->capacity - stream.total_out;
		ret = lzma_code(&stream, LZMA_FINISH);
	}
	out->size = stream.total_out;
	lzma_end(&stream);
	return ret == LZMA_STREAM_END;
}

/* Adds the .symtab in .gnu_debugdata, given as `packed`. */
static int add_unpacked(struct elf_syms *syms, const struct elf_file *file, const char *packed,
			size_t size)
{
	struct unpacked out = {0};
	struct elf_file inner;
	int err = 0;

	if (!quota_share_take(file->share, DEBUGDATA_MEMORY))
		return 0;
	if (unxz(packed, size, file->share, &out) &&
	    elf_file_open_memory(&inner, out.image, out.size) == 0) {
		inner.share = file->share;
		err = elf_table_add(&syms->symbols, &inner, SHT_SYMTAB);
		elf_file_close(&inner);
	}
	free(out.image);
	quota_share_return(file->share, out.capacity + DEBUGDATA_MEMORY);
	return err;
}

/* Adds the .symtab of the "mini debug info" that Fedora puts into stripped files. */
static int add_debugdata(struct elf_syms *syms, const struct elf_file *file)
{
	GElf_Shdr header;
	char *packed;
	int err;

	if (!elf_file_find_section(file, SHT_PROGBITS, ".gnu_debugdata", &header))
		return 0;
	packed = elf_file_read_section(file, &header);
	err = packed ? add_unpacked(syms, file, packed, header.sh_size) : 0;
	elf_file_free_section(file, &header, packed);
	return err;
}

static int add_all_symbols(struct elf_syms *syms, const struct elf_file *file,
			   struct debug_file_search *search)
{
	int err;

	err = elf_table_add(&syms->symbols, file, SHT_SYMTAB);
	if (err == 0 && search)
		err = add_debug_file(syms, file, search);
	if (err == 0)
		err = add_debugdata(syms, file);
	syms->is_stripped = err == 0;
	if (err >= 0)
		err = elf_table_add(&syms->symbols, file, SHT_DYNSYM);
	if (err >= 0 && syms->is_stripped)
		err = elf_table_add_go(&syms->symbols, file);
	if (err >= 0)
		err = elf_table_add_plt(&syms->symbols, file);
	return err < 0 ? err : 0;
}

/* Loads the symbols of an open file, and closes it. */
static int load(struct elf_file *file, struct debug_file_search *search, struct elf_syms **result)
{
	struct elf_syms *syms = calloc(1, sizeof(*syms));
	int err = syms ? elf_file_read_segments(file, &syms->segments) : -ENOMEM;

	if (!err) {
		elf_file_build_id(file, syms->build_id);
		err = add_all_symbols(syms, file, search);
	}
	if (!err)
		err = elf_functions_read(&syms->functions, file);
	if (!err)
		err = build_table(syms, file->share);
	elf_file_close(file);
	if (err)
		elf_syms_free(syms);
	else
		*result = syms;
	return err;
}

int elf_syms_load(int fd, struct debug_file_search *search, struct quota_share *share,
		  struct elf_syms **syms)
{
	struct elf_file file;
	int err = elf_file_open(&file, fd);

	file.share = share;
	return err ? err : load(&file, search, syms);
}

int elf_syms_load_memory(const void *image, size_t size, struct elf_syms **syms)
{
	struct elf_file file;
	int err = elf_file_open_memory(&file, image, size);

	return err ? err : load(&file, NULL, syms);
}

const char *elf_syms_build_id(const struct elf_syms *syms)
{
	return syms->build_id;
}

uint32_t elf_syms_count(const struct elf_syms *syms)
{
	return syms->symbols.count;
}

bool elf_syms_find(const struct elf_syms *syms, uint64_t file_offset, struct elf_symbol *symbol)
{
	const struct elf_candidate *found;
	uint64_t address;
	uint32_t id;

	if (!elf_syms_address(syms, file_offset, &address))
		return false;
	id = range_table_find(&syms->table, address);
	if (id == RANGE_NONE)
		return false;
	found = &syms->symbols.list[id];
	*symbol = (struct elf_symbol){.name = found->name, .index = id, .is_plt = found->is_plt};
	return true;
}

bool elf_syms_function(const struct elf_syms *syms, uint64_t file_offset, uint64_t *start)
{
	const struct elf_function *function;
	uint64_t address;

	if (!elf_syms_address(syms, file_offset, &address))
		return false;
	function = elf_functions_find(&syms->functions, address);
	if (function)
		*start = function->start;
	return function != NULL;
}

void elf_syms_free(struct elf_syms *syms)
{
	if (!syms)
		return;
	elf_table_release(&syms->symbols);
	range_table_release(&syms->table);
	elf_functions_release(&syms->functions);
	free(syms->segments.list);
	free(syms);
}
