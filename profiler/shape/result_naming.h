/* SPDX-License-Identifier: MIT */
/*
 * Names what was collected: makes stacks of named frames from stacks of addresses.
 *
 * The stack of a CPU sample keeps all its frames. The stack of a launch, wait or timed call ends at
 * the program's own call of CUDA. Frames inside that call are left out: those of a statically
 * linked runtime, and those around a nested call of the driver.
 */
#ifndef PROFILER_SHAPE_RESULT_NAMING_H
#define PROFILER_SHAPE_RESULT_NAMING_H

#include <stdbool.h>
#include "profiler/model/collected.h"
#include "profiler/model/result.h"

struct naming_options {
	bool raw_names;   /* keep kernel names mangled */
	bool inlines;     /* show inlined functions as frames */
	bool sources;     /* find source files of native functions, from debug information */
	bool debuginfod;  /* ask servers for debug files */
	bool links;       /* find links to the user's code; only on the machine where it ran */
	bool definitions; /* find where kernels are defined; only on the machine where it ran */
};

/*
 * Makes the result, which borrows from `collected`: free the result first. Returns NULL if out of
 * memory.
 */
struct result *result_new(const struct collected *collected, const struct naming_options *options,
			  const struct totals *totals);
void result_free(struct result *result);

/*
 * Makes a result while the run goes on: without rows, with only the stacks that result_name names.
 * Free it with result_free. Returns NULL if out of memory.
 *
 * result_name names the stack of a launch, wait or timed call. All tables of `collected` may have
 * grown since. Returns false if out of memory; the next stack may succeed.
 *
 * result_refresh updates the result after tables of places, processes, threads or devices have
 * grown or moved.
 */
struct result *result_begin(const struct collected *collected, const struct naming_options *options,
			    const struct totals *totals);
bool result_name(struct result *result, struct stack_id collected, uint32_t *stack);
void result_refresh(struct result *result);

#endif
