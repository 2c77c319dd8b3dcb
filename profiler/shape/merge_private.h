/* SPDX-License-Identifier: MIT */
/*
 * Shares a merge under way among its own files:
 *
 *	merge.c         adds runs, and completes the result
 *	merge_clocks.c  places the runs' clocks on that of the result
 *	merge_waits.c   splits the time of collectives by the rank that was waited for
 *
 * The first error stays in `error`. Nothing is added after it.
 */
#ifndef PROFILER_SHAPE_MERGE_PRIVATE_H
#define PROFILER_SHAPE_MERGE_PRIVATE_H

#include "profiler/shape/merge.h"
#include "profiler/shape/named_stacks.h"
#include "profiler/tables/collectives.h"
#include "symbolize/util/id_map.h"

/* A file with code. Its path is a copy of its own, so equal pointers are one module. */
struct module {
	const char *path, *build_id; /* interned */
	char *own;
};

/* A CLOCK_MONOTONIC. */
struct clock {
	struct boot_id boot;
	int64_t offset; /* to the result's clock, ns */
	bool has_wall_clock;
	uint64_t wall_error_ns;
};

struct rank {
	struct rank_info info;
	const char *source;
};

/* A growing array. */
struct table {
	void *items;
	uint32_t count, capacity;
};

struct merge {
	struct result result;
	struct ledger ledger;
	struct quota memory;
	struct intern strings;
	RECORD_SET(struct module) modules;
	struct named_stacks stacks;
	struct table places, rows;
	struct collectives *collectives; /* an operation's id is its stack and its place */
	struct result_tables tables;
	struct counter_table counters;
	struct place_names names;
	struct devices devices;
	uint32_t process_count;   /* process numbers given so far, from 1 */
	struct id_map pids, tids; /* rank + 1, or TWIN */
	struct timeline *timeline;
	struct clock *clocks;
	uint32_t clock_count, clock_capacity;
	struct collective_clock *aligned; /* by clock, once all runs are added */
	struct rank *ranks;               /* in the order in which they were added */
	uint32_t rank_count, rank_capacity;
	struct rank_info *sorted; /* by rank */
	struct ledger_total sum;
	bool has_wall_clock; /* the first run has one */
	bool has_other;
	uint32_t other; /* a rank whose run measured other things than the first run */
	enum merge_error error;
};

/* The run that is being added, with its numbers as the result's. */
struct adding {
	struct merge *m;
	const struct result *run;
	const char *source; /* borrowed */
	uint32_t rank;
	uint32_t clock;
	uint32_t *frames, *stacks, *shapes; /* by the run's numbers */
	bool *is_compared;                  /* by the run's frame: collectives_is_compared */
	uint32_t shape_count;
	struct id_map processes;
	uint32_t first_place;
};

/* Sets the error unless there is one. */
void merge_fail(struct merge *m, enum merge_error error);

/* Takes from the quota. Returns false, with the error set, if the quota does not suffice. */
bool merge_take(struct merge *m, size_t bytes);

/* Appends a copy of `item`, within the quota, or sets the error. */
void merge_append(struct merge *m, struct table *table, const void *item, size_t size);

/* Returns the number of a frame, which is added if it is new. */
uint32_t merge_add_frame(struct merge *m, const struct frame_info *frame);

/* Returns the number of a stack with one more frame inside, which is added if it is new. */
uint32_t merge_push(struct merge *m, uint32_t outer, uint32_t frame);

/* Returns the rank that a process of the result belongs to. NULL until the ranks are sorted. */
const struct rank_info *merge_rank_of_process(const struct merge *m, uint32_t process);

/* ---- clocks ---- */

/* Finds the run's clock, which may be that of a run added before, or adds a new one. */
void merge_find_clock(struct adding *a);

/* Returns a time of the run on the clock of the result. */
uint64_t merge_moved(const struct adding *a, uint64_t ns);

/* Aligns the clocks by collectives, once all runs are added. */
void merge_align_clocks(struct merge *m);

/* Moves all times to the aligned clocks, except those of ranks and collectives. */
void merge_move_times(struct merge *m);

/* ---- waits for ranks ---- */

/* Notes a record if it is of a collective. `r` is the record with the result's numbers. */
void merge_note_collective(struct adding *a, const struct timeline_record *record,
			   const struct timeline_record *r);

/* Splits the rows of collectives, once the ranks are sorted. */
void merge_split_collectives(struct merge *m);

#endif
