/* SPDX-License-Identifier: MIT */
/*
 * Finds how long operations of merged runs waited for the last rank, from the result's timeline.
 *
 * Views of a part of the run need it (collectives.h): their rows are made of the timeline's
 * records.
 */
#ifndef PROFILER_SHAPE_RANK_WAITS_H
#define PROFILER_SHAPE_RANK_WAITS_H

#include "profiler/model/result.h"

struct rank_waits;

/*
 * Reads the whole timeline of the result. Finds what the merge found, unless records were lost
 * since. Returns NULL with errno set.
 */
struct rank_waits *rank_waits_new(const struct result *result, struct quota *memory);
void rank_waits_free(struct rank_waits *w);

/*
 * Returns for how long a record waits from its start on, in ns, and finds the rank. Returns 0 if it
 * does not wait. `number`, the record's position, grows from call to call.
 */
uint64_t rank_waits_next(struct rank_waits *w, uint64_t number, uint32_t *rank);

#endif
