/* SPDX-License-Identifier: MIT */
/*
 * Symbolizes addresses of other processes.
 *
 * The caller follows processes, and keeps an address space for each, to which it reports mappings
 * in order (perf's PERF_RECORD_FORK / COMM(exec) / MMAP2 / EXIT carry exactly this). An address is
 * located once, when it is sampled, and becomes a `code_ref`: a module and an address inside it. A
 * code_ref stays valid when the process unmaps the library, execs or dies, is the same for all
 * processes that map the same file, and is named later, when there is time.
 *
 * Units: addresses and sizes in bytes. Ownership: everything returned belongs to the symbolizer and
 * lives until symbolizer_free. Not thread-safe. Errors: 0 or -errno; never prints or exits.
 * Everything read (ELF files, /proc, perf maps) is untrusted: a malformed or hostile file costs
 * names, never memory safety, and work is bounded by the file's size.
 */
#ifndef SYMBOLIZE_SYMBOLIZER_H
#define SYMBOLIZE_SYMBOLIZER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "symbolize/code_ref.h"

struct symbolizer;
struct bounded_caller; /* bounded_call.h */
struct demangler;

struct symbolizer *symbolizer_new(void);
void symbolizer_free(struct symbolizer *s);

/*
 * The tables read from files take their memory from a budget that the caller's own data shares: it
 * has `most` bytes, of which `*used` are used; the symbolizer adds and subtracts its own. To be
 * called first, if at all.
 */
void symbolizer_share_memory(struct symbolizer *s, size_t *used, size_t most);

/* ---- address spaces: what processes map ---- */

/*
 * The address space of a process, created and freed by whoever follows processes; code_refs located
 * in it stay valid. Those that have mappings are freed before the symbolizer. `id`, not 0, is the
 * owner's own number for the process: it separates the JIT code of processes with the same pid.
 * `is_complete`: all mappings of the process will be reported (its exec was seen); otherwise
 * existing mappings are read from /proc when first needed. NULL: out of memory.
 */
struct address_space;
struct address_space *address_space_new(uint32_t id, pid_t pid, bool is_complete);
struct address_space *address_space_fork(const struct address_space *parent, uint32_t id,
					 pid_t pid);
void address_space_free(struct address_space *space);

/* The process, as /proc numbers it; 0: unknown. */
pid_t address_space_pid(const struct address_space *space);

/* The process runs an interpreter whose calls may lead through such code. */
struct python_trampolines;
void address_space_set_trampolines(struct address_space *space,
				   const struct python_trampolines *trampolines);

/*
 * The process mapped code; the new mapping replaces what it overlaps. 0; -ENOSPC: a limit is
 * reached (maps.h, modules.h), so that the code has no name; -EINVAL, -ENOMEM.
 */
int symbolizer_map(struct symbolizer *s, struct address_space *space,
		   const struct code_mapping *mapping);

/*
 * Replaces the mappings of a living process by its /proc/PID/maps. -ESRCH: it has ended; -EBUSY,
 * -ETIMEDOUT: not readable in time.
 */
int symbolizer_snapshot(struct symbolizer *s, struct address_space *space);

/*
 * How the memory of a process is opened that may be looked into and not traced (ptrace(2)), to
 * compare text that it has moved: `open` returns a descriptor of /proc/PID/mem, which is closed, or
 * -errno. Without it such text is generated code.
 */
void symbolizer_set_memory_opener(struct symbolizer *s, int (*open)(void *context, pid_t pid),
				  void *context);

/* ---- locating, naming ---- */

/*
 * When the process had the code that is located from here on, in ns of CLOCK_MONOTONIC; 0, and at
 * the beginning: now. It matters for generated code, whose addresses are used again (jitdump.h).
 */
void symbolizer_set_time(struct symbolizer *s, uint64_t time_ns);

/* Locates a user address. Unknown addresses give MODULE_UNKNOWN with offset 0. */
struct code_ref symbolizer_locate(struct symbolizer *s, struct address_space *space,
				  uint64_t address);

/*
 * Locates an address in a mapping that the process itself has described. `mapping` must contain the
 * address, or the byte before it. `space` identifies the process; its own mappings count where the
 * described one is memory of no file (moved_text.h).
 */
struct code_ref symbolizer_locate_in(struct symbolizer *s, struct address_space *space,
				     const struct code_mapping *mapping, uint64_t address);

