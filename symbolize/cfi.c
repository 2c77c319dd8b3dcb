// SPDX-License-Identifier: MIT
#include "symbolize/cfi.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>
#include "symbolize/cfi_private.h"

/* Parts of a pointer encoding: the format, and the base that the pointer counts from. */
enum { ENC_FORMAT = 0x0f, ENC_BASE = 0x70 };

static uint64_t address_of(const struct cfi_table *t, const uint8_t *at)
{
	return t->frames_address + (uint64_t)(at - t->frames);
}

uint64_t cfi_read_pointer(struct bytes *b, uint8_t encoding, uint64_t here, uint64_t data)
{
	uint64_t value;

	switch (encoding & ENC_FORMAT) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = bytes_u64(b);
		break;
	case DW_EH_PE_uleb128:
		value = bytes_uleb(b);
		break;
	case DW_EH_PE_sleb128:
		value = (uint64_t)bytes_sleb(b);
		break;
	case DW_EH_PE_udata2:
		value = bytes_u16(b);
		break;
	case DW_EH_PE_sdata2:
		value = (uint64_t)(int16_t)bytes_u16(b);
		break;
	case DW_EH_PE_udata4:
		value = bytes_u32(b);
		break;
	case DW_EH_PE_sdata4:
		value = (uint64_t)(int32_t)bytes_u32(b);
		break;
	default:
		b->bad = true;
		return 0;
	}
	switch (encoding & ENC_BASE) {
	case 0:
		return value;
	case DW_EH_PE_pcrel:
		return value + here;
	case DW_EH_PE_datarel:
		return value + data;
	default:
		b->bad = true;
		return 0;
	}
}

/* ---- entries ---- */

enum entry { ENTRY, ENTRY_TERMINATOR, ENTRY_BROKEN };

/* Reads the entry at `b`. `*body`: all behind its length. */
static enum entry next_entry(struct bytes *b, struct bytes *body)
{
	uint64_t length = bytes_u32(b);

	if (length == UINT32_MAX)
		length = bytes_u64(b);
	if (!b->bad && length == 0)
		return ENTRY_TERMINATOR;
	*body = bytes_take(b, length);
	return b->bad ? ENTRY_BROKEN : ENTRY;
}

static struct bytes bytes_of(const struct cfi_table *t)
{
	return (struct bytes){.at = t->frames, .end = t->frames + t->frames_size};
}

/* Reads the entry at `offset`. Returns false if there is none, or too long. */
static bool open_entry(const struct cfi_table *t, uint64_t offset, struct bytes *body)
{
	struct bytes b = bytes_of(t);

	if (offset >= t->frames_size)
		return false;
	b.at += offset;
	return next_entry(&b, body) == ENTRY && body->end - body->at <= CFI_ENTRY_MAX;
}

static void read_augmentation(const struct cfi_table *t, struct bytes *b, const char *letters,
			      struct cfi_common *common)
{
	uint64_t size;
	struct bytes data;

	if (letters[0] != 'z')
		return;
	common->has_augmentation_data = true;
	size = bytes_uleb(b);
	data = bytes_take(b, size);
	for (letters++; *letters; letters++) {
		if (*letters == 'R') {
			common->pointer_encoding = bytes_u8(&data);
		} else if (*letters == 'P') {
			uint8_t encoding = bytes_u8(&data);

			/* skips the personality: its address is not needed */
			cfi_read_pointer(&data, encoding & ENC_FORMAT, address_of(t, data.at), 0);
		} else if (*letters == 'L') {
			bytes_u8(&data);
		} else if (*letters == 'S') {
			common->is_signal_frame = true;
		} else {
			break; /* the data of later letters cannot be located, nor is it needed */
		}
	}
}

/* Skips the augmentation letters. Returns false if there are too many, or no NUL. */
static bool skip_letters(struct bytes *b)
{
	for (int i = 0; i < CFI_AUGMENTATION_MAX && !b->bad; i++)
		if (bytes_u8(b) == 0)
			return !b->bad;
	return false;
}

static bool read_common(const struct cfi_table *t, uint64_t offset, struct cfi_common *common)
{
	struct bytes body;
	const char *letters;
	uint64_t id;
	uint8_t version;

	if (!open_entry(t, offset, &body))
		return false;
	id = bytes_u32(&body);
	version = bytes_u8(&body);
	if (id != (t->is_debug_frame ? UINT32_MAX : 0) || version == 0 || version > 4)
		return false;
	/* each function reads its CIE again, so a long one is not even skipped */
	letters = (const char *)body.at;
	if (!skip_letters(&body))
		return false;
	memset(common, 0, sizeof(*common));
	if (version == 4)
		bytes_take(&body, 2); /* address and segment size */
	common->code_alignment = bytes_uleb(&body);
	common->data_alignment = bytes_sleb(&body);
	if (version == 1)
		bytes_u8(&body);
	else
		bytes_uleb(&body); /* return address column: 16 on x86-64 */
	if (body.bad)
		return false;
	read_augmentation(t, &body, letters, common);
	common->program = body;
	return !body.bad;
}

