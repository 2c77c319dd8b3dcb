/* SPDX-License-Identifier: MIT */
/*
 * Adds frames at the root of each stack that show where it ran (--by).
 *
 * Parts are rank, process, thread, device, context and stream, in the order that the user chose.
 * Unknown parts of a place have no frame.
 */
#ifndef PROFILER_SHAPE_GROUPING_H
#define PROFILER_SHAPE_GROUPING_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/devices.h"
#include "profiler/model/place_names.h"
#include "profiler/model/places.h"

/* A part besides enum place_part: the rank of the place's process in a job. */
#define GROUPING_RANK PLACE_PARTS
#define GROUPING_PARTS (PLACE_PARTS + 1)

struct grouping {
	uint8_t parts[GROUPING_PARTS]; /* enum place_part or GROUPING_RANK, outermost first */
	uint8_t count;                 /* 0: no frames */
};

/*
 * Parses "rank,process,thread,device,stream,context", in any order, each at most once. Returns
 * false for other texts.
 */
bool grouping_parse(const char *text, struct grouping *grouping);

bool grouping_has_rank(const struct grouping *grouping);

/* Returns the parts of places that the grouping distinguishes, as the mask of places.h. */
uint32_t grouping_mask(const struct grouping *grouping);

/* Returns the word of a part: "process". */
const char *grouping_word(enum place_part part);

#define GROUPING_TEXT_BYTES 320

/* Writes the text of a place's frame. Returns false if the part is unknown. */
bool grouping_text(const struct place_names *names, const struct devices *devices,
		   const struct place *place, enum place_part part, char text[GROUPING_TEXT_BYTES]);

#endif
