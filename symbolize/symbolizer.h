/* SPDX-License-Identifier: MIT */
/*
 * Symbolizes addresses of other processes.
 *
 * The caller follows processes and keeps an address space for each. It reports mappings in order,
 * as perf's records FORK, COMM (exec), MMAP2 and EXIT have them. An address is located once, when
 * it is sampled, and becomes a `code_ref`: a module and an address inside it. A code_ref is named
 * later, when there is time. It stays valid when the process unmaps the library, execs or dies, and
 * is equal for all processes that map one file.
 *
 * Units: addresses and sizes in bytes. Ownership: everything returned belongs to the symbolizer and
 * lives until symbolizer_free. Not thread-safe. Errors: 0 or -errno; never prints or exits. All
 * input (ELF files, /proc, perf maps) is untrusted: a malformed or hostile file costs names, never
 * memory safety. The size of the file bounds the work.
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
 * Makes tables of files share a quota with the caller's data: it has `most` bytes, of which `*used`
 * are used. The symbolizer adds and subtracts its own. Call this first, if at all.
 */
void symbolizer_share_memory(struct symbolizer *s, size_t *used, size_t most);

/* ---- address spaces: what processes map ---- */

/*
 * Creates, forks and frees the address space of a process. Whoever follows processes does so;
 * code_refs located in a space stay valid. Free spaces with mappings before the symbolizer. `id`,
 * not 0, is the owner's number of the process, which separates the JIT code of processes with one
 * pid. `is_complete`: all mappings of the process will be reported (its exec was seen); otherwise
 * existing mappings are read from /proc when first needed. Returns NULL when out of memory.
 */
struct address_space;
struct address_space *address_space_new(uint32_t id, pid_t pid, bool is_complete);
struct address_space *address_space_fork(const struct address_space *parent, uint32_t id,
					 pid_t pid);
void address_space_free(struct address_space *space);

/* Returns the pid, as /proc numbers processes; 0: unknown. */
pid_t address_space_pid(const struct address_space *space);

/* Sets the trampolines of the interpreter that the process runs. */
struct python_trampolines;
void address_space_set_trampolines(struct address_space *space,
				   const struct python_trampolines *trampolines);

/*
 * Reports a mapping of code, which replaces what it overlaps. Returns 0; -ENOSPC: over a limit
 * (maps.h, modules.h), so that the code has no name; -EINVAL, -ENOMEM.
 */
int symbolizer_map(struct symbolizer *s, struct address_space *space,
		   const struct code_mapping *mapping);

/*
 * Replaces the mappings of a living process by its /proc/PID/maps. Returns 0; -ESRCH: the process
 * has ended; -EBUSY, -ETIMEDOUT: not readable in time.
 */
int symbolizer_snapshot(struct symbolizer *s, struct address_space *space);

/*
 * Sets the function that opens the memory of a process that may be inspected but not traced
 * (ptrace(2)). Moved text is compared with that memory. `open` returns a descriptor of
 * /proc/PID/mem, which is closed, or -errno. Without `open` such text counts as generated code.
 */
void symbolizer_set_memory_opener(struct symbolizer *s, int (*open)(void *context, pid_t pid),
				  void *context);

/* ---- locating, naming ---- */

/*
 * Sets the time of the code that is located from here on, in ns of CLOCK_MONOTONIC; 0, the default:
 * now. Matters for generated code, whose addresses are used again (jitdump.h).
 */
void symbolizer_set_time(struct symbolizer *s, uint64_t time_ns);

/* Locates a user address. Unknown addresses give MODULE_UNKNOWN with offset 0. */
struct code_ref symbolizer_locate(struct symbolizer *s, struct address_space *space,
				  uint64_t address);

/*
 * Locates an address in a mapping that the process itself has described. `mapping` must contain the
 * address, or the byte before. `space` identifies the process. Its own mappings count if the
 * described one is memory without a file (moved_text.h).
 */
struct code_ref symbolizer_locate_in(struct symbolizer *s, struct address_space *space,
				     const struct code_mapping *mapping, uint64_t address);

/*
 * Returns whether a mapping, as the process describes it, has the text of its file. Compares the
 * hash of its pages in memory (moved_text.h). Returns true also if the file is unreadable.
 */
bool symbolizer_has_text(struct symbolizer *s, const struct address_space *space,
			 const struct code_mapping *mapping, uint64_t hash);

/* Locates a kernel address. */
struct code_ref symbolizer_locate_kernel(struct symbolizer *s, uint64_t address);

