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
 * Records and sums of short records are spans. They are in the order in which the page keeps them:
 * by track, lane and start. A track is a row: launches and timed calls of a thread, its samples,
 * its waits, its times off the CPU, or the operations of a stream. Where spans overlap, a track of
 * calls or operations has up to four lanes. A span has the first one that is free.
 *
 * A part begins with two words, its kind and its number of spans (in the head: that of all):
 *
 *	0, the head  once, at first
 *	1, spans     until all are there: then the page shows them
 *	2, details   of the spans, in the same order
 *
 * A word is a number in four bytes, the lowest first, modulo 2^32: browsers need not decode it. A
 * number that does not fit has all bits set. Words come first, so they are aligned. Other numbers
 * are those of deflated.h. Signed ones are 2n, and -2n-1 below 0. A table is its number of rows,
 * and then one column after the other. Stacks and places have the page's numbers.
 *
 * The head has these numbers: sums among the spans, records in sums, records lost, kernels whose
 * shape is lost; length and text of the reason for the losses; a table of shapes, numbered from 1:
 * grid (3), block (3), static and dynamic shared memory, registers.
 *
 * Spans begin with words: of all spans the start minus that of the span before in the run, the
 * duration, and the stack. A table of runs of one lane and kind follows: flags, kind, place plus 1
 * of the first span, number of spans, start of the first (ns since the command's start, signed).
 * Then, run by run, starts and durations that do not fit into their words; and, as flagged, the
 * number of records of each sum, and place plus 1 of each span.
 *
 * Details are words of all spans: correlation minus that of the span before in the part, and shape;
 * then numbers: graph node, bytes.
 *
 * Flags of a run: 1, begins a track; 2, begins a lane; 4, of the last lane of a track where more
 * spans overlap than there are lanes; 8, of sums; 16, of several places.
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
