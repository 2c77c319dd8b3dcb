/* SPDX-License-Identifier: MIT */
/*
 * Adds frames at the root of each stack that show where it ran (--by).
 *
 * Parts of a place are rank, process, thread, device, context and stream; unknown ones have no
 * frame. Parts that the stack tells are the class of the kernel (kernel_class.h), and the innermost
 * operator or layer. GPU work has each of these, if need be "other", "[no operator]" or
 * "[no layer]"; other stacks have those that they tell.
 */
#ifndef PROFILER_SHAPE_GROUPING_H
#define PROFILER_SHAPE_GROUPING_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/devices.h"
#include "profiler/model/place_names.h"
#include "profiler/model/places.h"
#include "profiler/model/result.h"

/* Parts besides enum place_part: the rank of the place's process in a job; those of stacks. */
#define GROUPING_RANK PLACE_PARTS
#define GROUPING_CLASS (PLACE_PARTS + 1)
#define GROUPING_OPERATOR (PLACE_PARTS + 2)
#define GROUPING_LAYER (PLACE_PARTS + 3)
#define GROUPING_LAYER_KIND (PLACE_PARTS + 4) /* "[layers.*.mlp]" */
#define GROUPING_PARTS (PLACE_PARTS + 5)
#define GROUPING_STACK_PARTS (GROUPING_PARTS - GROUPING_CLASS)

struct grouping {
	uint8_t parts[GROUPING_PARTS]; /* enum place_part or GROUPING_..., outermost first */
	uint8_t count;                 /* 0: no frames */
};

/*
 * Parses a list of words (grouping_word), separated by commas, each at most once. Returns false for
 * other texts.
 */
bool grouping_parse(const char *text, struct grouping *grouping);

bool grouping_has(const struct grouping *grouping, uint8_t part);

/* Returns the parts of places that the grouping distinguishes, as the mask of places.h. */
uint32_t grouping_mask(const struct grouping *grouping);

/* Returns the word of a part: "process". */
const char *grouping_word(enum place_part part);

#define GROUPING_TEXT_BYTES 320

/* Returns whether stacks tell the part, and no place. */
static inline bool grouping_is_of_stack(uint8_t part)
{
	return part >= GROUPING_CLASS;
}

/*
 * Returns the number of the frame that tells the part of a stack: its GPU work, or the innermost
 * operator or layer. Returns GROUPING_NONE if there is none.
 */
uint32_t grouping_frame(const struct result *result, uint8_t part, uint32_t stack);
#define GROUPING_NONE UINT32_MAX

/*
 * Returns the text for that frame, or for GROUPING_NONE; the caller frees it. Returns NULL if out
 * of memory.
 */
char *grouping_frame_text(const struct result *result, uint8_t part, uint32_t frame);

/* Writes the text of a place's frame. Returns false if the part is unknown. */
bool grouping_text(const struct place_names *names, const struct devices *devices,
		   const struct place *place, enum place_part part, char text[GROUPING_TEXT_BYTES]);

#endif
