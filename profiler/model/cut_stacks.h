/* SPDX-License-Identifier: MIT */
/*
 * Counts truncated stacks by reason and by the module of the frame whose caller was not found
 * (symbolize/unwind.h).
 *
 * Zero-initialised is empty. Beyond CUT_STACKS_MAX pairs, or without memory, a stack counts only in
 * the ledger.
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
	uint32_t module; /* number in the symbolizer */
	uint64_t count;
};

void cut_stacks_add(struct cut_stacks *cut, enum unwind_end reason, uint32_t module);

/* Stores the places with the highest counts, at most `max`, highest first. Returns their number. */
uint32_t cut_stacks_top(const struct cut_stacks *cut, struct cut_place *places, uint32_t max);

/* Returns the rest of the sentence "N stacks are cut: ...", or NULL if `reason` is no cut. */
const char *cut_stacks_reason(enum unwind_end reason);

void cut_stacks_release(struct cut_stacks *cut);

#endif
