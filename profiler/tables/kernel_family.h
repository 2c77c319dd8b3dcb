/* SPDX-License-Identifier: MIT */
/*
 * Which kernels are variants of one: instances of a template, and kernels that a library or a
 * compiler generated for another tile size or with another number.
 *
 *   by template   gemm<128, 64>(float*)            gemm<256, 64>(float*)
 *   by numbers    ampere_sgemm_128x64_tn           ampere_sgemm_64x64_tn
 *                 triton_poi_fused_add_0           triton_poi_fused_add_1
 *
 * The family of a name is the text that its variants have in common. Names come from the target and
 * may be any text.
 */
#ifndef PROFILER_TABLES_KERNEL_FAMILY_H
#define PROFILER_TABLES_KERNEL_FAMILY_H

enum kernel_family {
	FAMILY_TEMPLATE, /* without template arguments, parameters and what stands before the name
			  */
	FAMILY_NUMBERS,  /* that, with one '#' for each row of digits */
	KERNEL_FAMILIES
};

/*
 * The family of a kernel's name, to be freed; NULL: out of memory. A name that is all template
 * arguments or digits is its own family.
 */
char *kernel_family(const char *name, enum kernel_family family);

#endif
