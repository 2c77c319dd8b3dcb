/* SPDX-License-Identifier: MIT */
/*
 * Merges a thread's native frames and its Python frames into one stack: each C evaluation loop is
 * replaced by the Python frames that it evaluates, several since 3.11.
 *
 * From 3.10 on each loop has a structure in its C frame that the Python frames lead to
 * (python_frame.anchor): the native frame around that address is the loop, whatever code it is in.
 * Where the walk of the native stack has missed the loop, its frames are between those around it.
 * A loop without Python frames (one that is just being entered, or that belongs to another greenlet
 * or interpreter) stays a native frame.
 *
 * Without such addresses loops are known by their code, and counted. As many loops as entries are
 * pairs. If there are more, the spare one is the innermost where that may just be being entered;
 * else the outermost ones are, which belong to another greenlet or interpreter. If a chain is
 * truncated, they are paired from the innermost outwards.
 *
 * Trampolines are left out: each stands for a Python function that has a frame of its own.
 *
 * Python frames that belong to no native frame become the outermost if the native stack is
 * truncated, or if they are on another C stack. Else they are placed inside the first frame of the
 * interpreter that another module called: main, or the start of a thread. No frame is ever lost or
 * duplicated.
 */
#ifndef SYMBOLIZE_PYTHON_MERGE_H
#define SYMBOLIZE_PYTHON_MERGE_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/python_frames.h"

enum python_native {
	PYTHON_NATIVE_OTHER = 0,
	PYTHON_NATIVE_INTERPRETER, /* in the interpreter's own code */
	PYTHON_NATIVE_LOOP,        /* of this code, in the evaluation loop */
	/* generated code that calls a loop, or the interpreter's function that calls such code
	   (python_trampoline.h) */
	PYTHON_NATIVE_TRAMPOLINE,
};

struct python_merge_input {
	const uint8_t *natives; /* enum python_native each, innermost first */
	/*
	 * Each frame's stack pointer: what it is when the call that the frame made has returned.
	 * NULL: not known.
	 */
	const uint64_t *sps;
	uint32_t native_count;
	bool native_is_whole; /* reaches the thread's start */
	/*
	 * Keep the interpreter's own frames; loops are then outside the Python frames in them.
	 * Otherwise loops are replaced, and the interpreter's other frames dropped between two
	 * Python frames.
	 */
	bool keeps_native;
	/*
	 * The loop runs instructions in functions that it calls (python_loop_has_handlers): such a
	 * function's frame counts as the loop's.
	 */
	bool has_handlers;
	const struct python_stack *python;
};

struct python_merged {
	uint32_t is_python; /* otherwise native */
	uint32_t index;     /* among the frames of its kind */
};

/*
 * Innermost first, at most `max`. Returns their number. *is_ordered: each Python frame is where it
 * belongs among the native ones; else that is not known of some.
 */
uint32_t python_merge(const struct python_merge_input *input, struct python_merged *out,
		      uint32_t max, bool *is_ordered);

#endif
