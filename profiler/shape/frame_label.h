/* SPDX-License-Identifier: MIT */
/*
 * Names of frames in little room: cut where it hurts least.
 *
 * Room is counted in columns of a monospaced font. svg/script.js does the same in the browser.
 */
#ifndef PROFILER_SHAPE_FRAME_LABEL_H
#define PROFILER_SHAPE_FRAME_LABEL_H

#include <stdint.h>
#include "profiler/model/result.h"

#define FRAME_LABEL_CHARACTERS 256 /* a longer name is cut first */
#define FRAME_LABEL_COLUMNS_MIN 3  /* less room remains empty */

/* Characters, safe ones (markup.h). */
struct frame_label {
	uint32_t text[FRAME_LABEL_CHARACTERS + 2];
	uint32_t count;
};

/*
 * As much of the name as fits: all of it; the short one; its last parts, "…gemm<…>", "…+0x1a2b0]";
 * or the beginning of the last part, up to the end of a word if there is one not too far ahead.
 */
void frame_label_fit(struct frame_label *label, const struct frame_info *frame, uint32_t columns);

#endif
