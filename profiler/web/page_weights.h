/* SPDX-License-Identifier: MIT */
/*
 * Makes the weights by which a page can draw stacks in place of time: allocated memory (--alloc),
 * and each additive hardware counter (--metrics), as in weighed.h. The page has all of them, and
 * its reader chooses.
 *
 * Only a whole run with its own stacks has weights. A view has other stacks: use --weight there.
 */
#ifndef PROFILER_WEB_PAGE_WEIGHTS_H
#define PROFILER_WEB_PAGE_WEIGHTS_H

#include "profiler/shape/weighed.h"
#include "profiler/model/result.h"

#define PAGE_WEIGHTS_MAX 16 /* further metrics are only in the tables */

struct page_weight {
	struct weighed weighed;
	struct result result; /* the run with the rows of the weight */
	const char *title;
};

/* Zero-initialised is empty. Must not move while it has weights. */
struct page_weights {
	struct page_weight list[PAGE_WEIGHTS_MAX];
	uint32_t count;
};

/* Makes the weights of a result that are not 0. Returns 0, or -ENOMEM; release it in any case. */
int page_weights_make(struct page_weights *weights, const struct result *result);

/* Returns the result that has the places of all: that of memory if there is one, else `result`. */
const struct result *page_weights_placed(const struct page_weights *weights,
					 const struct result *result);
void page_weights_release(struct page_weights *weights);

#endif
