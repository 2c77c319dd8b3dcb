/* SPDX-License-Identifier: MIT */
/*
 * Finds CPython's evaluation loop in its executable or library: _PyEval_EvalFrameDefault and the
 * parts that the compiler moved elsewhere.
 *
 * Optimised builds move cold code (`.cold`) away, and make calls from there as well. A stripped
 * interpreter does not name these parts. They are recognised by call-frame information that begins
 * in the middle of a function, and by jumps from the loop.
 *
 * With tail calls (3.14 and later, clang), the function is short. It calls the first of many
 * functions, one for each instruction, which jump to each other. A callee of an instruction returns
 * to such a function, whose caller is the loop.
 */
#ifndef SYMBOLIZE_PYTHON_LOOP_H
#define SYMBOLIZE_PYTHON_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/cfi.h"

#define PYTHON_LOOP_PARTS 8

struct python_loop {
	uint32_t count;
	struct {
		uint64_t start, end;
	} parts[PYTHON_LOOP_PARTS];        /* the function first; none: not found */
	uint64_t module_start, module_end; /* code segment of the module with the loop */
};

/*
 * Adds the other parts to a loop whose first part and segment are set, in the table's addresses.
 * `code`: bytes of the first part.
 */
void python_loop_find_parts(struct python_loop *loop, const struct cfi_table *table,
			    const uint8_t *code);

/* Size limit of a loop whose instructions are functions; other loops are larger. */
#define PYTHON_LOOP_SHORT 4096

/* Returns whether instructions are functions. */
static inline bool python_loop_has_handlers(const struct python_loop *loop)
{
	uint64_t size = 0;

	for (uint32_t i = 0; i < loop->count; i++)
		size += loop->parts[i].end - loop->parts[i].start;
	return size > 0 && size < PYTHON_LOOP_SHORT;
}

/* Returns whether a return address is in the loop. */
static inline bool python_loop_holds(const struct python_loop *loop, uint64_t pc)
{
	for (uint32_t i = 0; i < loop->count; i++)
		if (pc > loop->parts[i].start && pc <= loop->parts[i].end)
			return true;
	return false;
}

#endif