/*
 * Returns whether what the process has described as a mapping of a file is that file's text, by the
 * hash of its pages in memory (moved_text.h). True also where the file cannot be read.
 */
bool symbolizer_has_text(struct symbolizer *s, const struct address_space *space,
			 const struct code_mapping *mapping, uint64_t hash);

/* Locates a kernel address. */
struct code_ref symbolizer_locate_kernel(struct symbolizer *s, uint64_t address);

/*
 * The name of the function that contains `ref`: demangled, without parameters and without "+0x1f";
 * one name per function. With `is_return_address` the byte before is looked up, since a call may be
 * the last instruction of its function. Without a symbol: "[libfoo.so+0x1a2b0]" or "[libfoo.so]"
 * (place_name.h), "[kernel]", "[vdso]", "[jit]" or "[unknown]". Never NULL; equal names may be
 * equal pointers.
 */
const char *symbolizer_name(struct symbolizer *s, struct code_ref ref, bool is_return_address);

/*
 * Names many places in one pass, file by file, so that only one file's tables are in memory at a
 * time: first want all names, then name them, then look them up. With `with_inlined` for
 * symbolizer_names(), otherwise for symbolizer_name(). Also frees call frame information, so
 * unwinding must have ended. Optional: without it names are looked up one by one, with the tables
 * of all files in memory, as long as the budget allows (table_quota.h).
 */
void symbolizer_want_name(struct symbolizer *s, struct code_ref ref, bool is_return_address);
void symbolizer_name_wanted(struct symbolizer *s, bool with_inlined);

/*
 * Gives the symbolizer a descriptor of /proc/kallsyms that was opened with the privilege to see
 * addresses; it is read at the first lookup of a kernel name, and closed. Without one, or with -1,
 * the file is opened then.
 */
void symbolizer_set_kallsyms(struct symbolizer *s, int fd);

/*
 * Does the same with inlined functions, by DWARF (dwarf.h): fills `*names` with symbolizer_name's
 * name, then the functions inlined into it at that byte, outermost first. Returns the number of
 * names, at least 1; without DWARF 1. Opens debug information for this call only, once per file.
 * `*names` is valid until the next call.
 */
uint32_t symbolizer_names(struct symbolizer *s, struct code_ref ref, bool is_return_address,
			  const char *const **names);

/*
 * The files that define the functions of the last call of symbolizer_names, in the same order, as
 * DWARF has them: absolute, or relative to an unknown folder; "/./" comes behind the one in which
 * the program was compiled. NULL for those that are unknown. Valid until the next call.
 */
const char *const *symbolizer_sources(const struct symbolizer *s);

/* The module's path as mapped, which may contain any byte, or its bracketed name. */
const char *symbolizer_module_path(struct symbolizer *s, uint32_t module);

/*
 * The file of a module as a mapping of all addresses, for symbolizer_locate_in of another
 * symbolizer, in which offsets in the file are addresses. The path is borrowed; "": no file.
 */
void symbolizer_describe(struct symbolizer *s, uint32_t module, struct code_mapping *mapping);

/*
 * The build id of the module's file in hexadecimal, which is known once a name in it was looked up.
 * NULL: none, or not known.
 */
const char *symbolizer_build_id(struct symbolizer *s, uint32_t module);

/* For other reads that may block; they share its limits and its counts. */
struct bounded_caller *symbolizer_calls(struct symbolizer *s);

/* For names from elsewhere (GPU kernels), within the same budgets (demangle.h). */
struct demangler *symbolizer_demangler(struct symbolizer *s);

struct symbolizer_stats {
	uint64_t mangled; /* names that stayed mangled for lack of time */
	/* Losses by exceeded budgets (table_quota.h); names may be missing. */
	uint64_t refused; /* tables that were not loaded, or only in part */
	/* records of generated code's call-frame information that are malformed or too large */
	uint64_t refused_frames;
	uint64_t stuck;      /* files and processes that did not respond in time, or were skipped */
	uint64_t unreadable; /* files that we lack the permission to read */
	const char *unreadable_path; /* the first of them as mapped, any bytes; or NULL */
	uint64_t absent;             /* files that are not there, or others than were mapped */
	const char *absent_path;     /* likewise */
	uint64_t unread;             /* files whose inlined functions are not read (dwarf.h) */
	const char *unread_path;     /* likewise */
	uint8_t unread_kind;         /* of the first: enum dwarf_unread */
};
struct symbolizer_stats symbolizer_stats(const struct symbolizer *s);

#endif
