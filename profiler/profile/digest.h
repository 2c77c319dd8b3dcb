/* SPDX-License-Identifier: MIT */
/*
 * A result's rows summed up by the question they answer, the longest time first:
 *
 *   kernels    all launches of a kernel together
 *   copies     and other GPU work that is no kernel, by kind
 *   sites      GPU work by the program's own function that launched it: the innermost Python
 *              function of the stack, else the one that called CUDA
 *   functions  CPU samples by the function that they fell into
 *   waits      waits for the GPU, and timed calls, by the function that makes them
 */
#ifndef PROFILER_PROFILE_DIGEST_H
#define PROFILER_PROFILE_DIGEST_H

#include <stdint.h>
#include "profiler/profile/result.h"
#include "symbolize/hash_index.h"

/* All rows with a frame of this name and class. */
struct digest_entry {
	const struct frame_info *frame; /* one of them */
	uint64_t count, ns, bytes;
};

struct digest_table {
	struct digest_entry *entries;
	uint32_t count, capacity;
	struct hash_index index;   /* while it is made */
	struct digest_entry whole; /* all rows, also those for whose entry there was no memory */
};

struct digest {
	struct digest_table kernels, copies, sites, functions, waits;
};

/* The digest of a result, which must outlive it. NULL: out of memory. */
struct digest *digest_new(const struct result *result);
void digest_free(struct digest *digest);

#endif
