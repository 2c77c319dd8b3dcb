// SPDX-License-Identifier: MIT
#include "profiler/model/profile.h"

#include <stdlib.h>
#include "profiler/model/places.h"
#include "profiler/model/stack_table.h"
#include "symbolize/util/saturate.h"

struct profile {
	RECORD_SET(struct profile_row)
	rows;                 /* the first ROW_KINDS take the time that finds no row */
	struct quota *memory; /* NULL: no limit */
};

static bool row_equal(const void *records, uint32_t position, const void *key)
{
	const struct profile_row *a = (const struct profile_row *)records + position, *b = key;

	return same_id(a->stack, b->stack) && same_id(a->place, b->place) && a->kind == b->kind;
}

static uint32_t hash_row(const struct profile_row *row)
{
	return hash_four(row->stack.number, row->place.number, row->kind, 0);
}

/* Returns the row's index, or RECORD_NONE if the row cannot be kept. */
static uint32_t add_row(struct profile *p, const struct profile_row *row)
{
	return quota_take(p->memory, PROFILE_ROW_BYTES)
		       ? record_add_hashed(&p->rows, hash_row(row), row)
		       : RECORD_NONE;
}

struct profile *profile_new(void)
{
	struct profile *p = calloc(1, sizeof(*p));

	for (uint32_t kind = 0; p && kind < ROW_KINDS; kind++) {
		struct profile_row rest = {
			.kind = kind, .stack = STACK_NOT_KEPT, .place = PLACE_NOWHERE};

		if (add_row(p, &rest) == RECORD_NONE) {
			profile_free(p);
			p = NULL;
		}
	}
	return p;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	record_set_release(&profile->rows.set);
	free(profile);
}

void profile_limit(struct profile *p, struct quota *memory)
{
	p->memory = memory;
}

/* Returns RECORD_NONE if there is no such row. */
static uint32_t find_row(const struct profile *p, const struct profile_row *key)
{
	return record_find_equal(&p->rows, hash_row(key), row_equal, key);
}

static void add_to_row(struct profile *p, const struct profile_row *key,
		       const struct profile_row *amounts)
{
	uint32_t at = find_row(p, key);

	if (at == RECORD_NONE && p->rows.count < PROFILE_ROWS_MAX)
		at = add_row(p, key);
	if (at == RECORD_NONE)
		at = key->kind;
	p->rows.list[at].count += amounts->count;
	p->rows.list[at].ns += amounts->ns;
	p->rows.list[at].bytes += amounts->bytes;
}

static void add(struct profile *p, enum row_kind kind, struct stack_id stack, struct place_id place,
		uint64_t count, uint64_t ns, uint64_t bytes)
{
	const struct profile_row key = {.kind = kind, .stack = stack, .place = place};

	add_to_row(p, &key, &(struct profile_row){.count = count, .ns = ns, .bytes = bytes});
}

void profile_add(struct profile *p, enum row_kind kind, struct stack_id stack,
		 struct place_id place, uint64_t ns, uint64_t bytes)
{
	add(p, kind, stack, place, 1, ns, bytes);
}

void profile_add_many(struct profile *p, enum row_kind kind, struct stack_id stack,
		      struct place_id place, const struct profile_row *amounts)
{
	add(p, kind, stack, place, amounts->count, amounts->ns, amounts->bytes);
}

void profile_scale(struct profile *p, enum row_kind kind, double factor)
{
	for (uint32_t i = 0; i < p->rows.count; i++) {
		struct profile_row *row = &p->rows.list[i];

		if (row->kind != kind)
			continue;
		row->count = saturated_scale(row->count, factor);
		row->ns = saturated_scale(row->ns, factor);
		row->bytes = saturated_scale(row->bytes, factor);
	}
}

void profile_add_time(struct profile *p, enum row_kind kind, struct stack_id stack,
		      struct place_id place, uint64_t ns)
{
	add(p, kind, stack, place, 0, ns, 0);
}

bool profile_move(struct profile *p, enum row_kind kind, struct place_id place,
		  struct stack_id from, struct stack_id to, const struct profile_row *amounts)
{
	const struct profile_row source = {.kind = kind, .stack = from, .place = place};
	const struct profile_row key = {.kind = kind, .stack = to, .place = place};
	uint32_t at = find_row(p, &source);
	struct profile_row *row = at == RECORD_NONE ? NULL : &p->rows.list[at];

	if (!row || row->count < amounts->count || row->ns < amounts->ns ||
	    row->bytes < amounts->bytes)
		return false;
	row->count -= amounts->count;
	row->ns -= amounts->ns;
	row->bytes -= amounts->bytes;
	add_to_row(p, &key, amounts);
	return true;
}

const struct profile_row *profile_rows(const struct profile *profile, uint32_t *count)
{
	*count = profile->rows.count;
	return profile->rows.list;
}
