/* SPDX-License-Identifier: MIT */
/*
 * Names of processes and threads, for outputs that distinguish them.
 *
 * Each has one name, the newest that it had while its time was spent: "train.py 4711" for an
 * interpreter's script, "name 4711" for others, "[process 4711]" if it was gone before its name was
 * known. Texts are interned by the caller.
 */
#ifndef PROFILER_MODEL_PLACE_NAMES_H
#define PROFILER_MODEL_PLACE_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "profiler/base/quota.h"
#include "profiler/base/job_rank.h"
#include "symbolize/util/hash_index.h"

struct process_info {
	uint32_t id; /* as in places */
	pid_t pid;
	const char *name;
	bool has_rank;
	uint32_t rank; /* of the run that it was part of */
	bool has_twin; /* in merged runs: another machine or container has this pid, too */
};

struct thread_info {
	uint32_t process; /* id */
	uint32_t tid;
	const char *name;
};

/* Zero-initialised is empty. */
struct place_names {
	struct process_info *processes;
	uint32_t process_count, process_capacity;
	struct hash_index process_index;
	struct thread_info *threads;
	uint32_t thread_count, thread_capacity;
	struct hash_index thread_index;
	uint32_t renames;     /* how often a name was replaced */
	struct quota *memory; /* borrowed; NULL: no limit */
	struct job_rank job;  /* of processes that have no rank themselves */
};

#define PLACE_NAME_BYTES (16 + HASH_INDEX_ENTRY_BYTES) /* from the quota */

void place_names_release(struct place_names *names);

/* False: it has none. */
bool place_names_rank(const struct place_names *names, uint32_t process, uint32_t *rank);

/* NULL: not noted. Valid until the next add. */
const struct process_info *place_names_process(const struct place_names *names, uint32_t id);
const struct thread_info *place_names_thread(const struct place_names *names, uint32_t process,
					     uint32_t tid);

/* Adds a process that is not yet noted. If out of memory, or of the quota, it stays without a
 * name. */
void place_names_add_process(struct place_names *names, const struct process_info *info);
void place_names_add_thread(struct place_names *names, const struct thread_info *info);

/* Replaces a name. False: the process or thread is not noted. */
bool place_names_rename_process(struct place_names *names, uint32_t id, const char *name);
bool place_names_rename_thread(struct place_names *names, uint32_t process, uint32_t tid,
			       const char *name);

/*
 * Forgets processes that are not in use, and threads that are in none of the places. False: out of
 * memory, and nothing has changed.
 */
struct places;
bool place_names_forget(struct place_names *names, const struct places *places,
			bool (*is_in_use)(const void *context, uint32_t process),
			const void *context);

#endif
