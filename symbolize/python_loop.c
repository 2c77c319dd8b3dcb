// SPDX-License-Identifier: MIT
#include "symbolize/python_loop.h"

#include <string.h>
#include "symbolize/cfi_private.h"

#define PIECES 16384 /* pieces of the code segment, one bit each */
/*
 * Budget for searching the loop's code, which has some 100 KiB: bytes in all. Few functions are
 * laid out as its parts are. An operation of call-frame information takes as long as four bytes.
 */
#define BYTES_MAX (UINT64_C(256) << 20)
#define BYTES_OF_COST 4

struct range {
	uint64_t start, end;
};

struct search {
	const struct cfi_table *table;
	struct python_loop *loop;
	const uint8_t *code; /* bytes of the first part */
	uint64_t left;       /* rest of BYTES_MAX */
	uint64_t piece_bytes;
	uint64_t pieces[PIECES / 64]; /* 1: the loop may jump there */
};

/*
 * Returns the target of a jump at `i` in the loop, jmp rel32 or jcc rel32; 0: none. Other bytes may
 * look like one.
 */
static uint64_t target_at(const struct search *s, uint64_t i)
{
	bool is_jcc = s->code[i] == 0x0f && (s->code[i + 1] & 0xf0) == 0x80;
	uint64_t at = i + (is_jcc ? 2 : 1);
	int32_t distance;

	if (!is_jcc && s->code[i] != 0xe9)
		return 0;
	memcpy(&distance, s->code + at, sizeof(distance));
	return s->loop->parts[0].start + at + 4 + (uint64_t)(int64_t)distance;
}

static uint64_t code_size(const struct search *s)
{
	return s->loop->parts[0].end - s->loop->parts[0].start;
}

static bool is_inside(const struct range *range, uint64_t pc)
{
	return pc >= range->start && pc < range->end;
}

/* Marks the pieces of the segment to which the loop may jump. */
static void mark_pieces(struct search *s)
{
	const struct python_loop *loop = s->loop;
	const struct range segment = {loop->module_start, loop->module_end};
	const struct range own = {loop->parts[0].start, loop->parts[0].end};

	s->piece_bytes = (segment.end - segment.start) / PIECES + 1;
	for (uint64_t i = 0; i + 6 <= code_size(s); i++) {
		uint64_t target = target_at(s, i), piece;

		if (!is_inside(&segment, target) || is_inside(&own, target))
			continue;
		piece = (target - segment.start) / s->piece_bytes;
		s->pieces[piece / 64] |= UINT64_C(1) << piece % 64;
	}
}

static bool has_marked_piece(const struct search *s, const struct range *range)
{
	uint64_t last = (range->end - 1 - s->loop->module_start) / s->piece_bytes;

	for (uint64_t i = (range->start - s->loop->module_start) / s->piece_bytes; i <= last; i++)
		if (s->pieces[i / 64] >> i % 64 & 1)
			return true;
	return false;
}

/* Takes bytes from the budget. Returns false if it is used up. */
static bool spend(struct search *s, uint64_t bytes)
{
	s->left -= bytes < s->left ? bytes : s->left;
	return s->left > 0;
}

static bool is_jumped_to(struct search *s, const struct range *range)
{
	if (!spend(s, code_size(s)))
		return false;
	for (uint64_t i = 0; i + 6 <= code_size(s); i++)
		if (is_inside(range, target_at(s, i)))
			return true;
	return false;
}

/*
 * Returns whether code begins inside a function: only functions begin with nothing but the return
 * address on the stack.
 */
static bool begins_inside(struct search *s, uint64_t fde, uint64_t start)
{
	struct cfi_row row = {.cost = 0};
	int err = cfi_row_of_function(s->table, fde, start, &row);

	return spend(s, row.cost * BYTES_OF_COST) && !err && !row.cfa_is_expression &&
	       (row.cfa_register != CFI_RSP || row.cfa_offset > 8);
}

/* Adds the code described at `fde` if it is a part of the loop. */
static bool note_part(struct search *s, uint64_t start, uint64_t end, uint64_t fde)
{
	struct python_loop *loop = s->loop;
	const struct range range = {start, end};

	if (loop->count == PYTHON_LOOP_PARTS || !s->left || start < loop->module_start ||
	    end > loop->module_end || start >= end ||
	    (start < loop->parts[0].end && end > loop->parts[0].start))
		return false;
	if (!has_marked_piece(s, &range) || !begins_inside(s, fde, start) ||
	    !is_jumped_to(s, &range))
		return false;
	loop->parts[loop->count].start = start;
	loop->parts[loop->count].end = end;
	loop->count++;
	return true;
}

static void visit(void *context, const struct cfi_index_entry *entry)
{
	note_part(context, entry->start, entry->end, entry->fde);
}

/* Returns the end of the function described at `fde`, at most `limit`. */
static uint64_t find_end(const struct cfi_table *table, uint64_t fde, uint64_t start,
			 uint64_t limit)
{
	uint64_t low = start, high = limit; /* low is inside; high is outside, or the limit */
	struct cfi_row row;

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (cfi_row_of_function(table, fde, middle, &row) == 0)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/*
 * Visits the functions of the search table. Inside a process the end of the frame section is
 * unknown, and memory behind it may be unreadable.
 */
static void visit_index(struct search *s, const struct cfi_pairs *pairs)
{
	const struct cfi_table *t = s->table;

	for (uint64_t i = 0; i < pairs->count; i++) {
		uint64_t start = cfi_pair_address(t, pairs, i, 0), limit = s->loop->module_end;
		uint64_t fde = cfi_pair_address(t, pairs, i, 4) - t->frames_address;

		if (i + 1 < pairs->count && cfi_pair_address(t, pairs, i + 1, 0) < limit)
			limit = cfi_pair_address(t, pairs, i + 1, 0);
		if (note_part(s, start, limit, fde))
			s->loop->parts[s->loop->count - 1].end = find_end(t, fde, start, limit);
	}
}

void python_loop_find_parts(struct python_loop *loop, const struct cfi_table *table,
			    const uint8_t *code)
{
	struct search s = {.loop = loop, .table = table, .code = code, .left = BYTES_MAX};
	struct cfi_pairs pairs;

	if (loop->module_start >= loop->module_end)
		return;
	mark_pieces(&s);
	if (!table->index)
		cfi_each_function(table, visit, &s);
	else if (cfi_open_index(table, &pairs))
		visit_index(&s, &pairs);
}
