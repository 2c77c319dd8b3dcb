/* SPDX-License-Identifier: MIT */
/*
 * Writes the run's timeline (profiler/model/timeline.h) into a page, which html/timeline.js
 * reads.
 *
 * The timeline is in parts. Each part is an element with compressed numbers (deflated.h). So the
 * page unpacks one part after the other, and stays responsive.
 *
 *	<script type="application/octet-stream" class="timeline">...</script>
 *
 * A part begins with its kind:
 *
 *	0, records  in the order of collecting; within a part in order of kind, place, start
 *	1, sums     of short records, in that order
 *	2, the end  once, at last
 *
 * Parts of records and of sums have a table of groups, and then a table of records. The groups
 * take their records from that table in turn. A table is its number of rows, and then one column
 * after the other.
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
 *	            kernels whose shape is lost; length and text of the reason for the losses;
 *	            shapes, numbered from 1: grid (3), block (3), static and dynamic
 *	            shared memory, registers
 *
 * Signed numbers are 2n, and -2n-1 below 0. Stacks and places have the page's numbers.
 *
 * A page holds as many records as a browser can. Beyond that, the shortest records are summed up,
 * by kind, place, stack and bin of the run's time. Duration and bytes of a sum are exactly those
 * of its records. A sum begins with the first of them, or behind the sum before it at this place.
 * Nothing is left out.
 */
#ifndef PROFILER_WEB_HTML_TIMELINE_H
#define PROFILER_WEB_HTML_TIMELINE_H

#include <stdint.h>
#include <stdio.h>
#include "profiler/model/result.h"

struct html_timeline_limits {
	uint64_t records; /* most records that are not in sums */
	uint32_t sums;    /* most sums, unless more stacks and places differ */
};

struct html_timeline;

/*
 * Reads the result's timeline once. `limits` is NULL for those of a page. Returns NULL with errno
 * set if out of memory. A result without a timeline writes no parts.
 */
struct html_timeline *html_timeline_new(const struct result *result,
					const struct html_timeline_limits *limits);
void html_timeline_free(struct html_timeline *h);

/* Sets stacks[stack] and places[place] to `value` for each stack and place of a record. */
void html_timeline_mark(const struct html_timeline *h, uint32_t *stacks, uint32_t *places,
			uint32_t value);

/*
 * Writes the parts. `stacks` and `places` give the page's numbers, by those of the result.
 * Returns 0, -ENOMEM or -EIO. Records that can no longer be read are counted as lost.
 */
int html_timeline_write(struct html_timeline *h, const uint32_t *stacks, const uint32_t *places,
			FILE *out);

#endif
