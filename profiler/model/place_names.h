/* SPDX-License-Identifier: MIT */
/*
 * Keeps the names of processes and threads, for outputs that distinguish them.
 *
 * A process or thread has one name: the newest while its time was spent. An interpreter's script
 * gives "train.py 4711", other programs "name 4711". A name that was never known is "[process
 * 4711]". The caller interns texts.
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
	uint32_t id; /* as in struct place */
	pid_t pid;
	const char *name;
	bool has_rank;
	uint32_t rank; /* rank of its run */
	bool has_twin; /* merged runs: another machine or container has this pid */
};

struct thread_info {
	uint32_t process; /* id */
	uint32_t tid;
	const char *name;
};

/* Zero-initialise: empty. */
struct place_names {
	struct process_info *processes;
	uint32_t process_count, process_capacity;
	struct hash_index process_index;
	struct thread_info *threads;
	uint32_t thread_count, thread_capacity;
	struct hash_index thread_index;
	uint32_t renames;     /* number of replaced names */
	struct quota *memory; /* borrowed; NULL: no limit */
	struct job_rank job;  /* for processes without a rank of their own */
};

#define PLACE_NAME_BYTES (16 + HASH_INDEX_ENTRY_BYTES) /* from the quota */

void place_names_release(struct place_names *names);

/* Returns false if the process has no rank. */
bool place_names_rank(const struct place_names *names, uint32_t process, uint32_t *rank);

/* Return NULL if unknown. Valid until the next add. */
const struct process_info *place_names_process(const struct place_names *names, uint32_t id);
const struct thread_info *place_names_thread(const struct place_names *names, uint32_t process,
					     uint32_t tid);

/* Adds a new process. If memory or the quota is exhausted, the process stays without a name. */
void place_names_add_process(struct place_names *names, const struct process_info *info);
void place_names_add_thread(struct place_names *names, const struct thread_info *info);

/* Replaces a name. Returns false if the process or thread is unknown. */
bool place_names_rename_process(struct place_names *names, uint32_t id, const char *name);
bool place_names_rename_thread(struct place_names *names, uint32_t process, uint32_t tid,
			       const char *name);

/*
 * Removes processes that are not in use, and threads in none of the places. Returns false, changing
 * nothing, if out of memory.
 */
struct places;
bool place_names_forget(struct place_names *names, const struct places *places,
			bool (*is_in_use)(const void *context, uint32_t process),
			const void *context);

#endif
