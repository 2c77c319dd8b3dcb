/* SPDX-License-Identifier: MIT */
/*
 * Frames at the root of each stack that show where it ran: rank, process, thread, device, context,
 * stream (--by), in the order that the user chose. Unknown parts of a place have no frame.
 */
#ifndef PROFILER_SHAPE_GROUPING_H
#define PROFILER_SHAPE_GROUPING_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/devices.h"
#include "profiler/model/place_names.h"
#include "profiler/model/places.h"

/* Besides enum place_part: the rank of the place's process in a job. */
#define GROUPING_RANK PLACE_PARTS
#define GROUPING_PARTS (PLACE_PARTS + 1)

struct grouping {
	uint8_t parts[GROUPING_PARTS]; /* enum place_part or GROUPING_RANK, from the root on */
	uint8_t count;                 /* 0: no such frames */
};

/* "rank,process,thread,device,stream,context" in any order, each at most once. False: anything
 * else. */
bool grouping_parse(const char *text, struct grouping *grouping);

bool grouping_has_rank(const struct grouping *grouping);

/* The parts of places that it distinguishes: places.h's mask. */
uint32_t grouping_mask(const struct grouping *grouping);

/* "process" */
const char *grouping_word(enum place_part part);

#define GROUPING_TEXT_BYTES 320

/* The text of a place's frame; false: there is none. */
bool grouping_text(const struct place_names *names, const struct devices *devices,
		   const struct place *place, enum place_part part, char text[GROUPING_TEXT_BYTES]);

#endif
