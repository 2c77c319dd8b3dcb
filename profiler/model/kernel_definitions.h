/* SPDX-License-Identifier: MIT */
/*
 * Holds where Triton's kernels are defined, and which operators TorchInductor fused into each.
 *
 * A kernel that several modules define has a row for each. A kernel of Triton's whose definition
 * was not found has a row that says why.
 */
#ifndef PROFILER_MODEL_KERNEL_DEFINITIONS_H
#define PROFILER_MODEL_KERNEL_DEFINITIONS_H

#include <stdint.h>
#include "profiler/model/result_table.h"

struct kernel_definition {
	const char *kernel;    /* name of its frame */
	const char *file;      /* ""; not found */
	const char *operators; /* "aten.addmm, aten.gelu"; "" */
	const char *nodes;     /* nodes of the program's graph; "" */
	const char *unknown;   /* why it was not found; "" */
	uint64_t ns, calls;
	uint32_t line; /* in `file` */
};

extern const struct table_kind kernel_definitions_table;

#endif
