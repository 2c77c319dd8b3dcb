/* SPDX-License-Identifier: MIT */
/*
 * Why stacks are cut, and in which files: counts by reason and by the module of the frame that
 * could not be left (symbolize/unwind.h).
 *
 * Zero-initialised is empty. Bounded: beyond CUT_STACKS_MAX pairs, or without memory, a stack
 * counts only in the ledger.
 */
#ifndef PROFILER_MODEL_CUT_STACKS_H
#define PROFILER_MODEL_CUT_STACKS_H

#include <stdint.h>
#include "symbolize/unwind.h"
#include "symbolize/util/id_map.h"

#define CUT_STACKS_MAX 4096u

struct cut_stacks {
	struct id_map counts;
};

struct cut_place {
	enum unwind_end reason;
	uint32_t module; /* of the symbolizer */
	uint64_t count;
};

void cut_stacks_add(struct cut_stacks *cut, enum unwind_end reason, uint32_t module);

/* The places with the highest counts, at most `max`, the highest first. Returns their number. */
uint32_t cut_stacks_top(const struct cut_stacks *cut, struct cut_place *places, uint32_t max);

/* In words, as the rest of "N stacks are cut: ...". NULL: it is none for which stacks are cut. */
const char *cut_stacks_reason(enum unwind_end reason);

void cut_stacks_release(struct cut_stacks *cut);

#endif
