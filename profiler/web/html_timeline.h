/* SPDX-License-Identifier: MIT */
/*
 * The run's timeline (profiler/model/timeline.h) within a page, which html/timeline.js reads:
 * parts, each of them an element of its own with compressed numbers (deflated.h), so that the page
 * unpacks them one after the other and stays alive meanwhile.
 *
 *	<script type="application/octet-stream" class="timeline">...</script>
 *
 * A part begins with a number that says what it is:
 *
 *	0, records  in the order of collecting; within a part in order of kind, place, start
 *	1, sums     the same, of sums of short records
 *	2, the end  once, at last
 *
 * Parts of records and of sums are a table of groups, and a table of records, which belong to the
 * groups in turn. A table is its number of rows and then one column after the other.
 *
 *	groups      kind, place plus 1, number of records,
 *	            start of the first record: ns since the command's start, signed
 *	records     start: minus that of the record before; 0 for the first of a group
 *	            duration
 *	            stack
 *	            correlation: minus that of the record before in the group, signed
 *	            graph node; of sums, the number of their records
 *	            bytes
 *	            shape
 *	the end     numbers of: records and sums written, records in sums, records lost,
 *	            kernels whose shape is lost; a text's length, and the text: why
 *	            shapes, numbered from 1: grid (3), block (3), static and dynamic
 *	            shared memory, registers
 *
 * Signed numbers are 2n, and -2n-1 below 0. Stacks and places are numbered as in the page.
 *
 * A page holds as many records as a browser can. Beyond that, the shortest ones are summed up:
 * those with the same kind, place and stack that begin in the same part of the run. Duration and
 * bytes of a sum are exactly those of its records. It begins with the first of them, or behind the
 * sum before it at this place. Nothing is left out.
 */
#ifndef PROFILER_WEB_HTML_TIMELINE_H
#define PROFILER_WEB_HTML_TIMELINE_H

#include <stdint.h>
#include <stdio.h>
#include "profiler/model/result.h"

struct html_timeline_limits {
	uint64_t records; /* single ones */
	uint32_t sums;    /* more only if so many stacks and places differ */
};

struct html_timeline;

/*
 * Reads the result's timeline once. `limits`: NULL for those of a page. NULL with errno: out of
 * memory. A result without a timeline has none in the page.
 */
struct html_timeline *html_timeline_new(const struct result *result,
					const struct html_timeline_limits *limits);
void html_timeline_free(struct html_timeline *h);

/* Sets used[stack] for each of the result's stacks that a record has, likewise places. */
void html_timeline_mark(const struct html_timeline *h, uint32_t *stacks, uint32_t *places,
			uint32_t value);

/*
 * Writes the parts. The page's numbers, by the result's. 0 or -errno: -ENOMEM, -EIO. Records that
 * can no longer be read are counted as lost.
 */
int html_timeline_write(struct html_timeline *h, const uint32_t *stacks, const uint32_t *places,
			FILE *out);

#endif
