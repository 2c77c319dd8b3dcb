/* SPDX-License-Identifier: MIT */
/* Builds a result path by path, for tests of its users. */
#ifndef TESTS_UNIT_MADE_RESULT_H
#define TESTS_UNIT_MADE_RESULT_H

#include "unit.h"
#include "profiler/model/result.h"
#include "symbolize/util/array.h"

/* Zero-initialise, then made_begin. */
struct made_result {
	struct result result;
	struct frame_info *frames;
	struct stack_info *stacks;
	struct row *rows;
	uint32_t frame_capacity, stack_capacity, row_capacity;
	struct places places; /* places of all parts, for made_add_at */
	struct place_names place_names;
	struct devices devices;
	struct result_tables tables;
};

/* Adds a separate frame inside `outer`, even if there is an equal frame. */
static inline uint32_t made_push(struct made_result *m, uint32_t outer, const char *name)
{
	struct result *r = &m->result;

	assert_true(array_make_room(&m->frames, r->frame_count, &m->frame_capacity,
				    sizeof(*m->frames)));
	assert_true(array_make_room(&m->stacks, r->stack_count, &m->stack_capacity,
				    sizeof(*m->stacks)));
	m->frames[r->frame_count] =
		(struct frame_info){.class = CLASS_NATIVE, .name = name, .short_name = name};
	m->stacks[r->stack_count] = (struct stack_info){.outer = outer, .frame = r->frame_count++};
	r->frames = m->frames;
	r->stacks = m->stacks;
	return r->stack_count++;
}

static inline void made_begin(struct made_result *m)
{
	memset(m, 0, sizeof(*m));
	assert_int_equal(made_push(m, UINT32_MAX, NULL), RESULT_ROOT);
	m->stacks[RESULT_ROOT].frame = UINT32_MAX;
	assert_int_equal(places_init(&m->places, PLACES_ALL), 0);
	m->result.places = m->places.list;
	m->result.place_count = m->places.count;
	m->result.place_names = &m->place_names;
	m->result.device_names = &m->devices;
	m->result.totals.command = "app";
	m->result.tables = &m->tables;
}

/* Shows rows of a table, which the caller keeps. */
static inline void made_table(struct made_result *m, const struct table_kind *kind,
			      const void *rows, uint32_t count)
{
	result_tables_borrow(&m->tables, kind, rows, count);
	m->result.tables = &m->tables;
}

static inline void made_end(struct made_result *m)
{
	free(m->frames);
	free(m->stacks);
	free(m->rows);
	places_release(&m->places);
	place_names_release(&m->place_names);
	devices_release(&m->devices);
	result_tables_release(&m->tables);
	memset(m, 0, sizeof(*m));
}

static inline void made_add(struct made_result *m, uint32_t stack, enum row_kind kind, uint64_t ns)
{
	struct result *r = &m->result;

	assert_true(array_make_room(&m->rows, r->row_count, &m->row_capacity, sizeof(*m->rows)));
	m->rows[r->row_count++] = (struct row){.kind = kind, .stack = stack, .count = 1, .ns = ns};
	r->rows = m->rows;
}

/* Adds a copy of `row`, with its count and bytes, at a place. */
static inline void made_add_at(struct made_result *m, const struct row *row, struct place place)
{
	made_add(m, row->stack, (enum row_kind)row->kind, row->ns);
	m->rows[m->result.row_count - 1] = *row;
	m->rows[m->result.row_count - 1].place = places_add(&m->places, &place).number;
	m->result.places = m->places.list;
	m->result.place_count = m->places.count;
}

/* Adds the stack with these frames, the outermost first. */
static inline uint32_t made_stack(struct made_result *m, const char *const *names)
{
	uint32_t stack = RESULT_ROOT;

	for (; *names; names++)
		stack = made_push(m, stack, *names);
	return stack;
}

#define MADE_STACK(m, ...) made_stack(m, (const char *const[]){__VA_ARGS__, NULL})

#endif
