/* SPDX-License-Identifier: MIT */
/*
 * Names what was collected: stacks of addresses become stacks of named frames.
 *
 * A CPU sample's stack keeps all its frames. Where something was launched, waited for or timed, a
 * stack ends at the program's own call of CUDA: where only a nested call of the driver was
 * probed, or the runtime is linked statically, the frames inside that call are left out.
 */
#ifndef PROFILER_SHAPE_RESULT_NAMING_H
#define PROFILER_SHAPE_RESULT_NAMING_H

#include <stdbool.h>
#include "profiler/model/collected.h"
#include "profiler/model/result.h"

struct naming_options {
	bool raw_names;  /* keep kernel names mangled */
	bool inlines;    /* inlined functions as frames of their own */
	bool sources;    /* the files that define native functions, from debug information */
	bool debuginfod; /* ask servers for debug files */
	bool links;      /* look for links to the user's code, on the machine where it ran */
};

/*
 * The result, which borrows from what was collected and must be freed first; NULL when out of
 * memory.
 */
struct result *result_new(const struct collected *collected, const struct naming_options *options,
			  const struct totals *totals);
void result_free(struct result *result);

/*
 * A result of a run that goes on: without rows, and with the stacks alone that are asked for. Freed
 * like the other. NULL: out of memory.
 *
 * result_name: the named stack of something that was launched, waited for or timed. What is
 * collected may have grown since, in all its tables. False: out of memory; the next stack may be
 * tried. result_refresh: the tables of places, processes, threads and devices have grown or moved.
 */
struct result *result_begin(const struct collected *collected, const struct naming_options *options,
			    const struct totals *totals);
bool result_name(struct result *result, struct stack_id collected, uint32_t *stack);
void result_refresh(struct result *result);

#endif
