/* SPDX-License-Identifier: MIT */
/*
 * Where CPython's evaluation loop lies in its executable or library: the function
 * _PyEval_EvalFrameDefault with the parts that the compiler put elsewhere.
 *
 * Optimised builds keep what is rarely executed far from the rest (`.cold`), and calls are made
 * from there as well. A stripped interpreter does not name such parts; they are told by what only
 * they have: call-frame information that begins in the middle of a function, with the loop's own
 * frame layout, and jumps to it from the loop.
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
	} parts[PYTHON_LOOP_PARTS];        /* the function itself first */
	uint64_t module_start, module_end; /* the segment of code that it is in */
};

/*
 * Adds the parts elsewhere to a loop whose first part and segment are set, all in the table's
 * terms. `code` are the bytes of the first part.
 */
void python_loop_find_parts(struct python_loop *loop, const struct cfi_table *table,
			    const uint8_t *code);

/* Whether a return address lies in it. */
static inline bool python_loop_holds(const struct python_loop *loop, uint64_t pc)
{
	for (uint32_t i = 0; i < loop->count; i++)
		if (pc > loop->parts[i].start && pc <= loop->parts[i].end)
			return true;
	return false;
}

#endif
