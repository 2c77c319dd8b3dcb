/* SPDX-License-Identifier: MIT */
/*
 * What a page can draw stacks by in place of time: the memory that they allocated (--alloc), and
 * each hardware counter that adds up (--metrics), as weighed.h has them. The page has all of them,
 * and its reader chooses.
 *
 * Only of a whole run with its own stacks: a view has others, and --weight is for that.
 */
#ifndef PROFILER_WEB_PAGE_WEIGHTS_H
#define PROFILER_WEB_PAGE_WEIGHTS_H

#include "profiler/shape/weighed.h"
#include "profiler/model/result.h"

#define PAGE_WEIGHTS_MAX 16 /* metrics beyond are in the tables alone */

struct page_weight {
	struct weighed weighed;
	struct result result; /* with its rows; the stacks and places are the run's */
	const char *title;
};

/* Zero-initialised is empty. Does not move while it has any. */
struct page_weights {
	struct page_weight list[PAGE_WEIGHTS_MAX];
	uint32_t count;
};

/* Makes the weights of a result that have a value. 0 or -ENOMEM; release it in any case. */
int page_weights_make(struct page_weights *weights, const struct result *result);

/* Whichever has the places of all: that of memory if there is one, else the result itself. */
const struct result *page_weights_placed(const struct page_weights *weights,
					 const struct result *result);
void page_weights_release(struct page_weights *weights);

#endif
