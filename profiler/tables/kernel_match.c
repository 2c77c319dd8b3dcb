// SPDX-License-Identifier: MIT
#include "profiler/tables/kernel_match.h"

#include <stdlib.h>
#include <string.h>
#include "profiler/tables/kernel_family.h"
#include "symbolize/util/sorted.h"

void kernel_matches_release(struct kernel_matches *m)
{
	record_set_release(&m->set);
	memset(m, 0, sizeof(*m));
}

static bool kernel_equal(const void *records, uint32_t position, const void *key)
{
	return strcmp(((const struct matched_kernel *)records)[position].frame->name, key) == 0;
}

uint32_t kernel_matches_find(const struct kernel_matches *m, const char *name)
{
	return record_find_equal(m, hash_bytes(name, strlen(name)), kernel_equal, name);
}

static bool note(struct kernel_matches *m, const struct frame_info *frame,
		 enum comparison_side side)
{
	uint32_t at = kernel_matches_find(m, frame->name);

	if (at == RECORD_NONE)
		at = record_add_hashed(m, hash_bytes(frame->name, strlen(frame->name)),
				       &((struct matched_kernel){.group = m->count}));
	if (at == RECORD_NONE)
		return false;
	m->list[at].frame = frame;
	m->list[at].is_on[side] = true;
	return true;
}

bool kernel_matches_note(struct kernel_matches *m, const struct result *r,
			 enum comparison_side side)
{
	for (uint32_t i = 0; i < r->row_count; i++) {
		const struct row *row = &r->rows[i];
		uint32_t stack = result_work_stack(r, row->stack);
		const struct frame_info *frame;

		if (row->kind != ROW_GPU || stack == RESULT_ROOT)
			continue;
		frame = &r->frames[r->stacks[stack].frame];
		if (frame->class == CLASS_GPU_KERNEL && !note(m, frame, side))
			return false;
	}
	return true;
}

/* ---- families ---- */

/* A kernel of only one side, and its family. */
struct single {
	char *family;
	uint32_t kernel;
};

static int by_family(const void *a, const void *b)
{
	const struct single *x = a, *y = b;
	int order = strcmp(x->family, y->family);

	return order ? order : compare_numbers(x->kernel, y->kernel);
}

/* Matches all kernels of one family, if both sides have some. */
static void match_family(struct kernel_matches *m, const struct single *singles, uint32_t count,
			 enum comparison_match match)
{
	bool is_on[SIDES] = {false};
	uint32_t group = singles[0].kernel;

	for (uint32_t i = 0; i < count; i++) {
		const struct matched_kernel *k = &m->list[singles[i].kernel];

		if (k->is_on[SIDE_AFTER] && !is_on[SIDE_AFTER])
			group = singles[i].kernel;
		is_on[SIDE_BEFORE] |= k->is_on[SIDE_BEFORE];
		is_on[SIDE_AFTER] |= k->is_on[SIDE_AFTER];
	}
	if (!is_on[SIDE_BEFORE] || !is_on[SIDE_AFTER])
		return;
	for (uint32_t i = 0; i < count; i++) {
		struct matched_kernel *k = &m->list[singles[i].kernel];

		k->is_matched = true;
		k->group = group;
		k->matched_by = match;
	}
}

/* Matches kernels by family. Returns false if out of memory. */
static bool match_by(struct kernel_matches *m, enum kernel_family family,
		     enum comparison_match match)
{
	struct single *singles = calloc(m->count + 1u, sizeof(*singles));
	bool is_whole = singles != NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; singles && i < m->count; i++) {
		if (m->list[i].is_matched)
			continue;
		singles[count] = (struct single){
			.family = kernel_family(m->list[i].frame->name, family), .kernel = i};
		if (singles[count].family)
			count++;
		else
			is_whole = false;
	}
	if (count)
		qsort(singles, count, sizeof(*singles), by_family);
	for (uint32_t i = 0, next; i < count; i = next) {
		for (next = i + 1;
		     next < count && strcmp(singles[next].family, singles[i].family) == 0;)
			next++;
		match_family(m, &singles[i], next - i, match);
	}
	for (uint32_t i = 0; i < count; i++)
		free(singles[i].family);
	free(singles);
	return is_whole;
}

bool kernel_matches_finish(struct kernel_matches *m)
{
	for (uint32_t i = 0; i < m->count; i++)
		m->list[i].is_matched =
			m->list[i].is_on[SIDE_BEFORE] && m->list[i].is_on[SIDE_AFTER];
	return match_by(m, FAMILY_WORK, MATCHED_BY_TEMPLATE) &&
	       match_by(m, FAMILY_NUMBERS, MATCHED_BY_NUMBERS);
}
