/* SPDX-License-Identifier: MIT */
/*
 * Removes from a linker symbol what differs from build to build, so that a kernel keeps its name.
 *
 *  - nvcc's prefix of static kernels in relocatable device code (-rdc=true): "__nv_static_30_", 30
 *    bytes for the translation unit, "_" and the symbol.
 *  - nvcc's ids of translation units, which name anonymous namespaces and static names.
 *    "41_GLOBAL__N__ce6f4918_12_rdc_names_cu_main" becomes "12_GLOBAL__N_1", that of other
 *    compilers. "37_INTERNAL_0bb0beb5_7_more_cu_e22fa7bb" becomes the namespace
 *    STABLE_SYMBOL_INTERNAL, to be removed from the demangled name. Ids of older versions become
 *    these, too ("_GLOBAL__N__41_tmpxft_00000a8e_00000000_6_kernel_cpp1_ii_e2d3f4a5").
 *  - The signature around the host functions that launch such kernels, "_ZL33__device_stub__Z...":
 *    the identifier remains, "__device_stub_" and the kernel's symbol.
 *  - clang's device and inode number of the source in kernels of OpenMP:
 *    "__omp_offloading_10302_1a2b3c__Z3fooPi_l12" is line 12 of "_Z3fooPi".
 *
 * Symbols come from untrusted files. A symbol of another form stays unchanged.
 */
#ifndef SYMBOLIZE_STABLE_SYMBOL_H
#define SYMBOLIZE_STABLE_SYMBOL_H

#define STABLE_SYMBOL_INTERNAL "_INTERNAL_"

struct stable_symbol {
	char *text;         /* malloc'd; NULL: out of memory */
	unsigned long line; /* line of the OpenMP region, in the function `text`; 0: none */
};

struct stable_symbol stable_symbol(const char *symbol);

#endif
