/* SPDX-License-Identifier: MIT */
/*
 * Output formats: each a file of its own that turns a call tree into bytes, and one table of
 * functions here.
 */
#ifndef PROFILER_OUTPUT_WRITER_H
#define PROFILER_OUTPUT_WRITER_H

#include <stdint.h>
#include <stdio.h>
#include "profiler/output/call_tree.h"

struct writer_options {
	double unit_ns[WEIGHT_KINDS]; /* ns that count as one in the output */
};

struct writer_result {
	uint64_t stacks;              /* paths written */
	uint64_t total[WEIGHT_KINDS]; /* in output units; what the lines add up to */
	double exact_ns;              /* the same before rounding, all kinds together */
};

struct writer {
	const char *name;
	/* 0 or -errno; `out` is flushed and its errors looked at by the caller too. */
	int (*write)(const struct call_tree *tree, const struct writer_options *options, FILE *out,
		     struct writer_result *result);
};

/* Brendan Gregg's folded stacks: "root;caller;callee weight", sorted. Reads into flamegraph.pl. */
extern const struct writer folded_writer;

#endif
