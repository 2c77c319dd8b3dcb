/* SPDX-License-Identifier: MIT */
/*
 * Shortens names of frames to fit little room.
 *
 * Room is counted in columns of a monospaced font. svg/script.js shortens names alike in the
 * browser.
 */
#ifndef PROFILER_SHAPE_FRAME_LABEL_H
#define PROFILER_SHAPE_FRAME_LABEL_H

#include <stdint.h>
#include "profiler/model/result.h"

#define FRAME_LABEL_CHARACTERS 256 /* longer names are cut first */
#define FRAME_LABEL_COLUMNS_MIN 3  /* less room stays empty */

/* Safe characters (markup.h). */
struct frame_label {
	uint32_t text[FRAME_LABEL_CHARACTERS + 2];
	uint32_t count;
};

/*
 * Makes the longest label that fits, the first of: the full name; the short name; that without
 * "nvtx:" or "op:"; its last parts, "…gemm<…>", "…+0x1a2b0]", of a layer "…mlp]"; the beginning of
 * the last part. The beginning ends at a word's end, unless that would halve it.
 */
void frame_label_fit(struct frame_label *label, const struct frame_info *frame, uint32_t columns);

#endif
