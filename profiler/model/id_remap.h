/* SPDX-License-Identifier: MIT */
/*
 * Defines a type for each kind of id in a run, and visitors that renumber ids. Distinct types let
 * the compiler reject mix-ups.
 *
 * Types that also allow a mark in place of a stack are defined next to their marks: launch_stack,
 * capture_stack (gpu_stack.h), owner_stack (target_stacks.h), origin_id (join.h).
 *
 * Stacks and places are garbage-collected. A table drops unused entries and renumbers the rest
 * without gaps, in order. So every holder of ids passes each id to a visitor (functions called
 * ..._visit). The first visit marks ids as used, and the second replaces them by new ones. Marks in
 * place of an id are visited too, and stay.
 */
#ifndef PROFILER_MODEL_ID_REMAP_H
#define PROFILER_MODEL_ID_REMAP_H

#include <stdint.h>

/* A collected stack (stack_table.h). Results number stacks differently. */
struct stack_id {
	uint32_t number;
};

/* A place where something ran (places.h). Results keep the numbers. */
struct place_id {
	uint32_t number;
};

/* Compares two ids. Different types do not compile. */
#define same_id(a, b) ((a).number == (b).number && (__typeof__(a) *)0 == (__typeof__(b) *)0)

struct id_visitor {
	void (*stack)(void *context, struct stack_id *stack);
	void (*place)(void *context, struct place_id *place);
	void *context;
};

static inline void visit_stack(const struct id_visitor *v, struct stack_id *stack)
{
	v->stack(v->context, stack);
}

/* Visits an id of another type: a stack, or a mark. */
static inline void visit_stack_or_mark(const struct id_visitor *v, uint32_t *number)
{
	struct stack_id stack = {*number};

	visit_stack(v, &stack);
	*number = stack.number;
}

static inline void visit_place(const struct id_visitor *v, struct place_id *place)
{
	v->place(v->context, place);
}

/* Marks an unused id in a table of marks. Other entries become new ids. */
#define ID_UNUSED UINT32_MAX

#endif
