/* SPDX-License-Identifier: MIT */
/*
 * Assigns waits of threads to the GPU work that they waited for (--waits). No I/O, no clock, no
 * names.
 *
 * The input, in any order: waits, which are intervals of a thread, and completed operations, which
 * are intervals of a stream. The output: pieces of each wait that add up to it exactly, each with
 * the operation it waited for, or without one.
 *
 * A wait ends when the last operation it waits for ends. So only operations that ended by its end
 * can have delayed it; one that still ran then does not count, however long it ran beside it. Each
 * moment of the wait is assigned to the operation that ran then and, of those that count, ended
 * last. Equal shares would show work that made no difference, and do not divide whole ns. A wait
 * for one stream considers only operations of that stream, any other wait all of its process. A
 * piece without an operation has several causes: the GPU's latency to start and to report, work of
 * another process, or work of a stream that this one depends on.
 *
 * Ends of operations and of waits come from two clocks. So an operation may seem to end up to
 * WAITS_CLOCK_ERROR_NS after the wait that it delayed. This is generous. An H200 ran 74,538 waits
 * for one kernel or copy each: the operation ended at least 2.2 us before its wait.
 *
 * A thread may compute in such a call, or spin for the GPU: that part of a wait is CPU time. CPU
 * time is taken first from moments at which nothing ran on the GPU, and from all others in
 * proportion.
 *
 * A wait is decided WAITS_TIMEOUT_NS after its end, or at the end of the run. By then its
 * operations have been reported: records arrive 50 ms late or more.
 *
 * Memory is bounded: the last WAITS_OPERATIONS operations and as many waits are kept, over all
 * processes, at most 34 MB. Beyond that, waits are decided early, and pieces of dropped operations
 * have none. Time is bounded too: waits that are decided together visit at most WAITS_STEPS
 * operations for each kept one. That is enough for this many threads that wait all the time. The
 * rest of a wait has no operation. Each wait that either limit may affect is counted once
 * (waits_cut).
 */
#ifndef PROFILER_ADDONS_WAITS_H
#define PROFILER_ADDONS_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/model/gpu_stack.h"
#include "profiler/model/id_remap.h"

#define WAITS_TIMEOUT_NS 1000000000u
#define WAITS_OPERATIONS (1u << 18)
#define WAITS_CLOCK_ERROR_NS 5000u
#define WAITS_STEPS 64u

/* A GPU operation. Members other than process, place and times are only passed through. */
struct waits_operation {
	uint64_t start_ns, end_ns;
	uint32_t process, context, stream;
	struct gpu_work_origin origin;
};

/*
 * A thread's wait. `tid`, `stack` and `place` are only passed through. An empty wait has no pieces.
 */
struct waits_wait {
	uint64_t start_ns, end_ns;
	uint64_t computed_ns; /* CPU time of the thread in the wait */
	uint32_t process, tid;
	bool has_stream; /* the wait is for this stream only */
	uint32_t context, stream;
	struct stack_id stack;
	struct place_id place;
};

/*
 * A part of a wait. `off_cpu_ns` of all pieces add up to the wait without its CPU time, to the ns.
 */
struct waits_piece {
	const struct gpu_work_origin *origin; /* NULL: nothing ran */
	uint64_t from_ns, ns;                 /* start and length; not 0 */
	uint64_t off_cpu_ns;                  /* part of `ns` off the CPU */
};

/* Receives the pieces of a wait, the last one first. */
struct waits_output {
	void (*piece)(void *context, const struct waits_wait *wait,
		      const struct waits_piece *piece);
	void *context;
};

struct waits;

struct waits *waits_new(const struct waits_output *output);
void waits_free(struct waits *w);

/* Sets the quota; borrowed. When it is exhausted, fewer are kept. */
void waits_limit(struct waits *w, struct quota *memory);

/*
 * Add an operation or wait. Return 0 or -ENOMEM: then the operation is lost, but the wait is output
 * without operations.
 */
int waits_add_operation(struct waits *w, const struct waits_operation *operation);
int waits_add(struct waits *w, const struct waits_wait *wait);

/* Decides the waits that are due at `now_ns` (CLOCK_MONOTONIC). */
void waits_advance(struct waits *w, uint64_t now_ns);

/* Visits the ids in use. */
void waits_visit(struct waits *w, const struct id_visitor *visitor);

/* Decides all waits, at the end of the input. */
void waits_finish(struct waits *w);

/*
 * Returns the number of waits not followed to their start (WAITS_STEPS, WAITS_OPERATIONS, memory).
 */
uint64_t waits_cut(const struct waits *w);

/* Returns the allocated bytes. */
size_t waits_memory(const struct waits *w);

/* Replaces WAITS_OPERATIONS, at least 4, before any input. For tests. */
void waits_remember(struct waits *w, uint32_t newest);

#endif
