/* SPDX-License-Identifier: MIT */
/*
 * Reads folded stacks, from this profiler or others, as a result.
 *
 * A line is a stack and its weight, behind the last space: "root;caller;callee 12" (Brendan
 * Gregg's stackcollapse-*.pl, https://github.com/brendangregg/FlameGraph).
 *
 * The format has no unit. Weights become the ns and the count of rows, and sample_ns is 1. The
 * class of a frame follows from its name, as folded.c writes it: "[GPU_Kernel]gemm", "f
 * (model.py)", "cudaLaunchKernel"; all other frames are native code. These names also tell GPU
 * work, waits and timed calls from CPU samples.
 *
 * The file is untrusted: names are cleaned as during a run, and sizes are bounded.
 */
#ifndef PROFILER_FORMATS_FOLDED_READ_H
#define PROFILER_FORMATS_FOLDED_READ_H

#include <stdint.h>
#include <stdio.h>
#include "profiler/base/quota.h"
#include "profiler/model/result.h"

#define FOLDED_LINE_MAX (16u << 20) /* bytes */
#define FOLDED_DEPTH_MAX 65535u     /* frames in a stack */
#define FOLDED_SUM_MAX (1ull << 53) /* writers add in doubles, which are exact up to here */

struct folded_stacks;

enum folded_error {
	FOLDED_OK,
	FOLDED_NO_STACK,  /* a line without a stack or a weight */
	FOLDED_LONG_LINE, /* longer than FOLDED_LINE_MAX, or deeper than FOLDED_DEPTH_MAX */
	FOLDED_SUM,       /* sum of the weights exceeds FOLDED_SUM_MAX */
	FOLDED_TOO_LARGE, /* exceeds the quota */
	FOLDED_NO_MEMORY,
	FOLDED_SYSTEM /* errno has the reason */
};

/*
 * Reads a file to its end. An empty file has no stacks. Tables are taken from the quota `memory`,
 * which must outlive the stacks. Returns NULL with the reason in `error`, and its line in `line`,
 * from 1 on.
 */
struct folded_stacks *folded_read(FILE *in, struct quota *memory, enum folded_error *error,
				  uint64_t *line);
void folded_free(struct folded_stacks *folded);

const struct result *folded_result(const struct folded_stacks *folded);

#endif
