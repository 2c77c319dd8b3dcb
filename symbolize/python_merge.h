/* SPDX-License-Identifier: MIT */
/*
 * One stack of a thread's native frames and its Python frames: each C evaluation loop gives way to
 * the Python frames that it evaluates, several since 3.11.
 *
 * Where both chains are whole, loops and entries are paired from the outermost inwards: a loop that
 * is just being entered has no Python frame yet, and stays a native frame; Python frames without a
 * loop of their own stand in the innermost one. Where one of them is cut they are paired from the
 * innermost outwards, and Python frames left over stand outermost of all. Nothing is ever lost or
 * doubled.
 */
#ifndef SYMBOLIZE_PYTHON_MERGE_H
#define SYMBOLIZE_PYTHON_MERGE_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/python_frames.h"

enum python_native {
	PYTHON_NATIVE_OTHER = 0,
	PYTHON_NATIVE_INTERPRETER, /* in the interpreter's own code */
	PYTHON_NATIVE_LOOP,        /* of this, in its evaluation loop */
};

struct python_merge_input {
	const uint8_t *natives; /* enum python_native each, innermost first */
	uint32_t native_count;
	bool native_is_whole; /* goes down to the thread's start */
	/*
	 * Keep the interpreter's own frames; loops then stand outside the Python frames in them.
	 * Else loops are replaced, and its other frames dropped where they lie between two Python
	 * frames.
	 */
	bool keeps_native;
	const struct python_stack *python;
};

struct python_merged {
	uint32_t is_python; /* else native */
	uint32_t index;     /* among those of its kind */
};

/* Innermost first, at most `max`. Returns how many. */
uint32_t python_merge(const struct python_merge_input *input, struct python_merged *out,
		      uint32_t max);

#endif
