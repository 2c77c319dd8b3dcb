/* SPDX-License-Identifier: MIT */
/*
 * Output formats: each a file of its own that turns a result into bytes, and one constant here.
 */
#ifndef PROFILER_OUTPUT_WRITER_H
#define PROFILER_OUTPUT_WRITER_H

#include <stdio.h>
#include "profiler/profile/result.h"

/* What a writer needs besides rows; collected only on request. */
enum writer_needs {
	NEEDS_TIMELINE = 1, /* result.timeline */
};

struct writer_options {
	double unit_ns; /* the unit, in formats that count */
};

struct writer {
	const char *name, *suffix;
	unsigned int needs; /* enum writer_needs */
	/* 0 or -errno; the caller also flushes `out` and checks its errors. */
	int (*write)(const struct result *result, const struct writer_options *options, FILE *out,
		     struct written *written);
};

/* Brendan Gregg's folded stacks: "root;caller;callee weight", sorted. The input of flamegraph.pl.
 */
extern const struct writer folded_writer;

#endif
