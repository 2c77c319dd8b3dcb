/* SPDX-License-Identifier: MIT */
/*
 * Times calls of CUDA functions by probes, in processes where CUPTI cannot be used. Another
 * profiler may have it, for example. Also reports clients that CUPTI refused because of this
 * profile.
 *
 * Needs BPF (bpf_source.h). All functions accept NULL and then do nothing.
 */
#ifndef PROFILER_ATTACH_CALL_TIMING_H
#define PROFILER_ATTACH_CALL_TIMING_H

#include "profiler/attach/notices.h"
#include "profiler/base/log.h"
#include "profiler/join/collect.h"
#include "profiler/sources/bpf_source.h"

struct call_timing;

/* Makes the module; arguments are borrowed. Returns NULL when out of memory. */
struct call_timing *call_timing_new(struct bpf_source *bpf, struct collect *collect,
				    struct notices *notices, struct log *log);
void call_timing_free(struct call_timing *t);

/* Counts a process without GPU time, once. */
void call_timing_note_untraced(struct collect *collect, struct process *process);

/* Starts timing a process whose library cannot trace it. */
void call_timing_begin(struct call_timing *t, struct process *process);
/* Ends timing of a process that is traced, and watches for refused clients. */
void call_timing_note_traced(struct call_timing *t, struct process *process);

/*
 * Handles an event of a followed process, after `collect` and obstacles_watch. Starts timing a
 * process that maps the driver and cannot be traced. A later hello of our library ends that.
 */
void call_timing_watch(struct call_timing *t, const struct process_event *event,
		       struct process *process);

/* Probes processes whose mappings have changed. Call after a batch of events. */
void call_timing_scan(struct call_timing *t);

/* Handles the event of a timed call, or of a refusal. */
void call_timing_take(struct call_timing *t, const struct stack_event *event);

#endif
