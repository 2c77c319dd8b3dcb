/* SPDX-License-Identifier: MIT */
/*
 * The GPU work that threads waited for (--waits). Pure: no I/O, no clock, no names.
 *
 * The input, in any order: waits, each an interval of one thread, and completed operations, each an
 * interval of one stream. The output: each wait in pieces that add up to it exactly, each with the
 * operation it waited for, or without one.
 *
 * A wait ends when the last operation it waits for ends. So only operations that ended by its end
 * can have delayed it; one that still ran then does not count, however long it ran beside it. Each
 * moment of the wait is assigned to the operation that ran then and, of those that count, ended
 * last. (Equal shares would show work that made no difference, and do not divide whole ns.) A wait
 * for one stream considers only operations of that stream, any other wait all of its process. A
 * moment at which none of these ran is a piece without an operation: the GPU's latency to start and
 * to report, work of another stream that this stream depends on, or of another process.
 *
 * The ends of operations and of waits come from two clocks, so an operation may seem to end up to
 * WAITS_CLOCK_ERROR_NS after the wait that it delayed. This is generous: on an H200, in 74,538
 * waits for one kernel or copy each, the operation ended at least 2.2 us before its wait.
 *
 * A thread may compute in such a call, or spin for the GPU: that part of a wait is CPU time. It is
 * taken first from moments at which nothing ran on the GPU, and from all others in proportion.
 *
 * A wait is decided WAITS_TIMEOUT_NS after its end, when its operations have been reported
 * (records arrive 50 ms late or more), or at the end of the run. Memory is bounded: the last
 * WAITS_OPERATIONS operations and as many waits are kept, over all processes, at most 34 MB. Beyond
 * that, waits are decided early, and pieces whose operation is no longer kept have none. Time is
 * bounded too: waits that are decided together visit at most WAITS_STEPS operations for each one
 * that is kept. This is enough for that many threads that wait all the time; the rest of a wait has
 * no operation. Each wait that either may concern is counted once (waits_cut).
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

/* A GPU operation; fields other than process, place and times are only passed through. */
struct waits_operation {
	uint64_t start_ns, end_ns;
	uint32_t process, context, stream;
	struct gpu_work_origin origin;
};

/*
 * A thread's wait. `tid`, `stack` and `place` are only passed through. A wait that does not end
 * after its start has no pieces.
 */
struct waits_wait {
	uint64_t start_ns, end_ns;
	uint64_t computed_ns; /* of it, the thread was on a CPU */
	uint32_t process, tid;
	bool has_stream; /* it waited for this stream only */
	uint32_t context, stream;
	struct stack_id stack;
	struct place_id place;
};

/*
 * A part of a wait. Its `off_cpu_ns` of all pieces are the wait without what the thread computed,
 * to the ns.
 */
struct waits_piece {
	const struct gpu_work_origin *origin; /* NULL: nothing ran */
	uint64_t from_ns, ns;                 /* when; not 0 */
	uint64_t off_cpu_ns;                  /* of it */
};

/* Receives the pieces, the last one first. */
struct waits_output {
	void (*piece)(void *context, const struct waits_wait *wait,
		      const struct waits_piece *piece);
	void *context;
};

struct waits;

struct waits *waits_new(const struct waits_output *output);
void waits_free(struct waits *w);

/* Takes what it keeps from this quota, which is borrowed. Beyond it, less is kept. */
void waits_limit(struct waits *w, struct quota *memory);

/*
 * Both return 0 or -ENOMEM; then the operation is lost, but the wait is output without operations.
 */
int waits_add_operation(struct waits *w, const struct waits_operation *operation);
int waits_add(struct waits *w, const struct waits_wait *wait);

/* The time is `now_ns` (CLOCK_MONOTONIC): decides the waits that are due. */
void waits_advance(struct waits *w, uint64_t now_ns);

/* Shows the numbers in use. */
void waits_visit(struct waits *w, const struct id_visitor *visitor);

/* The input has ended: decides all waits. */
void waits_finish(struct waits *w);

/* Waits that were not followed to their beginning (WAITS_STEPS, WAITS_OPERATIONS, memory). */
uint64_t waits_cut(const struct waits *w);

/* Bytes held now. */
size_t waits_memory(const struct waits *w);

/* For tests: replaces WAITS_OPERATIONS, at least 4, before any input. */
void waits_remember(struct waits *w, uint32_t newest);

#endif
