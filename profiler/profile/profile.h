/* SPDX-License-Identifier: MIT */
/*
 * What was measured, before names: rows of one kind of time each, by stack and place.
 *
 * Weights are whole nanoseconds, so that sums are exact. Bounded: past PROFILE_ROWS_MAX rows, or
 * out of memory, time counts under STACK_NOT_KEPT at no place; nothing is lost.
 */
#ifndef PROFILER_PROFILE_PROFILE_H
#define PROFILER_PROFILE_PROFILE_H

#include <stdint.h>

/* Some 64 bytes each with the index. */
#ifndef PROFILE_ROWS_MAX /* tests have a smaller one */
#define PROFILE_ROWS_MAX (2u << 20)
#endif

enum row_kind {
	ROW_CPU,  /* a thread computed: CPU samples, each weighs the period that it stands for */
	ROW_GPU,  /* a GPU worked: operations, each weighs its duration */
	ROW_WAIT, /* a thread waited for the GPU: parts of calls, by what ran meanwhile (--waits) */
	ROW_CALL, /* a thread was in a call of CUDA, in a process that has no GPU time */
	ROW_KINDS
};

struct row {
	uint32_t kind;  /* enum row_kind */
	uint32_t stack; /* stack_table.h */
	uint32_t place; /* places.h */
	uint32_t unused;
	uint64_t count; /* samples, operations, parts of waits, calls */
	uint64_t ns;
	uint64_t bytes; /* of GPU work */
};

struct profile;

/* NULL: out of memory. */
struct profile *profile_new(void);
void profile_free(struct profile *profile);

/* One more of `kind`. */
void profile_add(struct profile *profile, enum row_kind kind, uint32_t stack, uint32_t place,
		 uint64_t ns, uint64_t bytes);

/* All rows, in order of first appearance. */
const struct row *profile_rows(const struct profile *profile, uint32_t *count);

#endif
