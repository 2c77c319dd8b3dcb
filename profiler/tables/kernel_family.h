/* SPDX-License-Identifier: MIT */
/*
 * Finds the family of a kernel: the text that variants of one kernel have in common.
 *
 * Variants are instances of a template, or generated kernels with other numbers, such as tile
 * sizes.
 *
 *   by template   gemm<128, 64>(float*)            gemm<256, 64>(float*)
 *   by numbers    ampere_sgemm_128x64_tn           ampere_sgemm_64x64_tn
 *                 triton_poi_fused_add_0           triton_poi_fused_add_1
 *
 * In PyTorch's own kernels (at::native) FAMILY_WORK keeps template arguments that name what is
 * computed: vectorized_elementwise_kernel<4, FillFunctor<int>, ...> is no variant of AddFunctor's.
 *
 * Names come from the target and may be any text.
 */
#ifndef PROFILER_TABLES_KERNEL_FAMILY_H
#define PROFILER_TABLES_KERNEL_FAMILY_H

enum kernel_family {
	FAMILY_TEMPLATE, /* without template arguments, parameters and return type */
	FAMILY_WORK,     /* FAMILY_TEMPLATE, and what PyTorch's own kernels compute */
	FAMILY_NUMBERS,  /* FAMILY_WORK with one '#' per number */
	KERNEL_FAMILIES
};

/*
 * Returns the family of a kernel's name, which the caller frees. A name without other letters is
 * its own family. Returns NULL if out of memory.
 */
char *kernel_family(const char *name, enum kernel_family family);

#endif
