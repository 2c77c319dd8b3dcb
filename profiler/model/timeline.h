/* SPDX-License-Identifier: MIT */
/*
 * Records each CPU sample, launch, GPU operation, wait, timed call and longer time off the CPU, for
 * outputs that show the course of a run.
 *
 * A run has tens of millions of records, so they are in a file, 56 bytes each: 25 million take 1.4
 * GB. The file has no name, so it disappears however the profiler ends. The caller chooses its
 * folder, preferably the output's: the user can write there, and unlike many a /tmp it has room.
 *
 * Records refer to places (places.h) and collected stacks (stack_table.h) by number. In a file that
 * was read, numbers are those of the result. Outputs find the named stack with
 * result_record_stack() (result.h). Distinct launch shapes of kernels are kept in memory.
 *
 * A listener receives records at once, kept or not (timeline_listen).
 *
 * All records are added first, and then read in order of addition. This is not the order of time:
 * readers sort.
 *
 * The file takes at most half of the free room of its file system. The rest is for outputs and the
 * profiled program. If outputs need more, timeline_give_room() releases some.
 *
 * Losses are counted; the run continues, and earlier records stay readable. Records are lost if:
 * - The file may not grow, as above (-ENOSPC), or cannot: a quota or RLIMIT_FSIZE is reached (the
 *   caller blocks or ignores SIGXFSZ), or writing fails. Then nothing more is kept, and up to 1 MiB
 *   of the latest records is lost.
 * - There are more than TIMELINE_RECORDS.
 * - Memory is short for marking the record's stack as used: 1 byte for each stack of the run.
 *
 * A record with a new shape beyond TIMELINE_SHAPES, or without memory for the shape, is kept
 * without it.
 *
 * Not thread-safe while records are added. Afterwards only timeline_give_room() and timeline_move()
 * change a timeline, so several threads may read it, each with its own reader.
 */
#ifndef PROFILER_MODEL_TIMELINE_H
#define PROFILER_MODEL_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/id_remap.h"
#include "symbolize/util/saturate.h"

#define TIMELINE_RECORDS (UINT64_C(1) << 27) /* 7.5 GB */
#define TIMELINE_SHAPES (1u << 18)           /* 14 MB including the index */

enum timeline_kind {
	TIMELINE_CPU_SAMPLE,    /* duration: the sample's weight */
	TIMELINE_LAUNCH,        /* duration: the call's; 0: its return is unknown */
	TIMELINE_GPU_OPERATION, /* all with usable times; 0 ns: an instant */
	TIMELINE_WAIT,          /* the whole call */
	TIMELINE_CALL,          /* a timed call, cut at the end of its process or the run */
	TIMELINE_OFF_CPU,       /* blocked, or waiting for a CPU (--wall); has no row */
	TIMELINE_KINDS
};

/* Launch shape of a kernel: blocks, threads, bytes per block, registers per thread. */
struct timeline_shape {
	uint32_t grid[3], block[3];
	uint32_t static_shared, dynamic_shared;
	uint32_t registers;
};

/* In native byte order. Members that a kind does not use are 0. */
struct timeline_record {
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t duration_ns;
	uint64_t bytes;      /* operation: its size; wait: ns that its thread computed */
	uint64_t graph_node; /* operation: its graph node */

	struct place_id place; /* thread; operation: its launching thread and stream */
	struct stack_id stack; /* operation: includes the work itself; else of the call */
	uint32_t shape;        /* kernel: number for timeline_shape(); 0: none */
	uint32_t correlation;  /* launch and its operations; unique within a process */
	uint32_t work;         /* operation: enum gpu_work */
	uint8_t kind;          /* enum timeline_kind */
	uint8_t is_waited;     /* 1: an operation that its launching thread waited for at once */
	union {
		uint16_t error;      /* failed launch or wait: timeline_error(); 0: none known */
		uint16_t represents; /* number of events it stands for (--budget); not kept */
	};
};
_Static_assert(sizeof(struct timeline_record) == 56, "records have no gaps");

/*
 * Returns the part of the first `ns` of a wait that is no CPU time. CPU time is spread evenly,
 * because its moments are unknown.
 */
static inline uint64_t timeline_off_cpu_until(const struct timeline_record *wait, uint64_t ns)
{
	uint64_t computed = wait->bytes < wait->duration_ns ? wait->bytes : wait->duration_ns;

	if (ns >= wait->duration_ns)
		return wait->duration_ns - computed;
	return ns - (uint64_t)((unsigned __int128)computed * ns / wait->duration_ns);
}

static inline uint64_t timeline_off_cpu_ns(const struct timeline_record *wait)
{
	return timeline_off_cpu_until(wait, wait->duration_ns);
}

