/* SPDX-License-Identifier: MIT */
/*
 * One stack being put together from what a source told of it: addresses are located in the address
 * space of the process as it is now, Python's functions put in between. Innermost frame first.
 */
#ifndef PROFILER_COLLECT_STACK_BUILDER_H
#define PROFILER_COLLECT_STACK_BUILDER_H

#include <stdbool.h>
#include "bpf/stack_event.h"
#include "profiler/collect/collect.h"
#include "profiler/profile/stack_table.h"

#define STACK_BUILDER_UNWOUND 512 /* native frames of a snapshot */
#define STACK_BUILDER_MERGED (STACK_BUILDER_UNWOUND + STACK_PYTHON_MAX_LINKS)

/* The kernel's frames, a snapshot's, and room for a name at either end. */
struct stack_builder {
	struct frame frames[STACK_EVENT_MAX_FRAMES + STACK_BUILDER_MERGED + 3];
	uint32_t count;
};

/* "[truncated]": the outermost frame of a stack that is cut; known by its address. */
extern const char stack_builder_truncated[];

void stack_builder_code(struct stack_builder *b, struct code_ref code, bool is_return);
void stack_builder_text(struct stack_builder *b, const char *text); /* borrowed for good */

/* The innermost frame's name, put in its place. */
void stack_builder_name(struct stack_builder *b, const char *text);

/* The stack is cut: its outermost frame says so, and it is counted. */
void stack_builder_cut(struct stack_builder *b, struct collect *c);

/* A CPU sample that the kernel walked: its frames, then the user's. */
void stack_builder_sample(struct stack_builder *b, struct collect *c, const struct stack_event *e,
			  const __u64 *frames);

/* A snapshot: the kernel's frames, then what its stack is unwound to. True if that is whole. */
bool stack_builder_snapshot(struct stack_builder *b, struct collect *c,
			    const struct stack_snapshot *snapshot);

/* The launch function by its own name, whatever symbols its file has, then its callers. */
void stack_builder_launch(struct stack_builder *b, struct collect *c, const struct stack_event *e,
			  const __u64 *frames);

#endif
