/* SPDX-License-Identifier: MIT */
/*
 * Python frames as the BPF side reads them (stack_event.h): the layout by which it finds a thread's
 * chain of frames, made from a version's offsets, and the chain that it has read, as the frames of
 * one stack. No state, no I/O.
 */
#ifndef PROFILER_CPU_PYTHON_CHAIN_H
#define PROFILER_CPU_PYTHON_CHAIN_H

#include <stdint.h>
#include "bpf/stack_event.h"
#include "symbolize/python_frames.h"

/*
 * The layout of an interpreter; `runtime`: the address of its _PyRuntime; `program`: its number,
 * under which the BPF side sends what it reads.
 */
void python_chain_lay_out(const struct python_offsets *offsets, uint64_t runtime, uint32_t program,
			  struct stack_python *layout);

/*
 * The frames of a chain, innermost first. Those of several states of the thread are one stack:
 * each evaluation is inside those that are further up the C stack.
 */
void python_chain_read(const struct stack_python_chain *chain, const struct python_offsets *offsets,
		       struct python_stack *stack);

#endif
