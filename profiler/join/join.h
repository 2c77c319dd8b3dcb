/* SPDX-License-Identifier: MIT */
/*
 * Joins GPU operations with the stacks of their launches.
 *
 * Pure: no I/O, no clock, no names. Times are CLOCK_MONOTONIC in ns.
 *
 * The input is three streams, each with its own delay, interleaved arbitrarily between threads and
 * processes:
 *
 *	probes      process, tid, time, stack: entry of a launch function, from eBPF
 *	launches    process, tid, time, correlation id: the call in CUPTI's callback; sent by the
 *	            target, later than the probe because the callback runs inside the call
 *	operations  process, correlation id, duration: the GPU work of the call
 *
 * A launch takes the latest probe of its thread and family since the thread's previous launch. A
 * runtime launch without a probe takes the first driver probe before the thread's next launch: the
 * nested driver call. (A stripped static libcudart has no symbol to probe.) A driver launch without
 * a driver probe takes a runtime probe in that interval: CUPTI started too late to see the runtime
 * call. The remaining probes are nested calls, and are counted. An operation takes the stack of the
 * launch with its correlation id. Ids are per process. One launch may start many operations (CUDA
 * graphs).
 *
 * Stacks are passed through as origins of launches (attribution.h). Every operation is attributed
 * exactly once. Its origin is ORIGIN_UNKNOWN if its launch or its probe is missing.
 *
 * Memory is bounded for any input, by JOIN_REMEMBERED and a quota. It does not grow with the number
 * of operations, launches, threads or processes.
 */
#ifndef PROFILER_JOIN_JOIN_H
#define PROFILER_JOIN_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/model/gpu_operation.h"
#include "profiler/model/id_remap.h"

/* Number of a launch's origin, which attribution.h defines. */
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
	uint64_t launches_confused; /* launches that share an id with launches of other stacks */
	uint64_t operations;
	uint64_t matched;   /* operations attributed to a stack */
	uint64_t unmatched; /* operations without a stack */
	uint64_t unmatched_ns;
	/* launches whose process ended, or whose id was reused, without an operation */
	uint64_t copies_without_record, graphs_without_record;
};

struct join;

struct join *join_new(const struct join_output *output);
void join_free(struct join *c);

/*
 * Charges remembered launches to this borrowed quota. Over the quota fewer launches are remembered
 * than JOIN_REMEMBERED says. Operations without a launch do not wait.
 */
struct quota;
void join_limit(struct join *c, struct quota *memory);

/*
 * Sets the record that a launch must have. join_stats counts launches, other than of kernels, that
 * had none when they were forgotten. A launch with an operation expects nothing.
 */
enum expected_record {
	JOIN_EXPECTS_NOTHING,
	JOIN_EXPECTS_COPY,
	JOIN_EXPECTS_GRAPH,
	JOIN_EXPECTS_KERNEL
};
void join_expect_record(struct join *c, uint32_t process, uint32_t correlation_id,
			enum expected_record what);

/*
 * Return the number of launches that still expect a record: kernels launched from `since_ns` on,
 * and others launched before `before_ns`.
 */
uint64_t join_count_kernels_expected(const struct join *c, uint64_t since_ns);
uint64_t join_count_others_expected(const struct join *c, uint64_t before_ns);

/*
 * Returns true if work may be running that was launched before `before_ns`: a launch expects a
 * record (join_expect_record), or is of a graph, from `graphs_since_ns` on, of which more may come.
 */
bool join_may_be_running(const struct join *c, uint64_t before_ns, uint64_t graphs_since_ns);

/* Returns true if a launch with this correlation id has come, and is remembered. */
bool join_knows(struct join *c, uint32_t process, uint32_t correlation_id);

/* Add input. Return 0, or -ENOMEM: only this item is lost. */
int join_probe(struct join *c, uint32_t process, uint32_t tid, uint64_t time_ns,
	       enum launch_family family, struct origin_id origin);
int join_launch(struct join *c, uint32_t process, uint32_t tid, uint64_t time_ns,
		uint32_t correlation_id, enum launch_family family, int is_graph);
/* Adds a launch whose stack was captured inside the process: joined by id, without a probe. */
int join_launch_with_stack(struct join *c, uint32_t process, uint64_t time_ns,
			   uint32_t correlation_id, int is_graph, struct origin_id origin);
int join_operation(struct join *c, uint32_t process, const struct gpu_operation *operation);

/*
 * Decides launches, knowing that all probes up to `probes_until_ns` have been passed in. Gives up
 * operations without a launch after JOIN_TIMEOUT_NS.
 */
void join_advance(struct join *c, uint64_t probes_until_ns);
#define JOIN_TIMEOUT_NS 2000000000u

/* Maximum delay of a nested driver call after its runtime launch. */
#define JOIN_NESTED_NS 500000000u

/*
 * Decides everything pending of a process that has ended, and drops its probes. Its links are
 * forgotten once JOIN_ENDED_MAX processes have ended.
 */
void join_end_process(struct join *c, uint32_t process);
#define JOIN_ENDED_MAX 64u

/* Passes each origin to `visit`, which may change it. */
void join_visit(struct join *c, void (*visit)(void *context, struct origin_id *origin),
		void *context);

/* Attributes everything that is left, at the end of the input. */
void join_finish(struct join *c);

struct join_stats join_stats(const struct join *c);

/*
 * Number of launches remembered once their stack is known. Four times as many are remembered
 * without an operation, this many with one, and at least this many graph launches that have begun.
 * Later operations have no stack. At most this many probes, launches without a probe, and
 * operations without a launch wait, over all processes. Beyond that the oldest are decided early.
 * Without a quota the memory is at most about 330 MB, in programs that launch graphs by the
 * million.
 */
#define JOIN_REMEMBERED 1000000u

/* Replaces JOIN_REMEMBERED, by at least 1, before any input. For tests. */
void join_remember(struct join *c, uint32_t newest);

/* Returns the bytes held. */
size_t join_memory(const struct join *c);

#endif
