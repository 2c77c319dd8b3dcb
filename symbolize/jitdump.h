/* SPDX-License-Identifier: MIT */
/*
 * Code that a just-in-time compiler generated, from the file jit-PID.dump that it writes meanwhile.
 *
 * The file has a header and records: a function was loaded at an address, or moved to another one.
 * Each has a time, so that an address that was used again has the right name for each sample. Times
 * are of CLOCK_MONOTONIC, unless the header says that they are the processor's: then the latest
 * function counts. A record may have call-frame information of the function in the next one
 * (jit_frames.h). Source: tools/perf/Documentation/jitdump-specification.txt of Linux. (Julia,
 * .NET, CPython, LLVM, V8, and Java with perf's agent write such files.)
 *
 * The file grows while the program runs, and is read piece by piece. Compilers buffer what they
 * write, so a record may be read long after a sample in its code was taken. Therefore a sample
 * keeps, with its address, a generation: which of the replacements of code there it has seen.
 *
 * The file is written by the profiled program and is untrusted: its size, the functions, their
 * extent and what one lookup looks at are bounded (table_quota.h); names are cleaned (text.h) and
 * cut to PERF_MAP_MAX_NAME. Units: ns. Not thread-safe.
 */
#ifndef SYMBOLIZE_JITDUMP_H
#define SYMBOLIZE_JITDUMP_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/cfi.h"
#include "symbolize/util/table_quota.h"

struct jitdump;

/* NULL: out of memory. */
struct jitdump *jitdump_new(void);
void jitdump_free(struct jitdump *dump);

/*
 * Reads what the file open as `fd` has now and had not before; takes memory from `share` (may be
 * NULL). 0; -ENOEXEC: it is not such a file, or malformed from here on; -ENOSPC: it exceeds limits;
 * -ENOMEM, -errno. What was read stays. May block.
 */
int jitdump_read(struct jitdump *dump, int fd, struct quota_share *share);

/* Returns whether the file may have grown by what concerns code that ran at the time. */
bool jitdump_is_behind(const struct jitdump *dump, uint64_t time_ns);

/* Returns how many records of call-frame information so far are malformed, too large, or of no
 * code. */
uint64_t jitdump_refused_frames(const struct jitdump *dump);

/* Of an address at a time: below JITDUMP_LATEST, or that, if times do not count. */
#define JITDUMP_LATEST 0xffffu
uint32_t jitdump_generation(const struct jitdump *dump, uint64_t address, uint64_t time_ns);

/*
 * The name of the function that was at `address` in this generation of it or of the byte before or
 * behind it; valid until the next jitdump_read. NULL: none.
 */
const char *jitdump_find(const struct jitdump *dump, uint64_t address, uint32_t generation);

/*
 * Finds the row of call-frame information at `address` of the code that was there at the time: the
 * pc, or the byte before a return address. Sets its cost also if there is none. Valid until
 * jitdump_free. 0, -ENOENT, -EBADMSG: as cfi_find_row.
 */
int jitdump_find_row(const struct jitdump *dump, uint64_t address, uint64_t time_ns,
		     struct cfi_row *row);

#endif
