/* SPDX-License-Identifier: MIT */
/*
 * Reads folded stacks, this profiler's or another's, as a result: "root;caller;callee 12", a line
 * for each stack, the weight behind the last space (Brendan Gregg's stackcollapse-*.pl,
 * https://github.com/brendangregg/FlameGraph).
 *
 * The format has no unit. Weights become the ns and the count of rows, and sample_ns is 1. What a
 * frame is follows from its name, as folded.c writes it: "[GPU_Kernel]gemm", "f (model.py)",
 * "cudaLaunchKernel"; all other frames are native code. These names also
 * distinguish GPU work, waits and timed calls from CPU samples.
 *
 * The file may be anything: names are cleaned as those of a run are, and the whole is bounded.
 */
#ifndef PROFILER_FORMATS_FOLDED_READ_H
#define PROFILER_FORMATS_FOLDED_READ_H

#include <stdint.h>
#include <stdio.h>
#include "profiler/base/quota.h"
#include "profiler/model/result.h"

#define FOLDED_LINE_MAX (16u << 20) /* bytes */
#define FOLDED_DEPTH_MAX 65535u     /* frames of a stack */
#define FOLDED_SUM_MAX (1ull << 53) /* writers add up in doubles: without loss up to here */

struct folded_stacks;

enum folded_error {
	FOLDED_OK,
	FOLDED_NO_STACK,  /* a line is no stack with a weight */
	FOLDED_LONG_LINE, /* one is longer than FOLDED_LINE_MAX, or its stack too deep */
	FOLDED_SUM,       /* the weights together are more than FOLDED_SUM_MAX */
	FOLDED_TOO_LARGE, /* for `memory` */
	FOLDED_NO_MEMORY,
	FOLDED_SYSTEM /* errno has the reason */
};

/*
 * Reads them to the end; an empty file has no stacks. Tables are taken from `memory`, which must
 * outlive them. NULL: `error` says why, and `line` where, from 1 on.
 */
struct folded_stacks *folded_read(FILE *in, struct quota *memory, enum folded_error *error,
				  uint64_t *line);
void folded_free(struct folded_stacks *folded);

const struct result *folded_result(const struct folded_stacks *folded);

#endif
