// SPDX-License-Identifier: MIT
#include "symbolize/go_frames.h"

#include <errno.h>
#include <string.h>
#include "symbolize/cfi_bytes.h"

enum { FLAG_AT_1_18 = 37, FLAG_AT_1_20 = 41 };
enum { PCSP_AT = 16, FUNCTION_BYTES = 44 };
enum { FLAG_OUTERMOST = 1, FLAG_ASSEMBLER = 4 };

#define FRAME_MAX (1 << 30)

static struct bytes bytes_from(const struct go_table *t, uint64_t offset)
{
	const uint8_t *start = (const uint8_t *)t->bytes;
	struct bytes b = {.at = start, .end = start + t->size};

	bytes_take(&b, offset);
	return b;
}

bool go_frames_are_in(const struct go_table *t)
{
	return (t->version == GO_TABLE_1_18 || t->version == GO_TABLE_1_20) && t->text &&
	       t->text <= UINT64_MAX - UINT32_MAX && t->count < (t->size - t->functions) / 8;
}

/*
 * Returns the start of function `i`, relative to the start of Go's code. The start behind the last
 * function is the end.
 */
static uint64_t start_of(const struct go_table *t, uint64_t i)
{
	uint64_t address = t->text;

	go_table_entry(t, i, &address);
	return address - t->text;
}

/* Finds the number of the function at `pc`. Returns false if there is none. */
static bool find(const struct go_table *t, uint64_t pc, uint64_t *number)
{
	uint64_t low = 0, high = t->count, at = pc - t->text;

	if (pc < t->text || t->count == 0 || at < start_of(t, 0) || at >= start_of(t, t->count))
		return false;
	while (low + 1 < high) {
		uint64_t middle = low + (high - low) / 2;

		if (start_of(t, middle) <= at)
			low = middle;
		else
			high = middle;
	}
	*number = low;
	return true;
}

struct cfi_bounds go_frames_find_bounds(const struct go_table *t, uint64_t pc)
{
	uint64_t first = t->text + start_of(t, 0), i;

	if (find(t, pc, &i))
		return (struct cfi_bounds){t->text + start_of(t, i), t->text + start_of(t, i + 1),
					   true};
	if (pc < first)
		return (struct cfi_bounds){.end = first};
	return (struct cfi_bounds){.start = t->text + start_of(t, t->count), .end = UINT64_MAX};
}

/*
 * Finds the distance of the stack pointer from the return address at `at`. The table has pairs up
 * to a 0: the change of the distance (zigzag), and the bytes of code that it holds for. A function
 * has no more pairs than a long entry of call-frame information. Sets `*cost` as in struct cfi_row.
 */
static bool find_delta(const struct go_table *t, uint32_t table, uint64_t at, uint64_t entry,
		       int64_t *delta, uint32_t *cost)
{
	struct bytes b = bytes_from(t, t->lines + table);
	const uint8_t *start = b.at;
	int64_t value = -1;

	if (b.end - b.at > CFI_ENTRY_MAX)
		b.end = b.at + CFI_ENTRY_MAX;
	do {
		bool is_first = b.at == start;
		uint64_t change = bytes_uleb(&b);

		if ((change == 0 && !is_first) || change > 2 * (uint64_t)FRAME_MAX)
			break;
		value += (int64_t)(change >> 1) ^ -(int64_t)(change & 1);
		entry += bytes_uleb(&b);
	} while (!b.bad && at >= entry);
	*cost = (uint32_t)(b.at - start);
	*delta = value;
	return !b.bad && at < entry && value >= 0 && value < FRAME_MAX;
}

int go_frames_find_row(const struct go_table *t, uint64_t pc, struct cfi_row *row)
{
	uint64_t i, flags, description, at = pc - t->text;
	struct bytes b, function;
	uint32_t entry, pcsp;
	int64_t delta;

	if (!find(t, pc, &i))
		return -ENOENT;
	if (!go_table_description(t, i, &description))
		return -EBADMSG;
	b = bytes_from(t, description);
	function = bytes_take(&b, FUNCTION_BYTES);
	if (b.bad)
		return -EBADMSG;
	memcpy(&entry, function.at, sizeof(entry));
	memcpy(&pcsp, function.at + PCSP_AT, sizeof(pcsp));
	flags = function.at[t->version == GO_TABLE_1_18 ? FLAG_AT_1_18 : FLAG_AT_1_20];
	memset(row, 0, sizeof(*row));
	row->cfa_register = CFI_RSP;
	row->cfa_offset = 8;
	if (flags & FLAG_OUTERMOST) {
		row->rules[CFI_PC].kind = CFI_UNDEFINED;
		return 0;
	}
	if (entry > at || !find_delta(t, pcsp, at, entry, &delta, &row->cost))
		return -EBADMSG;
	row->cfa_offset = (int32_t)delta + 8;
	row->rules[CFI_PC] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -8};
	/* the compiler saves rbp in each frame; for assembler it is unknown */
	if (delta > 0 && !(flags & FLAG_ASSEMBLER))
		row->rules[CFI_RBP] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -16};
	else if (delta > 0)
		row->rules[CFI_RBP].kind = CFI_UNDEFINED;
	return 0;
}
