// SPDX-License-Identifier: MIT
#include "profiler/tables/stall_shares.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/pseudo_frames.h"
#include "profiler/model/result.h"
#include "profiler/model/stall_places.h"
#include "symbolize/util/array.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/text.h"

#define NO_LINE UINT32_MAX
#define LINES_SHOWN 3u

/* Time by kernel, reason and line, which are frames. */
struct share {
	uint32_t kernel, reason, line, unused;
	uint64_t ns;
};

/* Shares of one kernel and reason. */
struct group {
	uint32_t first, count;
	uint64_t ns;
};

struct shares {
	const struct result *result;
	RECORD_SET(struct share);
	uint64_t *kernel_ns; /* all time of a kernel, by frame */
	struct group *groups;
	uint32_t group_count, group_capacity;
	struct stall_place *places; /* sorted by kernel and reason */
	uint32_t place_count;
	bool failed;
};

static void add_share(struct shares *s, const struct share *share)
{
	const uint32_t key[] = {share->kernel, share->reason, share->line};
	uint32_t at = record_find(s, &key);

	if (at != RECORD_NONE)
		s->list[at].ns += share->ns;
	else
		s->failed |= record_add(s, &key, share) == RECORD_NONE;
}

static void add_row(struct shares *s, const struct row *row)
{
	const struct result *r = s->result;
	uint32_t kernel = result_work_stack(r, row->stack);
	const struct stack_info *last = &r->stacks[row->stack];
	struct share share = {.line = NO_LINE, .ns = row->ns};

	if (kernel == RESULT_ROOT)
		return;
	share.kernel = r->stacks[kernel].frame;
	s->kernel_ns[share.kernel] += row->ns;
	if (r->frames[last->frame].class != CLASS_STALL)
		return;
	share.reason = last->frame;
	if (last->outer != kernel && r->frames[r->stacks[last->outer].frame].file)
		share.line = r->stacks[last->outer].frame;
	add_share(s, &share);
}

static int by_group(const void *a, const void *b)
{
	const struct share *x = a, *y = b;
	int order = compare_numbers(x->kernel, y->kernel);

	order = order ? order : compare_numbers(x->reason, y->reason);
	order = order ? order : compare_numbers(y->ns, x->ns);
	return order ? order : compare_numbers(x->line, y->line);
}

static int by_time(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	int order = compare_numbers(y->ns, x->ns);

	return order ? order : compare_numbers(x->first, y->first);
}

static void make_groups(struct shares *s)
{
	if (s->count)
		qsort(s->list, s->count, sizeof(*s->list), by_group);
	for (uint32_t i = 0; i < s->count; i++) {
		const struct share *share = &s->list[i];

		if (i == 0 || share[-1].kernel != share->kernel ||
		    share[-1].reason != share->reason) {
			if (!array_make_room(&s->groups, s->group_count, &s->group_capacity,
					     sizeof(*s->groups))) {
				s->failed = true;
				return;
			}
			s->groups[s->group_count++] = (struct group){.first = i};
		}
		s->groups[s->group_count - 1].count++;
		s->groups[s->group_count - 1].ns += share->ns;
	}
	if (s->group_count)
		qsort(s->groups, s->group_count, sizeof(*s->groups), by_time);
}

/* ---- instructions ---- */

static int by_kernel_and_reason(const void *a, const void *b)
{
	const struct stall_place *x = a, *y = b;
	int order = strcmp(x->kernel, y->kernel);

	return order ? order : strcmp(x->reason, y->reason);
}

static int by_offset(const void *a, const void *b)
{
	const struct stall_place *x = a, *y = b;
	int order = by_kernel_and_reason(a, b);

	return order ? order : compare_numbers(x->offset, y->offset);
}

