/* SPDX-License-Identifier: MIT */
/*
 * Where code is: what the symbolizer's users and its parts share. symbolizer.h explains how an
 * address becomes a code_ref, and how long one is valid.
 *
 * Units: addresses and offsets in bytes. Values; texts of a mapping are the caller's.
 */
#ifndef SYMBOLIZE_CODE_REF_H
#define SYMBOLIZE_CODE_REF_H

#include <stdint.h>

/* A code location: comparable with memcmp (no padding). */
struct code_ref {
	uint32_t module;  /* index of a module of this symbolizer */
	uint32_t process; /* 0, or the space's id for code of one process only (JIT) */
	uint64_t offset;  /* file offset in an ELF file; the address itself for kernel code;
			   * the address for JIT code, with its generation (jit_code.h) */
};

/* Modules that always exist. */
enum {
	MODULE_UNKNOWN = 0, /* no mapping covers the address */
	MODULE_KERNEL = 1,
	MODULE_VDSO = 2,
	MODULE_JIT = 3, /* anonymous executable memory, or a file that is not ELF */
};

/* An executable mapping, as in PERF_RECORD_MMAP2 or a line of /proc/PID/maps. */
struct code_mapping {
	uint64_t start, end;
	uint64_t file_offset; /* offset of `start` in the file */
	uint32_t dev_major, dev_minor;
	uint64_t inode;   /* 0: no file */
	const char *path; /* as printed by the kernel: a path, "[vdso]", "//anon", "" */
	/* of the file, in hexadecimal: then it is known by it, and not by its inode. NULL: not
	 * known */
	const char *build_id;
};

#endif
