/* SPDX-License-Identifier: MIT */
/*
 * Joins GPU operations with the stacks of their launches. Pure: no I/O, no clock, no names.
 *
 * The input is three streams, each with its own delay, interleaved in any way between threads and
 * processes:
 *   probes      process, tid, time, stack: entry of a launch function, from eBPF
 *   launches    process, tid, time, correlation id: the same call in CUPTI's callback; sent by the
 *               target, later than the probe because the callback runs inside the call
 *   operations  process, correlation id, duration: the GPU work of the call
 *
 * A launch takes the latest probe of its thread and family that is not later than itself and later
 * than the thread's previous launch. A runtime launch without one (a stripped static libcudart has
 * no symbol to probe) takes the first driver probe between itself and the thread's next launch: the
 * nested driver call. A driver launch without a driver probe takes a runtime probe in the same
 * interval: CUPTI started too late to see the runtime call around it. The remaining probes are
 * nested calls, and are counted. An operation takes the stack of the launch with its correlation
 * id; ids are per process. One launch may start many operations (CUDA graphs).
 *
 * A stack is the origin of a launch (attribution.h), which is only passed through. Every operation
 * is attributed exactly once, without one (ORIGIN_UNKNOWN) if its launch or its probe is missing.
 * Units: ns, CLOCK_MONOTONIC.
 *
 * Memory is bounded for any input (JOIN_REMEMBERED, and an quota). It does not grow with the
 * number of operations, launches, threads or processes.
 */
#ifndef PROFILER_JOIN_JOIN_H
#define PROFILER_JOIN_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/model/gpu_operation.h"
#include "profiler/model/id_remap.h"

/* The origin of a launch: a number that attribution.h gives a meaning. */
struct origin_id {
	uint32_t number;
};
#define ORIGIN_UNKNOWN ((struct origin_id){UINT32_MAX})

enum launch_family {
	FAMILY_RUNTIME = 1, /* libcudart */
	FAMILY_DRIVER = 2,  /* libcuda */
};

/* Receives attributed operations, with the time of their launch; 0: no launch. */
struct join_output {
	void (*attribute)(void *context, struct origin_id origin, uint64_t launched_ns,
			  const struct gpu_operation *operation);
	void *context;
};

struct join_stats {
	uint64_t probes;
	uint64_t probes_unused; /* nested driver calls, or calls CUPTI did not report */
	uint64_t launches;
	uint64_t launches_unprobed; /* launches without a probe */
	uint64_t launches_confused; /* their ids are also those of launches with other stacks */
	uint64_t operations;
	uint64_t matched;   /* operations attributed to a stack */
	uint64_t unmatched; /* operations without a stack */
	uint64_t unmatched_ns;
	/* launches whose process ended, or whose id was used again, without an operation */
	uint64_t copies_without_record, graphs_without_record;
};

struct join;

struct join *join_new(const struct join_output *output);
void join_free(struct join *c);

/*
 * What it remembers is taken from this quota, which is borrowed. Beyond it, fewer launches are
 * remembered than JOIN_REMEMBERED says, and operations without a launch do not wait for it.
 */
struct quota;
void join_limit(struct join *c, struct quota *memory);

/*
 * What a launch that has come must have a record of, and what launches, other than of kernels, did
 * not have when they were forgotten: join_stats. A launch that had an operation expects nothing.
 */
enum expected_record {
	JOIN_EXPECTS_NOTHING,
	JOIN_EXPECTS_COPY,
	JOIN_EXPECTS_GRAPH,
	JOIN_EXPECTS_KERNEL
};
void join_expect_record(struct join *c, uint32_t process, uint32_t correlation_id,
			enum expected_record what);

/* How many launches still expect a record: those of kernels from `since_ns` on; others from before.
 */
uint64_t join_count_kernels_expected(const struct join *c, uint64_t since_ns);
uint64_t join_count_others_expected(const struct join *c, uint64_t before_ns);

/* Returns whether a launch with this correlation id has come, and is remembered. */
bool join_knows(struct join *c, uint32_t process, uint32_t correlation_id);

/* All return 0 or -ENOMEM; on failure only this item is lost. */
int join_probe(struct join *c, uint32_t process, uint32_t tid, uint64_t time_ns,
	       enum launch_family family, struct origin_id origin);
int join_launch(struct join *c, uint32_t process, uint32_t tid, uint64_t time_ns,
		uint32_t correlation_id, enum launch_family family, int is_graph);
/* A launch whose stack was captured inside the process: joined by id, without a probe. */
int join_launch_with_stack(struct join *c, uint32_t process, uint64_t time_ns,
			   uint32_t correlation_id, int is_graph, struct origin_id origin);
int join_operation(struct join *c, uint32_t process, const struct gpu_operation *operation);

/*
 * All probes up to `probes_until_ns` have been passed in: decides what it can. Operations without a
 * launch are given up after JOIN_TIMEOUT_NS.
 */
void join_advance(struct join *c, uint64_t probes_until_ns);
#define JOIN_TIMEOUT_NS 2000000000u

/* How long after a runtime launch its nested driver call may still arrive. */
#define JOIN_NESTED_NS 500000000u

/*
 * `process` has ended: decides all that is pending for it, and drops its probes. Its links are
 * forgotten together with those of others, once JOIN_ENDED_MAX processes have ended.
 */
void join_end_process(struct join *c, uint32_t process);
#define JOIN_ENDED_MAX 64u

/* Shows each origin that it carries, to be changed or not. */
void join_visit(struct join *c, void (*visit)(void *context, struct origin_id *origin),
		void *context);

/* The input has ended: attributes everything that is left. */
void join_finish(struct join *c);

struct join_stats join_stats(const struct join *c);

/*
 * How many launches are remembered once their stack is known: four times this many without an
 * operation, this many with one, and at least as many graph launches that have begun. A later
 * operation has no stack. At most this many probes, launches without a probe, and operations
 * without a launch wait, over all processes; beyond that the oldest are decided early with what is
 * known. Without an quota uses at most about 330 MB, in programs that launch graphs by the
 * million.
 */
#define JOIN_REMEMBERED 1000000u

/* For tests: replaces JOIN_REMEMBERED, at least 1, before any input. */
void join_remember(struct join *c, uint32_t newest);

/* Bytes held now. */
size_t join_memory(const struct join *c);

#endif
