/* SPDX-License-Identifier: MIT */
/*
 * Addresses of other processes -> functions' names.
 *
 * The library keeps, for every process it is told about, the executable mappings of its address
 * space, and follows them as they change: the caller reports fork, exec, mmap and exit in the order
 * in which they happened (perf's PERF_RECORD_FORK / COMM(exec) / MMAP2 / EXIT carry exactly this).
 * An address is located once, at the moment it was sampled, and becomes a `code_ref`: a module and
 * an address inside it. A code_ref stays valid when the process unmaps the library, execs or dies,
 * is the same for all processes that map the same file, and is named later, when there is time.
 *
 * Units: addresses and sizes in bytes. Ownership: everything returned belongs to the symbolizer and
 * lives until symbolizer_free. Not thread-safe. Errors: 0 or -errno; nothing is printed and nothing
 * exits. Everything read (ELF files, /proc, perf maps) is untrusted: a broken or hostile file costs
 * names, never memory safety, and work is bounded by the file's size.
 */
#ifndef SYMBOLIZE_SYMBOLIZER_H
#define SYMBOLIZE_SYMBOLIZER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct symbolizer;

/* Where code lies: comparable with memcmp (no padding). */
struct code_ref {
	uint32_t module;  /* index of a module of this symbolizer */
	uint32_t process; /* 0, or the pid for code that exists in one process only (JIT) */
	uint64_t
		offset; /* file offset in an ELF file; the address itself for JIT and kernel code */
};

/* Modules that always exist. */
enum {
	MODULE_UNKNOWN = 0, /* no mapping covers the address */
	MODULE_KERNEL = 1,
	MODULE_VDSO = 2,
	MODULE_JIT = 3, /* anonymous executable memory, or a file that is not ELF */
};

/* One executable mapping, as PERF_RECORD_MMAP2 or a line of /proc/PID/maps gives it. */
struct code_mapping {
	uint64_t start, end;
	uint64_t file_offset; /* offset in the file of `start` */
	uint32_t dev_major, dev_minor;
	uint64_t inode;   /* 0: no file */
	const char *path; /* as the kernel printed it: a path, "[vdso]", "//anon", "" */
};

struct symbolizer *symbolizer_new(void);
void symbolizer_free(struct symbolizer *s);

/* ---- what happened to address spaces, in order of time ---- */

/* `child` is a new process with a copy of `parent`'s mappings. */
int symbolizer_fork(struct symbolizer *s, pid_t parent, pid_t child);

/* `pid` replaced its program: all its mappings are gone. */
int symbolizer_exec(struct symbolizer *s, pid_t pid);

/* `pid` mapped code; what the new mapping overlaps is replaced. */
int symbolizer_map(struct symbolizer *s, pid_t pid, const struct code_mapping *mapping);

/* `pid` is gone and its number may be used again. */
void symbolizer_exit(struct symbolizer *s, pid_t pid);

/* Replaces what is known of a living process by its /proc/PID/maps. */
int symbolizer_snapshot(struct symbolizer *s, pid_t pid);

/* ---- locating, naming ---- */

/* A user address of `pid`, now. Unknown addresses give MODULE_UNKNOWN with offset 0. */
struct code_ref symbolizer_locate(struct symbolizer *s, pid_t pid, uint64_t address);

/*
 * An address inside a mapping that somebody else knows of (the process itself said so): nothing is
 * remembered of the process. `mapping` must hold the address, or the byte before it.
 */
struct code_ref symbolizer_locate_in(struct symbolizer *s, pid_t pid,
				     const struct code_mapping *mapping, uint64_t address);

/* An address inside the kernel. */
struct code_ref symbolizer_locate_kernel(struct symbolizer *s, uint64_t address);

/*
 * The name of the function that holds `ref`: demangled, without parameters and without "+0x1f"; one
 * name a function. With `is_return_address` the byte before is looked up, since a call may be the
 * last instruction of its function. Without a symbol: "[libfoo.so]" (the module's base name),
 * "[kernel]", "[vdso]", "[jit]" or "[unknown]". Never NULL; equal names may be equal pointers.
 */
const char *symbolizer_name(struct symbolizer *s, struct code_ref ref, bool is_return_address);

/*
 * The same with what the compiler inlined, by DWARF (dwarf.h): fills `*names` with the name that
 * symbolizer_name gives, then the functions inlined into it at that byte, outermost first; returns
 * how many names there are, at least 1. Without DWARF there is the one name. Debug information is
 * opened for this call only, once a file. `*names` is valid until the next call.
 */
uint32_t symbolizer_names(struct symbolizer *s, struct code_ref ref, bool is_return_address,
			  const char *const **names);

/* The module's path as it was mapped, or its bracketed name. */
const char *symbolizer_module_path(struct symbolizer *s, uint32_t module);

/* How many distinct code_refs were asked for, and how many had no symbol. */
struct symbolizer_stats {
	uint64_t named;
	uint64_t unnamed;
};
struct symbolizer_stats symbolizer_stats(const struct symbolizer *s);

#endif
