/* SPDX-License-Identifier: MIT */
/*
 * Takes out of a linker symbol what differs from build to build of one program, so that a kernel
 * has the same name in all of them.
 *
 *  - nvcc's prefix of static kernels in relocatable device code (-rdc=true): "__nv_static_30_", 30
 *    bytes that stand for the translation unit, "_" and the symbol.
 *  - nvcc's ids of translation units, by which it names anonymous namespaces and what is static:
 *    "41_GLOBAL__N__ce6f4918_12_rdc_names_cu_main" becomes "12_GLOBAL__N_1", the one of other
 *    compilers; "37_INTERNAL_0bb0beb5_7_more_cu_e22fa7bb" becomes the namespace
 *    STABLE_SYMBOL_INTERNAL, which is to be removed from the demangled name. Ids of older versions
 *    ("_GLOBAL__N__41_tmpxft_00000a8e_00000000_6_kernel_cpp1_ii_e2d3f4a5") as well.
 *  - The signature around the host functions that launch such kernels, "_ZL33__device_stub__Z...":
 *    the identifier remains, "__device_stub_" and the kernel's symbol.
 *  - clang's device and inode number of the source in kernels of OpenMP:
 *    "__omp_offloading_10302_1a2b3c__Z3fooPi_l12" is line 12 of "_Z3fooPi".
 *
 * Symbols come from untrusted files. What is not exactly of these forms stays as it is.
 */
#ifndef SYMBOLIZE_STABLE_SYMBOL_H
#define SYMBOLIZE_STABLE_SYMBOL_H

#define STABLE_SYMBOL_INTERNAL "_INTERNAL_"

struct stable_symbol {
	char *text;         /* to be freed; NULL: out of memory */
	unsigned long line; /* of the OpenMP region that it is, in the function `text`; 0: none */
};

struct stable_symbol stable_symbol(const char *symbol);

#endif
