/* SPDX-License-Identifier: MIT */
/*
 * The processes that the symbolizer knows, by pid, each with its mappings.
 *
 * Bounded: past PROCESSES_MAX the ones that no longer exist are forgotten (their exit was lost),
 * and if that frees nothing, new ones are refused with -ENOSPC.
 */
#ifndef SYMBOLIZE_PROCESSES_H
#define SYMBOLIZE_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolize/hash_index.h"
#include "symbolize/maps.h"

#define PROCESSES_MAX 65536

struct process {
	pid_t pid;
	struct map_table *maps;    /* one reference */
	uint64_t next_snapshot_ns; /* CLOCK_MONOTONIC; no snapshot for a missed address before */
	uint64_t snapshot_wait_ns;
};

struct process_table {
	struct process *list;
	uint32_t count, capacity;
	struct hash_index index;
	uint64_t next_sweep_ns;
};

/* NULL when it is not known. Pointers to processes are valid until the next add or remove. */
struct process *process_table_find(const struct process_table *table, pid_t pid);

/* The process, made with no mappings if it was not known: 0 and `*process`, -ENOSPC or -ENOMEM. */
int process_table_add(struct process_table *table, pid_t pid, struct process **process);

void process_table_remove(struct process_table *table, pid_t pid);

void process_table_release(struct process_table *table);

/*
 * Whether a missed address justifies reading /proc/PID/maps again now. The wait between such
 * readings starts at some milliseconds and doubles to seconds while they find nothing, so garbage
 * addresses cost little and a library that was just loaded is found soon.
 */
bool process_may_snapshot(struct process *process);

/* Tells what came of it: `found` resets the wait. */
void process_snapshot_done(struct process *process, bool found);

#endif
