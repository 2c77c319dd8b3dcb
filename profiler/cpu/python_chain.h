/* SPDX-License-Identifier: MIT */
/*
 * Converts between Python's frames and the BPF side (stack_event.h).
 *
 * The layout made from a version's offsets tells the BPF side how to find a thread's chain of
 * frames. The chain that it has read becomes the frames of one stack. No state, no I/O.
 */
#ifndef PROFILER_CPU_PYTHON_CHAIN_H
#define PROFILER_CPU_PYTHON_CHAIN_H

#include <stdint.h>
#include "bpf/stack_event.h"
#include "symbolize/python_frames.h"

/*
 * Fills the layout of an interpreter. `runtime` is the address of its _PyRuntime. `program` is the
 * number under which the BPF side sends what it reads.
 */
void python_chain_lay_out(const struct python_offsets *offsets, uint64_t runtime, uint32_t program,
			  struct stack_python *layout);

/*
 * Converts a chain into frames, innermost first. Frames of several states of the thread are one
 * stack: each evaluation is inside those that are further up the C stack.
 */
void python_chain_read(const struct stack_python_chain *chain, const struct python_offsets *offsets,
		       struct python_stack *stack);

#endif