/* Orders by kernel and reason: the sum first, then by samples, most first. */
static int by_samples(const void *a, const void *b)
{
	const struct stall_place *x = a, *y = b;
	int order = by_kernel_and_reason(a, b);

	if (order)
		return order;
	if ((x->offset == STALL_PLACE_ALL) != (y->offset == STALL_PLACE_ALL))
		return x->offset == STALL_PLACE_ALL ? -1 : 1;
	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Copies and sorts the places. Adds up places of merged runs. */
static void take_places(struct shares *s)
{
	const struct result_table *from =
		result_tables_find(s->result->tables, &stall_places_table);
	uint32_t kept = 0;

	if (!from || !from->count)
		return;
	s->places = malloc(from->count * sizeof(*s->places));
	if (!s->places) {
		s->failed = true;
		return;
	}
	memcpy(s->places, from->rows, from->count * sizeof(*s->places));
	qsort(s->places, from->count, sizeof(*s->places), by_offset);
	for (uint32_t i = 1; i < from->count; i++) {
		if (by_offset(&s->places[i], &s->places[kept]) == 0)
			saturated_add(&s->places[kept].samples, s->places[i].samples);
		else
			s->places[++kept] = s->places[i];
	}
	s->place_count = kept + 1;
	qsort(s->places, s->place_count, sizeof(*s->places), by_samples);
}

/* Returns the first place of a kernel and reason, and the end of its places; NULL if there is none.
 */
static const struct stall_place *find_places(const struct shares *s, const char *kernel,
					     const char *reason, const struct stall_place **end)
{
	const struct stall_place key = {.kernel = kernel, .reason = reason};
	const struct stall_place *first, *last = s->places + s->place_count;

	first = s->place_count ? bsearch(&key, s->places, s->place_count, sizeof(key),
					 by_kernel_and_reason)
			       : NULL;
	if (!first)
		return NULL;
	while (first > s->places && by_kernel_and_reason(first - 1, &key) == 0)
		first--;
	for (*end = first; *end < last && by_kernel_and_reason(*end, &key) == 0;)
		++*end;
	return first;
}

/* ---- as a table ---- */

struct stall_row {
	uint64_t ns, share, kernel_ns;
	uint32_t kernel; /* frame */
	const char *reason, *lines, *offsets;
};

static const struct report_column columns[] = {
	REPORT_COLUMN(stall_row, ns, "ns", "Time", TIME, 11),
	REPORT_COLUMN(stall_row, share, "share_of_kernel", "Of kernel", SHARE, 10),
	REPORT_COLUMN(stall_row, reason, "reason", "Reason", TEXT, 22),
	REPORT_COLUMN(stall_row, kernel, "kernel", "Kernel", FRAME, UINT8_MAX),
	REPORT_COLUMN(stall_row, lines, "lines", "At", NOTE, 0),
	REPORT_COLUMN(stall_row, offsets, "instructions", "Instructions", NOTE, 0),
	REPORT_COLUMN(stall_row, kernel_ns, "kernel_ns", "Time of the kernel", TIME, 0),
};

/* Writes "long scoreboard" for "[stall: long scoreboard]". */
static void reason_text(const char *name, char *text, size_t size)
{
	size_t length;

	if (starts_with(name, PSEUDO_STALL))
		name += strlen(PSEUDO_STALL);
	else
		name += name[0] == '[';
	length = strcspn(name, "]");
	snprintf(text, size, "%.*s", length < size ? (int)length : (int)size - 1, name);
}

static uint64_t thousandths(uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)(1000.0 * (double)part / (double)whole + 0.5) : 0;
}

/* Writes shares of the reason: "chase.cu:12 (93.1 %), chase.cu:13 (4.0 %)". */
static void lines_text(const struct shares *s, const struct group *group, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0, shown = 0; i < group->count && shown < LINES_SHOWN && used < size;
	     i++) {
		const struct share *share = &s->list[group->first + i];
		uint64_t part = thousandths(share->ns, group->ns);

		if (share->line == NO_LINE || part == 0)
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%s (%u.%u %%)",
					 shown ? ", " : "", s->result->frames[share->line].name,
					 (unsigned int)(part / 10), (unsigned int)(part % 10));
		shown++;
	}
}

/* Writes shares of the reason's samples, in the whole run: "+0xa0 (93.1 %), +0xb0 (4.0 %)". */
static void offsets_text(const struct shares *s, const struct share *share, char *text, size_t size)
{
	const struct stall_place *end;
	const struct stall_place *all = find_places(s, s->result->frames[share->kernel].name,
						    s->result->frames[share->reason].name, &end);
	size_t used = 0;

	text[0] = '\0';
	if (!all || all->offset != STALL_PLACE_ALL)
		return;
	for (uint32_t i = 1; i <= STALL_PLACES_OF && all + i < end && used < size; i++) {
		uint64_t part = thousandths(all[i].samples, all->samples);

		used += (size_t)snprintf(text + used, size - used, "%s+0x%x (%u.%u %%)",
					 i > 1 ? ", " : "", all[i].offset,
					 (unsigned int)(part / 10), (unsigned int)(part % 10));
	}
}

static void add_cell(struct report_table *f, const struct shares *s, const struct group *group)
{
	const struct share *first = &s->list[group->first];
	char reason[160], lines[1024], offsets[128];
	const uint64_t kernel_ns = s->kernel_ns[first->kernel];
	const struct stall_row row = {group->ns, thousandths(group->ns, kernel_ns),
				      kernel_ns, first->kernel,
				      reason,    lines,
				      offsets};

	reason_text(s->result->frames[first->reason].name, reason, sizeof(reason));
	lines_text(s, group, lines, sizeof(lines));
	offsets_text(s, first, offsets, sizeof(offsets));
	report_table_add(f, &row);
}

struct report_table *stall_shares_report_table(const struct result *result)
{
	struct shares s = {.result = result,
			   .kernel_ns = calloc(result->frame_count + 1u, sizeof(uint64_t))};
	struct report_table *f = REPORT_TABLE_NEW("stalls", "Stalls", columns);

	s.failed = !f || !s.kernel_ns;
	for (uint32_t i = 0; i < result->row_count && !s.failed; i++)
		if (result->rows[i].kind == ROW_GPU)
			add_row(&s, &result->rows[i]);
	if (!s.failed)
		make_groups(&s);
	if (!s.failed)
		take_places(&s);
	for (uint32_t i = 0; i < s.group_count && !s.failed; i++)
		add_cell(f, &s, &s.groups[i]);
	if (s.failed) {
		report_table_free(f);
		f = NULL;
	}
	free(s.kernel_ns);
	free(s.places);
	record_set_release(&s.set);
	free(s.groups);
	errno = f ? 0 : ENOMEM;
	return f;
}
