/* SPDX-License-Identifier: MIT */
/*
 * Keeps what a program's graph nodes do, and reads lines of their operations, one at a time
 * (cupti_trace/wire/node_run.h). Both come from outside: the definitions are limited in number and
 * charged to a quota, and an operation may refer to one that is not there.
 */
#ifndef PROFILER_SOURCES_NODE_WORKS_H
#define PROFILER_SOURCES_NODE_WORKS_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/node_run.h"
#include "profiler/base/quota.h"

/* Definition, and its kernel's name as of a version of the program's names: the caller's. */
struct node_work {
	struct gpu_event_node_work event;
	uint32_t version; /* 0: not looked up yet */
	const char *name;
};

/* Zero-initialised is empty. */
struct node_works {
	struct node_work *list; /* by id, modulo GPU_NODE_WORKS */
	uint32_t end;           /* 0 or a power of two */
};

/* Adds a definition. Over the quota, and without memory, it is left out. */
void node_works_add(struct node_works *works, struct quota *quota,
		    const struct gpu_event_node_work *event);

/* Frees the definitions and returns what they were charged. */
void node_works_release(struct node_works *works, struct quota *quota);

/* Line that is being read. Zero-initialised has no operations. */
struct node_run {
	struct gpu_event_node_run run; /* the steps are the decoder's */
	struct node_run_at at;
	uint32_t done; /* steps */
};

void node_run_open(struct node_run *open, const struct gpu_event_node_run *run);

/*
 * Moves to the next operation. Returns false at the end. Sets `*work` to its definition and makes
 * its event, or sets `*work` to NULL.
 */
bool node_run_next(struct node_run *open, const struct node_works *works, struct node_work **work,
		   struct gpu_event *event);

#endif
