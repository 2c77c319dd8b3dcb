/* SPDX-License-Identifier: MIT */
/*
 * Reads jit-PID.dump, the file in which a just-in-time compiler lists the code that it generates.
 *
 * The file has a header and records: a function was loaded at an address, or moved to another one.
 * Each has a time, so that an address that was used again has the right name for each sample. Times
 * are of CLOCK_MONOTONIC, unless the header says that they are the processor's: then the latest
 * function counts. A record may have call-frame information of the function in the next one
 * (jit_frames.h). Source: tools/perf/Documentation/jitdump-specification.txt of Linux. (Julia,
 * .NET, CPython, LLVM, V8, and Java with perf's agent write such files.)
 *
 * The file grows while the program runs, and is read piece by piece. Compilers buffer output, so a
 * record may be read long after a sample in its code was taken. Therefore a sample keeps a
 * generation with its address: the number of the latest replacement of code there.
 *
 * The profiled program writes the file, which is untrusted. The size, the functions, their extent
 * and the work of a lookup are bounded (table_quota.h). Names are cleaned (text.h) and cut to
 * PERF_MAP_MAX_NAME. Units: ns. Not thread-safe.
 */
#ifndef SYMBOLIZE_JITDUMP_H
#define SYMBOLIZE_JITDUMP_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/cfi.h"
#include "symbolize/util/table_quota.h"

struct jitdump;

/* Creates an empty jitdump. Returns NULL when out of memory. */
struct jitdump *jitdump_new(void);
void jitdump_free(struct jitdump *dump);

/*
 * Reads new records of the file open as `fd`. Takes memory from `share` (may be NULL). Returns 0;
 * -ENOEXEC: another kind of file, or malformed from here on; -ENOSPC: over a limit; -ENOMEM;
 * -errno. Records read so far stay. May block.
 */
int jitdump_read(struct jitdump *dump, int fd, struct quota_share *share);

/* Returns whether the file may have new records about code that ran at the time. */
bool jitdump_is_behind(const struct jitdump *dump, uint64_t time_ns);

/* Returns how many records of call-frame information are malformed, too large, or of no code. */
uint64_t jitdump_refused_frames(const struct jitdump *dump);

/*
 * Returns the generation of an address at a time: below JITDUMP_LATEST, or JITDUMP_LATEST if times
 * do not count.
 */
#define JITDUMP_LATEST 0xffffu
uint32_t jitdump_generation(const struct jitdump *dump, uint64_t address, uint64_t time_ns);

/*
 * Returns the name of the function at `address` in a generation; NULL: there is none. The
 * generation is that of `address` or of a neighbouring byte. Valid until the next jitdump_read.
 */
const char *jitdump_find(const struct jitdump *dump, uint64_t address, uint32_t generation);

/*
 * Finds the call-frame row of the code at `address` at the time. `address` is the pc, or the byte
 * before a return address. Sets the cost also if there is no row. Valid until jitdump_free. Returns
 * 0, -ENOENT or -EBADMSG as cfi_find_row.
 */
int jitdump_find_row(const struct jitdump *dump, uint64_t address, uint64_t time_ns,
		     struct cfi_row *row);

#endif
