/* SPDX-License-Identifier: MIT */
/*
 * Merges a thread's native frames and its Python frames into one stack: each C evaluation loop is
 * replaced by the Python frames that it evaluates, several since 3.11.
 *
 * If both chains are whole, loops and entries are paired from the outermost inwards: a loop that is
 * just being entered has no Python frame yet, and stays a native frame; Python frames without a
 * loop of their own go into the innermost one. If a chain is truncated, they are paired from the
 * innermost outwards, and the remaining Python frames become the outermost. No frame is ever lost
 * or duplicated.
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
};

struct python_merge_input {
	const uint8_t *natives; /* enum python_native each, innermost first */
	uint32_t native_count;
	bool native_is_whole; /* reaches the thread's start */
	/*
	 * Keep the interpreter's own frames; loops are then outside the Python frames in them.
	 * Otherwise loops are replaced, and the interpreter's other frames dropped between two
	 * Python frames.
	 */
	bool keeps_native;
	const struct python_stack *python;
};

struct python_merged {
	uint32_t is_python; /* otherwise native */
	uint32_t index;     /* among the frames of its kind */
};

/* Innermost first, at most `max`. Returns their number. */
uint32_t python_merge(const struct python_merge_input *input, struct python_merged *out,
		      uint32_t max);

#endif
