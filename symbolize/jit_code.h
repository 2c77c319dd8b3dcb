/* SPDX-License-Identifier: MIT */
/*
 * Names of the code that processes generated, each by what it wrote about it: a jitdump
 * (jitdump.h), which has names for addresses that were used again, or a perf map (perf_map.h). A
 * jitdump may also have call-frame information, for stacks.
 *
 * Names are looked up when the run is over, and many processes with it, so what leads to their
 * files is noted while they run: the file itself of a jitdump, which its writer maps so that others
 * find it, and for a perf map the process's folder and user, and its pid there.
 *
 * Files belong to others: they are opened and read through a bounded_caller, and must belong to the
 * process's user or root. Internal to naming.
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

/* The /tmp of some processes. */
struct jit_folder {
	uint64_t device, inode;
	int fd;
};

struct jit_code {
	struct bounded_caller *calls;   /* borrowed */
	struct table_quota *quota;      /* of `calls` */
	RECORD_SET(struct jit_process); /* by id */
	struct jit_folder folders[JIT_MAX_FOLDERS];
	uint32_t folder_count, dump_count;
	uint64_t refused_frames; /* jitdump_refused_frames of all files */
};

void jit_code_init(struct jit_code *j, struct bounded_caller *calls);
void jit_code_release(struct jit_code *j);

/* Returns whether a process that maps this file with PROT_EXEC says so that it is its jitdump. */
bool jit_code_is_dump(const char *path);

/* Process `id` mapped its jitdump. */
void jit_code_note_dump(struct jit_code *j, uint32_t id, pid_t pid,
			const struct code_mapping *mapping);

/*
 * The offset that a code_ref to generated code has: from the address, and from the time if the code
 * there may have been replaced. Notes the process when it is seen first.
 */
uint64_t jit_code_locate(struct jit_code *j, uint32_t id, pid_t pid, uint64_t address,
			 uint64_t time_ns);

/*
 * Finds the row of call-frame information of the byte at such an offset, with a generation or
 * without, at the time: by what jit_code_locate has read. Valid until its next call. 0, -ENOENT,
 * -EBADMSG: as jitdump_find_row.
 */
int jit_code_find_row(struct jit_code *j, uint32_t id, uint64_t offset, uint64_t time_ns,
		      struct cfi_row *row);

/* The name for such an offset, or for the byte before; valid until the next call. NULL: none. */
const char *jit_code_find(struct jit_code *j, uint32_t id, uint64_t offset);

/* Frees the tables of a process, which can be loaded again. */
void jit_code_free_tables(struct jit_code *j, uint32_t id);

#endif
