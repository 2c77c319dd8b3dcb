/* SPDX-License-Identifier: MIT */
/*
 * Names the calls of PyTorch's modules in launch stacks (--modules).
 *
 * A Python frame of torch.nn.Module._wrapped_call_impl is the call of a module, which is its first
 * argument. Inside that frame stacks get one with the module's path (module_tree.h). Modules count
 * in the numbers by which stacks are recognized, with layers_epoch, which changes when a path may
 * have changed. The flusher looks for that; until then a recognized stack keeps its path.
 *
 * In a process under a seccomp filter that may end it for reading memory, nothing is named.
 */
#ifndef CUPTI_TRACE_LAUNCH_LAYERS_H
#define CUPTI_TRACE_LAUNCH_LAYERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "symbolize/python_frames.h"

/* The named calls of a stack. */
struct layers {
	uint32_t count;
	struct {
		uint32_t name;    /* nvtx_names.h */
		uint32_t python;  /* index of the frame that it is inside of */
	} open[PYTHON_CALLS_MAX]; /* the outermost first */
};

/* Not 0: modules are named. */
extern _Atomic uint64_t layers_epoch;

/* Names modules from now on, or no more. */
void layers_follow(bool wanted);

static inline bool layers_are_followed(void)
{
	return atomic_load_explicit(&layers_epoch, memory_order_relaxed) != 0;
}

/* Reads the calls in the calling thread's Python frames. Call after python_stack_read. */
void layers_read(struct layers *layers);

/* Continues a hash with everything that identifies these calls. */
uint64_t layers_hash(uint64_t hash, const struct layers *layers);

/* Returns the name of the innermost module that the calling thread is in; 0: none. */
uint32_t layers_current(void);

/* Looks for changed paths, at most once a second. For the flusher, in its guest_enter. */
void layers_check(void);

#endif
