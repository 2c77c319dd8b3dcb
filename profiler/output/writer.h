/* SPDX-License-Identifier: MIT */
/*
 * Output formats: each a file of its own that turns a result into bytes, and one constant here.
 */
#ifndef PROFILER_OUTPUT_WRITER_H
#define PROFILER_OUTPUT_WRITER_H

#include <stdint.h>
#include <stdio.h>
#include "profiler/profile/result.h"

/* What a writer needs of a run besides rows: it is collected only if one asks for it. */
enum writer_needs {
	NEEDS_TIMELINE = 1, /* result.timeline */
};

struct writer_options {
	double unit_ns; /* what counts as one, in formats that count */
};

/* What was written, for the summary. */
struct written {
	uint64_t stacks;           /* lines, or what the format has in their place */
	uint64_t total[ROW_KINDS]; /* in units; what they add up to */
	double exact_ns;           /* the same before rounding, all kinds together */
};

struct writer {
	const char *name, *suffix;
	unsigned int needs; /* enum writer_needs */
	/* 0 or -errno; `out` is flushed and its errors looked at by the caller too. */
	int (*write)(const struct result *result, const struct writer_options *options, FILE *out,
		     struct written *written);
};

/* Brendan Gregg's folded stacks: "root;caller;callee weight", sorted. Reads into flamegraph.pl. */
extern const struct writer folded_writer;

#endif
