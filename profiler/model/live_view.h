/* SPDX-License-Identifier: MIT */
/*
 * Holds what --live shows at one moment: numbers, and three tables with names.
 *
 * Names are clean text (symbolize/util/text.h). Equal names in a table are one line.
 */
#ifndef PROFILER_MODEL_LIVE_VIEW_H
#define PROFILER_MODEL_LIVE_VIEW_H

#include "profiler/model/live_message.h"

struct live_line {
	const char *name;
	struct live_sum sum;
};

struct live_list {
	struct live_line *lines; /* the longest time first */
	uint32_t count, capacity;
	struct live_sum whole; /* sum of all, including those without a line */
};

struct live_view {
	struct live_numbers numbers;
	struct live_list lists[LIVE_TABLES];
};

#endif