/* Reads the FDE at `offset`. Returns false if the entry is a CIE or malformed. */
static bool read_function(const struct cfi_table *t, uint64_t offset, struct cfi_function *f)
{
	struct bytes body;
	uint64_t id_at, id;

	if (!open_entry(t, offset, &body))
		return false;
	id_at = (uint64_t)(body.at - t->frames);
	id = bytes_u32(&body);
	if (body.bad || id == (t->is_debug_frame ? UINT32_MAX : 0))
		return false;
	/* .eh_frame: distance back from here; .debug_frame: offset in the section */
	if (!t->is_debug_frame && id > id_at)
		return false;
	if (!read_common(t, t->is_debug_frame ? id : id_at - id, &f->common))
		return false;
	f->start = cfi_read_pointer(&body, f->common.pointer_encoding, address_of(t, body.at), 0);
	f->end = f->start + cfi_read_pointer(&body, f->common.pointer_encoding & ENC_FORMAT, 0, 0);
	if (f->common.has_augmentation_data)
		bytes_take(&body, bytes_uleb(&body));
	f->program = body;
	return !body.bad && f->end >= f->start;
}

int cfi_each_function(const struct cfi_table *t,
		      void (*visit)(void *context, const struct cfi_index_entry *entry),
		      void *context)
{
	struct bytes b = bytes_of(t), body;

	while (b.at < b.end) {
		uint64_t offset = (uint64_t)(b.at - t->frames);
		struct cfi_function f;
		enum entry kind = next_entry(&b, &body);

		if (kind == ENTRY_BROKEN)
			return -EBADMSG;
		/* crt files leave terminators in the middle: continue to the end of the section */
		if (kind == ENTRY && read_function(t, offset, &f) && f.end > f.start) {
			struct cfi_index_entry entry = {f.start, f.end, offset};

			visit(context, &entry);
		}
	}
	return 0;
}

int cfi_row_of_function(const struct cfi_table *t, uint64_t fde, uint64_t pc, struct cfi_row *row)
{
	struct cfi_function f;

	if (!read_function(t, fde, &f))
		return -EBADMSG;
	if (pc < f.start || pc >= f.end)
		return -ENOENT;
	return cfi_run_program(t, &f, pc, row);
}

/* ---- the search table ---- */

/*
 * Format of .eh_frame_hdr: version 1, three encodings, the pointer to .eh_frame, the count, then
 * sorted pairs of function start and FDE address. All linkers write pairs data-relative, 4 bytes
 * each.
 */
bool cfi_open_index(const struct cfi_table *t, struct cfi_pairs *pairs)
{
	struct bytes b = {.at = t->index, .end = t->index ? t->index + t->index_size : NULL};
	uint8_t version = bytes_u8(&b), frames_encoding = bytes_u8(&b);
	uint8_t count_encoding = bytes_u8(&b), table_encoding = bytes_u8(&b);

	cfi_read_pointer(&b, frames_encoding, t->index_address + 4, t->index_address);
	pairs->count = cfi_read_pointer(&b, count_encoding & ENC_FORMAT, 0, 0);
	pairs->at = b.at;
	return !b.bad && version == 1 && count_encoding != DW_EH_PE_omit &&
	       table_encoding == (DW_EH_PE_datarel | DW_EH_PE_sdata4) &&
	       pairs->count <= (uint64_t)(b.end - b.at) / 8;
}

uint64_t cfi_pair_address(const struct cfi_table *t, const struct cfi_pairs *pairs, uint64_t i,
			  unsigned int part)
{
	int32_t offset;

	memcpy(&offset, pairs->at + i * 8 + part, sizeof(offset));
	return t->index_address + (uint64_t)(int64_t)offset;
}

/* Returns how many functions start at or before `pc`. */
static uint64_t count_up_to(const struct cfi_table *t, const struct cfi_pairs *pairs, uint64_t pc)
{
	uint64_t low = 0, high = pairs->count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (cfi_pair_address(t, pairs, middle, 0) <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int find_function(const struct cfi_table *t, uint64_t pc, uint64_t *fde)
{
	struct cfi_pairs pairs;
	uint64_t count, address;

	if (!cfi_open_index(t, &pairs))
		return -EBADMSG;
	count = count_up_to(t, &pairs, pc);
	if (count == 0)
		return -ENOENT;
	address = cfi_pair_address(t, &pairs, count - 1, 4);
	if (address < t->frames_address || address - t->frames_address >= t->frames_size)
		return -EBADMSG;
	*fde = address - t->frames_address;
	return 0;
}

bool cfi_index_is_usable(const struct cfi_table *t)
{
	struct cfi_pairs pairs;

	if (!cfi_open_index(t, &pairs) || pairs.count == 0)
		return false;
	for (uint64_t i = 0; i < pairs.count; i++) {
		uint64_t fde = cfi_pair_address(t, &pairs, i, 4);

		if (fde < t->frames_address || fde - t->frames_address >= t->frames_size ||
		    (i > 0 &&
		     cfi_pair_address(t, &pairs, i - 1, 0) > cfi_pair_address(t, &pairs, i, 0)))
			return false;
	}
	return true;
}

struct cfi_bounds cfi_find_bounds(const struct cfi_table *t, uint64_t pc)
{
	struct cfi_bounds bounds = {.end = UINT64_MAX};
	struct cfi_function f;
	struct cfi_pairs pairs;
	uint64_t count, fde;

	if (!cfi_open_index(t, &pairs))
		return bounds;
	count = count_up_to(t, &pairs, pc);
	if (count < pairs.count)
		bounds.end = cfi_pair_address(t, &pairs, count, 0);
	if (find_function(t, pc, &fde) != 0 || !read_function(t, fde, &f))
		return bounds;
	if (pc >= f.start && pc < f.end)
		return (struct cfi_bounds){f.start, f.end, true};
	bounds.start = f.end <= pc ? f.end : 0;
	return bounds;
}

int cfi_find_row(const struct cfi_table *t, uint64_t pc, struct cfi_row *row)
{
	uint64_t fde;
	int err = find_function(t, pc, &fde);

	return err ? err : cfi_row_of_function(t, fde, pc, row);
}
