/* SPDX-License-Identifier: MIT */
/*
 * For how long operations of merged runs waited for the rank that came last (collectives.h), by the
 * records of the result's timeline: for views of a part of it, whose rows are made of records.
 */
#ifndef PROFILER_SHAPE_RANK_WAITS_H
#define PROFILER_SHAPE_RANK_WAITS_H

#include "profiler/model/result.h"

struct rank_waits;

/*
 * Reads the whole timeline, which the result has. It finds what the merge found, unless records
 * were lost since. NULL with errno.
 */
struct rank_waits *rank_waits_new(const struct result *result, struct quota *memory);
void rank_waits_free(struct rank_waits *w);

/*
 * How long a record waits from its start on, in ns, and for which rank; 0: it does not. `number` is
 * larger than in the last call.
 */
uint64_t rank_waits_next(struct rank_waits *w, uint64_t number, uint32_t *rank);

#endif
