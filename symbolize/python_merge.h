/* SPDX-License-Identifier: MIT */
/*
 * Merges a thread's native frames and its Python frames into one stack.
 *
 * Each C evaluation loop is replaced by the Python frames that it evaluates, several since 3.11.
 *
 * From 3.10 on each loop has a structure in its C frame that the Python frames lead to
 * (python_frame.anchor). The native frame around that address is the loop, whatever its code. If
 * the native walk missed the loop, its frames are between those around it. A loop without Python
 * frames stays a native frame: it is just being entered, or belongs to another greenlet or
 * interpreter.
 *
 * Without such addresses loops are recognized by their code, and counted. As many loops as entries
 * are pairs. A spare loop is the innermost one if that may just be being entered. Otherwise spare
 * loops are the outermost ones, of another greenlet or interpreter. If a chain is truncated, loops
 * are paired from the innermost outwards.
 *
 * Trampolines are omitted: each stands for a Python function that has a frame of its own.
 *
 * Python frames without a native frame become the outermost if the native stack is truncated, or if
 * they are on another C stack. Otherwise they go inside the first frame of the interpreter that
 * another module called: main, or the start of a thread. No frame is ever lost or duplicated.
 */
#ifndef SYMBOLIZE_PYTHON_MERGE_H
#define SYMBOLIZE_PYTHON_MERGE_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/python_frames.h"

enum python_native {
	PYTHON_NATIVE_OTHER = 0,
	PYTHON_NATIVE_INTERPRETER, /* code of the interpreter */
	PYTHON_NATIVE_LOOP,        /* evaluation loop in that code */
	/*
	 * generated code that calls a loop, or the interpreter's function that calls such code
	 * (python_trampoline.h)
	 */
	PYTHON_NATIVE_TRAMPOLINE,
};

struct python_merge_input {
	const uint8_t *natives; /* enum python_native each, innermost first */
	/* Stack pointer of each frame after the return of its call; NULL: unknown. */
	const uint64_t *sps;
	uint32_t native_count;
	bool native_is_whole; /* the stack reaches the start of the thread */
	/*
	 * Keeps the interpreter's own frames; loops are then outside the Python frames in them.
	 * Otherwise loops are replaced, and the interpreter's other frames between two Python
	 * frames dropped.
	 */
	bool keeps_native;
	/*
	 * The loop runs instructions in functions that it calls (python_loop_has_handlers): their
	 * frames count as the loop's.
	 */
	bool has_handlers;
	const struct python_stack *python;
};

struct python_merged {
	uint32_t is_python; /* 0: native */
	uint32_t index;     /* index among frames of its kind */
};

/*
 * Merges into at most `max` frames, innermost first. Returns their number. *is_ordered: the place
 * of each Python frame among the native ones is known.
 */
uint32_t python_merge(const struct python_merge_input *input, struct python_merged *out,
		      uint32_t max, bool *is_ordered);

#endif
