/* SPDX-License-Identifier: MIT */
/*
 * Sorts frames by kind, for the colours of pictures.
 *
 * Kinds are the classes of result.h, and the code that starts programs and threads.
 */
#ifndef PROFILER_SHAPE_FRAME_KIND_H
#define PROFILER_SHAPE_FRAME_KIND_H

#include "profiler/model/result.h"

/* In the order of a legend. */
enum frame_kind {
	KIND_PLACE,
	KIND_START, /* _start, clone3 and the like */
	KIND_NATIVE,
	KIND_PYTHON,
	KIND_JIT,
	KIND_KERNEL_MODE,
	KIND_NVTX,
	KIND_OPERATOR,
	KIND_LAYER,
	KIND_API, /* also code of libcudart and libcuda */
	KIND_GPU_KERNEL,
	KIND_GPU_WORK,
	KIND_GPU_CODE, /* within a kernel */
	KIND_STALL,
	KIND_WAIT,
	KIND_CALL,
	KIND_IDLE,
	KIND_MARK,
	FRAME_KINDS
};

enum frame_kind frame_kind_of(const struct frame_info *frame);

/* Returns one word, for style sheets: "gpu". */
const char *frame_kind_word(enum frame_kind kind);

/* Returns a text for people: "GPU kernel". */
const char *frame_kind_label(enum frame_kind kind);

#endif
