/* SPDX-License-Identifier: MIT */
/*
 * The measurements before naming: rows of one kind of time each, by stack and place.
 *
 * Weights are whole nanoseconds, so that sums are exact. Bounded: beyond PROFILE_ROWS_MAX rows or
 * the quota, or out of memory, time is added to STACK_NOT_KEPT at no place; none is lost.
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

/* What a row takes from the quota: with the index, and with its copy in the result. */
#define PROFILE_ROW_BYTES (2 * sizeof(struct profile_row) + HASH_INDEX_ENTRY_BYTES)

enum row_kind {
	ROW_CPU,  /* a thread computed: CPU samples, weighted by their period */
	ROW_GPU,  /* a GPU worked: operations, weighted by their duration */
	ROW_WAIT, /* a thread waited: in calls for the GPU, by operation (--waits), or off the CPU,
		     for anything (--wall) */
	ROW_CALL, /* a thread was in a CUDA call, in a process without GPU time */
	ROW_IDLE, /* a GPU was idle, by what its launching thread did (--idle) */
	ROW_KINDS
};

/* A row as collected. A result has other rows: struct row (result.h). */
struct profile_row {
	uint32_t kind; /* enum row_kind */
	struct stack_id stack;
	struct place_id place; /* places.h */
	uint32_t unused;
	uint64_t count; /* samples, operations, parts of waits, calls; 0 of time that no sample
			   stands for */
	uint64_t ns;
	uint64_t bytes; /* of GPU work */
};

struct profile;

/* NULL: out of memory. */
struct profile *profile_new(void);
void profile_free(struct profile *profile);

/* From now on new rows take from this quota, which is borrowed. */
void profile_limit(struct profile *profile, struct quota *memory);

/* Adds one of `kind`. */
void profile_add(struct profile *profile, enum row_kind kind, struct stack_id stack,
		 struct place_id place, uint64_t ns, uint64_t bytes);

/* Adds `count` at once, together `ns`; at least one. */
void profile_add_several(struct profile *profile, enum row_kind kind, struct stack_id stack,
			 struct place_id place, uint64_t count, uint64_t ns);

/* Adds time that nothing countable stands for: "[not sampled]" is no sample. */
void profile_add_time(struct profile *profile, enum row_kind kind, struct stack_id stack,
		      struct place_id place, uint64_t ns);

/*
 * Moves a part of what one row has to another, at the same place. False: it has less, for it was
 * not kept; nothing changes.
 */
bool profile_move(struct profile *profile, enum row_kind kind, struct place_id place,
		  struct stack_id from, struct stack_id to, const struct profile_row *amounts);

/* All rows, in order of first appearance. */
const struct profile_row *profile_rows(const struct profile *profile, uint32_t *count);

#endif
