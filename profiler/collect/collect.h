/* SPDX-License-Identifier: MIT */
/*
 * The collecting half of a session, without processes or descriptors: takes events of all sources
 * in and keeps the profile.
 *
 * Stacks are located in the address space of their moment, so process events are applied in order
 * of time between them. What runs on the GPU goes through join; CPU samples go straight into
 * the profile. Recorded streams take this same way in tests.
 */
#ifndef PROFILER_COLLECT_COLLECT_H
#define PROFILER_COLLECT_COLLECT_H

#include <stdbool.h>
#include <stdint.h>
#include "bpf/stack_event.h"
#include "cupti_trace/gpu_event.h"
#include "cupti_trace/work_tally.h"
#include "profiler/collect/by.h"
#include "profiler/collect/join.h"
#include "profiler/collect/devices.h"
#include "profiler/collect/graph_nodes.h"
#include "profiler/collect/open_calls.h"
#include "profiler/sources/process_events.h"
#include "profiler/profile/profile.h"
#include "profiler/collect/python_processes.h"
#include "profiler/profile/stack_table.h"
#include "profiler/collect/waits.h"
#include "profiler/collect/target_stacks.h"
#include "symbolize/intern.h"
#include "symbolize/symbolizer.h"

struct collect_stats {
	uint64_t cpu_samples; /* in the profile */
	uint64_t snapshots;   /* CPU samples that were unwound here, by call-frame information */
	uint64_t whole_snapshots; /* of these, down to the thread's start */
	uint64_t launches;        /* whose stack was taken in the process */
	uint64_t whole_launches;
	uint64_t truncated;           /* stacks deeper than could be taken */
	uint64_t out_of_memory;       /* events lost for want of memory */
	uint64_t kernel_launches;     /* calls that launch kernels or graphs */
	uint64_t unseen_nodes;        /* operations of graph nodes whose making was not seen */
	uint64_t waits, wait_ns;      /* calls that waited for the GPU, where that is asked for */
	uint64_t calls, call_ns;      /* timed calls of CUDA, of processes without GPU time */
	uint64_t calls_without_stack; /* of these, whose entry was dropped */
	uint64_t unfinished_calls;    /* of these, that lasted to the end of their process */
	uint64_t replaced_calls;      /* not in the profile: their return was dropped */
	bool driver_mapped;           /* some process mapped libcuda */
};

struct collect {
	struct symbolizer *symbolizer;
	struct stack_table *stacks;
	struct profile *profile;
	struct join *join;
	struct intern strings;
	struct target_stacks target_stacks;
	struct python_processes pythons;
	/* told when a process turns out to run Python; NULL: nobody wants to know */
	void (*on_python)(void *context, pid_t pid, const struct stack_python *layout);
	void (*on_unknown_python)(void *context, pid_t pid, uint32_t hex);
	void *python_context;
	struct collect_stats stats;
	struct graph_nodes graph_nodes;
	struct by by;              /* frames at the root; see by.h */
	struct devices devices;    /* what they are called */
	struct work_tally counted; /* what the profile holds */
	struct work_tally told;    /* what CUPTI reported, as processes said at their end */
	struct waits *waits;       /* NULL: not asked for */
	struct open_calls open_calls;
	bool has_breakpoints; /* there are probes in processes */
	uint8_t *tracked;     /* a bit a pid: processes of the target's tree */
	uint32_t root;        /* the target; its samples count from its exec on */
	bool root_runs;
};

/* 0 or -ENOMEM. */
int collect_init(struct collect *c);
void collect_release(struct collect *c);

/* From now on threads' waits for the GPU are in the profile, too. 0 or -ENOMEM. */
int collect_follow_waits(struct collect *c);

/* The target, still at its gate. */
void collect_set_root(struct collect *c, pid_t pid);

/* Whether the event is about a process of the target's tree. */
bool collect_wants(const struct collect *c, const struct process_event *event);

void collect_process_event(struct collect *c, const struct process_event *event);
void collect_stack(struct collect *c, const struct stack_event *event, const __u64 *frames);

void collect_snapshot(struct collect *c, const struct stack_snapshot *snapshot);

/*
 * The entry of a timed call of `function` (interned), with the register that leads to its kernel
 * (call_functions.h), and its return: `event` is the return's, `start_ns` the time of the entry.
 * collect_finish ends those that have not returned.
 */
void collect_call(struct collect *c, const struct stack_snapshot *snapshot, const char *function,
		  int kernel_register);
void collect_call_end(struct collect *c, const struct stack_event *event, uint64_t start_ns,
		      const char *function);

/* A decoded event of the pipe; `kernel` is interned, for GPU_EVENT_KERNEL. */
void collect_gpu_event(struct collect *c, uint32_t pid, const struct gpu_event *event,
		       const char *kernel);

/* All stacks up to this time have been handed in: decides what can be (join.h, waits.h). */
void collect_advance(struct collect *c, uint64_t probes_until_ns);

/* Nothing more will come, and it is `now_ns`: decides all. */
void collect_finish(struct collect *c, uint64_t now_ns);

/*
 * Shared by collect's files: `pid` (0: every process) has ended, and with it all timed calls; an
 * operation goes into the profile; what CUPTI reported in all.
 */
void collect_end_calls(struct collect *c, uint32_t pid, uint64_t now_ns);
void collect_count_work(struct collect *c, uint32_t stack, const struct gpu_operation *operation);
int collect_sum(struct collect *c, uint32_t pid, const struct gpu_event_sum *event);

/*
 * Likewise: a node or a wait comes in, 0 or -ENOMEM; where the node was made that ran, for a
 * profile_key, `launched_ns` as in join_output; an operation is in the profile.
 */
int collect_node(struct collect *c, uint32_t pid, const struct gpu_event_node *event);
uint32_t collect_capture(struct collect *c, uint64_t launched_ns,
			 const struct gpu_operation *operation);
int collect_wait(struct collect *c, uint32_t pid, const struct gpu_event_wait *event);
void collect_waited_for(struct collect *c, const struct profile_key *key,
			const struct gpu_operation *operation);

#endif
