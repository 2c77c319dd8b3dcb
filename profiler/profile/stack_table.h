/* SPDX-License-Identifier: MIT */
/*
 * Distinct stacks, each kept once and known by a small id.
 *
 * A stack is a list of frames, innermost first. A frame is a place in code, named later by
 * symbolize/, or a text that is its name already (a launch function, "[truncated]").
 */
#ifndef PROFILER_PROFILE_STACK_TABLE_H
#define PROFILER_PROFILE_STACK_TABLE_H

#include <stdint.h>
#include "symbolize/symbolizer.h"

enum frame_kind {
	FRAME_CODE = 1,   /* `code`, an exact address */
	FRAME_RETURN = 2, /* `code`, a return address */
	FRAME_TEXT = 3,   /* `text` */
};

/* Compared with memcmp: zero-initialise. */
struct frame {
	uint64_t kind; /* enum frame_kind */
	union {
		struct code_ref code;
		const char *text; /* lives as long as the table: a literal or interned */
	};
};

struct stack_table;

struct stack_table *stack_table_new(void);
void stack_table_free(struct stack_table *table);

/* The id of these frames. 0 or -ENOMEM. */
int stack_table_add(struct stack_table *table, const struct frame *frames, uint32_t count,
		    uint32_t *id);

/* The frames of a stack, innermost first; valid until the next add. */
const struct frame *stack_table_get(const struct stack_table *table, uint32_t id, uint32_t *count);

uint32_t stack_table_count(const struct stack_table *table);

#endif
