/* SPDX-License-Identifier: MIT */
/*
 * Numbers of stacks and places that are in use. Tables that forget what nobody refers to give the
 * rest new numbers, without gaps and in the same order. So whoever keeps numbers shows each of them
 * to a visitor (functions called ..._visit), once to say that it is in use, and once to get the new
 * one: the visitor may change it. Marks in place of a number are shown, too, and stay.
 */
#ifndef PROFILER_MODEL_NUMBERS_H
#define PROFILER_MODEL_NUMBERS_H

#include <stdint.h>

struct number_visitor {
	void (*stack)(void *context, uint32_t *stack);
	void (*place)(void *context, uint32_t *place);
	void *context;
};

static inline void visit_stack(const struct number_visitor *v, uint32_t *stack)
{
	v->stack(v->context, stack);
}

static inline void visit_place(const struct number_visitor *v, uint32_t *place)
{
	v->place(v->context, place);
}

/* In a table of marks: not in use. Others become the new number. */
#define NUMBER_UNUSED UINT32_MAX

#endif