/*
 * Returns the name of the function that contains `ref`: demangled, without parameters and without
 * "+0x1f"; one name per function. With `is_return_address`, looks up the byte before, since a call
 * may be the last instruction of its function. Without a symbol: "[libfoo.so+0x1a2b0]" or
 * "[libfoo.so]" (place_name.h), "[kernel]", "[vdso]", "[jit]" or "[unknown]". Never NULL; equal
 * names may be equal pointers.
 */
const char *symbolizer_name(struct symbolizer *s, struct code_ref ref, bool is_return_address);

/*
 * Marks and names many places in one pass, file by file: only one file's tables are in memory at a
 * time. First want all names, then name them, then look them up. With `with_inlined` for
 * symbolizer_names(), otherwise for symbolizer_name(). Also frees call-frame information, so
 * unwinding must have ended. Optional: otherwise names are looked up one by one, and the tables of
 * all files stay in memory, within the quota (table_quota.h).
 */
void symbolizer_want_name(struct symbolizer *s, struct code_ref ref, bool is_return_address);
void symbolizer_name_wanted(struct symbolizer *s, bool with_inlined);

/*
 * Finds the raw name of the kernel function at `address`. Returns 1; 0: it has none; or -errno: it
 * cannot be asked for, and will not be again.
 */
typedef int (*symbolizer_kernel_name)(void *context, uint64_t address, char *name, size_t size);

/* Asks `find` for names of kernel functions, before /proc/kallsyms is read. NULL: no longer. */
void symbolizer_set_kernel_names(struct symbolizer *s, symbolizer_kernel_name find, void *context);

/*
 * Passes a descriptor of /proc/kallsyms that was opened with the privilege to see addresses. It is
 * read at the first lookup of a kernel name, and closed. Without one, or with -1, the file is
 * opened then.
 */
void symbolizer_set_kallsyms(struct symbolizer *s, int fd);

/*
 * Finds the names at a byte with inlined functions, by DWARF (dwarf.h): symbolizer_name's name,
 * then the functions inlined there, outermost first. Returns the number of names, at least 1;
 * without DWARF 1. Opens debug information for this call only, once per file. `*names` is valid
 * until the next call.
 */
uint32_t symbolizer_names(struct symbolizer *s, struct code_ref ref, bool is_return_address,
			  const char *const **names);

/*
 * Returns the files that define the functions of the last call of symbolizer_names, in its order,
 * as DWARF has them: absolute, or relative to an unknown folder. "/./" follows the folder of the
 * compilation. NULL: unknown. Valid until the next call.
 */
const char *const *symbolizer_sources(const struct symbolizer *s);

/* Returns the module's path as mapped, which may contain any byte, or its bracketed name. */
const char *symbolizer_module_path(struct symbolizer *s, uint32_t module);

/*
 * Describes the file of a module as a mapping of all addresses, for symbolizer_locate_in of another
 * symbolizer: there, file offsets are addresses. The path is borrowed; "": no file.
 */
void symbolizer_describe(struct symbolizer *s, uint32_t module, struct code_mapping *mapping);

/*
 * Returns the build id of the module's file in hexadecimal, known once a name in it was looked up;
 * NULL: none, or unknown.
 */
const char *symbolizer_build_id(struct symbolizer *s, uint32_t module);

/* Returns the caller of calls that may block, for other reads, with common limits and counts. */
struct bounded_caller *symbolizer_calls(struct symbolizer *s);

/*
 * Returns the demangler, for names from elsewhere (GPU kernels), with a common quota (demangle.h).
 */
struct demangler *symbolizer_demangler(struct symbolizer *s);

struct symbolizer_stats {
	uint64_t mangled; /* names that stayed mangled for lack of time */
	/* Losses by exceeded quotas (table_quota.h); names may be missing. */
	uint64_t refused; /* tables that were not loaded, or only in part */
	/* malformed or too large call-frame records of generated code */
	uint64_t refused_frames;
	uint64_t stuck;      /* files and processes that did not respond in time, or were skipped */
	uint64_t unreadable; /* files that we lack the permission to read */
	const char *unreadable_path; /* path of the first as mapped, any bytes; or NULL */
	uint64_t absent;             /* missing files, or others than were mapped */
	const char *absent_path;     /* path of the first; or NULL */
	uint64_t unread;             /* files whose inlined functions are not read (dwarf.h) */
	const char *unread_path;     /* path of the first; or NULL */
	uint8_t unread_kind;         /* kind of the first: enum dwarf_unread */
};
struct symbolizer_stats symbolizer_stats(const struct symbolizer *s);

#endif
