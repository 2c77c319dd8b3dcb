/* SPDX-License-Identifier: MIT */
/*
 * Sums up idle times of GPUs by cause and by function: the innermost function of the user's own
 * code that ran in the gaps, or that launched the work after them.
 */
#ifndef PROFILER_FINDINGS_IDLE_CAUSES_H
#define PROFILER_FINDINGS_IDLE_CAUSES_H

#include "profiler/findings/device_time.h"

struct idle_cause {
	enum device_use use;
	const struct frame_info *site; /* NULL: unknown */
	uint64_t ns, sampled_ns;       /* all, and what CPU samples or rows of --idle tell */
	uint64_t gaps;
	uint64_t longest_ns, longest_from_ns; /* the longest gap */
};

struct idle_causes {
	struct idle_cause *list; /* the longest time first */
	uint32_t count;
};

/*
 * Makes the sums. `site_of` returns the function of a stack. Returns 0 or -ENOMEM. The caller frees
 * the list.
 */
int idle_causes_of(struct idle_causes *causes, const struct device_times *times,
		   const struct frame_info *(*site_of)(const void *context, uint32_t stack),
		   const void *context);

#endif
