// SPDX-License-Identifier: MIT
#include "symbolize/python_loop.h"

#include <string.h>

#define CANDIDATES 64
#define ROW_SAMPLES 32

struct range {
	uint64_t start, end;
};

struct search {
	const struct cfi_table *table;
	const struct python_loop *loop;
	struct cfi_row row; /* rules in the loop's body */
	struct range found[CANDIDATES];
	uint32_t count;
};

static bool same_layout(const struct cfi_row *a, const struct cfi_row *b)
{
	if (a->cfa_is_expression || b->cfa_is_expression || a->cfa_register != b->cfa_register ||
	    a->cfa_offset != b->cfa_offset)
		return false;
	for (int i = 0; i < CFI_REGISTERS; i++)
		if (a->rules[i].kind != b->rules[i].kind ||
		    a->rules[i].offset != b->rules[i].offset)
			return false;
	return true;
}

/* The most frequent layout in the function, by samples. False if it has none of its own. */
static bool find_body_row(struct search *s)
{
	struct cfi_row rows[ROW_SAMPLES];
	struct range whole = {s->loop->parts[0].start, s->loop->parts[0].end};
	uint32_t best = 0, n = 0;

	for (uint32_t i = 0; i < ROW_SAMPLES; i++) {
		uint64_t pc = whole.start + (whole.end - whole.start) / ROW_SAMPLES * i;

		if (cfi_find_row(s->table, pc, &rows[n]) == 0)
			n++;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t same = 0;

		for (uint32_t k = 0; k < n; k++)
			same += same_layout(&rows[i], &rows[k]);
		if (same > best) {
			best = same;
			s->row = rows[i];
		}
	}
	/* at a function's first instruction nothing is saved yet */
	return best > 0 && (s->row.cfa_register != CFI_RSP || s->row.cfa_offset > 8);
}

/* Checks a function of the segment that begins with the layout of the loop's body. */
static void note_candidate(struct search *s, uint64_t start, uint64_t end, uint64_t fde)
{
	struct cfi_row row;

	if (s->count == CANDIDATES || start < s->loop->module_start || end > s->loop->module_end ||
	    start >= end || (start < s->loop->parts[0].end && end > s->loop->parts[0].start))
		return;
	if (cfi_row_of_function(s->table, fde, start, &row) != 0 || !same_layout(&row, &s->row))
		return;
	s->found[s->count++] = (struct range){start, end};
}

static void visit(void *context, const struct cfi_index_entry *entry)
{
	note_candidate(context, entry->start, entry->end, entry->fde);
}

/* The end of the function described at `fde`, at most `limit`. */
static uint64_t find_end(const struct cfi_table *table, uint64_t fde, uint64_t start,
			 uint64_t limit)
{
	uint64_t low = start, high = limit; /* low is inside; high is not, or is the limit */
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
 * Uses the search table: inside a process the end of the frame section is unknown, and the memory
 * after it may be unreadable. Format: version 1, counts as udata4, entries as sdata4 from its start
 * (Linux Standard Base, .eh_frame_hdr).
 */
static bool visit_index(struct search *s)
{
	const struct cfi_table *t = s->table;
	uint32_t count;

	if (!t->index || t->index_size < 12 || t->index[0] != 1 || t->index[2] != 0x03 ||
	    t->index[3] != 0x3b)
		return false;
	memcpy(&count, t->index + 8, sizeof(count));
	if (count > (t->index_size - 12) / 8)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		int32_t entry[4] = {0}; /* start and description, of this entry and the next */
		uint64_t start, limit = s->loop->module_end, fde;

		memcpy(entry, t->index + 12 + (size_t)i * 8, i + 1 < count ? 16 : 8);
		start = t->index_address + (uint64_t)(int64_t)entry[0];
		fde = t->index_address + (uint64_t)(int64_t)entry[1] - t->frames_address;
		if (i + 1 < count)
			limit = t->index_address + (uint64_t)(int64_t)entry[2];
		note_candidate(s, start, limit < s->loop->module_end ? limit : s->loop->module_end,
			       fde);
		if (s->count && s->found[s->count - 1].start == start)
			s->found[s->count - 1].end =
				find_end(t, fde, start, s->found[s->count - 1].end);
	}
	return true;
}

/* Whether an instruction of the loop jumps there: jmp rel32, or jcc rel32. */
static bool is_jumped_to(const struct python_loop *loop, const uint8_t *code,
			 const struct range *range)
{
	uint64_t size = loop->parts[0].end - loop->parts[0].start;

	for (uint64_t i = 0; i + 6 <= size; i++) {
		bool is_jcc = code[i] == 0x0f && (code[i + 1] & 0xf0) == 0x80;
		uint64_t at = i + (is_jcc ? 2 : 1), target;
		int32_t distance;

		if (!is_jcc && code[i] != 0xe9)
			continue;
		memcpy(&distance, code + at, sizeof(distance));
		target = loop->parts[0].start + at + 4 + (uint64_t)(int64_t)distance;
		if (target >= range->start && target < range->end)
			return true;
	}
	return false;
}

void python_loop_find_parts(struct python_loop *loop, const struct cfi_table *table,
			    const uint8_t *code)
{
	struct search s = {.loop = loop, .table = table};

	if (!find_body_row(&s))
		return;
	if (!visit_index(&s) && !table->index)
		cfi_each_function(table, visit, &s);
	for (uint32_t i = 0; i < s.count && loop->count < PYTHON_LOOP_PARTS; i++) {
		if (!is_jumped_to(loop, code, &s.found[i]))
			continue;
		loop->parts[loop->count].start = s.found[i].start;
		loop->parts[loop->count].end = s.found[i].end;
		loop->count++;
	}
}