/* Returns the end of the event. */
static inline uint64_t timeline_end_ns(const struct timeline_record *record)
{
	return saturated_sum(record->start_ns, record->duration_ns);
}

/* Returns a cudaError_t or CUresult for a record. All codes of CUDA fit; larger ones are clamped.
 */
static inline uint16_t timeline_error(uint32_t code)
{
	return code < UINT16_MAX ? (uint16_t)code : UINT16_MAX;
}

/* Replaces the limits above. */
struct timeline_limits {
	uint64_t records;
	uint32_t shapes;
};

struct timeline_stats {
	uint64_t records;     /* kept */
	uint64_t lost;        /* not kept */
	uint64_t lost_shapes; /* kernels whose shape was not kept */
	int error; /* first reason of `lost` or `lost_shapes`: -errno, or -E2BIG for a limit; 0:
		      none */
};

struct timeline;

/*
 * Creates a timeline. With a NULL `folder`, records only go to the listener, and do not count as
 * lost. `limits` may be NULL. Returns NULL with errno set if out of memory, or if no file can be
 * created in the folder.
 */
struct timeline *timeline_new(const char *folder, const struct timeline_limits *limits);
void timeline_free(struct timeline *t);

/* Returns whether records are kept. */
bool timeline_keeps(const struct timeline *t);

/*
 * Receives each record when it is added, kept or not. `launched_ns` is the start of an operation's
 * launch; 0: unknown. The listener must not add records; NULL removes it.
 */
typedef void (*timeline_listener)(void *context, const struct timeline_record *record,
				  uint64_t launched_ns);
void timeline_listen(struct timeline *t, timeline_listener listener, void *context);

/*
 * Continues with a copy of the file, in a child of fork(2), which shares it with its parent.
 * Records without room are lost and counted. Returns 0, or -errno with nothing changed.
 */
int timeline_part(struct timeline *timeline, const char *folder);

/* Returns the number of a shape for the next record; 0: not kept, or all 0. */
uint32_t timeline_number_shape(struct timeline *t, const struct timeline_shape *shape);

/* Returns 0, or -errno if the record is lost and counted. */
int timeline_add(struct timeline *t, const struct timeline_record *record);

/* Adds an operation with the start of its launch; 0: unknown. */
int timeline_add_launched(struct timeline *t, const struct timeline_record *record,
			  uint64_t launched_ns);

/*
 * Ends adding: writes the rest, and frees memory that only adding needs. Returns 0, or -errno if
 * this loses records. Kept records are readable in any case.
 */
int timeline_finish(struct timeline *t);

/*
 * Replaces the start of each record by the result of `move`, after timeline_finish() and while
 * nobody reads. Returns 0, or -errno with some records changed.
 */
int timeline_move(struct timeline *t,
		  uint64_t (*move)(void *context, const struct timeline_record *record),
		  void *context);

/* Returns the counts. `records` may decrease until timeline_finish(). */
struct timeline_stats timeline_stats(const struct timeline *t);

/*
 * Returns room to the file system of the open file `beside`, after timeline_finish() and while
 * nobody reads. Keeps the first quarter of the records; the others count as lost. Returns false if
 * the timeline has no room there.
 */
bool timeline_give_room(struct timeline *t, int beside);

/* Returns the kinds of records with this stack, as bits 1 << enum timeline_kind. */
uint32_t timeline_kinds_with_stack(const struct timeline *t, struct stack_id stack);

/* ---- reading, after timeline_finish ---- */

/*
 * Other processes may change the file (/proc/PID/fd). So each record is checked when it is read.
 * Its kind must be valid, records of that kind with its stack must have been added. Its shape must
 * exist, and its place must not exceed all added ones. Otherwise, or if the file has shrunk,
 * reading returns -EIO.
 */

/*
 * Reads `count` records from index `first` on. Returns 0, -EINVAL if there are fewer, or another
 * -errno.
 */
int timeline_read(const struct timeline *t, uint64_t first, uint32_t count,
		  struct timeline_record *records);

/*
 * Reads records in sequence, 256 KiB at a time. `*record` is valid until the next call. Returns 1,
 * 0 at the end, or -errno. timeline_reader_new() returns NULL with errno set. The timeline must
 * outlive its readers.
 */
struct timeline_reader;
struct timeline_reader *timeline_reader_new(const struct timeline *t);
void timeline_reader_free(struct timeline_reader *r);
int timeline_reader_next(struct timeline_reader *r, const struct timeline_record **record);

/* Returns NULL for shape 0. */
const struct timeline_shape *timeline_shape(const struct timeline *t, uint32_t shape);

#endif
