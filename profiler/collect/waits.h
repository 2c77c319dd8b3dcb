/* SPDX-License-Identifier: MIT */
/*
 * What ran on the GPU while threads waited for it (--waits). Pure: no I/O, no clock, no names.
 *
 * Two things come in, in any order: waits, each an interval of one thread, and operations that have
 * run, each an interval of one stream. Out comes each wait in pieces that add up to it exactly: so
 * many ns with this operation, and the rest with none.
 *
 * A wait ends when the last of what it waits for does. So only operations that ended by its end can
 * have held it up; one that still ran then counts for nothing of it, however long it ran beside it.
 * At each moment of the wait, of those that count the one counts which ran then and ended last.
 * (Equal shares would show work that made no difference, and do not divide whole ns.) A wait for
 * one stream looks at the operations of that stream only, any other wait at all of its process. A
 * moment at which none of these ran is a piece without operation: the GPU's time to start and to
 * tell, another stream's work that this one's depended on, another process's.
 *
 * Ends of operations and of waits come from two clocks, so an operation may seem to end up to
 * WAITS_CLOCK_ERROR_NS after the wait that it held up. That is generous: on an H200, in 74,538
 * waits for one kernel or copy each, that ended 2.2 us or more before its wait.
 *
 * A wait is decided WAITS_PATIENCE_NS after its end, when what ran has been told (records come 250
 * ms late and more), or at the end. Memory is bounded: the last WAITS_OPERATIONS operations and as
 * many waits are kept, of all processes together, 34 MB at most. When there are more, waits are
 * decided early, and what is forgotten by then is missing: those pieces are without operation.
 * Time is bounded, too: waits that are decided together look at WAITS_STEPS operations for each
 * one that is kept. That is enough for as many threads that wait all the time; what is left of
 * waits after that is without operation, and they are counted (waits_cut).
 */
#ifndef PROFILER_COLLECT_WAITS_H
#define PROFILER_COLLECT_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/collect/compose.h"

#define WAITS_PATIENCE_NS 1000000000u
#define WAITS_OPERATIONS (1u << 18)
#define WAITS_CLOCK_ERROR_NS 5000u
#define WAITS_STEPS 64u

/* Something that a GPU did; all but process, place and times is only passed through. */
struct waits_operation {
	uint64_t start_ns, end_ns;
	uint32_t process, context, stream;
	struct gpu_work_origin origin;
};

/*
 * A thread that waited. `stack` and `place` are only passed through. One that does not end after
 * its start has no pieces.
 */
struct waits_wait {
	uint64_t start_ns, end_ns;
	uint32_t process;
	bool has_stream; /* it waited for this stream only */
	uint32_t context, stream;
	uint32_t stack;
	uint32_t place;
};

/* Where pieces go; `origin` is NULL where nothing ran. `ns` is not 0. */
struct waits_output {
	void (*piece)(void *context, const struct waits_wait *wait,
		      const struct gpu_work_origin *origin, uint64_t ns);
	void *context;
};

struct waits;

struct waits *waits_new(const struct waits_output *output);
void waits_free(struct waits *w);

/* Both return 0 or -ENOMEM; then the operation is lost, but a wait is out, without operations. */
int waits_add_operation(struct waits *w, const struct waits_operation *operation);
int waits_add(struct waits *w, const struct waits_wait *wait);

/* Says that it is `now_ns` (CLOCK_MONOTONIC): decides the waits that need not wait any more. */
void waits_advance(struct waits *w, uint64_t now_ns);

/* Nothing more will come: decides all that are left. */
void waits_finish(struct waits *w);

/* Waits that were not looked at to their beginning (WAITS_STEPS). */
uint64_t waits_cut(const struct waits *w);

/* Bytes held now. */
size_t waits_memory(const struct waits *w);

/* For tests: another number than WAITS_OPERATIONS, at least 4, before anything is handed in. */
void waits_remember(struct waits *w, uint32_t newest);

#endif
