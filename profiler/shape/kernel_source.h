/* SPDX-License-Identifier: MIT */
/*
 * Finds the Triton kernels that a Python file defines, and what TorchInductor fused into them.
 *
 * A kernel is a function right below a decorator named "jit": @triton.jit, @gluon.jit(...). A
 * module that TorchInductor generated has its kernels as texts, each behind a comment:
 *
 *	# kernel path: /tmp/torchinductor_me/ab/cab....py
 *	# Topologically Sorted Source Nodes: [linear, gelu], Original ATen: [aten.addmm, aten.gelu]
 *	# Graph fragment:
 *	#   ...
 *	triton_poi_fused_gelu_0 = async_compile.triton('triton_poi_fused_gelu_0', '''
 *	@triton.jit
 *	def triton_poi_fused_gelu_0(...):
 *
 * PyTorch 2.0 to 2.3 write "Source Nodes:". A user's kernel in such a module has the comment
 * "# Original path: /app/kernels.py:12" instead, with the line of its first decorator.
 * Source: get_kernel_metadata() in torch/_inductor/utils.py, define_user_defined_triton_kernel() in
 * torch/_inductor/codegen/wrapper.py.
 *
 * The text may be anything. At most KERNEL_SOURCE_MAX kernels of a file are found; lists are cut at
 * KERNEL_SOURCE_LIST bytes, and then tell how many names they lack.
 */
#ifndef PROFILER_SHAPE_KERNEL_SOURCE_H
#define PROFILER_SHAPE_KERNEL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/util/intern.h"

#define KERNEL_SOURCE_MAX 4096u
#define KERNEL_SOURCE_LIST 1000u

/* A kernel. Texts are clean, and valid until kernel_sources_release. */
struct kernel_source {
	const char *name;
	const char *path;      /* file of a user's kernel in a generated module; NULL: this file */
	const char *operators; /* "aten.addmm, aten.gelu"; "" */
	const char *nodes;     /* nodes of the program's graph: "linear, gelu"; "" */
	uint32_t line;         /* its "def", or the line that goes with `path` */
	uint32_t count; /* functions of this name in the file; the members are of the first */
};

/* Zero-initialised is empty. */
struct kernel_sources {
	struct kernel_source *list; /* by name */
	uint32_t count, capacity;
	bool is_cut; /* the file has more kernels */
	struct intern strings;
};

/* Finds the kernels in a text. Returns 0, or -ENOMEM; release in both cases. */
int kernel_sources_find(struct kernel_sources *sources, const char *text, size_t size);
void kernel_sources_release(struct kernel_sources *sources);

/* Returns the kernel of a name, or NULL. */
const struct kernel_source *kernel_sources_named(const struct kernel_sources *sources,
						 const char *name);

#endif
