/* SPDX-License-Identifier: MIT */
/*
 * Sums the measured times in rows, by kind, stack and place, before naming.
 *
 * Weights are whole nanoseconds, so sums are exact. Bounded: beyond PROFILE_ROWS_MAX rows or the
 * quota, or out of memory, time is added to STACK_NOT_KEPT at no place. No time is lost.
 */
#ifndef PROFILER_MODEL_PROFILE_H
#define PROFILER_MODEL_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/model/id_remap.h"
#include "symbolize/util/hash_index.h"

#ifndef PROFILE_ROWS_MAX /* tests use a smaller one */
#define PROFILE_ROWS_MAX (1u << 19)
#endif

/* Bytes charged to the quota per row: with the index, and with its copy in the result. */
#define PROFILE_ROW_BYTES (2 * sizeof(struct profile_row) + HASH_INDEX_ENTRY_BYTES)

enum row_kind {
	ROW_CPU,  /* computing threads: CPU samples, weighted by their period */
	ROW_GPU,  /* working GPUs: operations, weighted by their duration */
	ROW_WAIT, /* waiting threads: in calls, by operation (--waits), or off the CPU (--wall) */
	ROW_CALL, /* threads in CUDA calls, in processes without GPU time */
	ROW_IDLE, /* idle GPUs, by the activity of the launching thread (--idle) */
	ROW_KINDS
};

/* A collected row. Results have struct row (result.h). */
struct profile_row {
	uint32_t kind; /* enum row_kind */
	struct stack_id stack;
	struct place_id place; /* places.h */
	uint32_t unused;
	uint64_t count; /* samples, operations, parts of waits, calls; 0 for time without samples */
	uint64_t ns;
	uint64_t bytes; /* size of GPU work */
};

struct profile;

/* Returns NULL if out of memory. */
struct profile *profile_new(void);
void profile_free(struct profile *profile);

/* Sets the quota for new rows; borrowed. */
void profile_limit(struct profile *profile, struct quota *memory);

/* Adds one event, or several. */
void profile_add(struct profile *profile, enum row_kind kind, struct stack_id stack,
		 struct place_id place, uint64_t ns, uint64_t bytes);

void profile_add_many(struct profile *profile, enum row_kind kind, struct stack_id stack,
		      struct place_id place, const struct profile_row *amounts);

/* Multiplies the amounts of all rows of a kind; each is rounded. */
void profile_scale(struct profile *profile, enum row_kind kind, double factor);

/* Adds time without events: "[not sampled]" is no sample. */
void profile_add_time(struct profile *profile, enum row_kind kind, struct stack_id stack,
		      struct place_id place, uint64_t ns);

/*
 * Moves amounts from one row to another at one place. Returns false, changing nothing, if the
 * row has less, because it was not kept.
 */
bool profile_move(struct profile *profile, enum row_kind kind, struct place_id place,
		  struct stack_id from, struct stack_id to, const struct profile_row *amounts);

/* Returns all rows in order of first appearance. */
const struct profile_row *profile_rows(const struct profile *profile, uint32_t *count);

#endif
