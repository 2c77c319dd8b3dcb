// SPDX-License-Identifier: MIT
#include "symbolize/jit_frames.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/cfi_bytes.h"
#include "symbolize/util/array.h"
#include "symbolize/util/sorted.h"

/* Assumed address of a section behind code: functions begin below it. */
#define BEHIND_CODE (UINT64_C(1) << 62)

struct jit_frames {
	bool is_placed;
	struct cfi_table table;
	uint8_t *bytes; /* data of the table */
	struct cfi_index_entry *index;
	uint32_t count, capacity;
	size_t taken;              /* bytes of the quota */
	struct quota_share *share; /* set while the record is read */
	bool is_full;
};

void jit_frames_free(struct jit_frames *f)
{
	if (!f)
		return;
	free(f->bytes);
	free(f->index);
	free(f);
}

size_t jit_frames_bytes(const struct jit_frames *f)
{
	return f->taken;
}

bool jit_frames_are_placed(const struct jit_frames *f)
{
	return f->is_placed;
}

/* ---- reading ---- */

/* Returns whether .eh_frame_hdr comes first: as the length of an entry it would be far too long. */
static bool begins_with_header(const uint8_t *data, size_t size)
{
	uint32_t length;

	if (size < sizeof(length) || data[0] != 1)
		return false;
	memcpy(&length, data, sizeof(length));
	return length > size;
}

/* Reads the address of .eh_frame from the header. Returns false if it is not absolute. */
static bool read_address(const uint8_t *header, size_t size, uint64_t *address)
{
	struct bytes b = {.at = header, .end = header + size};
	uint8_t encoding;

	bytes_u8(&b);
	encoding = bytes_u8(&b);
	bytes_u16(&b);
	*address = bytes_u64(&b);
	return !b.bad && (encoding == DW_EH_PE_absptr || encoding == DW_EH_PE_udata8 ||
			  encoding == DW_EH_PE_sdata8);
}

static bool take(struct jit_frames *f, size_t bytes)
{
	if (!quota_share_take(f->share, bytes))
		return false;
	f->taken += bytes;
	return true;
}

static void note_function(void *context, const struct cfi_index_entry *entry)
{
	struct jit_frames *f = context;

	if (f->is_full || !take(f, sizeof(*entry)) ||
	    !array_make_room(&f->index, f->count, &f->capacity, sizeof(*entry))) {
		f->is_full = true;
		return;
	}
	f->index[f->count++] = *entry;
}

/* Frees the spare room of the index: most records have one function. */
static void fit_index(struct jit_frames *f)
{
	struct cfi_index_entry *fitting = realloc(f->index, f->count * sizeof(*fitting));

	if (fitting)
		f->index = fitting;
}

static int list_functions(struct jit_frames *f)
{
	cfi_each_function(&f->table, note_function, f);
	if (f->is_full)
		return -ENOSPC;
	if (f->count == 0)
		return -EBADMSG;
	fit_index(f);
	qsort(f->index, f->count, sizeof(*f->index), sorted_compare);
	return 0;
}

static int copy_section(struct jit_frames *f, const uint8_t *data, size_t size)
{
	if (!take(f, sizeof(*f) + size))
		return -ENOSPC;
	f->bytes = malloc(size);
	if (!f->bytes)
		return -ENOMEM;
	memcpy(f->bytes, data, size);
	f->table.frames = f->bytes;
	f->table.frames_size = size;
	return 0;
}

static void place_section(struct jit_frames *f, const uint8_t *data, size_t header_size,
			  bool is_header_first)
{
	f->table.frames_address = BEHIND_CODE;
	if (!is_header_first)
		return;
	f->is_placed = read_address(data, header_size, &f->table.frames_address);
	if (!f->is_placed)
		f->table.frames_address = BEHIND_CODE + header_size;
}

int jit_frames_read(const uint8_t *data, size_t size, uint64_t header_size,
		    struct quota_share *share, struct jit_frames **frames)
{
	bool is_header_first;
	struct jit_frames *f;
	int err;

	*frames = NULL;
	if (header_size > size)
		return -EBADMSG;
	if (header_size == size)
		return 0;
	if (size > JIT_FRAMES_MAX_RECORD)
		return -ENOSPC;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->share = share;
	is_header_first = header_size > 0 && begins_with_header(data, size);
	place_section(f, data, (size_t)header_size, is_header_first);
	err = copy_section(f, is_header_first ? data + header_size : data,
			   size - (size_t)header_size);
	if (!err)
		err = list_functions(f);
	f->share = NULL;
	if (err) {
		quota_share_return(share, f->taken);
		jit_frames_free(f);
		return err;
	}
	*frames = f;
	return 0;
}

/* ---- lookups ---- */

/* Converts a pc of the code to an address of the section. */
static uint64_t address_in(const struct jit_frames *f, const struct jit_range *code, uint64_t pc)
{
	uint64_t behind = code->start + ((code->size + 7) & ~UINT64_C(7));

	return f->is_placed ? pc : pc - behind + BEHIND_CODE;
}

bool jit_frames_describe(const struct jit_frames *f, const struct jit_range *code)
{
	uint64_t first = address_in(f, code, code->start), last = first + code->size - 1;
	size_t count = sorted_count(f->index, f->count, sizeof(*f->index), last);

	if (code->size == 0 || last < first || count == 0)
		return false;
	/* information behind this code has no functions before it */
	if (!f->is_placed && f->index[0].start < first)
		return false;
	return f->index[count - 1].end > first;
}

int jit_frames_find_row(const struct jit_frames *f, const struct jit_range *code, uint64_t pc,
			struct cfi_row *row)
{
	uint64_t address = address_in(f, code, pc);
	size_t count = sorted_count(f->index, f->count, sizeof(*f->index), address);

	if (count == 0)
		return -ENOENT;
	return cfi_row_of_function(&f->table, f->index[count - 1].fde, address, row);
}
