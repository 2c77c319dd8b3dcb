/* SPDX-License-Identifier: MIT */
/*
 * Describes code locations and mappings, for users and parts of the symbolizer.
 *
 * symbolizer.h explains how an address becomes a code_ref, and how long a code_ref is valid. Units:
 * addresses and offsets in bytes. Texts of a mapping belong to the caller.
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
	uint64_t file_offset; /* offset of `start` */
	uint32_t dev_major, dev_minor;
	uint64_t inode;   /* 0: no file */
	const char *path; /* as the kernel prints paths: a path, "[vdso]", "//anon", "" */
	/*
	 * build id of the file in hexadecimal, which then identifies the file instead of the inode;
	 * NULL: unknown
	 */
	const char *build_id;
};

#endif
