/* SPDX-License-Identifier: MIT */
/*
 * Joins what the GPU did with where it was launched. Pure: no I/O, no clock, no names.
 *
 * Three streams come in, each late by its own delay, and mixed in any way between threads and
 * processes:
 *   probes      process, tid, time, stack: a launch function was entered; from eBPF
 *   launches    process, tid, time, correlation id: the same call, as CUPTI's callback saw it;
 *               from the target, after the probe, for the callback sits inside the call
 *   operations  process, correlation id, duration: what ran on the GPU because of it
 *
 * A launch takes the latest probe of its thread and family that is not later than itself and later
 * than the thread's previous launch. A runtime launch without one (a stripped static libcudart has
 * no symbol to probe) takes the first driver probe between itself and the thread's next launch: the
 * driver call it nests. A driver launch without a driver probe takes a runtime probe in the same
 * place: CUPTI came too late for the runtime call around it. Probes left over are nested calls, and
 * are counted. An operation takes the stack of the launch with its correlation id; ids are per
 * process. One launch may start many operations (CUDA graphs).
 *
 * Every operation is attributed exactly once, in the end without a stack (STACK_NONE) if there was
 * no launch or no probe for it. Units: ns, CLOCK_MONOTONIC.
 *
 * Memory is bounded, whatever is handed in: JOIN_REMEMBERED says how. It does not grow with
 * the number of operations, launches, threads or processes.
 */
#ifndef PROFILER_COLLECT_JOIN_H
#define PROFILER_COLLECT_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_NONE UINT32_MAX

enum launch_family {
	FAMILY_RUNTIME = 1, /* libcudart */
	FAMILY_DRIVER = 2,  /* libcuda */
};

/* All but the correlation id and the duration is only passed through. */
struct gpu_operation {
	uint32_t correlation_id;
	uint32_t work; /* enum gpu_work */
	uint64_t start_ns, duration_ns;
	const char *name; /* interned by the caller */
	uint64_t bytes;
	uint32_t process, device, context, stream;
	uint64_t graph_node; /* 0: not a graph's */
	bool bad_time;
	bool staged;     /* gpu_work_is_staged() */
	uint8_t outside; /* enum gpu_outside */
	uint32_t shape;  /* of a kernel, for the timeline; 0: none */
};

/* Where attributed operations go, with the time of their launch; 0: there was none. */
struct join_output {
	void (*attribute)(void *context, uint32_t stack, uint64_t launched_ns,
			  const struct gpu_operation *operation);
	void *context;
};

struct join_stats {
	uint64_t probes;
	uint64_t probes_unused; /* nested driver calls, or calls CUPTI did not report */
	uint64_t launches;
	uint64_t launches_unprobed; /* no probe was found for the launch */
	uint64_t operations;
	uint64_t matched;   /* attributed with a stack */
	uint64_t unmatched; /* attributed without */
	uint64_t unmatched_ns;
};

struct join;

struct join *join_new(const struct join_output *output);
void join_free(struct join *c);

/* All return 0 or -ENOMEM; then the item is lost, but nothing else is. */
int join_probe(struct join *c, uint32_t process, uint32_t tid, uint64_t time_ns,
	       enum launch_family family, uint32_t stack);
int join_launch(struct join *c, uint32_t process, uint32_t tid, uint64_t time_ns,
		uint32_t correlation_id, enum launch_family family, int is_graph);
/* A launch whose stack was taken in the process itself: joined by id, with no probe to wait for. */
int join_launch_with_stack(struct join *c, uint32_t process, uint64_t time_ns,
			   uint32_t correlation_id, int is_graph, uint32_t stack);
int join_operation(struct join *c, uint32_t process, const struct gpu_operation *operation);

/*
 * Says that all probes up to `probes_until_ns` have been handed in. What can be decided with that
 * is decided; operations without a launch are given up after JOIN_PATIENCE_NS.
 */
void join_advance(struct join *c, uint64_t probes_until_ns);
#define JOIN_PATIENCE_NS 2000000000u

/* How long after a runtime launch its nested driver call may still come. */
#define JOIN_NESTED_NS 500000000u

/*
 * Nothing more will come of `process`: all that is pending for it is decided, its probes are
 * dropped. What is remembered of it is forgotten together with that of others, once JOIN_ENDED_MAX
 * have ended.
 */
void join_end_process(struct join *c, uint32_t process);
#define JOIN_ENDED_MAX 64u

/* Nothing more will come: attributes everything that is left. */
void join_finish(struct join *c);

struct join_stats join_stats(const struct join *c);

/*
 * How many launches are remembered once their stack is known: four times so many without an
 * operation, so many that had theirs, and at least as many graph launches that have begun. An
 * operation that comes later has no stack. No more than so many probes, launches without a probe
 * and operations without a launch wait, in all processes; then the oldest are decided early with
 * what is there. At most some 330 MB are used, for programs that launch graphs by the million.
 */
#define JOIN_REMEMBERED 1000000u

/* For tests: another number than JOIN_REMEMBERED, at least 1, before anything is handed in. */
void join_remember(struct join *c, uint32_t newest);

/* Bytes held now. */
size_t join_memory(const struct join *c);

#endif
