// SPDX-License-Identifier: MIT
#include "symbolize/go_frames.h"

#include <errno.h>
#include <string.h>
#include "symbolize/cfi_bytes.h"

enum { MAGIC_1_18 = 0xfffffff0u, MAGIC_1_20 = 0xfffffff1u };
enum { FLAG_AT_1_18 = 37, FLAG_AT_1_20 = 41 };
enum { PCSP_AT = 16, FUNCTION_BYTES = 44 };
enum { FLAG_OUTERMOST = 1, FLAG_ASSEMBLER = 4 };

#define FRAME_MAX (1 << 30)

static struct bytes bytes_from(const struct go_frames *f, uint64_t offset)
{
	struct bytes b = {.at = f->table, .end = f->table + f->size};

	bytes_take(&b, offset);
	return b;
}

bool go_frames_open(struct go_frames *f)
{
	struct bytes b = bytes_from(f, 0);
	uint32_t magic = bytes_u32(&b);
	uint64_t text;

	bytes_take(&b, 2); /* padding */
	if (bytes_u8(&b) != 1 || bytes_u8(&b) != 8 || (magic != MAGIC_1_18 && magic != MAGIC_1_20))
		return false;
	f->flag = magic == MAGIC_1_18 ? FLAG_AT_1_18 : FLAG_AT_1_20;
	f->function_count = bytes_u64(&b);
	bytes_u64(&b); /* files */
	text = bytes_u64(&b);
	if (text) /* else it is a relocation, and C code does not come first */
		f->text = text;
	bytes_take(&b, 24); /* names, units, files */
	f->deltas = bytes_u64(&b);
	f->functions = bytes_u64(&b);
	return !b.bad && f->deltas < f->size && f->functions < f->size &&
	       f->function_count < (f->size - f->functions) / 8;
}

/* Of function `i`; that of the one behind the last is the end. */
static uint32_t start_of(const struct go_frames *f, uint64_t i)
{
	struct bytes b = bytes_from(f, f->functions + 8 * i);

	return bytes_u32(&b);
}

/* The function at `pc`: its number; false: none. */
static bool find(const struct go_frames *f, uint64_t pc, uint64_t *number)
{
	uint64_t low = 0, high = f->function_count, at = pc - f->text;

	if (pc < f->text || f->function_count == 0 || at < start_of(f, 0) ||
	    at >= start_of(f, f->function_count))
		return false;
	while (low + 1 < high) {
		uint64_t middle = low + (high - low) / 2;

		if (start_of(f, middle) <= at)
			low = middle;
		else
			high = middle;
	}
	*number = low;
	return true;
}

struct cfi_bounds go_frames_find_bounds(const struct go_frames *f, uint64_t pc)
{
	uint64_t i;

	if (find(f, pc, &i))
		return (struct cfi_bounds){f->text + start_of(f, i), f->text + start_of(f, i + 1),
					   true};
	if (pc < f->text)
		return (struct cfi_bounds){.end = f->text};
	return (struct cfi_bounds){.start = f->text + start_of(f, f->function_count),
				   .end = UINT64_MAX};
}

/*
 * The distance of the stack pointer from the return address at `at`: pairs of how it changes
 * (zigzag) and for how many bytes of code the value before holds, up to a 0.
 */
static bool find_delta(const struct go_frames *f, uint32_t table, uint64_t at, uint64_t entry,
		       int64_t *delta)
{
	struct bytes b = bytes_from(f, f->deltas + table);
	int64_t value = -1;

	for (bool is_first = true; !b.bad; is_first = false) {
		uint64_t change = bytes_uleb(&b);

		if (change == 0 && !is_first)
			return false;
		value += (int64_t)(change >> 1) ^ -(int64_t)(change & 1);
		entry += bytes_uleb(&b);
		if (!b.bad && at < entry) {
			*delta = value;
			return value >= 0 && value < FRAME_MAX;
		}
	}
	return false;
}

int go_frames_find_row(const struct go_frames *f, uint64_t pc, struct cfi_row *row)
{
	struct bytes b, function;
	uint64_t i, flags, at = pc - f->text;
	uint32_t entry, pcsp;
	int64_t delta;

	if (!find(f, pc, &i))
		return -ENOENT;
	b = bytes_from(f, f->functions + 8 * i + 4);
	function = bytes_from(f, f->functions + bytes_u32(&b));
	function = bytes_take(&function, FUNCTION_BYTES);
	if (b.bad || function.end - function.at < FUNCTION_BYTES)
		return -EBADMSG;
	memcpy(&entry, function.at, sizeof(entry));
	memcpy(&pcsp, function.at + PCSP_AT, sizeof(pcsp));
	flags = function.at[f->flag];
	memset(row, 0, sizeof(*row));
	row->cfa_register = CFI_RSP;
	row->cfa_offset = 8;
	if (flags & FLAG_OUTERMOST) {
		row->rules[CFI_PC].kind = CFI_UNDEFINED;
		return 0;
	}
	if (entry > at || !find_delta(f, pcsp, at, entry, &delta))
		return -EBADMSG;
	row->cfa_offset = (int32_t)delta + 8;
	row->rules[CFI_PC] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -8};
	/* the compiler saves rbp in each frame; what assembler does is not known */
	if (delta > 0 && !(flags & FLAG_ASSEMBLER))
		row->rules[CFI_RBP] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -16};
	else if (delta > 0)
		row->rules[CFI_RBP].kind = CFI_UNDEFINED;
	return 0;
}
