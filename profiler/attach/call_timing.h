/* SPDX-License-Identifier: MIT */
/*
 * Processes in which CUPTI cannot be used, because another profiler has it or for any other reason:
 * probes time the calls of CUDA's functions there instead. Also reports other clients that CUPTI
 * refused because this profile has it.
 *
 * Needs BPF (bpf_source.h). All functions take NULL: then nothing is timed.
 */
#ifndef PROFILER_ATTACH_CALL_TIMING_H
#define PROFILER_ATTACH_CALL_TIMING_H

#include <stdbool.h>
#include "profiler/attach/notices.h"
#include "profiler/base/log.h"
#include "profiler/join/collect.h"
#include "profiler/sources/bpf_source.h"

struct call_timing;

/* All are borrowed. NULL: out of memory. */
struct call_timing *call_timing_new(struct bpf_source *bpf, struct collect *collect,
				    struct notices *notices, struct log *log);
void call_timing_free(struct call_timing *t);

/* After a process's hello: it cannot be traced; or it is traced. */
void call_timing_begin(struct call_timing *t, struct process *process);
void call_timing_note_traced(struct call_timing *t, struct process *process);

/*
 * An event of a process of the tree, after it was taken in, and after obstacles_watch: one that
 * maps the driver and cannot be traced is timed. If our library says hello after all, it is not.
 */
void call_timing_watch(struct call_timing *t, const struct process_event *event,
		       struct process *process);

/* After a number of them: looks at processes whose mappings have changed. */
void call_timing_scan(struct call_timing *t);

/* An event of a timed call, or of a refusal. */
void call_timing_take(struct call_timing *t, const struct stack_event *event);

#endif
