/* SPDX-License-Identifier: MIT */
/*
 * Names code that processes generated, by what they wrote about it.
 *
 * A jitdump (jitdump.h) has names also for addresses that were used again, and perhaps call-frame
 * information. A perf map (perf_map.h) has names only.
 *
 * Names are looked up when the run is over, and many processes with it. So the way to their files
 * is noted while they run: the jitdump itself, which its writer maps so that others find it; for a
 * perf map the process's folder and user, and its pid there.
 *
 * Files belong to others: they are opened and read through a bounded_caller, and must belong to the
 * process's user or root. Internal to frame_naming.
 */
#ifndef SYMBOLIZE_JIT_CODE_H
#define SYMBOLIZE_JIT_CODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "symbolize/cfi.h"
#include "symbolize/code_ref.h"
#include "symbolize/util/bounded_call.h"
#include "symbolize/util/table_quota.h"
#include "symbolize/util/record_set.h"

struct jit_process;

/* /tmp of some processes. */
struct jit_folder {
	uint64_t device, inode;
	int fd;
};

struct jit_code {
	struct bounded_caller *calls;   /* borrowed */
	struct table_quota *quota;      /* quota of `calls` */
	RECORD_SET(struct jit_process); /* processes by id */
	struct jit_folder folders[JIT_MAX_FOLDERS];
	uint32_t folder_count, dump_count;
	uint64_t refused_frames; /* sum of jitdump_refused_frames */
};

void jit_code_init(struct jit_code *j, struct bounded_caller *calls);
void jit_code_release(struct jit_code *j);

/* Returns whether a file of this path, mapped with PROT_EXEC, is a jitdump. */
bool jit_code_is_dump(const char *path);

/* Notes that process `id` mapped its jitdump. */
void jit_code_note_dump(struct jit_code *j, uint32_t id, pid_t pid,
			const struct code_mapping *mapping);

/*
 * Returns the offset that a code_ref to generated code has: the address, and a generation at this
 * time if the code there may have been replaced. Notes new processes.
 */
uint64_t jit_code_locate(struct jit_code *j, uint32_t id, pid_t pid, uint64_t address,
			 uint64_t time_ns);

/*
 * Finds the call-frame row of the byte at such an offset, with or without generation, at this time.
 * Uses what jit_code_locate has read. Valid until its next call. Returns 0, -ENOENT or -EBADMSG as
 * jitdump_find_row.
 */
int jit_code_find_row(struct jit_code *j, uint32_t id, uint64_t offset, uint64_t time_ns,
		      struct cfi_row *row);

/*
 * Returns the name of the code at such an offset, or at the byte before; NULL: there is none. Valid
 * until the next call.
 */
const char *jit_code_find(struct jit_code *j, uint32_t id, uint64_t offset);

/* Frees the tables of a process, which can be loaded again. */
void jit_code_free_tables(struct jit_code *j, uint32_t id);

#endif
