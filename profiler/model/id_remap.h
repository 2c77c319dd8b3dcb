/* SPDX-License-Identifier: MIT */
/*
 * Numbers of what a run collects, a type of its own for each kind, so that none is taken for
 * another. A type of what may have a mark in place of a stack is beside its marks: launch_stack,
 * capture_stack (gpu_stack.h), owner_stack (target_stacks.h), origin_id (join.h).
 *
 * Stacks and places in use are looked for. Tables that forget what nobody refers to give
 * the rest new numbers, without gaps and in the same order. So whoever keeps numbers shows each of
 * them to a visitor (functions called ..._visit), once to say that it is in use, and once to get
 * the new one: the visitor may change it. Marks in place of a number are shown, too, and stay.
 */
#ifndef PROFILER_MODEL_ID_REMAP_H
#define PROFILER_MODEL_ID_REMAP_H

#include <stdint.h>

/* A stack of the run, as collected (stack_table.h); a result's have other numbers. */
struct stack_id {
	uint32_t number;
};

/* A place where something ran (places.h); a result's numbers are the same. */
struct place_id {
	uint32_t number;
};

/* Returns whether two numbers are the same; of two types, they do not compile. */
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

/* Does the same for a number of another type: that of a stack, or a mark. */
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

/* In a table of marks: not in use. Others become the new number. */
#define ID_UNUSED UINT32_MAX

#endif
